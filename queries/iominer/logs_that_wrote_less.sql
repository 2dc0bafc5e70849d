--- doc = "Logs that wrote less than a limit"
--- grain = "one log; with grain job one job: its logs that overlap or lie within 24 hours of each other"
--- aliases = ["filter_write_lt"]
--- source = "IOMiner, algorithm 1, line 14"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log; NULL with grain job" },
---   { name = "app", type = "Utf8", doc = "Program; of a job the first of its programs in alphabetical order" },
---   { name = "bytes_written", type = "Int64", unit = "B", doc = "Bytes written, streams included" },
--- ]
--- chart = { form = "histogram", x = "bytes_written", log = ["x"] }
--- [[param]]
--- name = "limit"
--- type = "float"
--- default = "1e9"
--- doc = "Bytes written (exclusive)"
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
  SELECT job_id, log_id, app, bytes_written FROM darshan_log WHERE $grain = 'log' AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
  UNION ALL
  SELECT job_id, CAST(NULL AS BIGINT) AS log_id, apps[1] AS app, bytes_written FROM darshan_job WHERE $grain = 'job' AND ($from IS NULL OR job_start >= $from) AND ($to IS NULL OR job_start < $to)
)
SELECT job_id, log_id, app, bytes_written FROM unit WHERE bytes_written < $limit ORDER BY bytes_written DESC, job_id, log_id
