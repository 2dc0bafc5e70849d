--- doc = "How many logs, node-hours and programs each class of MOSAIC has"
--- grain = "one direction and class that at least one log has"
--- source = "MOSAIC"
--- analysis = "mosaic"
--- columns = [
---   { name = "direction", type = "Utf8", doc = "read, write or metadata" },
---   { name = "class", type = "Utf8", doc = "Class; a log may have several of a direction" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs with it" },
---   { name = "share_logs", type = "Float64", unit = "fraction", doc = "logs of all logs that have classes" },
---   { name = "node_hours", type = "Float64", unit = "h", doc = "Nodes times run time of these logs; those without a Slurm record are left out, NULL if all are" },
---   { name = "share_node_hours", type = "Float64", unit = "fraction", doc = "node_hours of those of all logs that have classes and a Slurm record" },
---   { name = "programs", type = "Int64", unit = "count", doc = "Programs, user and whole command line, whose representative log has it" },
---   { name = "share_programs", type = "Float64", unit = "fraction", doc = "programs of all programs, each of which has one representative log" },
---   { name = "represented", type = "Int64", unit = "count", doc = "Logs of these programs: each representative counts for all that it stands for" },
---   { name = "share_represented", type = "Float64", unit = "fraction", doc = "represented of all logs that have classes" },
--- ]
--- chart = { form = "bar", x = "class", y = ["share_logs", "share_node_hours", "share_programs"] }
--- [[param]]
--- name = "mode"
--- type = "text"
--- default = "'full'"
--- values = ["full", "reference"]
--- doc = "full: the best evidence that a log holds; reference: as the published tool"
--- [[param]]
--- name = "representative"
--- type = "text"
--- default = "'log_bytes'"
--- values = ["log_bytes", "bytes"]
--- doc = "Which log stands for a program: the one with the largest file, as in the published tool, or the one that moved most bytes; of equals the first by log_path"
--- [[param]]
--- name = "app"
--- type = "text"
--- default = "NULL"
--- doc = "Program (default: all)"
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

-- A program is (uid, exe), as in the paper, and not app. Its representative is one of its logs that have classes.
WITH classed AS (
  SELECT j.job_id, j.log_id, j.node_count * j.run_time / 3600.0 AS node_hours, m.read_classes, m.write_classes, m.metadata_classes,
    row_number() OVER (PARTITION BY l.uid, l.exe ORDER BY CASE WHEN $representative = 'bytes' THEN l.total_bytes ELSE l.log_bytes END DESC, l.log_path, l.log_id) AS place,
    count(*) OVER (PARTITION BY l.uid, l.exe) AS stands_for
  FROM darshan_mosaic m JOIN job j ON j.job_id = m.job_id AND j.log_id = m.log_id JOIN darshan_log l ON l.job_id = m.job_id AND l.log_id = m.log_id
  WHERE m.mode = $mode AND m.status = 'ok' AND coalesce(least(m.read_confidence, m.write_confidence), 1.0) >= $min_confidence AND ($min_confidence = 0 OR l.status = 'ok') AND ($app IS NULL OR l.app = $app) AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
), each AS (
  SELECT node_hours, place, stands_for, 'read' AS direction, unnest(read_classes) AS class FROM classed
  UNION ALL
  SELECT node_hours, place, stands_for, 'write', unnest(write_classes) FROM classed
  UNION ALL
  SELECT node_hours, place, stands_for, 'metadata', unnest(metadata_classes) FROM classed
), one AS (
  SELECT direction, class, count(*) AS logs, sum(node_hours) AS node_hours, sum(CASE WHEN place = 1 THEN 1 ELSE 0 END) AS programs, sum(CASE WHEN place = 1 THEN stands_for ELSE 0 END) AS represented
  FROM each GROUP BY direction, class
), whole AS (
  SELECT count(*) AS logs, sum(node_hours) AS node_hours, sum(CASE WHEN place = 1 THEN 1 ELSE 0 END) AS programs FROM classed
)
SELECT o.direction, o.class, o.logs, CAST(o.logs AS DOUBLE) / w.logs AS share_logs, o.node_hours, o.node_hours / nullif(w.node_hours, 0) AS share_node_hours,
  o.programs, CAST(o.programs AS DOUBLE) / w.programs AS share_programs, o.represented, CAST(o.represented AS DOUBLE) / w.logs AS share_represented
FROM one o CROSS JOIN whole w ORDER BY o.direction, o.logs DESC, o.class
