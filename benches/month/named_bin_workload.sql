-- Logs by what they wrote: below 1 GB, below 10 GB, more
-- class: named
-- floor: darshan_log=job_id,log_id,bytes_written
-- ordered: no
SELECT job_id, log_id, bytes_written, workload FROM logs_by_bytes_written()
-- for duckdb, spark
SELECT job_id, log_id, bytes_written, CASE WHEN bytes_written >= 1e10 THEN 2 WHEN bytes_written >= 1e9 THEN 1 ELSE 0 END AS workload FROM darshan_log
