-- Logs by opens and stats in a second, beside what the metadata servers did meanwhile (lmt_mdt_op rows cover (start_time, time]).
-- param from timestamp NULL
-- param to timestamp NULL
-- param fs text NULL
-- param job int NULL
-- param limit int 20
-- with limit=1000000
-- with from=2026-09-11T10:00:00 to=2026-09-11T16:00:00 limit=1000000
-- with fs=home limit=50
WITH every AS (
  SELECT j.job_id, j.log_id, f.fs, j."user", j.app, j.nprocs, j.node_count, j.start_time, j.end_time, greatest(j.run_time, 1) AS run_time,
    sum(f.opens) AS opens, sum(f.stats) AS stats, count(*) FILTER (f.bytes_written > 0) AS written
  FROM darshan_file f JOIN job j USING (log_id)
  WHERE f.fs IS NOT NULL AND NOT f.is_stream AND coalesce(f.job_id = $job, $job IS NULL) AND coalesce(f.fs = $fs, $fs IS NULL) AND coalesce(j.end_time >= $from, $from IS NULL) AND coalesce(j.start_time < $to, $to IS NULL)
  GROUP BY ALL
), load AS (
  SELECT * FROM every ORDER BY (coalesce(opens, 0) + coalesce(stats, 0)) / run_time DESC, job_id, log_id, fs LIMIT $limit
), op AS (  -- Intervals of each MDT that end while the log runs, and one more; where they lie in the run's seconds.
  SELECT log_id, l.fs, m.op, m.mdt, m.interval_s, m.samples, run_time, date_diff('microsecond', l.start_time, m.start_time) / 1e6 AS a, date_diff('microsecond', l.start_time, m.time) / 1e6 AS b
  FROM load l JOIN lmt_mdt_op m ON m.fs = l.fs AND m.time > l.start_time AND m.time <= l.end_time + INTERVAL 5 SECONDS AND m.interval_s <= 30
), rate AS (
  SELECT log_id, fs, mdt, op, sum(samples) / sum(interval_s) AS per_s, sum(greatest(0, least(b, run_time) - greatest(a, 0))) / any_value(run_time) AS known FROM op GROUP BY ALL
), served AS (
  SELECT log_id, fs, sum(per_s) FILTER (op = 'open') AS open, sum(per_s) FILTER (op = 'getattr') AS getattr, sum(per_s) FILTER (op = 'mknod') AS mknod,
    avg(known) FILTER (op = 'open') AS known
  FROM rate GROUP BY ALL
)
SELECT job_id, log_id, fs, "user", app, nprocs, node_count, start_time, run_time, opens / run_time AS opens_s, stats / run_time AS stats_s, written / run_time AS creates_s_at_most,
  open AS mds_opens_s, getattr AS mds_getattrs_s, mknod AS mds_mknods_s, coalesce(known, 0) AS coverage
FROM load LEFT JOIN served USING (log_id, fs)
