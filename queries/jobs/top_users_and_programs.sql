--- doc = "Users, accounts, programs, directories or file systems that moved the most bytes, with their node-hours of I/O"
--- grain = "one user, account, program, directory or file system"
--- aliases = ["top"]
--- columns = [
---   { name = "name", type = "Utf8", doc = "The user, account, program, directory (the first two levels of it) or file system; NULL where it is not known" },
---   { name = "jobs", type = "Int64", unit = "count", doc = "Job ids" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs" },
---   { name = "bytes_read", type = "Int64", unit = "B", doc = "Bytes read, streams left out" },
---   { name = "bytes_written", type = "Int64", unit = "B", doc = "Bytes written, streams left out" },
---   { name = "total_bytes", type = "Int64", unit = "B", doc = "Both" },
---   { name = "share", type = "Float64", unit = "fraction", doc = "Part of all bytes" },
---   { name = "io_time", type = "Float64", unit = "s", doc = "Time in which a log had a file in use, added up over logs" },
---   { name = "io_node_hours", type = "Float64", unit = "h", doc = "That time on the nodes of each log; logs without a Slurm record are left out" },
--- ]
--- chart = { form = "bar", x = "name", y = ["bytes_read", "bytes_written"], stacked = true }
--- [[param]]
--- name = "by"
--- type = "text"
--- default = "'user'"
--- values = ["user", "account", "app", "directory", "fs"]
--- doc = "Whose bytes are added up"
--- [[param]]
--- name = "n"
--- aliases = ["limit"]
--- type = "int"
--- default = "10"
--- doc = "How many"
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
  SELECT j.job_id, j.log_id, j.node_count, CASE WHEN $by = 'user' THEN j."user" WHEN $by = 'account' THEN j.account ELSE j.app END AS name,
    l.bytes_read - l.bytes_read_streams AS bytes_read, l.bytes_written - l.bytes_written_streams AS bytes_written, l.critical_io_time AS io_time
  FROM job j JOIN darshan_log l ON l.job_id = j.job_id AND l.log_id = j.log_id
  WHERE ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
), file AS (
  SELECT f.job_id, f.log_id, g.node_count,
    CASE WHEN $by = 'fs' THEN f.fs WHEN f.path NOT LIKE '/%' THEN NULL
      WHEN split_part(f.path, '/', 4) <> '' THEN concat('/', split_part(f.path, '/', 2), '/', split_part(f.path, '/', 3))
      WHEN split_part(f.path, '/', 3) <> '' THEN concat('/', split_part(f.path, '/', 2)) ELSE '/' END AS name,
    f.bytes_read, f.bytes_written, f.read_start, f.read_end, f.write_start, f.write_end
  FROM darshan_file f JOIN log g ON g.job_id = f.job_id AND g.log_id = f.log_id WHERE NOT f.is_stream AND $by IN ('directory', 'fs')
), used AS (
  SELECT job_id, log_id, node_count, name, bytes_read, 0 AS bytes_written, read_start AS a, read_end AS b FROM file WHERE bytes_read > 0
  UNION ALL
  SELECT job_id, log_id, node_count, name, 0, bytes_written, write_start, write_end FROM file WHERE bytes_written > 0
), unit AS (
  SELECT job_id, log_id, node_count, name, bytes_read, bytes_written, io_time FROM log WHERE $by NOT IN ('directory', 'fs')
  UNION ALL
  SELECT job_id, log_id, min(node_count), name, sum(bytes_read), sum(bytes_written), io_time(a, b) FROM used GROUP BY job_id, log_id, name
), ranked AS (
  SELECT name, count(DISTINCT job_id) AS jobs, count(*) AS logs, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
    sum(bytes_read) + sum(bytes_written) AS total_bytes, coalesce(sum(io_time), 0.0) AS io_time, sum(node_count * io_time) / 3600.0 AS io_node_hours
  FROM unit GROUP BY name
)
SELECT name, jobs, logs, bytes_read, bytes_written, total_bytes, CAST(total_bytes AS DOUBLE) / nullif(sum(total_bytes) OVER (), 0) AS share, io_time, io_node_hours
FROM ranked ORDER BY total_bytes DESC, name LIMIT $n
