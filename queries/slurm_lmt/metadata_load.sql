--- doc = "Logs ranked by opens and stats per second of run time, with the rates of the metadata servers in the same time"
--- grain = "one log and file system"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "user", type = "Utf8", doc = "User name by Slurm, else a guess from the log's file name" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes" },
---   { name = "node_count", type = "Int64", unit = "count", doc = "Nodes" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "run_time", type = "Float64", unit = "s", doc = "Run time of the program, at least 1 s" },
---   { name = "opens_s", type = "Float64", unit = "1/s", doc = "Opens a second on average over the run" },
---   { name = "stats_s", type = "Float64", unit = "1/s", doc = "Stats a second on average over the run; NULL if no file has a count of them" },
---   { name = "creates_s_at_most", type = "Float64", unit = "1/s", doc = "Files that were written to, a second: no more can have been created" },
---   { name = "mds_opens_s", type = "Float64", unit = "1/s", doc = "Opens per second on all MDTs of the file system during the run, by LMT" },
---   { name = "mds_getattrs_s", type = "Float64", unit = "1/s", doc = "Getattrs a second, in the same way" },
---   { name = "mds_mknods_s", type = "Float64", unit = "1/s", doc = "Mknods a second, in the same way" },
---   { name = "coverage", type = "Float64", unit = "fraction", doc = "Share of the run for which LMT has samples" },
--- ]
--- chart = { form = "scatter", x = "start_time", y = "opens_s", series = "fs", label = "app", log = ["y"] }
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
--- name = "fs"
--- type = "text"
--- default = "NULL"
--- doc = "File system (default: all)"
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"
--- [[param]]
--- name = "n"
--- aliases = ["limit"]
--- type = "int"
--- default = "20"
--- doc = "How many logs"

-- Darshan does not count creates: a file that was written is one at most. What the servers did is that of all MDTs of the file
-- system in the intervals that end while the log runs, and one more.
WITH asked AS (
  SELECT f.job_id, f.log_id, f.fs, sum(f.opens) AS opens, sum(f.stats) AS stats,
    sum(CASE WHEN f.bytes_written > 0 THEN 1 ELSE 0 END) AS creates_at_most
  FROM darshan_file f WHERE NOT f.is_stream AND f.fs IS NOT NULL AND ($fs IS NULL OR f.fs = $fs) AND ($job IS NULL OR f.job_id = $job) GROUP BY f.job_id, f.log_id, f.fs
), busy AS (
  SELECT a.job_id, a.log_id, a.fs, j."user", j.app, j.nprocs, j.node_count, j.start_time, j.end_time,
    greatest(j.run_time, 1.0) AS seconds, a.opens, a.stats, a.creates_at_most
  FROM asked a JOIN job j ON j.job_id = a.job_id AND j.log_id = a.log_id
  WHERE ($from IS NULL OR j.end_time >= $from) AND ($to IS NULL OR j.start_time < $to)
  ORDER BY (coalesce(a.opens, 0) + coalesce(a.stats, 0)) / greatest(j.run_time, 1.0) DESC NULLS LAST, a.job_id, a.log_id LIMIT $n
), op AS (
  SELECT fs, time, max(interval_s) AS interval_s, CAST(time AS BIGINT) AS d, CAST(time AS BIGINT) - CAST(max(interval_s) * 1000000.0 AS BIGINT) AS c, sum(CASE WHEN op = 'open' THEN samples ELSE 0 END) AS opens,
    sum(CASE WHEN op = 'getattr' THEN samples ELSE 0 END) AS getattrs, sum(CASE WHEN op = 'mknod' THEN samples ELSE 0 END) AS mknods,
    CAST(time AS BIGINT) / 600000000 AS bucket
  FROM lmt_mdt_op WHERE op IN ('open', 'getattr', 'mknod') AND interval_s <= 30 GROUP BY fs, time
), spell AS (
  SELECT *, unnest(generate_series(CAST(start_time AS BIGINT) / 600000000, (CAST(end_time AS BIGINT) + 5000000) / 600000000)) AS bucket FROM busy
), server AS (
  SELECT m.log_id, m.fs, sum(o.opens) AS opens, sum(o.getattrs) AS getattrs, sum(o.mknods) AS mknods, sum(o.interval_s) AS seconds,
    sum(greatest(least(CAST(o.d - CAST(m.start_time AS BIGINT) AS DOUBLE) / 1000000.0, m.seconds) - greatest(CAST(o.c - CAST(m.start_time AS BIGINT) AS DOUBLE) / 1000000.0, 0.0), 0.0)) AS inside
  FROM spell m JOIN op o ON o.fs = m.fs AND o.bucket = m.bucket
  WHERE o.time > m.start_time AND o.time <= m.end_time + INTERVAL '5 seconds' GROUP BY m.log_id, m.fs
)
SELECT b.job_id, b.log_id, b.fs, b."user", b.app, b.nprocs, b.node_count, b.start_time, b.seconds AS run_time,
  b.opens / b.seconds AS opens_s, b.stats / b.seconds AS stats_s, b.creates_at_most / b.seconds AS creates_s_at_most,
  s.opens / s.seconds AS mds_opens_s, s.getattrs / s.seconds AS mds_getattrs_s, s.mknods / s.seconds AS mds_mknods_s,
  least(coalesce(s.inside, 0.0) / b.seconds, 1.0) AS coverage
FROM busy b LEFT JOIN server s ON s.log_id = b.log_id AND s.fs = b.fs
ORDER BY (coalesce(b.opens, 0) + coalesce(b.stats, 0)) / b.seconds DESC NULLS LAST, b.job_id, b.log_id
