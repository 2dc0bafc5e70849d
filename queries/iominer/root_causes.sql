--- doc = "Causes of slow I/O: the root causes of the IOMiner paper that account for most of the critical time of a log"
--- grain = "one log, direction and cause; a log for which nothing stands out has no row"
--- source = "IOMiner, section III-F"
--- chart = "bar cause logs"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes" },
---   { name = "direction", type = "Utf8", doc = "read or write" },
---   { name = "cause", type = "Utf8", doc = "" },
---   { name = "share", type = "Float64", doc = "Part of the critical time that the files of the cause have for themselves, by their windows; NULL if it does not hold so" },
---   { name = "share_busy", type = "Float64", doc = "The same by the times for which the files were busy; NULL if it does not hold so" },
---   { name = "critical_time", type = "Float64", unit = "s", doc = "Time in which at least one file was in use in that direction, by windows; by busy times if share is NULL" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files of the cause" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Their bytes in that direction" },
---   { name = "bw", type = "Float64", unit = "B/s", doc = "These bytes / the time that the files have for themselves" },
---   { name = "number", type = "Float64", doc = "" },
---   { name = "subject", type = "Utf8", doc = "The OST, the process or the file; of several the one with most time" },
--- ]
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"
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
--- [[param]]
--- name = "both"
--- type = "bool"
--- default = "true"
--- doc = "Only causes that hold by windows and by busy times; false adds those that hold by one of them"
--- [[param]]
--- name = "min_time"
--- type = "float"
--- default = "1"
--- doc = "Minimum critical time of a log, s"
--- [[param]]
--- name = "slow_bw"
--- type = "float"
--- default = "1e9"
--- doc = "Bandwidth, B/s, from which files are not considered slow; the default is the threshold of the IOMiner paper"

