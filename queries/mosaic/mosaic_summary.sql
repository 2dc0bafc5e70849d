--- doc = "What MOSAIC knows of a period: logs with and without classes, what they rest on, and the bytes of periodic I/O"
--- grain = "one figure"
--- source = "MOSAIC"
--- analysis = "mosaic"
--- columns = [
---   { name = "figure", type = "Utf8", doc = "What is counted" },
---   { name = "count", type = "Int64", unit = "count", doc = "Logs, inputs or programs; NULL if the figure is no number of them" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Bytes, streams left out; NULL if the figure is no number of them" },
---   { name = "share", type = "Float64", unit = "fraction", doc = "Its share, or a mean between 0 and 1; NULL if there is nothing to take a share of" },
---   { name = "share_of", type = "Utf8", doc = "What it is a share of, or the mean of" },
--- ]
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
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start then or later"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before"

-- Bytes of repetitions are those of the group whose period is that of the log; in mode reference, whose period is that of several groups, of all groups of more than one segment.
WITH period AS (
  SELECT job_id, log_id, uid, exe, status AS log_status, bytes_read - bytes_read_streams AS bytes_read, bytes_written - bytes_written_streams AS bytes_written
  FROM darshan_log WHERE ($app IS NULL OR app = $app) AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
), analysed AS (
  SELECT p.*, m.status, m.evidence, m.partial_trace, m.read_period, m.write_period, m.read_groups, m.write_groups, m.read_confidence, m.write_confidence
  FROM period p JOIN darshan_mosaic m ON m.job_id = p.job_id AND m.log_id = p.log_id WHERE m.mode = $mode
), repeated AS (
  SELECT direction, sum(CASE WHEN g['segments'] > 1 AND ($mode = 'reference' OR g['period'] = period) THEN g['segments'] * g['bytes'] ELSE 0.0 END) AS bytes
  FROM (
    SELECT 'read' AS direction, read_period AS period, unnest(read_groups) AS g FROM analysed WHERE read_period IS NOT NULL
    UNION ALL
    SELECT 'write' AS direction, write_period AS period, unnest(write_groups) AS g FROM analysed WHERE write_period IS NOT NULL
  ) GROUP BY direction
), whole AS (
  SELECT count(*) AS logs, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written FROM period
), some AS (
  SELECT count(*) AS analysed, count(*) FILTER (WHERE status = 'ok') AS classed, count(*) FILTER (WHERE status = 'ok' AND log_status <> 'ok') AS not_whole, count(*) FILTER (WHERE status = 'ok' AND partial_trace) AS partial_trace,
    count(*) FILTER (WHERE read_period IS NOT NULL) AS periodic_read, count(*) FILTER (WHERE write_period IS NOT NULL) AS periodic_write,
    sum(bytes_read) FILTER (WHERE read_period IS NOT NULL) AS bytes_read, sum(bytes_written) FILTER (WHERE write_period IS NOT NULL) AS bytes_written,
    avg(read_confidence) AS read_confidence, avg(write_confidence) AS write_confidence, count(read_confidence) AS readers, count(write_confidence) AS writers
  FROM analysed
), program AS (
  SELECT count(*) AS programs FROM (SELECT DISTINCT uid, exe FROM analysed WHERE status = 'ok')
), unread AS (
  SELECT count(*) AS inputs FROM lake_input WHERE source = 'darshan' AND status = 'failed' AND $app IS NULL
    AND ($from IS NULL OR start_time IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time IS NULL OR start_time < $to)
), reason AS (
  SELECT status, count(*) AS logs FROM analysed WHERE status <> 'ok' GROUP BY status
), rests AS (
  SELECT evidence, count(*) AS logs FROM analysed WHERE status = 'ok' GROUP BY evidence
), line AS (
  SELECT 1 AS place, 'logs' AS figure, logs AS count, bytes_read + bytes_written AS bytes, CAST(NULL AS DOUBLE) AS share, CAST(NULL AS VARCHAR) AS share_of FROM whole
  UNION ALL
  SELECT 2, 'inputs that could not be read', inputs, NULL, NULL, NULL FROM unread
  UNION ALL
  SELECT 3, CASE WHEN s.analysed = 0 AND w.logs > 0 THEN 'analysed: none; run `iolode analyze mosaic`' ELSE 'analysed' END, s.analysed, NULL, CAST(s.analysed AS DOUBLE) / nullif(w.logs, 0), 'logs' FROM some s CROSS JOIN whole w
  UNION ALL
  SELECT 4, 'with classes', s.classed, NULL, CAST(s.classed AS DOUBLE) / nullif(s.analysed, 0), 'analysed' FROM some s
  UNION ALL
  SELECT 5, 'without classes: ' || r.status, r.logs, NULL, CAST(r.logs AS DOUBLE) / nullif(s.analysed, 0), 'analysed' FROM reason r CROSS JOIN some s
  UNION ALL
  SELECT 6, 'classes rest on ' || r.evidence, r.logs, NULL, CAST(r.logs AS DOUBLE) / nullif(s.classed, 0), 'with classes' FROM rests r CROSS JOIN some s
  UNION ALL
  SELECT 7, 'traced in part, so that classes rest on something else', partial_trace, NULL, CAST(partial_trace AS DOUBLE) / nullif(classed, 0), 'with classes' FROM some
  UNION ALL
  SELECT 8, 'of damaged or partial logs: classes of the records that are left', not_whole, NULL, CAST(not_whole AS DOUBLE) / nullif(classed, 0), 'with classes' FROM some
  UNION ALL
  SELECT 9, 'programs (user and command line) with classes', programs, NULL, NULL, NULL FROM program
  UNION ALL
  SELECT 10, 'logs with periodic reads, and all bytes that these read', s.periodic_read, s.bytes_read, CAST(s.periodic_read AS DOUBLE) / nullif(s.classed, 0), 'with classes' FROM some s
  UNION ALL
  SELECT 11, 'logs with periodic writes, and all bytes that these wrote', s.periodic_write, s.bytes_written, CAST(s.periodic_write AS DOUBLE) / nullif(s.classed, 0), 'with classes' FROM some s
  UNION ALL
  SELECT 12, 'bytes of the repetitions of reads', NULL, CAST(round(coalesce(r.bytes, 0.0)) AS BIGINT), coalesce(r.bytes, 0.0) / nullif(w.bytes_read, 0), 'bytes that all logs read'
    FROM some s CROSS JOIN whole w LEFT JOIN repeated r ON r.direction = 'read' WHERE s.analysed > 0
  UNION ALL
  SELECT 13, 'bytes of the repetitions of writes', NULL, CAST(round(coalesce(r.bytes, 0.0)) AS BIGINT), coalesce(r.bytes, 0.0) / nullif(w.bytes_written, 0), 'bytes that all logs wrote'
    FROM some s CROSS JOIN whole w LEFT JOIN repeated r ON r.direction = 'write' WHERE s.analysed > 0
  UNION ALL
  SELECT 14, 'confidence of the classes of reads', readers, NULL, read_confidence, 'mean over logs that read' FROM some
  UNION ALL
  SELECT 15, 'confidence of the classes of writes', writers, NULL, write_confidence, 'mean over logs that write' FROM some
)
SELECT figure, count, bytes, share, share_of FROM line WHERE (place < 4 AND ($app IS NULL OR (SELECT logs FROM whole) > 0)) OR (SELECT analysed FROM some) > 0 ORDER BY place, count DESC, figure
