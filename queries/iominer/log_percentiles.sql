--- doc = "Percentiles of a column of darshan_log, such as bytes, processes or run time"
--- grain = "one percentile, the least value first"
--- aliases = ["percentile"]
--- source = "IOMiner, algorithm 1, line 19"
--- columns = [
---   { name = "percent", type = "Float64", unit = "%", doc = "So many percent of the logs have at most that value" },
---   { name = "value", type = "Float64", doc = "The value, interpolated between neighbours as DuckDB's quantile_cont; B, s, B/s or a count, as of" },
--- ]
--- chart = { form = "line", x = "percent", y = "value", log = ["y"] }
--- [[param]]
--- name = "of"
--- type = "text"
--- default = "'bytes_written'"
--- values = ["bytes_written", "bytes_read", "total_bytes", "files", "nprocs", "run_time", "read_bw_critical", "write_bw_critical"]
--- doc = "Column of darshan_log"
--- [[param]]
--- name = "parts"
--- type = "int"
--- default = "100"
--- doc = "Parts that the logs are cut into"
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
WITH x AS (
  SELECT CASE WHEN $of = 'bytes_written' THEN CAST(bytes_written AS DOUBLE) WHEN $of = 'bytes_read' THEN CAST(bytes_read AS DOUBLE)
    WHEN $of = 'total_bytes' THEN CAST(total_bytes AS DOUBLE) WHEN $of = 'files' THEN CAST(files AS DOUBLE) WHEN $of = 'nprocs' THEN CAST(nprocs AS DOUBLE)
    WHEN $of = 'run_time' THEN run_time WHEN $of = 'read_bw_critical' THEN read_bw_critical ELSE write_bw_critical END AS x
  FROM darshan_log WHERE ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
), listed AS (
  SELECT percentiles(x, $parts) AS list FROM x
), numbered AS (
  SELECT unnest(list) AS value, unnest(range(0, CAST(array_length(list) AS BIGINT))) AS i FROM listed
)
SELECT 100.0 * i / $parts AS percent, value FROM numbered ORDER BY i
