--- doc = "What to teach next: habits that cost I/O time by program, with what they cost in a period and in the one before"
--- grain = "one program and habit; code NULL in the first row: how much of the period the logs cover"
--- source = "The findings are those of advice"
--- columns = [
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "code", type = "Utf8", doc = "Code of Drishti; NULL in the row of coverage" },
---   { name = "rule", type = "Utf8", doc = "Name of the habit, or coverage" },
---   { name = "jobs", type = "Int64", unit = "count", doc = "Jobs of the program with the habit; in the row of coverage the Slurm records that start in the period" },
---   { name = "share_jobs", type = "Float64", unit = "fraction", doc = "Their share of the program's jobs with a log; in the row of coverage that of the Slurm records that have a log" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs with the habit; in the row of coverage all logs of the period" },
---   { name = "users", type = "Int64", unit = "count", doc = "User ids of these logs" },
---   { name = "node_hours", type = "Float64", unit = "h", doc = "Nodes times hours of these jobs by Slurm, each job once and as a whole, also what of it is after the period, as slurm_job_io has them; NULL if none has a Slurm record" },
---   { name = "share_node_hours", type = "Float64", unit = "fraction", doc = "Their share of the node-hours of the program's jobs; in the row of coverage that of the jobs with a log" },
---   { name = "jobs_without_record", type = "Int64", unit = "count", doc = "Jobs without a Slurm record, which node_hours lacks" },
---   { name = "io_hours", type = "Float64", unit = "h", doc = "Time that all processes spent in the files concerned, in the direction of the habit: more cannot be saved; NULL of what is well, or what a log is about" },
---   { name = "io_hours_before", type = "Float64", unit = "h", doc = "The same in the period before, which is as long and ends at from; NULL without from and to" },
---   { name = "change", type = "Float64", doc = "(io_hours - io_hours_before) / io_hours_before; NULL where that is 0" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Bytes that these logs read and wrote, streams included" },
---   { name = "example_job", type = "Int64", doc = "The job with the log that it costs most time" },
---   { name = "advice", type = "Utf8", doc = "What to do; NULL where there is nothing to do" },
--- ]
--- chart = { form = "heat_map", x = "rule", y = "app", z = "io_hours", log = ["z"] }
--- [[param]]
--- name = "app"
--- type = "text"
--- default = "NULL"
--- doc = "Program (default: all)"
--- [[param]]
--- name = "user"
--- type = "text"
--- default = "NULL"
--- doc = "User, by Slurm, else by the log's file name (default: all)"
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
--- [[param]]
--- name = "min_cost"
--- type = "float"
--- default = "1"
--- doc = "Cost in one log, s, below which a finding is info"
--- [[param]]
--- name = "slow_bw"
--- type = "float"
--- default = "400000000"
--- doc = "Bandwidth of a log by its slowest process, B/s, from which on a finding about requests in its direction is info"
--- [[param]]
--- name = "severity"
--- type = "text"
--- default = "'warning'"
--- values = ["critical", "warning", "info", "ok"]
--- doc = "The least severity of a finding that counts"
--- [[param]]
--- name = "coverage"
--- type = "bool"
--- default = "true"
--- doc = "Whether the first row says how much of the period the logs cover"

-- With a beginning and an end the logs of the period before are looked at as well.
WITH log AS (
  SELECT j.job_id, j.log_id, j.app, j.uid, j.submit_time, g.log_group, j.bytes_read + j.bytes_written AS bytes, $from IS NULL OR j.start_time >= $from AS in_period
  FROM job j JOIN darshan_log_group g ON g.job_id = j.job_id AND g.log_id = j.log_id
  WHERE ($from IS NULL OR j.start_time >= coalesce($from - ($to - $from), $from)) AND ($to IS NULL OR j.start_time < $to)
    AND ($app IS NULL OR j.app = $app) AND ($user IS NULL OR j."user" = $user)
), record AS (
  -- Whole microseconds, which have the same sum in each order.
  SELECT job_id, submit_time, start_time, CAST(round(node_hours * 3600000000.0) AS BIGINT) AS node_us, logs > 0 AS has_log FROM slurm_job_io
), job_of_app AS (
  SELECT app, job_id, uid, log_group, max(submit_time) AS submit_time FROM log WHERE in_period GROUP BY app, job_id, uid, log_group
), total AS (
  SELECT j.app, count(*) AS jobs, sum(r.node_us) / 3600000000.0 AS node_hours
  FROM job_of_app j LEFT JOIN record r ON r.job_id = j.job_id AND r.submit_time = j.submit_time GROUP BY j.app
), found AS (
  SELECT l.app, a.code, a.rule, l.in_period, l.job_id, l.uid, l.log_group, max(l.submit_time) AS submit_time, count(*) AS logs, sum(a.io_hours) AS io_hours,
    max(a.cost) AS cost, sum(l.bytes) AS bytes, max(a.advice) AS advice
  FROM advice(app => $app, "from" => coalesce($from - ($to - $from), $from), "to" => $to, min_cost => $min_cost, slow_bw => $slow_bw, severity => $severity) a
    JOIN log l ON l.job_id = a.job_id AND l.log_id = a.log_id
  GROUP BY l.app, a.code, a.rule, l.in_period, l.job_id, l.uid, l.log_group
), habit AS (
  SELECT f.app, f.code, f.rule, count(*) FILTER (WHERE f.in_period) AS jobs, sum(f.logs) FILTER (WHERE f.in_period) AS logs,
    count(DISTINCT CASE WHEN f.in_period THEN f.uid END) AS users, sum(r.node_us) FILTER (WHERE f.in_period) / 3600000000.0 AS node_hours,
    count(*) FILTER (WHERE f.in_period AND r.job_id IS NULL) AS jobs_without_record, sum(f.io_hours) FILTER (WHERE f.in_period) AS io_hours,
    sum(f.io_hours) FILTER (WHERE NOT f.in_period) AS io_hours_before, sum(f.bytes) FILTER (WHERE f.in_period) AS bytes,
    first_value(f.job_id ORDER BY f.cost DESC NULLS LAST, f.job_id) FILTER (WHERE f.in_period) AS example_job, max(f.advice) AS advice
  FROM found f LEFT JOIN record r ON r.job_id = f.job_id AND r.submit_time = f.submit_time
  GROUP BY f.app, f.code, f.rule HAVING count(*) FILTER (WHERE f.in_period) > 0
), compared AS (
  SELECT h.*, t.jobs AS app_jobs, t.node_hours AS app_node_hours,
    CASE WHEN $from IS NOT NULL AND $to IS NOT NULL AND h.io_hours IS NOT NULL THEN coalesce(h.io_hours_before, 0.0) END AS before
  FROM habit h JOIN total t ON t.app IS NOT DISTINCT FROM h.app
), taken AS (
  SELECT count(*) AS logs, count(DISTINCT uid) AS users, sum(bytes_read + bytes_written) AS bytes FROM darshan_log
  WHERE ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
), covered AS (
  SELECT count(*) AS jobs, avg(CASE WHEN has_log THEN 1.0 ELSE 0.0 END) AS share_jobs, sum(node_us) / 3600000000.0 AS node_hours,
    ratio(coalesce(sum(node_us) FILTER (WHERE has_log), 0), sum(node_us)) AS share_node_hours
  FROM record WHERE ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
), both AS (
  SELECT 1 AS place, app, code, rule, jobs, ratio(jobs, app_jobs) AS share_jobs, logs, users, node_hours, ratio(node_hours, app_node_hours) AS share_node_hours,
    jobs_without_record, io_hours, before AS io_hours_before, ratio(io_hours - before, before) AS change, bytes, example_job, advice
  FROM compared
  UNION ALL
  SELECT 0, CAST(NULL AS VARCHAR), CAST(NULL AS VARCHAR), 'coverage', c.jobs, c.share_jobs, t.logs, t.users, c.node_hours, c.share_node_hours,
    CAST(NULL AS BIGINT), CAST(NULL AS DOUBLE), CAST(NULL AS DOUBLE), CAST(NULL AS DOUBLE), t.bytes, CAST(NULL AS BIGINT), CAST(NULL AS VARCHAR)
  FROM covered c CROSS JOIN taken t
), counted AS (
  SELECT *, sum(place) OVER () AS habits FROM both
)
-- The coverage stands before findings; where a program or a user was asked for who has none, the answer is empty.
SELECT app, code, rule, jobs, share_jobs, logs, users, node_hours, share_node_hours, jobs_without_record, io_hours, io_hours_before, change, bytes, example_job, advice
FROM counted WHERE (habits > 0 OR ($app IS NULL AND $user IS NULL)) AND (place = 1 OR $coverage) ORDER BY place, io_hours DESC NULLS LAST, app, code
