--- doc = "Logs classified by bytes written: workload 0 below the first edge, 1 up to the second edge, 2 above"
--- grain = "one log; with grain job one job"
--- aliases = ["bin_workload"]
--- source = "IOMiner, algorithm 1, line 15"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log; NULL with grain job" },
---   { name = "bytes_written", type = "Int64", unit = "B", doc = "Bytes written, streams included" },
---   { name = "workload", type = "Int64", doc = "0, 1 or 2" },
--- ]
--- chart = { form = "histogram", x = "bytes_written", series = "workload", log = ["x"] }
--- [[param]]
--- name = "first_edge"
--- type = "float"
--- default = "1e9"
--- doc = "Bytes from which the workload is 1"
--- [[param]]
--- name = "second_edge"
--- type = "float"
--- default = "1e10"
--- doc = "Bytes from which it is 2"
--- [[param]]
--- name = "grain"
--- type = "text"
--- default = "'log'"
--- values = ["log", "job"]
--- doc = "log or job"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs, or jobs, that start then or later"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs, or jobs, that start before"
WITH unit AS (
  SELECT job_id, log_id, bytes_written FROM darshan_log WHERE $grain = 'log' AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
  UNION ALL
  SELECT job_id, CAST(NULL AS BIGINT) AS log_id, bytes_written FROM darshan_job WHERE $grain = 'job' AND ($from IS NULL OR job_start >= $from) AND ($to IS NULL OR job_start < $to)
)
SELECT job_id, log_id, bytes_written, bin(bytes_written, [$first_edge, $second_edge]) AS workload FROM unit ORDER BY job_id, log_id
