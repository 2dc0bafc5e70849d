--- doc = "What rules look at of metadata servers: their rates while a log ran, by LMT, and what of it was the log's"
--- grain = "one log and file system"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "run_time", type = "Float64", unit = "s", doc = "Run time of the program, at least 1 s" },
---   { name = "meta_time", type = "Float64", unit = "s", doc = "Metadata time of the log's files there, of a process in the mean" },
---   { name = "own_ops_s", type = "Float64", unit = "1/s", doc = "Opens and stats of the log a second, on average over the run" },
---   { name = "ops_s", type = "Float64", unit = "1/s", doc = "Opens, getattrs and mknods a second on all MDTs of the file system during the run, by LMT" },
---   { name = "others_ops_s", type = "Float64", unit = "1/s", doc = "ops_s less own_ops_s, at least 0: what others did" },
---   { name = "others_share", type = "Float64", doc = "others_ops_s / ops_s" },
---   { name = "peak_ops_s", type = "Float64", unit = "1/s", doc = "The highest ops_s of an interval within half a day of the period" },
---   { name = "coverage", type = "Float64", doc = "Part of the run of which LMT has samples" },
--- ]
--- chart = { form = "scatter", x = "own_ops_s", y = "others_ops_s", series = "fs" }
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that end at this time or later (default: all)"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before this time (default: all)"
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all); with its start and end as from and to less of the lake is read"

-- Clients answer many opens and stats from their caches, so that own_ops_s is the most that the log can have asked of the servers.
WITH peak AS (
  SELECT fs, max(rate) AS peak FROM (
    SELECT fs, time, sum(samples) / max(interval_s) AS rate FROM lmt_mdt_op
    WHERE op IN ('open', 'getattr', 'mknod') AND interval_s > 0 AND interval_s <= 30 AND ($from IS NULL OR time >= $from - INTERVAL '12 hours') AND ($to IS NULL OR time < $to + INTERVAL '12 hours')
    GROUP BY fs, time
  ) GROUP BY fs
), spent AS (
  SELECT job_id, log_id, fs, sum(meta_time) AS meta_time FROM darshan_file WHERE NOT is_stream AND fs IS NOT NULL AND ($job IS NULL OR job_id = $job) GROUP BY job_id, log_id, fs
), rate AS (
  SELECT *, CASE WHEN ops_s > own_ops_s THEN ops_s - own_ops_s WHEN ops_s IS NOT NULL THEN 0.0 END AS others FROM (
  SELECT job_id, log_id, fs, nprocs, run_time, coverage, coalesce(opens_s, 0.0) + coalesce(stats_s, 0.0) AS own_ops_s, mds_opens_s + mds_getattrs_s + mds_mknods_s AS ops_s
  FROM metadata_load("from" => $from, "to" => $to, job => $job, n => 1000000000))
)
SELECT r.job_id, r.log_id, r.fs, r.run_time, s.meta_time / r.nprocs AS meta_time, r.own_ops_s, r.ops_s, r.others AS others_ops_s, ratio(r.others, r.ops_s) AS others_share, p.peak AS peak_ops_s, r.coverage
FROM rate r JOIN spent s ON s.job_id = r.job_id AND s.log_id = r.log_id AND s.fs = r.fs LEFT JOIN peak p ON p.fs = r.fs
ORDER BY others_ops_s DESC, job_id, log_id, fs
