--- doc = "Logs that used a file system, or one of its OSTs or MDTs, between two times, ranked by bytes or operations"
--- grain = "one log"
--- aliases = ["at_time"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "user", type = "Utf8", doc = "User name by Slurm, else a guess from the log's file name" },
---   { name = "account", type = "Utf8", doc = "Account that is charged" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "job_name", type = "Utf8", doc = "Name of the job" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes" },
---   { name = "node_count", type = "Int64", unit = "count", doc = "Nodes" },
---   { name = "match", type = "Utf8", doc = "How its Slurm record was found: see the view job" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "end_time", type = "Timestamp", doc = "End of the program" },
---   { name = "bytes_read", type = "Float64", unit = "B", doc = "Bytes read there and then; estimated, for each file's bytes are spread evenly over its window" },
---   { name = "bytes_written", type = "Float64", unit = "B", doc = "Bytes written there and then, in the same way" },
---   { name = "opens", type = "Float64", unit = "count", doc = "Opens then of files that lie there, those of each file spread evenly from its first to its last open" },
---   { name = "stats", type = "Float64", unit = "count", doc = "Stats of these files, spread as their opens are, for Darshan has no times of them" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files that were read, written or opened there and then" },
--- ]
--- chart = { form = "timeline", x = ["start_time", "end_time"], y = "app", label = "user" }
--- [[param]]
--- name = "fs"
--- type = "text"
--- doc = "File system"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- doc = "Start of the period"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- doc = "End (exclusive)"
--- [[param]]
--- name = "ost"
--- type = "int"
--- default = "NULL"
--- doc = "Index of the OST (default: all)"
--- [[param]]
--- name = "mdt"
--- type = "int"
--- default = "NULL"
--- doc = "Index of an MDT: then logs are ranked by operations. Darshan does not say which MDT a file is on"

-- Bytes are spread evenly over each file's windows, opens from the first to the last, and what lies between the two times is
-- counted. Without a time of its own a file's opens are spread over the run.
WITH ran AS (
  SELECT job_id, log_id, start_time, CAST(start_time AS BIGINT) AS a, CAST(coalesce(end_time, start_time) AS BIGINT) AS b
  FROM darshan_log WHERE start_time < $to AND coalesce(end_time, start_time) >= $from
), file AS (
  SELECT job_id, log_id, record_id, ost_list, ost_bytes_read, ost_bytes_written, bytes_read, bytes_written, opens, stats,
    read_start_time, read_end_time, write_start_time, write_end_time
  FROM darshan_file WHERE fs = $fs AND NOT is_stream AND ($ost IS NULL OR ost_contains(ost_bits, $ost))
), side AS (
  SELECT job_id, log_id, record_id, 'read' AS direction, ost_list, ost_bytes_read AS ost_bytes, bytes_read AS bytes,
    CAST(read_start_time AS BIGINT) AS a, CAST(read_end_time AS BIGINT) AS b
  FROM file WHERE bytes_read > 0 AND read_start_time < $to AND (read_end_time > $from OR read_start_time >= $from)
  UNION ALL
  SELECT job_id, log_id, record_id, 'write', ost_list, ost_bytes_written, bytes_written,
    CAST(write_start_time AS BIGINT), CAST(write_end_time AS BIGINT)
  FROM file WHERE bytes_written > 0 AND write_start_time < $to AND (write_end_time > $from OR write_start_time >= $from)
), part AS (
  SELECT *, CASE WHEN b > a THEN CAST(least(b, CAST($to AS BIGINT)) - greatest(a, CAST($from AS BIGINT)) AS DOUBLE) / (b - a) ELSE 1.0 END AS share
  FROM side
), stripe AS (
  SELECT job_id, log_id, record_id, direction, share, unnest(ost_list) AS ost, unnest(ost_bytes) AS bytes FROM part WHERE $ost IS NOT NULL
), moved AS (
  SELECT job_id, log_id, record_id, direction, share * bytes AS bytes FROM stripe WHERE ost = $ost AND bytes > 0
  UNION ALL
  SELECT job_id, log_id, record_id, direction, share * bytes FROM part WHERE $ost IS NULL
), opened AS (
  SELECT job_id, log_id, record_id, min(first) AS first, max(last) AS last
  FROM (
    SELECT job_id, log_id, record_id, posix_f_open_start_timestamp AS first, posix_f_open_end_timestamp AS last FROM darshan_posix WHERE posix_opens > 0
    UNION ALL
    SELECT job_id, log_id, record_id, stdio_f_open_start_timestamp, stdio_f_open_end_timestamp FROM darshan_stdio WHERE stdio_opens > 0
  ) WHERE first > 0 AND last >= first GROUP BY job_id, log_id, record_id
), asked AS (
  SELECT f.job_id, f.log_id, f.record_id, f.opens, f.stats, coalesce(r.a + CAST(o.first * 1000000.0 AS BIGINT), r.a) AS a,
    coalesce(r.a + CAST(o.last * 1000000.0 AS BIGINT), r.b) AS b
  FROM file f JOIN ran r ON r.job_id = f.job_id AND r.log_id = f.log_id
    LEFT JOIN opened o ON o.job_id = f.job_id AND o.log_id = f.log_id AND o.record_id = f.record_id
  WHERE f.opens > 0 OR f.stats > 0
), op AS (
  SELECT job_id, log_id, record_id, opens, stats,
    CASE WHEN b > a THEN CAST(least(b, CAST($to AS BIGINT)) - greatest(a, CAST($from AS BIGINT)) AS DOUBLE) / (b - a) ELSE 1.0 END AS share
  FROM asked WHERE a < CAST($to AS BIGINT) AND (b > CAST($from AS BIGINT) OR a >= CAST($from AS BIGINT))
), touched AS (
  SELECT job_id, log_id, record_id, CASE WHEN direction = 'read' THEN bytes ELSE 0.0 END AS bytes_read,
    CASE WHEN direction = 'write' THEN bytes ELSE 0.0 END AS bytes_written, 0.0 AS opens, 0.0 AS stats
  FROM moved
  UNION ALL
  SELECT job_id, log_id, record_id, 0.0, 0.0, coalesce(opens, 0) * share, coalesce(stats, 0) * share FROM op
), total AS (
  SELECT job_id, log_id, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, sum(opens) AS opens, sum(stats) AS stats,
    count(DISTINCT record_id) AS files
  FROM touched GROUP BY job_id, log_id
)
SELECT j.job_id, j.log_id, j."user", j.account, j.app, j.job_name, j.nprocs, j.node_count, j.match, j.start_time, j.end_time,
  t.bytes_read, t.bytes_written, t.opens, t.stats, t.files
FROM total t JOIN job j ON j.job_id = t.job_id AND j.log_id = t.log_id
ORDER BY CASE WHEN $mdt IS NULL THEN t.bytes_read + t.bytes_written ELSE t.opens + t.stats END DESC, t.opens + t.stats DESC, j.job_id, j.log_id
