--- doc = "Bytes that each file moved on each of its OSTs in each LMT interval, beside the bytes that LMT counted there"
--- grain = "one file of one log, OST, direction and interval"
--- aliases = ["file_ost_interval"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "record_id", type = "UInt64", doc = "The file, by Darshan's hash of its path" },
---   { name = "path", type = "Utf8", doc = "Its path" },
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "ost", type = "Int32", doc = "Index of the OST" },
---   { name = "direction", type = "Utf8", doc = "read or write" },
---   { name = "start_time", type = "Timestamp", doc = "Begin of the interval" },
---   { name = "time", type = "Timestamp", doc = "End of the interval" },
---   { name = "interval_s", type = "Float64", unit = "s", doc = "Its length" },
---   { name = "reset", type = "Boolean", doc = "A counter fell or came back from 0 in it: see lmt_ost" },
---   { name = "gap", type = "Boolean", doc = "It is longer than 7.5 s: samples are missing" },
---   { name = "seen", type = "Int64", unit = "B", doc = "Bytes that the OST moved in this direction in the interval, by LMT" },
---   { name = "own_file", type = "Float64", unit = "B", doc = "What this file moved there then, by Darshan: its bytes on the OST spread evenly over its window" },
---   { name = "same_job", type = "Float64", unit = "B", doc = "What other files of the same job and user moved there then, in the same way" },
---   { name = "other_known", type = "Float64", unit = "B", doc = "What files of other jobs in the lake moved there then, in the same way" },
---   { name = "unexplained", type = "Float64", unit = "B", doc = "seen less these three: programs without a log, and what caches and the stamps of LMT shift in time, so that it may be below 0" },
---   { name = "coverage", type = "Float64", unit = "fraction", doc = "Share of the part of the file's window between from and to for which LMT has samples of the OST that end there" },
--- ]
--- chart = { form = "heat_map", x = "time", y = "ost", z = "own_file", log = ["z"] }
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- doc = "Intervals that end at this time or later"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- doc = "Intervals that end before this time"
--- [[param]]
--- name = "fs"
--- type = "text"
--- default = "NULL"
--- doc = "File system (default: all)"

-- A file's bytes on an OST are taken to flow evenly from its first to its last access. LMT stamps are rounded down to 5 s, so
-- intervals up to 5 s beside that window are shown as well, with nothing of the file in them (SEMANTICS.md 2, 7).
WITH side AS (
  SELECT f.job_id, l.uid, f.log_id, f.record_id, f.path, f.fs, 'read' AS direction, f.ost_list, f.ost_bytes_read AS ost_bytes,
    f.read_start_time AS begins, f.read_end_time AS ends
  FROM darshan_file f JOIN darshan_log l ON l.job_id = f.job_id AND l.log_id = f.log_id
  WHERE NOT f.is_stream AND f.bytes_read > 0 AND f.ost_list IS NOT NULL AND f.read_start_time < $to AND f.read_end_time >= $from - INTERVAL '35 seconds'
    AND ($fs IS NULL OR f.fs = $fs)
  UNION ALL
  SELECT f.job_id, l.uid, f.log_id, f.record_id, f.path, f.fs, 'write', f.ost_list, f.ost_bytes_written, f.write_start_time, f.write_end_time
  FROM darshan_file f JOIN darshan_log l ON l.job_id = f.job_id AND l.log_id = f.log_id
  WHERE NOT f.is_stream AND f.bytes_written > 0 AND f.ost_list IS NOT NULL AND f.write_start_time < $to AND f.write_end_time >= $from - INTERVAL '35 seconds'
    AND ($fs IS NULL OR f.fs = $fs)
), stripe AS (
  SELECT job_id, uid, log_id, record_id, path, fs, direction, CAST(begins AS BIGINT) AS a, CAST(ends AS BIGINT) AS b,
    unnest(ost_list) AS ost, unnest(ost_bytes) AS bytes
  FROM side
), on_ost AS (
  -- An OST may hold several stripes.
  SELECT job_id, uid, log_id, record_id, path, fs, direction, a, b, ost, sum(bytes) AS bytes
  FROM stripe WHERE ost IS NOT NULL GROUP BY job_id, uid, log_id, record_id, path, fs, direction, a, b, ost HAVING sum(bytes) > 0
), bucketed AS (
  -- The minutes in which an interval of at most 30 s can end that is less than 5 s away.
  SELECT *, unnest(generate_series((greatest(a, CAST($from AS BIGINT)) - 5000000) / 60000000, (least(b, CAST($to AS BIGINT)) + 35000000) / 60000000)) AS bucket
  FROM on_ost
), sample AS (
  SELECT fs, ost, start_time, time, interval_s, reset, gap, bytes_read, bytes_written, CAST(start_time AS BIGINT) AS c, CAST(time AS BIGINT) AS d,
    CAST(time AS BIGINT) / 60000000 AS bucket
  FROM lmt_ost WHERE time >= $from AND time < $to AND interval_s <= 30 AND ($fs IS NULL OR fs = $fs)
), hit AS (
  SELECT f.job_id, f.uid, f.log_id, f.record_id, f.path, f.fs, f.ost, f.direction, s.start_time, s.time, s.interval_s, s.reset, s.gap,
    CASE f.direction WHEN 'read' THEN s.bytes_read ELSE s.bytes_written END AS seen,
    greatest(least(f.b, s.d) - greatest(f.a, s.c, CAST($from AS BIGINT)), 0) AS inside, f.b - f.a AS length, least(f.b, CAST($to AS BIGINT)) - greatest(f.a, CAST($from AS BIGINT)) AS asked,
    CASE WHEN f.b > f.a THEN f.bytes * (CAST(greatest(least(f.b, s.d) - greatest(f.a, s.c), 0) AS DOUBLE) / (f.b - f.a))
      WHEN f.a > s.c AND f.a <= s.d THEN CAST(f.bytes AS DOUBLE) ELSE 0.0 END AS own_file,
    f.a > s.c AND f.a <= s.d AS holds_begin
  FROM bucketed f JOIN sample s ON s.fs = f.fs AND s.ost = f.ost AND s.bucket = f.bucket
  WHERE s.c - 5000000 < f.b AND s.d + 5000000 > f.a
), summed AS (
  SELECT *, sum(own_file) OVER (PARTITION BY fs, ost, time, direction) AS known,
    sum(own_file) OVER (PARTITION BY fs, ost, time, direction, job_id, uid) AS of_job,
    sum(inside) OVER (PARTITION BY log_id, record_id, fs, ost, direction) AS sampled,
    bool_or(holds_begin) OVER (PARTITION BY log_id, record_id, fs, ost, direction) AS sampled_begin
  FROM hit
)
SELECT job_id, log_id, record_id, path, fs, ost, direction, start_time, time, interval_s, reset, gap, seen, own_file,
  of_job - own_file AS same_job, known - of_job AS other_known, seen - known AS unexplained,
  CASE WHEN length > 0 THEN CAST(sampled AS DOUBLE) / nullif(greatest(asked, 0), 0) WHEN sampled_begin THEN 1.0 ELSE 0.0 END AS coverage
FROM summed
ORDER BY job_id, log_id, record_id, direction, ost, time
