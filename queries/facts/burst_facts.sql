--- doc = "What rules look at of bursts: times in which files are written, with a pause before and behind, as checkpoints are"
--- grain = "one log"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes of the log" },
---   { name = "bursts", type = "Int64", unit = "count", doc = "Times in which files are written; a pause of at least 1 s and 1 % of the run time, in which none of them is in use by its window, parts two of them" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files written, less those that are less than 1 % of the largest" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Their bytes" },
---   { name = "burst_time", type = "Float64", unit = "s", doc = "Length of the bursts by busy times, added up" },
---   { name = "longest", type = "Float64", unit = "s", doc = "Length of the longest" },
---   { name = "interval", type = "Float64", unit = "s", doc = "From the start of the first burst to that of the last, over the number of steps between them; NULL of a single burst" },
---   { name = "run_time", type = "Float64", unit = "s", doc = "Run time of the program" },
---   { name = "share", type = "Float64", doc = "burst_time / run_time" },
---   { name = "bw", type = "Float64", unit = "B/s", doc = "bytes / burst_time" },
--- ]
--- chart = { form = "scatter", x = "bytes", y = "bw", log = ["x", "y"] }
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

-- A file is written from its first write on for as long as its processes spent in it, at most to the end of its window. When they spent it there is not known,
-- so that a pause is certain only between windows. Small files beside large ones, such as logs, are no checkpoints.
WITH written AS (
  SELECT f.job_id, f.log_id, l.nprocs, l.run_time, f.bytes_written, f.write_start AS a, least(f.write_end, f.write_busy_end) AS b, f.write_end AS e,
    max(f.bytes_written) OVER (PARTITION BY f.job_id, f.log_id) AS largest
  FROM darshan_log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id
  WHERE NOT f.is_stream AND f.bytes_written > 0 AND f.write_start IS NOT NULL AND l.run_time > 0
    AND ($job IS NULL OR f.job_id = $job AND l.job_id = $job) AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
), after AS (
  SELECT *, max(b) OVER (PARTITION BY job_id, log_id ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until,
    max(e) OVER (PARTITION BY job_id, log_id ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS used_until
  FROM written WHERE bytes_written >= 0.01 * largest
), numbered AS (
  SELECT *, sum(CASE WHEN used_until IS NULL OR a - used_until >= greatest(1.0, 0.01 * run_time) THEN 1 ELSE 0 END) OVER (PARTITION BY job_id, log_id ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS burst,
    b - greatest(a, coalesce(until, a)) AS more FROM after
), burst AS (
  SELECT job_id, log_id, nprocs, run_time, burst, count(*) AS files, sum(bytes_written) AS bytes, min(a) AS a, sum(CASE WHEN more > 0 THEN more ELSE 0.0 END) AS length
  FROM numbered GROUP BY job_id, log_id, nprocs, run_time, burst
), summed AS (
  SELECT job_id, log_id, nprocs, run_time, count(*) AS bursts, CAST(sum(files) AS BIGINT) AS files, CAST(sum(bytes) AS BIGINT) AS bytes, sum(length) AS burst_time, max(length) AS longest, max(a) - min(a) AS steps
  FROM burst GROUP BY job_id, log_id, nprocs, run_time
)
SELECT job_id, log_id, nprocs, bursts, files, bytes, burst_time, longest, CASE WHEN bursts > 1 THEN steps / (bursts - 1) END AS "interval", run_time, ratio(burst_time, run_time) AS share, ratio(bytes, burst_time) AS bw
FROM summed ORDER BY burst_time DESC, job_id, log_id
