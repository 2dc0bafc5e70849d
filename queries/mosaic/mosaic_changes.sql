--- doc = "Programs whose classes by MOSAIC changed at a given date"
--- grain = "one program, direction and class whose share of its logs changed"
--- source = "MOSAIC"
--- analysis = "mosaic"
--- columns = [
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "direction", type = "Utf8", doc = "read, write or metadata" },
---   { name = "class", type = "Utf8", doc = "Class that became more or less frequent" },
---   { name = "logs_before", type = "Int64", unit = "count", doc = "Logs of the program that have classes and started before" },
---   { name = "logs_since", type = "Int64", unit = "count", doc = "Those that started since" },
---   { name = "share_before", type = "Float64", unit = "fraction", doc = "Share of logs_before with the class" },
---   { name = "share_since", type = "Float64", unit = "fraction", doc = "Share of logs_since with it" },
---   { name = "change", type = "Float64", unit = "fraction", doc = "share_since - share_before" },
---   { name = "chance", type = "Float64", doc = "Probability of such a difference, or a larger one, if nothing had changed: two proportions, by the normal distribution, which is rough for few logs. Classes of a program depend on each other, and of many comparisons some are small by chance" },
--- ]
--- chart = { form = "scatter", x = "share_before", y = "share_since", series = "direction", label = "app" }
--- [[param]]
--- name = "mode"
--- type = "text"
--- default = "'full'"
--- values = ["full", "reference"]
--- doc = "full: the best evidence that a log holds; reference: as the published tool"
--- [[param]]
--- name = "since"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Date of the suspected change (default: one week before the last log)"
--- [[param]]
--- name = "min_logs"
--- type = "int"
--- default = "5"
--- doc = "Minimum logs_before and logs_since"
--- [[param]]
--- name = "min_change"
--- type = "float"
--- default = "0.25"
--- range = [0, 1]
--- doc = "Minimum change, up or down"
--- [[param]]
--- name = "max_chance"
--- type = "float"
--- default = "0.01"
--- range = [0, 1]
--- doc = "Maximum chance"
--- [[param]]
--- name = "min_confidence"
--- type = "float"
--- default = "0"
--- range = [0, 1]
--- doc = "Minimum confidence of a log that counts: the lesser of read_confidence and write_confidence; a log that has neither counts as sure. With more than 0 damaged and partial logs, of which records are missing, do not count"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start then or later: with since and to one week beside the next"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before"

WITH cut AS (
  SELECT coalesce($since, max(start_time) - INTERVAL '7 days') AS since FROM darshan_log WHERE $to IS NULL OR start_time < $to
), classed AS (
  SELECT l.app, l.start_time >= c.since AS since, m.read_classes, m.write_classes, m.metadata_classes
  FROM darshan_log l JOIN darshan_mosaic m ON m.job_id = l.job_id AND m.log_id = l.log_id CROSS JOIN cut c
  WHERE m.mode = $mode AND m.status = 'ok' AND coalesce(least(m.read_confidence, m.write_confidence), 1.0) >= $min_confidence AND ($min_confidence = 0 OR l.status = 'ok') AND l.app IS NOT NULL AND l.start_time IS NOT NULL AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
), program AS (
  SELECT app, count(*) FILTER (WHERE NOT since) AS logs_before, count(*) FILTER (WHERE since) AS logs_since FROM classed GROUP BY app
), each AS (
  SELECT app, since, 'read' AS direction, unnest(read_classes) AS class FROM classed
  UNION ALL
  SELECT app, since, 'write', unnest(write_classes) FROM classed
  UNION ALL
  SELECT app, since, 'metadata', unnest(metadata_classes) FROM classed
), one AS (
  SELECT app, direction, class, count(*) FILTER (WHERE NOT since) AS before, count(*) FILTER (WHERE since) AS since FROM each GROUP BY app, direction, class
), shares AS (
  SELECT o.app, o.direction, o.class, p.logs_before, p.logs_since, CAST(o.before AS DOUBLE) / p.logs_before AS share_before, CAST(o.since AS DOUBLE) / p.logs_since AS share_since,
    CAST(o.before + o.since AS DOUBLE) / (p.logs_before + p.logs_since) AS share
  FROM one o JOIN program p ON p.app = o.app WHERE p.logs_before >= greatest($min_logs, 1) AND p.logs_since >= greatest($min_logs, 1)
), changed AS (
  SELECT *, share_since - share_before AS change,
    CASE WHEN share >= 1.0 THEN 1.0 ELSE erfc(abs(share_since - share_before) / sqrt(2.0 * share * (1.0 - share) * (1.0 / logs_before + 1.0 / logs_since))) END AS chance FROM shares
)
SELECT app, direction, class, logs_before, logs_since, share_before, share_since, change, chance
FROM changed WHERE abs(change) >= $min_change AND chance <= $max_chance ORDER BY abs(change) DESC, app, direction, class
