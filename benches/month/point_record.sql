-- Who touched this file?
-- class: point
-- floor:
-- ordered: no
SELECT job_id, log_id, path, bytes_read, bytes_written FROM darshan_file WHERE record_id = $record_id
