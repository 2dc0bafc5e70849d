--- doc = "Other traffic on the OSTs of a log during its I/O: bytes by LMT, split into this log, other jobs and unexplained"
--- grain = "one log, direction and file system, over the intervals in which it moved bytes"
--- source = "IOMiner, section II-B"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "direction", type = "Utf8", doc = "read or write" },
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "osts", type = "Int64", unit = "count", doc = "OSTs on which it moved bytes in an interval that LMT has" },
---   { name = "intervals", type = "Int64", unit = "count", doc = "Intervals of these OSTs in which it did" },
---   { name = "seconds", type = "Float64", unit = "s", doc = "Lengths of these intervals, added up over OSTs" },
---   { name = "seen", type = "Int64", unit = "B", doc = "Bytes that these OSTs moved in these intervals in this direction, by LMT" },
---   { name = "own", type = "Float64", unit = "B", doc = "Bytes of the log in them, by Darshan: a file's bytes on an OST spread evenly over its window" },
---   { name = "same_job", type = "Float64", unit = "B", doc = "Bytes of other logs of the same job and user, in the same way" },
---   { name = "other_known", type = "Float64", unit = "B", doc = "Bytes of other jobs in the lake, in the same way" },
---   { name = "unexplained", type = "Float64", unit = "B", doc = "seen less these three: programs without a log, and what caches and the stamps of LMT shift in time, so that it may be below 0" },
---   { name = "others_share", type = "Float64", unit = "fraction", doc = "(other_known + unexplained) / seen: what others moved of all that the OSTs did; NULL if they did nothing" },
---   { name = "worst_ost", type = "Int32", doc = "The OST on which others moved most" },
---   { name = "worst_ost_others", type = "Float64", unit = "B", doc = "other_known + unexplained there" },
---   { name = "coverage", type = "Float64", unit = "fraction", doc = "Part of the log's bytes in this direction and file system, of files of which the OSTs are known, that these intervals hold" },
--- ]
--- chart = { form = "scatter", x = "own", y = "others_share", series = "direction", label = "app", log = ["x"] }
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
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"

-- What an OST saw in an interval is the same for all files of a log that moved bytes there: it counts once. Other jobs are looked at even if one job is asked for.
WITH at_once AS (
  SELECT job_id, log_id, direction, fs, ost, time, max(interval_s) AS interval_s, max(seen) AS seen, sum(own_file) AS own, max(own_file + same_job) AS of_job, max(other_known) AS other_known, max(unexplained) AS unexplained
  FROM file_traffic_on_osts("from" => $from, "to" => $to, fs => $fs)
  WHERE own_file > 0 AND seen IS NOT NULL AND ($job IS NULL OR job_id = $job)
  GROUP BY job_id, log_id, direction, fs, ost, time
), on_ost AS (
  SELECT job_id, log_id, direction, fs, ost, count(*) AS intervals, sum(interval_s) AS seconds, sum(seen) AS seen, sum(own) AS own, sum(of_job - own) AS same_job, sum(other_known) AS other_known, sum(unexplained) AS unexplained
  FROM at_once GROUP BY job_id, log_id, direction, fs, ost
), on_fs AS (
  SELECT job_id, log_id, direction, fs, count(*) AS osts, sum(intervals) AS intervals, sum(seconds) AS seconds, sum(seen) AS seen, sum(own) AS own, sum(same_job) AS same_job, sum(other_known) AS other_known,
    sum(unexplained) AS unexplained, first_value(ost ORDER BY other_known + unexplained DESC, ost) AS worst_ost, max(other_known + unexplained) AS worst_ost_others
  FROM on_ost GROUP BY job_id, log_id, direction, fs
), moved AS (
  SELECT f.job_id, f.log_id, f.fs, sum(f.bytes_read) AS bytes_read, sum(f.bytes_written) AS bytes_written
  FROM darshan_file f WHERE NOT f.is_stream AND f.ost_list IS NOT NULL AND ($job IS NULL OR f.job_id = $job) GROUP BY f.job_id, f.log_id, f.fs
)
SELECT o.job_id, o.log_id, l.app, o.direction, o.fs, o.osts, o.intervals, o.seconds, o.seen, o.own, o.same_job, o.other_known, o.unexplained,
  (o.other_known + o.unexplained) / nullif(o.seen, 0) AS others_share, o.worst_ost, o.worst_ost_others,
  o.own / nullif(CASE WHEN o.direction = 'read' THEN m.bytes_read ELSE m.bytes_written END, 0) AS coverage
FROM on_fs o JOIN darshan_log l ON l.job_id = o.job_id AND l.log_id = o.log_id JOIN moved m ON m.job_id = o.job_id AND m.log_id = o.log_id AND m.fs = o.fs
ORDER BY o.other_known + o.unexplained DESC, o.job_id, o.log_id, o.direction, o.fs