-- Files of a log and direction, each with its window and the time for which it was busy; then the rules of queries/rules, each from the
-- exclusive times (algorithm 2) of the files that it is about, which must be at least half of the critical time.
-- A cause that holds for windows only may be an idle file that was held open: share_busy tells.
WITH log AS (
  SELECT job_id, log_id, app, nprocs, start_time, critical_read_time, critical_write_time FROM darshan_log
  WHERE ($job IS NULL OR job_id = $job) AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
    AND nprocs > 1 AND greatest(coalesce(critical_read_time, 0.0), coalesce(critical_write_time, 0.0)) >= $min_time
), side AS (
  SELECT f.job_id, f.log_id, 'read' AS direction, f.record_id, f.path, CASE WHEN f.ost_count = 1 THEN 'OST ' || f.ost_list[1] || ' of ' || f.fs END AS ost,
    f.bytes_read AS bytes, f.posix_reads AS requests, f.consec_reads AS consec, f.size_read_0_100 + f.size_read_100_1k AS small,
    coalesce(f.readers, CASE WHEN f.bytes_source = 'mpiio' THEN f.file_nprocs_mpiio ELSE f.file_nprocs_posix END) AS procs,
    CASE WHEN f.sharing = 'unique' THEN 'rank ' || f.slowest_rank END AS rank, l.nprocs, f.read_start AS a, f.read_end AS b, f.read_busy_end AS busy_end
  FROM log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id
  WHERE NOT f.is_stream AND f.bytes_read > 0 AND l.critical_read_time >= $min_time AND ($job IS NULL OR f.job_id = $job)
  UNION ALL
  SELECT f.job_id, f.log_id, 'write', f.record_id, f.path, CASE WHEN f.ost_count = 1 THEN 'OST ' || f.ost_list[1] || ' of ' || f.fs END,
    f.bytes_written, f.posix_writes, f.consec_writes, f.size_write_0_100 + f.size_write_100_1k,
    coalesce(f.writers, CASE WHEN f.bytes_source = 'mpiio' THEN f.file_nprocs_mpiio ELSE f.file_nprocs_posix END),
    CASE WHEN f.sharing = 'unique' THEN 'rank ' || f.slowest_rank END, l.nprocs, f.write_start, f.write_end, f.write_busy_end
  FROM log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id
  WHERE NOT f.is_stream AND f.bytes_written > 0 AND l.critical_write_time >= $min_time AND ($job IS NULL OR f.job_id = $job)
), used AS (
  SELECT job_id, log_id, direction, record_id, a, unnest(make_array(b, least(busy_end, b))) AS b, unnest(make_array('window', 'busy')) AS kind FROM side
), laid AS (
  -- A file whose removal halves the time is the longest one.
  SELECT *, row_number() OVER (PARTITION BY kind, job_id, log_id, direction ORDER BY b - a DESC, record_id) AS by_length,
    max(b) OVER (PARTITION BY kind, job_id, log_id, direction ORDER BY a, b, record_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_end,
    lead(a) OVER (PARTITION BY kind, job_id, log_id, direction ORDER BY a, b, record_id) AS next_start
  FROM used WHERE b > a
), swept AS (
  SELECT kind, job_id, log_id, direction, critical_files(record_id, a, b) AS cover, io_time(a, b) AS critical_time, io_time(a, b) FILTER (WHERE by_length > 1) AS without
  FROM laid GROUP BY kind, job_id, log_id, direction
), part AS (
  SELECT kind, job_id, log_id, direction, critical_time, critical_time - coalesce(without, 0.0) AS lost, unnest(cover) AS part FROM swept
  WHERE critical_time >= CASE WHEN kind = 'window' THEN $min_time ELSE $min_time / 10.0 END
), own AS (
  SELECT kind, job_id, log_id, direction, critical_time, lost, part['id'] AS record_id, sum(part['end'] - part['start']) AS time
  FROM part GROUP BY kind, job_id, log_id, direction, critical_time, lost, part['id']
), timed AS (
  SELECT u.kind, u.job_id, u.log_id, u.direction, u.record_id, u.by_length, u.b - u.a AS length, coalesce(o.time, 0.0) AS time,
    greatest(least(coalesce(u.before_end, u.a), u.b) - u.a, 0.0) + greatest(u.b - coalesce(u.next_start, u.b), 0.0) <= 0.05 * (u.b - u.a) AS alone,
    max(o.critical_time) OVER (PARTITION BY u.kind, u.job_id, u.log_id, u.direction) AS critical_time, max(o.lost) OVER (PARTITION BY u.kind, u.job_id, u.log_id, u.direction) AS lost
  FROM laid u LEFT JOIN own o ON o.kind = u.kind AND o.job_id = u.job_id AND o.log_id = u.log_id AND o.direction = u.direction AND o.record_id = u.record_id
), file AS (
  SELECT s.*, t.kind, t.time, t.length, t.critical_time, t.lost, t.alone, t.by_length, count(*) OVER (PARTITION BY t.kind, s.job_id, s.log_id, s.direction) AS files,
    sum(s.bytes) OVER (PARTITION BY t.kind, s.job_id, s.log_id, s.direction) AS all_bytes
  FROM timed t JOIN side s ON s.job_id = t.job_id AND s.log_id = t.log_id AND s.direction = t.direction AND s.record_id = t.record_id
), member AS (
  SELECT *, unnest(make_array(/* causes of a file */)) AS cause
  FROM file
), subject AS (
  SELECT kind, job_id, log_id, direction, cause, critical_time, nprocs, all_bytes, /* about */ AS about,
    first_value(path ORDER BY /* time */ DESC, record_id) AS path, sum(/* time */) AS time, max(length) AS longest, count(*) AS files, sum(bytes) AS bytes, sum(procs) AS procs,
    sum(small) AS small, sum(requests) AS requests
  FROM member WHERE cause IS NOT NULL
  GROUP BY kind, job_id, log_id, direction, cause, critical_time, nprocs, all_bytes, /* about */
), met AS (
  SELECT *, /* value */ AS number FROM subject WHERE time > 0 AND /* holds */
), found AS (
  SELECT kind, job_id, log_id, direction, cause, critical_time, first_value(coalesce(about, path) ORDER BY time DESC, about) AS subject,
    first_value(number ORDER BY time DESC, about) AS number, sum(time) AS time, sum(files) AS files, sum(bytes) AS bytes
  FROM met GROUP BY kind, job_id, log_id, direction, cause, critical_time, /* each */
  HAVING sum(time) >= 0.5 * critical_time AND sum(bytes) / sum(time) < $slow_bw
), both_kinds AS (
  -- What is about one OST, process or file must be so for the same one by both kinds of interval.
  SELECT job_id, log_id, direction, cause, CASE WHEN /* same */ THEN subject END AS same,
    max(CASE WHEN kind = 'window' THEN time / critical_time END) AS share, max(CASE WHEN kind = 'busy' THEN time / critical_time END) AS share_busy,
    first_value(critical_time ORDER BY kind DESC) AS critical_time, first_value(files ORDER BY kind DESC) AS files, first_value(bytes ORDER BY kind DESC) AS bytes,
    first_value(bytes / time ORDER BY kind DESC) AS bw, first_value(number ORDER BY kind DESC) AS number, first_value(subject ORDER BY kind DESC) AS subject
  FROM found GROUP BY job_id, log_id, direction, cause, CASE WHEN /* same */ THEN subject END
)
SELECT c.job_id, c.log_id, l.app, l.start_time, l.nprocs, c.direction, c.cause, c.share, c.share_busy, c.critical_time, c.files, c.bytes, c.bw, c.number, c.subject
FROM both_kinds c JOIN log l ON l.job_id = c.job_id AND l.log_id = c.log_id
WHERE NOT $both OR c.share IS NOT NULL AND c.share_busy IS NOT NULL
ORDER BY c.job_id, c.log_id, c.direction, c.share * c.critical_time DESC, c.cause
