--- doc = "Which part of what a log moves is read: how many logs have each percentage"
--- grain = "one percent of bytes read, from 0 to 100"
--- source = "IOMiner, figure 8 and equation 4"
--- chart = "bar percent logs"
--- columns = [
---   { name = "percent", type = "Int64", unit = "%", doc = "Bytes read of all that were read and written, rounded down; 0 has only logs that read nothing, those below one percent are in 1" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs" },
---   { name = "share_of_logs", type = "Float64", doc = "Part of all logs that moved bytes" },
--- ]
-- Counted with -1 for those that read nothing and 0 for those below one percent, which costs each log less than a CASE would. What moved
-- nothing has no percentage and counts as none: a filter of logs would be tried on each file.
WITH counted AS (
  SELECT CAST(100.0 * bytes_read / nullif(total_bytes, 0) - CAST(bytes_read = 0 AS DOUBLE) AS BIGINT) AS percent, count(nullif(total_bytes, 0)) AS logs
  FROM darshan_log GROUP BY percent
), every AS (
  SELECT CASE WHEN percent < 1 THEN percent + 1 ELSE percent END AS percent, logs FROM counted WHERE logs > 0
  UNION ALL SELECT unnest(range(0, 101)), 0
)
SELECT percent, sum(logs) AS logs, CAST(sum(logs) AS DOUBLE) / nullif(sum(sum(logs)) OVER (), 0) AS share_of_logs
FROM every GROUP BY percent ORDER BY percent
