--- doc = "Which share of the logs of each program, and of the bytes of the month, is in each class of MOSAIC"
--- grain = "one program, direction and class that at least one of its logs has"
--- source = "MOSAIC"
--- analysis = "mosaic"
--- columns = [
---   { name = "app", type = "Utf8", doc = "Program; NULL where it is not known" },
---   { name = "direction", type = "Utf8", doc = "read, write or metadata" },
---   { name = "class", type = "Utf8", doc = "Class; a log may have several of a direction" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs of the program with this class" },
---   { name = "app_logs", type = "Int64", unit = "count", doc = "Logs of the program that have classes" },
---   { name = "share_logs", type = "Float64", unit = "fraction", doc = "logs of app_logs" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Bytes that these logs moved in the direction (of metadata: in both), streams left out" },
---   { name = "share_app_bytes", type = "Float64", unit = "fraction", doc = "bytes of what all logs of the program that have classes moved in the direction" },
---   { name = "share_all_bytes", type = "Float64", unit = "fraction", doc = "bytes of what all logs of the period moved in the direction, of all programs, whether they have classes or not" },
--- ]
--- chart = { form = "scatter", x = "logs", y = "bytes", series = "direction", label = "class", log = ["x", "y"] }
--- [[param]]
--- name = "mode"
--- type = "text"
--- default = "'full'"
--- values = ["full", "reference"]
--- doc = "full: the best evidence that a log holds; reference: as the published tool"
--- [[param]]
--- name = "app"
--- type = "text"
--- default = "NULL"
--- doc = "Program (default: all)"
--- [[param]]
--- name = "min_logs"
--- type = "int"
--- default = "1"
--- doc = "Minimum app_logs"
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
--- doc = "Logs that start then or later"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before"

-- A log moves no bytes of a class: it has the class or not, and all of its bytes of that direction count. Shares of several classes may sum to more than 1.
WITH period AS (
  SELECT job_id, log_id, app, status, bytes_read - bytes_read_streams AS bytes_read, bytes_written - bytes_written_streams AS bytes_written
  FROM darshan_log WHERE ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
), classed AS (
  SELECT p.app, p.bytes_read, p.bytes_written, m.read_classes, m.write_classes, m.metadata_classes
  FROM period p JOIN darshan_mosaic m ON m.job_id = p.job_id AND m.log_id = p.log_id
  WHERE m.mode = $mode AND m.status = 'ok' AND coalesce(least(m.read_confidence, m.write_confidence), 1.0) >= $min_confidence AND ($min_confidence = 0 OR p.status = 'ok') AND ($app IS NULL OR p.app = $app)
), each AS (
  SELECT app, 'read' AS direction, bytes_read AS bytes, unnest(read_classes) AS class FROM classed
  UNION ALL
  SELECT app, 'write', bytes_written, unnest(write_classes) FROM classed
  UNION ALL
  SELECT app, 'metadata', bytes_read + bytes_written, unnest(metadata_classes) FROM classed
), one AS (
  SELECT app, direction, class, count(*) AS logs, sum(bytes) AS bytes FROM each GROUP BY app, direction, class
), program AS (
  SELECT app, count(*) AS logs, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written FROM classed GROUP BY app
), whole AS (
  SELECT sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written FROM period
)
SELECT o.app, o.direction, o.class, o.logs, p.logs AS app_logs, CAST(o.logs AS DOUBLE) / p.logs AS share_logs, o.bytes,
  CAST(o.bytes AS DOUBLE) / nullif(CASE o.direction WHEN 'read' THEN p.bytes_read WHEN 'write' THEN p.bytes_written ELSE p.bytes_read + p.bytes_written END, 0) AS share_app_bytes,
  CAST(o.bytes AS DOUBLE) / nullif(CASE o.direction WHEN 'read' THEN w.bytes_read WHEN 'write' THEN w.bytes_written ELSE w.bytes_read + w.bytes_written END, 0) AS share_all_bytes
FROM one o JOIN program p ON p.app IS NOT DISTINCT FROM o.app CROSS JOIN whole w
WHERE p.logs >= $min_logs
ORDER BY o.bytes DESC, o.app, o.direction, o.class
