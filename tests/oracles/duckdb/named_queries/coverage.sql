-- How much of what happened the lake knows, for each day: SEMANTICS.md 8. Bytes are spread evenly over each file's window, a
-- job's node-hours over its run; of Darshan's bytes share_* counts those in the time that LMT has samples of.
-- param from timestamp NULL
-- param to timestamp NULL
-- with from=2026-09-11 to=2026-09-12
-- with from=2026-09-11T11:30:00 to=2026-09-11T12:10:00
-- with from=2026-09-30T12:00:00
-- with from=2018-01-28 to=2018-01-29
-- near share_read 1
-- near share_written 1
WITH period AS (
  SELECT coalesce(epoch_us($from::TIMESTAMP), -9e18::BIGINT) AS p0, coalesce(epoch_us($to::TIMESTAMP), 9e18::BIGINT) AS p1, 86400000000 AS d
), moved AS (
  SELECT fs, bytes_read AS r, 0 AS w, epoch_us(read_start_time) AS a, epoch_us(read_end_time) AS b FROM darshan_file WHERE NOT is_stream AND bytes_read > 0
  UNION ALL
  SELECT fs, 0, bytes_written, epoch_us(write_start_time), epoch_us(write_end_time) FROM darshan_file WHERE NOT is_stream AND bytes_written > 0
), moved_on AS (
  SELECT *, unnest(generate_series(a // d, b // d)) AS day FROM moved, period WHERE fs IS NOT NULL AND a <= b AND a < p1 AND b >= p0
), piece AS (  -- The part of each window in each day and in the period.
  SELECT fs, r, w, day, b - a AS length, greatest(a, day * d, p0) AS a, least(b, (day + 1) * d, p1) AS b, a AS begins FROM moved_on
  WHERE day * d < p1 AND (day + 1) * d > p0
), sample AS (
  SELECT DISTINCT fs, epoch_us(start_time) AS s, epoch_us(time) AS e FROM lmt_ost, period WHERE interval_s <= 30 AND epoch_us(time) >= p0 AND epoch_us(time) < p1
), marked AS (  -- Runs of samples without a gap.
  SELECT *, s > coalesce(max(e) OVER (PARTITION BY fs ORDER BY s, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), s - 1) AS opens FROM sample
), run AS (
  SELECT fs, min(s) AS s, max(e) AS e FROM (SELECT *, count(*) FILTER (opens) OVER (PARTITION BY fs ORDER BY s, e ROWS UNBOUNDED PRECEDING) AS k FROM marked) GROUP BY fs, k
), seen AS (
  SELECT p.fs, p.day, r, w, CASE WHEN length > 0 THEN (least(p.b, e) - greatest(p.a, s)) / length ELSE 1 END AS share
  FROM piece p JOIN run ON run.fs = p.fs AND (CASE WHEN length > 0 THEN s < p.b AND e > p.a ELSE begins >= s AND begins < e END)
), darshan AS (
  SELECT fs, day, sum(r * share) AS r, sum(w * share) AS w FROM (SELECT *, CASE WHEN length > 0 THEN greatest(0, b - a) / length ELSE (begins >= a AND begins < b)::INT END AS share FROM piece) GROUP BY ALL
), both_known AS (
  SELECT fs, day, sum(r * share) AS seen_r, sum(w * share) AS seen_w FROM seen GROUP BY ALL
), lmt AS (
  SELECT fs, epoch_us(time) // d AS day, count(DISTINCT ost) AS osts, sum(bytes_read) AS r, sum(bytes_written) AS w,
    coalesce(sum(interval_s) FILTER (interval_s <= 30), 0) / count(DISTINCT ost) / 86400 AS sampled
  FROM lmt_ost, period WHERE epoch_us(time) >= p0 AND epoch_us(time) < p1 GROUP BY ALL
), job_run AS (
  SELECT logs, node_hours, epoch_us(start_time) AS a, greatest(epoch_us(ran_until), epoch_us(start_time)) AS b
  FROM slurm_job_io WHERE start_time IS NOT NULL
), job_on AS (
  SELECT *, unnest(generate_series(a // d, b // d)) AS day FROM job_run, period
), job_day AS (
  SELECT day, logs > 0 AS known, node_hours * CASE WHEN b > a THEN (least(b, (day + 1) * d, p1) - greatest(a, day * d, p0)) / (b - a) ELSE 1 END AS hours
  FROM job_on
  WHERE least(b, (day + 1) * d, p1) > greatest(a, day * d, p0) OR (a = b AND a >= p0 AND a < p1)
), jobs AS (
  SELECT day, count(*) AS slurm_jobs, count(*) FILTER (known) AS slurm_jobs_with_log, sum(hours) AS node_hours, coalesce(sum(hours) FILTER (known), 0) AS node_hours_with_log FROM job_day GROUP BY day
), logs AS (
  SELECT epoch_us(start_time) // d AS day, count(*) AS logs, count(*) FILTER (match = 'none') AS logs_without_job, count(*) FILTER (partial) AS logs_partial, count(*) FILTER (status = 'damaged') AS logs_damaged
  FROM job, period WHERE epoch_us(start_time) >= p0 AND epoch_us(start_time) < p1 GROUP BY ALL
), fs_day AS (
  SELECT day, fs, osts, sampled, l.r AS lmt_read, h.r AS darshan_read, l.w AS lmt_written, h.w AS darshan_written, coalesce(seen_r, CASE WHEN h.r IS NOT NULL THEN 0 END) / nullif(l.r, 0) AS share_read, coalesce(seen_w, CASE WHEN h.w IS NOT NULL THEN 0 END) / nullif(l.w, 0) AS share_written
  FROM lmt l FULL JOIN darshan h USING (fs, day) LEFT JOIN both_known USING (fs, day)
), everything AS (
  SELECT * FROM fs_day
  UNION ALL BY NAME
  SELECT *, slurm_jobs_with_log / slurm_jobs AS share_jobs, node_hours_with_log / nullif(node_hours, 0) AS share_node_hours FROM jobs FULL JOIN logs USING (day)
)
SELECT * REPLACE (strftime(make_timestamp(day * 86400000000), '%Y-%m-%d') AS day) FROM everything
