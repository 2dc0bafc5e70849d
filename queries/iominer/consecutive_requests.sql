--- doc = "Distribution of the share of consecutive requests: logs with at most a given percentage"
--- grain = "one percent of that share, from 0 to 100"
--- aliases = ["sequential"]
--- source = "IOMiner, figure 7 and equation 3; the paper's words mean Darshan's CONSEC counters, SEQ ones allow gaps"
--- columns = [
---   { name = "percent", type = "Int64", unit = "%", doc = "Share of a log's POSIX requests, rounded down" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs with that share" },
---   { name = "logs_so_far", type = "Int64", unit = "count", doc = "Logs with that share or less" },
---   { name = "share_of_logs", type = "Float64", unit = "fraction", doc = "logs_so_far of all logs with requests" },
--- ]
--- chart = { form = "line", x = "percent", y = "share_of_logs" }
--- [[param]]
--- name = "measure"
--- type = "text"
--- default = "'consec'"
--- values = ["consec", "seq"]
--- doc = "consec: a request begins where the one before ended; seq: at a higher offset"
--- [[param]]
--- name = "direction"
--- type = "text"
--- default = "'both'"
--- values = ["read", "write", "both"]
--- doc = "Requests that are counted"
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
WITH log AS (
  SELECT CASE WHEN $direction <> 'write' THEN posix_reads ELSE 0 END + CASE WHEN $direction <> 'read' THEN posix_writes ELSE 0 END AS requests,
    CASE WHEN $direction <> 'write' THEN CASE WHEN $measure = 'consec' THEN posix_consec_reads ELSE posix_seq_reads END ELSE 0 END
      + CASE WHEN $direction <> 'read' THEN CASE WHEN $measure = 'consec' THEN posix_consec_writes ELSE posix_seq_writes END ELSE 0 END AS sequential
  FROM darshan_log WHERE ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
), counted AS (
  SELECT least(sequential * 100 / requests, 100) AS percent, count(*) AS logs FROM log WHERE requests > 0 GROUP BY least(sequential * 100 / requests, 100)
), every AS (
  SELECT p.percent, coalesce(c.logs, 0) AS logs FROM (SELECT unnest(range(0, 101)) AS percent) p LEFT JOIN counted c ON c.percent = p.percent
)
SELECT percent, logs, sum(logs) OVER (ORDER BY percent ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS logs_so_far,
  CAST(sum(logs) OVER (ORDER BY percent ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS DOUBLE) / nullif(sum(logs) OVER (), 0) AS share_of_logs
FROM every ORDER BY percent
