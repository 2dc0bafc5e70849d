--- doc = "Programs whose bandwidth is lower than before a given date"
--- grain = "one program, direction and power of two of processes"
--- columns = [
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "direction", type = "Utf8", doc = "read or write" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes: from this number to less than twice as many" },
---   { name = "processes", type = "Utf8", doc = "The same in words, such as 1024 to 2047 processes" },
---   { name = "logs_before", type = "Int64", unit = "count", doc = "Logs that started before" },
---   { name = "logs_since", type = "Int64", unit = "count", doc = "Logs that started since" },
---   { name = "bw_before", type = "Float64", unit = "B/s", doc = "Median of their bandwidth over critical time, before" },
---   { name = "bw_since", type = "Float64", unit = "B/s", doc = "Median since" },
---   { name = "ratio", type = "Float64", doc = "bw_since / bw_before" },
---   { name = "share_below", type = "Float64", unit = "fraction", doc = "Share of the logs since that lie below nine tenths of those before: 0.1 if nothing has changed" },
--- ]
--- chart = { form = "scatter", x = "bw_before", y = "bw_since", series = "direction", label = "app", log = ["x", "y"] }
--- [[param]]
--- name = "since"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Date of the suspected change (default: one week before the last log)"
--- [[param]]
--- name = "max_ratio"
--- type = "float"
--- default = "0.67"
--- doc = "Maximum ratio of the medians, bw_since / bw_before"
--- [[param]]
--- name = "min_share_below"
--- type = "float"
--- default = "0.5"
--- range = [0, 1]
--- doc = "Minimum share_below, against chance in few logs"
--- [[param]]
--- name = "min_logs"
--- type = "int"
--- default = "5"
--- doc = "Minimum number of logs before and after the date"
--- [[param]]
--- name = "min_bytes"
--- type = "float"
--- default = "1e8"
--- doc = "Minimum bytes of a log in the direction; the bandwidth of little I/O means nothing"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before; all that start before since are those of before"
WITH cut AS (
  SELECT coalesce($since, max(start_time) - INTERVAL '7 days') AS since FROM darshan_log WHERE $to IS NULL OR start_time < $to
), log AS (
  SELECT app, 'read' AS direction, nprocs, start_time, read_bw_critical AS bw FROM darshan_log
  WHERE read_bw_critical IS NOT NULL AND bytes_read - bytes_read_streams >= $min_bytes
  UNION ALL
  SELECT app, 'write', nprocs, start_time, write_bw_critical FROM darshan_log
  WHERE write_bw_critical IS NOT NULL AND bytes_written - bytes_written_streams >= $min_bytes
), sided AS (
  SELECT l.app, l.direction, CAST(power(2.0, floor(log2(CAST(greatest(l.nprocs, 1) AS DOUBLE)))) AS BIGINT) AS nprocs, l.bw, l.start_time >= c.since AS since
  FROM log l CROSS JOIN cut c WHERE l.app IS NOT NULL AND l.start_time IS NOT NULL AND ($to IS NULL OR l.start_time < $to)
), past AS (
  SELECT app, direction, nprocs, count(*) AS logs, percentiles(bw, 10) AS bw FROM sided WHERE NOT since GROUP BY app, direction, nprocs
), now AS (
  SELECT s.app, s.direction, s.nprocs, count(*) AS logs, percentiles(s.bw, 2) AS bw, avg(CASE WHEN s.bw < p.bw[2] THEN 1.0 ELSE 0.0 END) AS share_below
  FROM sided s JOIN past p ON p.app = s.app AND p.direction = s.direction AND p.nprocs = s.nprocs WHERE s.since GROUP BY s.app, s.direction, s.nprocs
)
SELECT n.app, n.direction, n.nprocs, CASE WHEN n.nprocs = 1 THEN '1 process' ELSE n.nprocs || ' to ' || (2 * n.nprocs - 1) || ' processes' END AS processes, p.logs AS logs_before, n.logs AS logs_since, p.bw[6] AS bw_before, n.bw[2] AS bw_since, n.bw[2] / p.bw[6] AS ratio, n.share_below
FROM now n JOIN past p ON p.app = n.app AND p.direction = n.direction AND p.nprocs = n.nprocs
WHERE p.logs >= $min_logs AND n.logs >= $min_logs AND n.bw[2] <= $max_ratio * p.bw[6] AND n.share_below >= $min_share_below
ORDER BY ratio, n.app, n.direction, n.nprocs
