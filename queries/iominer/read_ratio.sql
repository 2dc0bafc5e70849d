--- doc = "Distribution of the share of bytes read: logs with each percentage of read bytes in all bytes"
--- grain = "one percent of bytes read, from 0 to 100"
--- source = "IOMiner, figure 8 and equation 4"
--- columns = [
---   { name = "percent", type = "Int64", unit = "%", doc = "Bytes read of all that were read and written, rounded down; 0 has only logs that read nothing, those below one percent are in 1" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs" },
---   { name = "share_of_logs", type = "Float64", unit = "fraction", doc = "Part of all logs that moved bytes" },
--- ]
--- chart = { form = "bar", x = "percent", y = "logs" }
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
-- Below 1 is 0, the bins are 1 to 99, from 100 on is 100. What moved nothing has no percentage.
WITH each AS (
  SELECT unnest(range(0, 101)) AS percent, unnest(bin_counts(whole_percent(bytes_read, total_bytes), 1, 100, 99)) AS logs FROM darshan_log
  WHERE ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
)
SELECT percent, logs, CAST(logs AS DOUBLE) / nullif(sum(logs) OVER (), 0) AS share_of_logs FROM each ORDER BY percent
