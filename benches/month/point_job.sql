-- The files of one job
-- class: point
-- floor:
-- ordered: no
SELECT log_id, record_id, path, bytes_read, bytes_written, read_time, write_time FROM darshan_file WHERE job_id = $job_id
