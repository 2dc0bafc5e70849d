--- doc = "Which part of what a log moves is read: how many logs have each percentage"
--- grain = "one percent of bytes read, from 0 to 100"
--- source = "IOMiner, figure 8 and equation 4"
--- chart = "bar percent logs"
--- columns = [
---   { name = "percent", type = "Int64", unit = "%", doc = "Bytes read of all that were read and written, rounded down; 0 has only logs that read nothing, those below one percent are in 1" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs" },
---   { name = "share_of_logs", type = "Float64", doc = "Part of all logs that moved bytes" },
--- ]
-- What moved nothing has no percentage and counts as none: a filter of logs would be tried on each file. What reads nothing lies below all
-- bins, for these begin just above 0; of those, the first ends at 1 as it would if it began at 0.
WITH counted AS (
  SELECT bin_counts(100.0 * bytes_read / total_bytes, 1e-18, 101, 101) AS logs FROM darshan_log
), each AS (
  SELECT unnest(range(0, 101)) AS percent, unnest(array_concat([logs[1], logs[2] + logs[3]], array_slice(logs, 4, 102))) AS logs FROM counted
)
SELECT percent, logs, CAST(logs AS DOUBLE) / nullif(sum(logs) OVER (), 0) AS share_of_logs FROM each ORDER BY percent
