-- One log, of which the job is not known
-- class: point
-- floor:
-- ordered: no
SELECT log_path, job_id, app, nprocs, start_time, bytes_read, bytes_written FROM darshan_log WHERE log_id = $log_id
