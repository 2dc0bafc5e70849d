--- doc = "Which part of what a log moves is read: how many logs have each percentage"
--- grain = "one percent of bytes read, from 0 to 100"
--- source = "IOMiner, figure 8 and equation 4"
--- chart = "bar percent logs"
--- columns = [
---   { name = "percent", type = "Int64", unit = "%", doc = "Bytes read of all that were read and written, rounded down; 0 has only logs that read nothing, those below one percent are in 1" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs" },
---   { name = "share_of_logs", type = "Float64", doc = "Part of all logs that moved bytes" },
--- ]
-- What reads nothing is at -1, what reads less than one percent between 0 and 1; the latter counts as one percent. What moved nothing has no
-- percentage and counts as none: a filter of logs would be tried on each file.
WITH counted AS (
  SELECT bin_counts(100.0 * bytes_read / nullif(total_bytes, 0) - CAST(bytes_read = 0 AS DOUBLE), 0, 101, 101) AS logs, count(nullif(total_bytes, 0)) AS total
  FROM darshan_log
), each AS (
  SELECT unnest(range(0, 101)) AS percent, unnest(array_concat([logs[1], logs[2] + logs[3]], array_slice(logs, 4, 102))) AS logs, total FROM counted
)
SELECT percent, logs, CAST(logs AS DOUBLE) / nullif(total, 0) AS share_of_logs FROM each ORDER BY percent
