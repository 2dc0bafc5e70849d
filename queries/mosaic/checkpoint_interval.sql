--- doc = "How often programs write checkpoints, how large they are, and which share of the run time they take: writes that come again and again, large and far enough apart to be some"
--- grain = "one program with logs whose writes are periodic"
--- source = "MOSAIC"
--- analysis = "mosaic"
--- columns = [
---   { name = "app", type = "Utf8", doc = "Program; NULL where it is not known" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs with checkpoints: writes that are periodic, of at least min_period and min_bytes" },
---   { name = "app_logs", type = "Int64", unit = "count", doc = "Logs of the program that have classes" },
---   { name = "share_logs", type = "Float64", unit = "fraction", doc = "logs of app_logs" },
---   { name = "checkpoints", type = "Int64", unit = "count", doc = "Repetitions in these logs" },
---   { name = "period_p10", type = "Float64", unit = "s", doc = "From the start of one to that of the next: tenth percentile over logs, each by the mean of its own" },
---   { name = "period", type = "Float64", unit = "s", doc = "Median over logs" },
---   { name = "period_p90", type = "Float64", unit = "s", doc = "Ninetieth percentile over logs" },
---   { name = "checkpoint_bytes", type = "Float64", unit = "B", doc = "Bytes of one: median over logs, each by its mean" },
---   { name = "checkpoint_seconds", type = "Float64", unit = "s", doc = "Seconds that writing one takes: median over logs, each by its mean. Of heatmap whole bins count, of window the time that a file was in use" },
---   { name = "busy", type = "Float64", unit = "fraction", doc = "Their seconds of the run time of the log: median over logs" },
---   { name = "bytes", type = "Float64", unit = "B", doc = "Bytes of all of them" },
---   { name = "share_bytes", type = "Float64", unit = "fraction", doc = "bytes of all bytes that all logs of the program with classes wrote" },
---   { name = "node_hours", type = "Float64", unit = "h", doc = "Nodes times their seconds, added up; logs without a Slurm record are left out, NULL if all are" },
---   { name = "dxt", type = "Int64", unit = "count", doc = "Logs in which the period rests on traced accesses" },
---   { name = "heatmap", type = "Int64", unit = "count", doc = "Logs in which it rests on bytes by interval of time" },
---   { name = "window", type = "Int64", unit = "count", doc = "Logs in which it rests on first and last accesses of files" },
---   { name = "confidence", type = "Float64", doc = "Mean of write_confidence of these logs" },
--- ]
--- chart = { form = "scatter", x = "period", y = "checkpoint_bytes", label = "app", log = ["x", "y"] }
--- [[param]]
--- name = "app"
--- type = "text"
--- default = "NULL"
--- doc = "Program (default: all)"
--- [[param]]
--- name = "min_period"
--- type = "float"
--- default = "10"
--- doc = "Minimum period of a log, s: what comes each second is no checkpoint"
--- [[param]]
--- name = "min_bytes"
--- type = "float"
--- default = "1e6"
--- doc = "Minimum bytes of a repetition of a log"
--- [[param]]
--- name = "min_confidence"
--- type = "float"
--- default = "0"
--- range = [0, 1]
--- doc = "Minimum write_confidence of a log that counts as periodic"
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

-- Mode full. Groups of one segment are not periodic, in a log that is: they are left out of the bytes and seconds of its checkpoints.
WITH classed AS (
  SELECT j.job_id, j.log_id, j.app, j.run_time, j.node_count, m.evidence, m.write_period, m.write_groups, m.write_confidence
  FROM darshan_mosaic m JOIN job j ON j.job_id = m.job_id AND j.log_id = m.log_id
  WHERE m.mode = 'full' AND m.status = 'ok' AND ($app IS NULL OR j.app = $app) AND ($from IS NULL OR j.start_time >= $from) AND ($to IS NULL OR j.start_time < $to)
), program AS (
  SELECT c.app, count(*) AS logs, sum(l.bytes_written - l.bytes_written_streams) AS bytes_written FROM classed c JOIN darshan_log l ON l.job_id = c.job_id AND l.log_id = c.log_id GROUP BY c.app
), part AS (
  -- The group whose period is that of the log.
  SELECT job_id, log_id, CAST(g['segments'] AS DOUBLE) AS n, g['period'] AS period, g['work'] AS work, g['bytes'] AS bytes
  FROM (SELECT job_id, log_id, write_period, unnest(write_groups) AS g FROM classed WHERE write_period >= $min_period AND coalesce(write_confidence, 0.0) >= $min_confidence)
  WHERE g['segments'] > 1 AND g['period'] = write_period AND g['bytes'] >= $min_bytes
), log AS (
  SELECT c.app, c.evidence, c.write_confidence, p.n, p.period, p.n * p.bytes AS bytes, p.bytes AS bytes_each, p.work AS work_each, p.n * p.work / nullif(c.run_time, 0) AS busy, c.node_count * p.n * p.work / 3600.0 AS node_hours
  FROM part p JOIN classed c ON c.job_id = p.job_id AND c.log_id = p.log_id
), summary AS (
  SELECT app, count(*) AS logs, CAST(sum(n) AS BIGINT) AS checkpoints, percentiles(period, 10) AS period, median(bytes_each) AS checkpoint_bytes, median(work_each) AS checkpoint_seconds,
    median(busy) AS busy, sum(bytes) AS bytes, sum(node_hours) AS node_hours, count(*) FILTER (WHERE evidence = 'dxt') AS dxt, count(*) FILTER (WHERE evidence = 'heatmap') AS heatmap,
    count(*) FILTER (WHERE evidence = 'window') AS "window", avg(write_confidence) AS confidence
  FROM log GROUP BY app
)
SELECT s.app, s.logs, p.logs AS app_logs, CAST(s.logs AS DOUBLE) / p.logs AS share_logs, s.checkpoints, s.period[2] AS period_p10, s.period[6] AS period, s.period[10] AS period_p90, s.checkpoint_bytes, s.checkpoint_seconds, s.busy, s.bytes, s.bytes / nullif(p.bytes_written, 0) AS share_bytes, s.node_hours, s.dxt, s.heatmap, s."window", s.confidence
FROM summary s JOIN program p ON p.app IS NOT DISTINCT FROM s.app ORDER BY s.bytes DESC, s.app
