-- The POSIX records of one log of one job
-- class: point
-- floor:
-- ordered: no
SELECT record_id, rank, posix_reads, posix_writes, posix_bytes_read, posix_bytes_written, posix_f_read_time, posix_f_write_time
FROM darshan_posix WHERE job_id = $job_id AND log_id = $log_id
