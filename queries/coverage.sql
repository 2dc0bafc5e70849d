--- doc = "How much of what happened the lake knows: the denominator of every share"
--- grain = "one day (UTC) and file system; fs NULL: the day's jobs and logs"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "First day; the first of the lake if not given"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "First day that no longer belongs"

-- A file's bytes are spread evenly over its window, a job's node-hours over its run; each day gets its part (semantics.md 8).
WITH moved AS (
  SELECT fs, 'read' AS direction, bytes_read AS bytes, CAST(read_start_time AS BIGINT) AS a, CAST(read_end_time AS BIGINT) AS b
  FROM darshan_file WHERE NOT is_stream AND bytes_read > 0 AND fs IS NOT NULL AND read_start_time IS NOT NULL AND read_end_time IS NOT NULL
  UNION ALL
  SELECT fs, 'write', bytes_written, CAST(write_start_time AS BIGINT), CAST(write_end_time AS BIGINT)
  FROM darshan_file WHERE NOT is_stream AND bytes_written > 0 AND fs IS NOT NULL AND write_start_time IS NOT NULL AND write_end_time IS NOT NULL
), moved_day AS (
  SELECT fs, direction, bytes, a, b, unnest(generate_series(a / 86400000000, greatest(b, a) / 86400000000)) AS day FROM moved
), darshan AS (
  SELECT fs, day, sum(CASE WHEN direction = 'read' THEN bytes * share ELSE 0.0 END) AS bytes_read,
    sum(CASE WHEN direction = 'write' THEN bytes * share ELSE 0.0 END) AS bytes_written
  FROM (SELECT fs, direction, bytes, day, CASE WHEN b > a
    THEN CAST(least(b, (day + 1) * 86400000000) - greatest(a, day * 86400000000) AS DOUBLE) / (b - a) ELSE 1.0 END AS share FROM moved_day)
  GROUP BY fs, day
), ost AS (
  SELECT fs, CAST(time AS BIGINT) / 86400000000 AS day, ost, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
    sum(CASE WHEN interval_s <= 30 THEN interval_s ELSE 0.0 END) AS seconds
  FROM lmt_ost GROUP BY fs, CAST(time AS BIGINT) / 86400000000, ost
), lmt AS (
  SELECT fs, day, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, count(*) AS osts, avg(seconds) / 86400.0 AS sampled
  FROM ost GROUP BY fs, day
), fs_day AS (
  SELECT coalesce(l.fs, d.fs) AS fs, coalesce(l.day, d.day) AS day, l.bytes_read AS lmt_read, l.bytes_written AS lmt_written, l.osts, l.sampled,
    d.bytes_read AS darshan_read, d.bytes_written AS darshan_written
  FROM lmt l FULL JOIN darshan d ON d.fs = l.fs AND d.day = l.day
), ran AS (
  SELECT job_id, submit_time, node_count, logs, CAST(start_time AS BIGINT) AS a, CAST(coalesce(end_time, start_time) AS BIGINT) AS b
  FROM slurm_job_io WHERE start_time IS NOT NULL
), ran_day AS (
  SELECT *, unnest(generate_series(a / 86400000000, greatest(b, a) / 86400000000)) AS day FROM ran
), jobs AS (
  SELECT day, count(*) AS slurm_jobs, sum(CASE WHEN logs > 0 THEN 1 ELSE 0 END) AS slurm_jobs_with_log, sum(node_hours) AS node_hours,
    sum(CASE WHEN logs > 0 THEN node_hours ELSE 0.0 END) AS node_hours_with_log
  FROM (SELECT day, logs, node_count * CAST(greatest(least(b, (day + 1) * 86400000000) - greatest(a, day * 86400000000), 0) AS DOUBLE) / 3600000000 AS node_hours FROM ran_day)
  GROUP BY day
), logs AS (
  SELECT CAST(start_time AS BIGINT) / 86400000000 AS day, count(*) AS logs, sum(CASE WHEN partial THEN 1 ELSE 0 END) AS logs_partial,
    sum(CASE WHEN status = 'damaged' THEN 1 ELSE 0 END) AS logs_damaged, sum(CASE WHEN match = 'none' THEN 1 ELSE 0 END) AS logs_without_job
  FROM job WHERE start_time IS NOT NULL GROUP BY CAST(start_time AS BIGINT) / 86400000000
), any_day AS (
  SELECT coalesce(j.day, l.day) AS day, j.slurm_jobs, j.slurm_jobs_with_log, j.node_hours, j.node_hours_with_log, l.logs, l.logs_partial,
    l.logs_damaged, l.logs_without_job
  FROM jobs j FULL JOIN logs l ON l.day = j.day
), whole AS (
  SELECT day, fs, osts, sampled, lmt_read, lmt_written, darshan_read, darshan_written, CAST(NULL AS BIGINT) AS slurm_jobs, CAST(NULL AS BIGINT) AS slurm_jobs_with_log,
    CAST(NULL AS DOUBLE) AS node_hours, CAST(NULL AS DOUBLE) AS node_hours_with_log, CAST(NULL AS BIGINT) AS logs, CAST(NULL AS BIGINT) AS logs_partial,
    CAST(NULL AS BIGINT) AS logs_damaged, CAST(NULL AS BIGINT) AS logs_without_job
  FROM fs_day
  UNION ALL
  SELECT day, NULL, NULL, NULL, NULL, NULL, NULL, NULL, slurm_jobs, slurm_jobs_with_log, node_hours, node_hours_with_log, logs, logs_partial, logs_damaged, logs_without_job
  FROM any_day
)
SELECT to_char(to_timestamp_seconds(day * 86400), '%Y-%m-%d') AS day, fs, osts, sampled, lmt_read, darshan_read, darshan_read / nullif(lmt_read, 0) AS share_read,
  lmt_written, darshan_written, darshan_written / nullif(lmt_written, 0) AS share_written,
  slurm_jobs, slurm_jobs_with_log, CAST(slurm_jobs_with_log AS DOUBLE) / nullif(slurm_jobs, 0) AS share_jobs,
  node_hours, node_hours_with_log, node_hours_with_log / nullif(node_hours, 0) AS share_node_hours,
  logs, logs_without_job, logs_partial, logs_damaged
FROM whole
WHERE ($from IS NULL OR (day + 1) * 86400000000 > CAST($from AS BIGINT)) AND ($to IS NULL OR day * 86400000000 < CAST($to AS BIGINT))
ORDER BY day, fs NULLS FIRST
