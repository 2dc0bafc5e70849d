--- doc = "Which part of what a log moves is read: how many logs have each percentage"
--- grain = "one percent of bytes read, from 0 to 100"
--- source = "IOMiner, figure 8 and equation 4"
--- chart = "bar percent logs"
--- columns = [
---   { name = "percent", type = "Int64", unit = "%", doc = "Bytes read of all that were read and written, rounded down; 0 has only logs that read nothing, those below one percent are in 1" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs" },
---   { name = "share_of_logs", type = "Float64", doc = "Part of all logs that moved bytes" },
--- ]
WITH log AS (
  SELECT CASE WHEN bytes_read = 0 THEN 0 ELSE greatest(CAST(floor(100.0 * bytes_read / total_bytes) AS BIGINT), 1) END AS percent FROM darshan_log WHERE total_bytes > 0
), counted AS (
  SELECT percent, count(*) AS logs FROM log GROUP BY percent
), every AS (
  SELECT p.percent, coalesce(c.logs, 0) AS logs FROM (SELECT unnest(range(0, 101)) AS percent) p LEFT JOIN counted c ON c.percent = p.percent
)
SELECT percent, logs, CAST(logs AS DOUBLE) / nullif(sum(logs) OVER (), 0) AS share_of_logs FROM every ORDER BY percent
