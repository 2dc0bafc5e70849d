--- doc = "One log that may be another one in other bytes: same job, user, start, processes and command line"
--- key = ["log_id"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "uid", type = "Int64", doc = "User id" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes" },
---   { name = "exe", type = "Utf8", doc = "Command line" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "log_path", type = "Utf8", doc = "Path of the log when it was imported" },
---   { name = "log_bytes", type = "Int64", unit = "B", doc = "Size of the log" },
---   { name = "first_log_id", type = "Int64", doc = "Least log_id of those that are alike" },
---   { name = "logs", type = "Int64", unit = "count", doc = "How many are alike" },
---   { name = "same_totals", type = "Boolean", doc = "Bytes, files and end agree as well: very likely the same log" },
--- ]

-- The same log recompressed, or taken from another run of the converter, has other bytes and so another log_id. Programs
-- that a job starts by the hundred in the same second look alike, too, which `same_totals` tells apart as far as it goes.
WITH alike AS (
  SELECT job_id, uid, start_time, nprocs, exe, log_id, log_path, log_bytes, min(log_id) OVER same AS first_log_id, count(*) OVER same AS logs,
    min(bytes_read) OVER same = max(bytes_read) OVER same AND min(bytes_written) OVER same = max(bytes_written) OVER same
      AND min(files) OVER same = max(files) OVER same AND min(end_time) OVER same IS NOT DISTINCT FROM max(end_time) OVER same AS same_totals
  FROM darshan_log WHERE start_time IS NOT NULL
  WINDOW same AS (PARTITION BY job_id, uid, start_time, nprocs, exe)
)
SELECT * FROM alike WHERE logs > 1
