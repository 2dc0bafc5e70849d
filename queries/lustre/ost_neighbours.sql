--- doc = "Other jobs that moved bytes on the OSTs of a job during its I/O, ranked by these bytes"
--- grain = "one log of the job, and one log of another job that moved bytes on an OST that they share at a time at which the first did"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "The job that was asked for" },
---   { name = "log_id", type = "Int64", doc = "Its log" },
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "neighbour_job_id", type = "Int64", doc = "The other job" },
---   { name = "neighbour_log_id", type = "Int64", doc = "Its log" },
---   { name = "neighbour_app", type = "Utf8", doc = "Its program" },
---   { name = "neighbour_user", type = "Utf8", doc = "Its user, by Slurm, else a guess from the name of the log" },
---   { name = "osts", type = "Int64", unit = "count", doc = "OSTs on which both moved bytes at the same time" },
---   { name = "neighbour_bytes", type = "Float64", unit = "B", doc = "Bytes that it moved there at the same time, read and written; the bytes of a file on an OST are spread evenly over its window" },
---   { name = "own_bytes", type = "Float64", unit = "B", doc = "Bytes that the log moved on OSTs while this neighbour did" },
---   { name = "share", type = "Float64", unit = "fraction", doc = "neighbour_bytes of those of all neighbours of the log on this file system" },
--- ]
--- chart = { form = "scatter", x = "own_bytes", y = "neighbour_bytes", series = "fs", label = "neighbour_app", log = ["x", "y"] }
--- [[param]]
--- name = "job"
--- type = "int"
--- doc = "Job id"
--- [[param]]
--- name = "fs"
--- type = "text"
--- default = "NULL"
--- doc = "File system (default: all)"

-- Where several files of a log are in use on an OST at once, the time counts once: critical_files makes one list of periods of them.
WITH span AS (
  SELECT min(least(read_start_time, write_start_time)) AS first, max(greatest(read_end_time, write_end_time)) AS last FROM darshan_file WHERE job_id = $job AND NOT is_stream
), side AS (
  SELECT f.job_id, f.log_id, f.fs, f.ost_list, f.ost_bytes_read AS ost_bytes, f.read_start_time AS begins, f.read_end_time AS ends
  FROM darshan_file f WHERE NOT f.is_stream AND f.bytes_read > 0 AND f.ost_list IS NOT NULL AND ($fs IS NULL OR f.fs = $fs)
    AND f.read_start_time <= (SELECT last FROM span) AND f.read_end_time >= (SELECT first FROM span)
  UNION ALL
  SELECT f.job_id, f.log_id, f.fs, f.ost_list, f.ost_bytes_written, f.write_start_time, f.write_end_time
  FROM darshan_file f WHERE NOT f.is_stream AND f.bytes_written > 0 AND f.ost_list IS NOT NULL AND ($fs IS NULL OR f.fs = $fs)
    AND f.write_start_time <= (SELECT last FROM span) AND f.write_end_time >= (SELECT first FROM span)
), stripe AS (
  SELECT job_id, log_id, fs, CAST(begins AS BIGINT) AS a, greatest(CAST(ends AS BIGINT), CAST(begins AS BIGINT) + 1) AS b, unnest(ost_list) AS ost, unnest(ost_bytes) AS bytes FROM side
), flow AS (
  SELECT s.job_id, s.log_id, s.fs, s.ost, s.a, s.b, sum(s.bytes) AS bytes
  FROM stripe s WHERE s.ost IS NOT NULL AND s.bytes > 0 GROUP BY s.job_id, s.log_id, s.fs, s.ost, s.a, s.b
), own AS (
  SELECT * FROM flow WHERE job_id = $job
), other AS (
  SELECT * FROM flow WHERE job_id <> $job
), own_period AS (
  SELECT log_id, fs, ost, part['start'] AS a, part['end'] AS b FROM (SELECT log_id, fs, ost, unnest(critical_files(0, CAST(a AS DOUBLE), CAST(b AS DOUBLE))) AS part FROM own GROUP BY log_id, fs, ost)
), other_period AS (
  SELECT job_id, log_id, fs, ost, part['start'] AS a, part['end'] AS b FROM (SELECT job_id, log_id, fs, ost, unnest(critical_files(0, CAST(a AS DOUBLE), CAST(b AS DOUBLE))) AS part FROM other GROUP BY job_id, log_id, fs, ost)
), meanwhile AS (
  SELECT p.log_id, p.fs, o.job_id AS neighbour_job_id, o.log_id AS neighbour_log_id, p.ost, sum(o.bytes * (least(o.b, p.b) - greatest(o.a, p.a)) / (o.b - o.a)) AS neighbour_bytes
  FROM own_period p JOIN other o ON o.fs = p.fs AND o.ost = p.ost AND o.a < p.b AND o.b > p.a GROUP BY p.log_id, p.fs, o.job_id, o.log_id, p.ost
), mine AS (
  SELECT w.log_id, w.fs, p.job_id AS neighbour_job_id, p.log_id AS neighbour_log_id, sum(w.bytes * (least(w.b, p.b) - greatest(w.a, p.a)) / (w.b - w.a)) AS own_bytes
  FROM other_period p JOIN own w ON w.fs = p.fs AND w.ost = p.ost AND w.a < p.b AND w.b > p.a GROUP BY w.log_id, w.fs, p.job_id, p.log_id
), pair AS (
  SELECT log_id, fs, neighbour_job_id, neighbour_log_id, count(*) AS osts, sum(neighbour_bytes) AS neighbour_bytes FROM meanwhile GROUP BY log_id, fs, neighbour_job_id, neighbour_log_id
)
SELECT $job AS job_id, p.log_id, p.fs, p.neighbour_job_id, p.neighbour_log_id, j.app AS neighbour_app, j."user" AS neighbour_user, p.osts, p.neighbour_bytes, m.own_bytes,
  p.neighbour_bytes / sum(p.neighbour_bytes) OVER (PARTITION BY p.log_id, p.fs) AS share
FROM pair p JOIN mine m ON m.log_id = p.log_id AND m.fs = p.fs AND m.neighbour_job_id = p.neighbour_job_id AND m.neighbour_log_id = p.neighbour_log_id
  JOIN job j ON j.job_id = p.neighbour_job_id AND j.log_id = p.neighbour_log_id
ORDER BY p.neighbour_bytes DESC, p.log_id, p.fs, p.neighbour_job_id, p.neighbour_log_id
