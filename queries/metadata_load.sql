--- doc = "Logs by the opens, stats and creates that they ask for in a second, beside what the metadata servers did meanwhile"
--- grain = "one log and file system"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that end at this time or later; all if not given"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before this time; all if not given"
--- [[param]]
--- name = "fs"
--- type = "text"
--- default = "NULL"
--- doc = "File system; all if not given"
--- [[param]]
--- name = "limit"
--- type = "int"
--- default = "20"
--- doc = "Logs"

-- Darshan does not count creates: a file that was written is one at most. What the servers did is that of all MDTs of the file
-- system in the intervals that end while the log runs, and one more.
WITH asked AS (
  SELECT f.job_id, f.log_id, f.fs, sum(f.opens) AS opens, sum(f.stats) AS stats,
    sum(CASE WHEN f.bytes_written > 0 THEN 1 ELSE 0 END) AS creates_at_most
  FROM darshan_file f WHERE NOT f.is_stream AND f.fs IS NOT NULL AND ($fs IS NULL OR f.fs = $fs) GROUP BY f.job_id, f.log_id, f.fs
), busy AS (
  SELECT a.job_id, a.log_id, a.fs, j."user", j.app, j.nprocs, j.node_count, j.start_time, j.end_time,
    greatest(j.run_time, 1.0) AS seconds, a.opens, a.stats, a.creates_at_most
  FROM asked a JOIN job j ON j.job_id = a.job_id AND j.log_id = a.log_id
  WHERE ($from IS NULL OR j.end_time >= $from) AND ($to IS NULL OR j.start_time < $to)
  ORDER BY (a.opens + a.stats) / greatest(j.run_time, 1.0) DESC, a.job_id, a.log_id LIMIT $limit
), op AS (
  SELECT fs, time, max(interval_s) AS interval_s, sum(CASE WHEN op = 'open' THEN samples ELSE 0 END) AS opens,
    sum(CASE WHEN op = 'getattr' THEN samples ELSE 0 END) AS getattrs, sum(CASE WHEN op = 'mknod' THEN samples ELSE 0 END) AS mknods,
    CAST(time AS BIGINT) / 600000000 AS bucket
  FROM lmt_mdt_op WHERE op IN ('open', 'getattr', 'mknod') AND interval_s <= 30 GROUP BY fs, time
), spell AS (
  SELECT *, unnest(generate_series(CAST(start_time AS BIGINT) / 600000000, (CAST(end_time AS BIGINT) + 5000000) / 600000000)) AS bucket FROM busy
), server AS (
  SELECT m.log_id, m.fs, sum(o.opens) AS opens, sum(o.getattrs) AS getattrs, sum(o.mknods) AS mknods, sum(o.interval_s) AS seconds
  FROM spell m JOIN op o ON o.fs = m.fs AND o.bucket = m.bucket
  WHERE o.time > m.start_time AND o.time <= m.end_time + INTERVAL '5 seconds' GROUP BY m.log_id, m.fs
)
SELECT b.job_id, b.log_id, b.fs, b."user", b.app, b.nprocs, b.node_count, b.start_time, b.seconds AS run_time,
  b.opens / b.seconds AS opens_s, b.stats / b.seconds AS stats_s, b.creates_at_most / b.seconds AS creates_s_at_most,
  s.opens / s.seconds AS mds_opens_s, s.getattrs / s.seconds AS mds_getattrs_s, s.mknods / s.seconds AS mds_mknods_s,
  least(coalesce(s.seconds, 0.0) / b.seconds, 1.0) AS coverage
FROM busy b LEFT JOIN server s ON s.log_id = b.log_id AND s.fs = b.fs
ORDER BY (b.opens + b.stats) / b.seconds DESC, b.job_id, b.log_id
