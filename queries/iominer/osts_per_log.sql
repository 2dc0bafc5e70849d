--- doc = "Number of OSTs on which the files of a log lie"
--- grain = "one log and file system with a Lustre layout; with grain job one job and file system"
--- aliases = ["ost_count"]
--- source = "IOMiner, algorithm 1, line 17"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log; of a job the first of its logs" },
---   { name = "fs", type = "Utf8", doc = "File system: indexes of OSTs belong to one" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files with a layout" },
---   { name = "osts", type = "Int64", unit = "count", doc = "Distinct OSTs of their layouts" },
---   { name = "fs_osts", type = "Int64", unit = "count", doc = "OSTs of the file system; NULL where neither a log nor the settings say" },
--- ]
--- chart = { form = "cdf", x = "osts", series = "fs", log = ["x"] }
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
--- doc = "Logs that start then or later"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before"
WITH laid AS (
  SELECT f.job_id, f.log_id, f.fs, f.ost_bits, f.fs_osts FROM darshan_file f WHERE $grain = 'log' AND f.ost_bits IS NOT NULL
    AND ($from IS NULL AND $to IS NULL OR EXISTS (SELECT 1 FROM darshan_log l WHERE l.job_id = f.job_id AND l.log_id = f.log_id AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)))
  UNION ALL
  SELECT f.job_id, first_value(f.log_id) OVER (PARTITION BY g.job_id, g.uid, g.log_group ORDER BY g.start_time, g.log_id) AS log_id, f.fs, f.ost_bits, f.fs_osts
  FROM darshan_log_group g JOIN darshan_file f ON f.job_id = g.job_id AND f.log_id = g.log_id WHERE $grain = 'job' AND f.ost_bits IS NOT NULL
    AND ($from IS NULL OR g.start_time >= $from) AND ($to IS NULL OR g.start_time < $to)
)
SELECT job_id, log_id, fs, count(*) AS files, ost_count(ost_union(fs, ost_bits)) AS osts, max(fs_osts) AS fs_osts
FROM laid GROUP BY job_id, log_id, fs ORDER BY job_id, log_id, fs
