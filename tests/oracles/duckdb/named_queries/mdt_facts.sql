-- Opens and stats of a log beside what the metadata servers of the file system did meanwhile: means over the run, others, and the busiest interval.
-- param from timestamp NULL
-- param to timestamp NULL
-- param job int NULL
-- with from=2026-09-11T10:00:00 to=2026-09-11T16:00:00
-- with job=6102078
-- near others_share 1
-- near others_ops_s ops_s
WITH every AS (
  SELECT l.job_id, l.log_id, f.fs, l.nprocs, l.start_time, l.end_time, greatest(l.run_time, 1) AS run_time, sum(f.opens) AS opens, sum(f.stats) AS stats, sum(f.meta_time) AS waited
  FROM darshan_file f JOIN darshan_log l USING (log_id)
  WHERE f.fs IS NOT NULL AND NOT f.is_stream AND coalesce(l.job_id = $job, $job IS NULL) AND coalesce(l.end_time >= $from, $from IS NULL) AND coalesce(l.start_time < $to, $to IS NULL)
  GROUP BY ALL
), op AS (
  SELECT log_id, e.fs, m.op, m.mdt, m.interval_s, m.samples, run_time, date_diff('microsecond', e.start_time, m.start_time) / 1e6 AS a, date_diff('microsecond', e.start_time, m.time) / 1e6 AS b
  FROM every e JOIN lmt_mdt_op m ON m.fs = e.fs AND m.time > e.start_time AND m.time <= e.end_time + INTERVAL 5 SECONDS AND m.interval_s <= 30
  WHERE m.op IN ('open', 'getattr', 'mknod')
), rate AS (
  SELECT log_id, fs, mdt, op, sum(samples) / sum(interval_s) AS per_s, sum(greatest(0, least(b, run_time) - greatest(a, 0))) / any_value(run_time) AS known FROM op GROUP BY ALL
), served AS (
  SELECT log_id, fs, sum(per_s) AS ops_s, avg(known) FILTER (op = 'open') AS known FROM rate GROUP BY ALL
), instant AS (
  SELECT fs, time, sum(samples / interval_s) AS rate FROM lmt_mdt_op
  WHERE op IN ('open', 'getattr', 'mknod') AND interval_s BETWEEN 1e-9 AND 30 AND coalesce(time >= $from::TIMESTAMP - INTERVAL 12 HOURS, $from IS NULL) AND coalesce(time < $to::TIMESTAMP + INTERVAL 12 HOURS, $to IS NULL) GROUP BY ALL
), peak AS (
  SELECT fs, max(rate) AS most FROM instant GROUP BY fs
)
SELECT job_id, log_id, fs, run_time, waited / nprocs AS meta_time, (coalesce(opens, 0) + coalesce(stats, 0)) / run_time AS own_ops_s, ops_s,
  CASE WHEN ops_s IS NOT NULL THEN greatest(ops_s - (coalesce(opens, 0) + coalesce(stats, 0)) / run_time, 0) END AS others_ops_s,
  CASE WHEN ops_s > 0 THEN greatest(1 - (coalesce(opens, 0) + coalesce(stats, 0)) / run_time / ops_s, 0) END AS others_share, most AS peak_ops_s, coalesce(known, 0) AS coverage
FROM every LEFT JOIN served USING (log_id, fs) LEFT JOIN peak USING (fs)
