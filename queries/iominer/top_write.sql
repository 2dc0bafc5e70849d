--- doc = "The programs that wrote most, and their share of all that was written"
--- grain = "one program"
--- source = "IOMiner, figure 6"
--- columns = [
---   { name = "app", type = "Utf8", doc = "Program; NULL where no log says" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Its logs" },
---   { name = "users", type = "Int64", unit = "count", doc = "Users who ran it" },
---   { name = "bytes_written", type = "Int64", unit = "B", doc = "Bytes written, streams included" },
---   { name = "share", type = "Float64", unit = "fraction", doc = "Its part of all bytes written" },
---   { name = "share_so_far", type = "Float64", unit = "fraction", doc = "Part of it and of those before it" },
--- ]
--- chart = { form = "bar", x = "app", y = "bytes_written" }
--- [[param]]
--- name = "n"
--- aliases = ["limit"]
--- type = "int"
--- default = "10"
--- doc = "How many programs"
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
WITH app AS (
  SELECT app, count(*) AS logs, count(DISTINCT uid) AS users, sum(bytes_written) AS bytes_written FROM darshan_log
  WHERE ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to) GROUP BY app
), ranked AS (
  SELECT *, sum(bytes_written) OVER (ORDER BY bytes_written DESC, app ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far,
    nullif(CAST(sum(bytes_written) OVER () AS DOUBLE), 0) AS total
  FROM app
)
SELECT app, logs, users, bytes_written, bytes_written / total AS share, so_far / total AS share_so_far FROM ranked ORDER BY bytes_written DESC, app LIMIT $n
