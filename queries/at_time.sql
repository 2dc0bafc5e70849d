--- doc = "What ran on a file system, or on one OST or MDT of it, between two times: logs by the bytes and operations that are theirs"
--- grain = "one log"
--- [[param]]
--- name = "fs"
--- type = "text"
--- doc = "File system"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- doc = "Begin"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- doc = "End, which no longer belongs"
--- [[param]]
--- name = "ost"
--- type = "int"
--- default = "NULL"
--- doc = "Index of the OST; all if not given"
--- [[param]]
--- name = "mdt"
--- type = "int"
--- default = "NULL"
--- doc = "Index of an MDT: then logs are ranked by operations. Darshan does not say which MDT a file is on"

-- Bytes and operations are spread evenly over each file's windows, and what lies between the two times is counted.
WITH side AS (
  SELECT job_id, log_id, record_id, 'read' AS direction, ost_list, ost_bytes_read AS ost_bytes, bytes_read AS bytes,
    CAST(read_start_time AS BIGINT) AS a, CAST(read_end_time AS BIGINT) AS b
  FROM darshan_file WHERE fs = $fs AND bytes_read > 0 AND NOT is_stream AND read_start_time < $to AND read_end_time >= $from
  UNION ALL
  SELECT job_id, log_id, record_id, 'write', ost_list, ost_bytes_written, bytes_written,
    CAST(write_start_time AS BIGINT), CAST(write_end_time AS BIGINT)
  FROM darshan_file WHERE fs = $fs AND bytes_written > 0 AND NOT is_stream AND write_start_time < $to AND write_end_time >= $from
), part AS (
  SELECT *, CASE WHEN b > a THEN CAST(least(b, CAST($to AS BIGINT)) - greatest(a, CAST($from AS BIGINT)) AS DOUBLE) / (b - a) ELSE 1.0 END AS share
  FROM side
), stripe AS (
  SELECT job_id, log_id, direction, share, unnest(ost_list) AS ost, unnest(ost_bytes) AS bytes FROM part WHERE $ost IS NOT NULL
), moved AS (
  SELECT job_id, log_id, direction, share * bytes AS bytes FROM stripe WHERE ost = $ost
  UNION ALL
  SELECT job_id, log_id, direction, share * bytes FROM part WHERE $ost IS NULL
), bytes AS (
  SELECT job_id, log_id, sum(CASE WHEN direction = 'read' THEN bytes ELSE 0.0 END) AS bytes_read,
    sum(CASE WHEN direction = 'write' THEN bytes ELSE 0.0 END) AS bytes_written
  FROM moved GROUP BY job_id, log_id
), run_part AS (
  SELECT l.job_id, l.log_id, CASE WHEN l.end_time > l.start_time
    THEN CAST(least(CAST(l.end_time AS BIGINT), CAST($to AS BIGINT)) - greatest(CAST(l.start_time AS BIGINT), CAST($from AS BIGINT)) AS DOUBLE)
      / (CAST(l.end_time AS BIGINT) - CAST(l.start_time AS BIGINT)) ELSE 1.0 END AS share
  FROM darshan_log l WHERE l.start_time < $to AND l.end_time >= $from
), op AS (
  SELECT f.job_id, f.log_id, sum(f.opens) * max(w.share) AS opens, sum(f.stats) * max(w.share) AS stats, count(*) AS files
  FROM darshan_file f JOIN run_part w ON w.job_id = f.job_id AND w.log_id = f.log_id
  WHERE f.fs = $fs AND NOT f.is_stream GROUP BY f.job_id, f.log_id
)
SELECT j.job_id, j.log_id, j."user", j.account, j.app, j.job_name, j.nprocs, j.node_count, j.match, j.start_time, j.end_time,
  coalesce(b.bytes_read, 0.0) AS bytes_read, coalesce(b.bytes_written, 0.0) AS bytes_written, o.opens, o.stats, o.files
FROM op o JOIN job j ON j.job_id = o.job_id AND j.log_id = o.log_id
  LEFT JOIN bytes b ON b.job_id = o.job_id AND b.log_id = o.log_id
WHERE $ost IS NULL OR b.log_id IS NOT NULL
ORDER BY CASE WHEN $mdt IS NULL THEN coalesce(b.bytes_read, 0.0) + coalesce(b.bytes_written, 0.0) ELSE coalesce(o.opens, 0.0) + coalesce(o.stats, 0.0) END DESC,
  coalesce(o.opens, 0.0) + coalesce(o.stats, 0.0) DESC, j.job_id, j.log_id
