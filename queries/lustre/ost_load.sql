--- doc = "Bytes that the logs moved on each OST, and the time that their processes spent there"
--- grain = "one OST; NULL for stripes of which the log does not say the OST"
--- columns = [
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "ost", type = "Int32", doc = "Index of the OST" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs with a file that lies there and moved bytes" },
---   { name = "files", type = "Int64", unit = "count", doc = "Such files, each once for each log" },
---   { name = "bytes_read", type = "Int64", unit = "B", doc = "Bytes read there, by the stripes of each file; over all OSTs they are the bytes of the files" },
---   { name = "bytes_written", type = "Int64", unit = "B", doc = "Bytes written there, in the same way" },
---   { name = "total_bytes", type = "Int64", unit = "B", doc = "Both" },
---   { name = "times_mean", type = "Float64", doc = "total_bytes / their mean over the OSTs of the file system that have a row" },
---   { name = "read_time", type = "Float64", unit = "s", doc = "Time spent reading, summed over processes, of each file as its bytes lie; over all OSTs it is the time of the files" },
---   { name = "write_time", type = "Float64", unit = "s", doc = "Time spent writing, in the same way" },
--- ]
--- chart = { form = "bar", x = "ost", y = ["bytes_read", "bytes_written"], series = "fs" }
--- [[param]]
--- name = "fs"
--- type = "text"
--- default = "NULL"
--- doc = "File system (default: all)"
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
WITH file AS (
  SELECT f.job_id, f.log_id, f.record_id, f.fs, f.ost_list, f.ost_bytes_read, f.ost_bytes_written, f.bytes_read, f.bytes_written, f.read_time, f.write_time
  FROM darshan_file f JOIN darshan_log l ON l.job_id = f.job_id AND l.log_id = f.log_id
  WHERE f.ost_list IS NOT NULL AND f.bytes_read + f.bytes_written > 0 AND ($fs IS NULL OR f.fs = $fs)
    AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
), stripe AS (
  SELECT job_id, log_id, record_id, fs, bytes_read AS all_read, bytes_written AS all_written, read_time, write_time,
    unnest(ost_list) AS ost, unnest(ost_bytes_read) AS bytes_read, unnest(ost_bytes_written) AS bytes_written
  FROM file
), part AS (
  SELECT job_id, log_id, record_id, fs, ost, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
    sum(read_time * bytes_read / nullif(all_read, 0)) AS read_time, sum(write_time * bytes_written / nullif(all_written, 0)) AS write_time
  FROM stripe WHERE bytes_read + bytes_written > 0 GROUP BY job_id, log_id, record_id, fs, ost
), one AS (
  SELECT fs, ost, count(DISTINCT log_id) AS logs, count(*) AS files, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
    sum(bytes_read) + sum(bytes_written) AS total_bytes, sum(read_time) AS read_time, sum(write_time) AS write_time
  FROM part GROUP BY fs, ost
)
SELECT fs, ost, logs, files, bytes_read, bytes_written, total_bytes,
  CASE WHEN ost IS NOT NULL THEN CAST(total_bytes AS DOUBLE) * count(ost) OVER (PARTITION BY fs) / sum(CASE WHEN ost IS NOT NULL THEN total_bytes END) OVER (PARTITION BY fs) END AS times_mean,
  read_time, write_time
FROM one ORDER BY total_bytes DESC, fs, ost
