--- doc = "How complete the logs are: share of the LMT bytes, jobs and node-hours of each day that Darshan logs explain"
--- grain = "one day and file system; fs NULL: the day's jobs and logs"
--- columns = [
---   { name = "day", type = "Utf8", doc = "Day in the time zone of the lake, or the one asked for, such as 2026-09-01; of the first and the last only what lies in the period" },
---   { name = "fs", type = "Utf8", doc = "File system; NULL in the rows of jobs and logs" },
---   { name = "osts", type = "Int64", unit = "count", doc = "OSTs that LMT has samples of" },
---   { name = "sampled", type = "Float64", unit = "fraction", doc = "Share of the day for which LMT has samples, intervals longer than 30 s left out" },
---   { name = "lmt_read", type = "Int64", unit = "B", doc = "Bytes that the OSTs read, by LMT" },
---   { name = "darshan_read", type = "Float64", unit = "B", doc = "Bytes that the logs' files were read, streams left out, each spread evenly over its window" },
---   { name = "share_read", type = "Float64", unit = "fraction", doc = "Darshan's part of lmt_read: of darshan_read only what lies in the time that LMT has samples of" },
---   { name = "lmt_written", type = "Int64", unit = "B", doc = "Bytes that the OSTs wrote, by LMT" },
---   { name = "darshan_written", type = "Float64", unit = "B", doc = "Bytes that were written to the logs' files, in the same way" },
---   { name = "share_written", type = "Float64", unit = "fraction", doc = "Darshan's part of lmt_written, in the same way" },
---   { name = "slurm_jobs", type = "Int64", unit = "count", doc = "Slurm records that ran on the day; one that ran on two days counts on both" },
---   { name = "slurm_jobs_with_log", type = "Int64", unit = "count", doc = "Those of them with a Darshan log" },
---   { name = "share_jobs", type = "Float64", unit = "fraction", doc = "slurm_jobs_with_log of slurm_jobs" },
---   { name = "node_hours", type = "Float64", unit = "h", doc = "Nodes times hours of these records on the day, suspended time left out; if a record was dumped while its job ran, the hours up to ran_until of slurm_job_io" },
---   { name = "node_hours_with_log", type = "Float64", unit = "h", doc = "That of those with a Darshan log" },
---   { name = "share_node_hours", type = "Float64", unit = "fraction", doc = "node_hours_with_log of node_hours" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Darshan logs that start on the day" },
---   { name = "logs_without_job", type = "Int64", unit = "count", doc = "Those of them without a Slurm record" },
---   { name = "logs_partial", type = "Int64", unit = "count", doc = "Those in which Darshan ran out of memory" },
---   { name = "logs_damaged", type = "Int64", unit = "count", doc = "Those of which not all could be read" },
--- ]
--- chart = { form = "line", x = "day", y = ["share_read", "share_written", "share_jobs", "share_node_hours"], series = "fs" }
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Beginning of the period (default: that of the lake)"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "End of the period (exclusive)"

-- A file's bytes are spread evenly over its window, a job's node-hours over its run; each day gets its part (SEMANTICS.md 8).
-- Times are microseconds since 1970, a day is that of its first instant in the zone; its part begins at `first` and ends before `last`. Days are 23 to 25 hours long where clocks
-- are changed: half a day after another begins is in it, and a day and a half after is in the next. Nanoseconds, in which times of zones are, end in 2262.
WITH moved AS (
  SELECT fs, 'read' AS direction, bytes_read AS bytes, CAST(read_start_time AS BIGINT) AS a, CAST(read_end_time AS BIGINT) AS b
  FROM darshan_file WHERE NOT is_stream AND bytes_read > 0 AND fs IS NOT NULL AND read_start_time IS NOT NULL AND read_end_time IS NOT NULL AND read_end_time < TIMESTAMP '2262-01-01'
    AND ($from IS NULL OR read_end_time >= $from) AND ($to IS NULL OR read_start_time < $to)
  UNION ALL
  SELECT fs, 'write', bytes_written, CAST(write_start_time AS BIGINT), CAST(write_end_time AS BIGINT)
  FROM darshan_file WHERE NOT is_stream AND bytes_written > 0 AND fs IS NOT NULL AND write_start_time IS NOT NULL AND write_end_time IS NOT NULL AND write_end_time < TIMESTAMP '2262-01-01'
    AND ($from IS NULL OR write_end_time >= $from) AND ($to IS NULL OR write_start_time < $to)
), moved_on AS (
  SELECT *, unnest(generate_series(day_a, day_b + 43200000000, 86400000000)) + 43200000000 AS noon
  FROM (SELECT *, CAST(date_trunc('day', to_timestamp_micros(a) AT TIME ZONE $zone) AS BIGINT) / 1000 AS day_a, CAST(date_trunc('day', to_timestamp_micros(greatest(b, a)) AT TIME ZONE $zone) AS BIGINT) / 1000 AS day_b FROM moved)
), moved_day AS (
  SELECT fs, direction, bytes, a, b, day, greatest(day, coalesce(CAST($from AS BIGINT), day)) AS first, least(next_day, coalesce(CAST($to AS BIGINT), next_day)) AS last
  FROM (SELECT *, CAST(date_trunc('day', to_timestamp_micros(noon) AT TIME ZONE $zone) AS BIGINT) / 1000 AS day, CAST(date_trunc('day', to_timestamp_micros(noon + 86400000000) AT TIME ZONE $zone) AS BIGINT) / 1000 AS next_day FROM moved_on)
  -- Days outside of the period, which a file may reach into, have no row.
  WHERE ($from IS NULL OR next_day > CAST($from AS BIGINT)) AND ($to IS NULL OR day < CAST($to AS BIGINT))
), ost_quarter AS (
  -- A quarter of an hour is of one day in all zones: millions of samples need not go through the calendar.
  SELECT fs, CAST(time AS BIGINT) / 900000000 AS quarter, ost, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
    sum(CASE WHEN interval_s <= 30 THEN interval_s ELSE 0.0 END) AS seconds
  FROM lmt_ost WHERE ($from IS NULL OR time >= $from) AND ($to IS NULL OR time < $to)
  GROUP BY fs, CAST(time AS BIGINT) / 900000000, ost
), ost AS (
  SELECT fs, day, ost, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, sum(seconds) AS seconds
  FROM (SELECT *, CAST(date_trunc('day', to_timestamp_micros(quarter * 900000000) AT TIME ZONE $zone) AS BIGINT) / 1000 AS day FROM ost_quarter) GROUP BY fs, day, ost
), lmt AS (
  SELECT fs, day, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, count(*) AS osts, avg(seconds) AS seconds FROM ost GROUP BY fs, day
), sample AS (
  SELECT fs, CAST(start_time AS BIGINT) AS c, CAST(time AS BIGINT) AS d
  FROM lmt_ost WHERE interval_s <= 30 AND start_time IS NOT NULL AND ($from IS NULL OR time >= $from) AND ($to IS NULL OR time < $to) GROUP BY fs, start_time, time
), marked AS (
  SELECT *, CASE WHEN c > max(d) OVER (PARTITION BY fs ORDER BY c, d ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 1 ELSE 0 END AS after_gap FROM sample
), sampled AS (
  -- Periods without a gap.
  SELECT fs, min(c) AS c, max(d) AS d
  FROM (SELECT *, sum(after_gap) OVER (PARTITION BY fs ORDER BY c, d ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS nth FROM marked) GROUP BY fs, nth
), seen AS (
  SELECT m.fs, m.day, m.direction, sum(m.bytes * CASE WHEN m.b > m.a THEN CAST(least(m.b, m.last, s.d) - greatest(m.a, m.first, s.c) AS DOUBLE) / (m.b - m.a) ELSE 1.0 END) AS bytes
  FROM moved_day m JOIN sampled s ON s.fs = m.fs
  WHERE CASE WHEN m.b > m.a THEN s.c < least(m.b, m.last) AND s.d > greatest(m.a, m.first) ELSE m.a >= greatest(m.first, s.c) AND m.a < least(m.last, s.d) END
  GROUP BY m.fs, m.day, m.direction
), part AS (
  SELECT fs, direction, bytes, day,
    CASE WHEN b > a THEN CAST(greatest(least(b, last) - greatest(a, first), 0) AS DOUBLE) / (b - a) WHEN a >= first AND a < last THEN 1.0 ELSE 0.0 END AS share
  FROM moved_day
), darshan AS (
  SELECT p.fs, p.day, sum(CASE WHEN p.direction = 'read' THEN p.bytes * p.share ELSE 0.0 END) AS bytes_read,
    sum(CASE WHEN p.direction = 'write' THEN p.bytes * p.share ELSE 0.0 END) AS bytes_written,
    coalesce(min(r.bytes), 0.0) AS sampled_read, coalesce(min(w.bytes), 0.0) AS sampled_written
  FROM part p LEFT JOIN seen r ON r.fs = p.fs AND r.day = p.day AND r.direction = 'read' LEFT JOIN seen w ON w.fs = p.fs AND w.day = p.day AND w.direction = 'write'
  GROUP BY p.fs, p.day
), fs_day AS (
  SELECT coalesce(l.fs, d.fs) AS fs, coalesce(l.day, d.day) AS day, l.bytes_read AS lmt_read, l.bytes_written AS lmt_written, l.osts,
    l.seconds * 1000000.0 / (CAST(date_trunc('day', to_timestamp_micros(l.day + 129600000000) AT TIME ZONE $zone) AS BIGINT) / 1000 - l.day) AS sampled, d.bytes_read AS darshan_read, d.bytes_written AS darshan_written, d.sampled_read, d.sampled_written
  FROM lmt l FULL JOIN darshan d ON d.fs = l.fs AND d.day = l.day
), ran AS (
  SELECT node_hours, logs, CAST(start_time AS BIGINT) AS a,
    greatest(CAST(ran_until AS BIGINT), CAST(start_time AS BIGINT)) AS b
  FROM slurm_job_io WHERE start_time IS NOT NULL AND ($to IS NULL OR start_time < $to)
), ran_on AS (
  SELECT *, unnest(generate_series(day_a, day_b + 43200000000, 86400000000)) + 43200000000 AS noon
  FROM (SELECT *, CAST(date_trunc('day', to_timestamp_micros(a) AT TIME ZONE $zone) AS BIGINT) / 1000 AS day_a, CAST(date_trunc('day', to_timestamp_micros(b) AT TIME ZONE $zone) AS BIGINT) / 1000 AS day_b FROM ran WHERE $from IS NULL OR b >= CAST($from AS BIGINT))
), ran_day AS (
  SELECT *, greatest(day, coalesce(CAST($from AS BIGINT), day)) AS first, least(next_day, coalesce(CAST($to AS BIGINT), next_day)) AS last
  FROM (SELECT *, CAST(date_trunc('day', to_timestamp_micros(noon) AT TIME ZONE $zone) AS BIGINT) / 1000 AS day, CAST(date_trunc('day', to_timestamp_micros(noon + 86400000000) AT TIME ZONE $zone) AS BIGINT) / 1000 AS next_day FROM ran_on)
), jobs AS (
  SELECT day, count(*) AS slurm_jobs, sum(CASE WHEN logs > 0 THEN 1 ELSE 0 END) AS slurm_jobs_with_log,
    -- Whole microseconds: floats have another sum in each order.
    sum(CAST(round(node_us * share) AS BIGINT)) / 3600000000.0 AS node_hours, sum(CASE WHEN logs > 0 THEN CAST(round(node_us * share) AS BIGINT) ELSE 0 END) / 3600000000.0 AS node_hours_with_log
  FROM (
    SELECT day, logs, node_hours * 3600000000.0 AS node_us, CASE WHEN b > a THEN CAST(least(b, last) - greatest(a, first) AS DOUBLE) / (b - a) ELSE 1.0 END AS share
    FROM ran_day WHERE least(b, last) > greatest(a, first) OR (a = b AND a >= first AND a < last)
  ) GROUP BY day
), logs AS (
  SELECT day, count(*) AS logs, sum(CASE WHEN partial THEN 1 ELSE 0 END) AS logs_partial,
    sum(CASE WHEN status = 'damaged' THEN 1 ELSE 0 END) AS logs_damaged, sum(CASE WHEN match = 'none' THEN 1 ELSE 0 END) AS logs_without_job
  FROM (
    SELECT partial, status, match, CAST(date_trunc('day', start_time AT TIME ZONE $zone) AS BIGINT) / 1000 AS day FROM job
    WHERE start_time < TIMESTAMP '2262-01-01' AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
  ) GROUP BY day
), any_day AS (
  SELECT coalesce(j.day, l.day) AS day, j.slurm_jobs, j.slurm_jobs_with_log, j.node_hours, j.node_hours_with_log, l.logs, l.logs_partial,
    l.logs_damaged, l.logs_without_job
  FROM jobs j FULL JOIN logs l ON l.day = j.day
), whole AS (
  SELECT day, fs, osts, sampled, lmt_read, lmt_written, darshan_read, darshan_written, sampled_read, sampled_written, CAST(NULL AS BIGINT) AS slurm_jobs,
    CAST(NULL AS BIGINT) AS slurm_jobs_with_log, CAST(NULL AS DOUBLE) AS node_hours, CAST(NULL AS DOUBLE) AS node_hours_with_log, CAST(NULL AS BIGINT) AS logs,
    CAST(NULL AS BIGINT) AS logs_partial, CAST(NULL AS BIGINT) AS logs_damaged, CAST(NULL AS BIGINT) AS logs_without_job
  FROM fs_day
  UNION ALL
  SELECT day, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, slurm_jobs, slurm_jobs_with_log, node_hours, node_hours_with_log, logs, logs_partial,
    logs_damaged, logs_without_job
  FROM any_day
)
SELECT to_char(to_timestamp_micros(day) AT TIME ZONE $zone, '%Y-%m-%d') AS day, fs, osts, sampled, lmt_read, darshan_read,
  sampled_read / nullif(lmt_read, 0) AS share_read, lmt_written, darshan_written, sampled_written / nullif(lmt_written, 0) AS share_written,
  slurm_jobs, slurm_jobs_with_log, CAST(slurm_jobs_with_log AS DOUBLE) / nullif(slurm_jobs, 0) AS share_jobs,
  node_hours, node_hours_with_log, node_hours_with_log / nullif(node_hours, 0) AS share_node_hours,
  logs, logs_without_job, logs_partial, logs_damaged
FROM whole ORDER BY day, fs NULLS FIRST
