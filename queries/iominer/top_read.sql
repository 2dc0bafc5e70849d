--- doc = "The programs that read most, and their share of all that was read"
--- grain = "one program"
--- source = "IOMiner, figure 5"
--- columns = [
---   { name = "app", type = "Utf8", doc = "Program; NULL where no log says" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Its logs" },
---   { name = "users", type = "Int64", unit = "count", doc = "Users who ran it" },
---   { name = "bytes_read", type = "Int64", unit = "B", doc = "Bytes read, streams included" },
---   { name = "share", type = "Float64", unit = "fraction", doc = "Its part of all bytes read" },
---   { name = "share_so_far", type = "Float64", unit = "fraction", doc = "Part of it and of those before it" },
--- ]
--- chart = { form = "bar", x = "app", y = "bytes_read" }
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
  SELECT app, count(*) AS logs, count(DISTINCT uid) AS users, sum(bytes_read) AS bytes_read FROM darshan_log
  WHERE ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to) GROUP BY app
), ranked AS (
  SELECT *, sum(bytes_read) OVER (ORDER BY bytes_read DESC, app ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far,
    nullif(CAST(sum(bytes_read) OVER () AS DOUBLE), 0) AS total
  FROM app
)
SELECT app, logs, users, bytes_read, bytes_read / total AS share, so_far / total AS share_so_far FROM ranked ORDER BY bytes_read DESC, app LIMIT $n
