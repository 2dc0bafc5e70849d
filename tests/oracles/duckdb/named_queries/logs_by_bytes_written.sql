-- Logs, or jobs, in three bins of bytes written: IOMiner, algorithm 1, line 15; workload 0 [0, 1) GB, 1 [1, 10), 2 [10, inf).
-- param first_edge float 1e9
-- param second_edge float 1e10
-- param grain text log
-- with first_edge=0 second_edge=1
-- with grain=job
WITH one AS (
  SELECT job_id, log_id, bytes_written FROM darshan_log WHERE $grain = 'log'
  UNION ALL
  SELECT job_id, NULL, bytes_written FROM darshan_job WHERE $grain = 'job'
)
SELECT *, CASE WHEN bytes_written >= $second_edge THEN 2 WHEN bytes_written >= $first_edge THEN 1 ELSE 0 END AS workload FROM one
