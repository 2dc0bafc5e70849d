--- doc = "What rules look at of directories: files that single processes made there, and what their metadata operations cost"
--- grain = "one directory of a log"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "directory", type = "Utf8", doc = "The directory" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files in it that one process alone has, and wrote" },
---   { name = "procs", type = "Int64", unit = "count", doc = "Processes that have such files there" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes of the log" },
---   { name = "opens", type = "Int64", unit = "count", doc = "Opens of these files" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Bytes that they moved" },
---   { name = "meta_time", type = "Float64", unit = "s", doc = "Metadata time of these files, of the process with most of it" },
---   { name = "io_time", type = "Float64", unit = "s", doc = "Reading, writing and metadata time of these files, of the process with most of it" },
---   { name = "run_time", type = "Float64", unit = "s", doc = "Run time of the program" },
--- ]
--- chart = { form = "scatter", x = "files", y = "meta_time", label = "directory", log = ["x", "y"] }
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start then or later"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before"
--- [[param]]
--- name = "min_files"
--- type = "int"
--- default = "2"
--- doc = "Minimum number of files"

-- slowest_rank of a file of one process is that process.
WITH log AS (
  SELECT job_id, log_id, nprocs, run_time FROM darshan_log WHERE ($job IS NULL OR job_id = $job) AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
), process AS (
  SELECT f.job_id, f.log_id, regexp_replace(f.path, '/[^/]*$', '') AS directory, f.slowest_rank, l.nprocs, l.run_time, count(*) AS files, sum(f.opens) AS opens,
    sum(f.bytes_read + f.bytes_written) AS bytes, sum(coalesce(f.meta_time, 0.0)) AS meta_time,
    sum(coalesce(f.read_time, 0.0) + coalesce(f.write_time, 0.0) + coalesce(f.meta_time, 0.0)) AS io_time
  FROM log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id
  WHERE NOT f.is_stream AND f.sharing = 'unique' AND f.writes > 0 AND f.path IS NOT NULL AND ($job IS NULL OR f.job_id = $job)
  GROUP BY f.job_id, f.log_id, directory, f.slowest_rank, l.nprocs, l.run_time
)
SELECT job_id, log_id, directory, CAST(sum(files) AS BIGINT) AS files, count(slowest_rank) AS procs, nprocs, sum(opens) AS opens, sum(bytes) AS bytes, max(meta_time) AS meta_time, max(io_time) AS io_time, run_time
FROM process GROUP BY job_id, log_id, directory, nprocs, run_time HAVING sum(files) >= $min_files
ORDER BY meta_time DESC, job_id, log_id, directory
