--- doc = "What rules look at of a file: its times among the files of the log in one direction, its layout, and its counters"
--- grain = "one file of a log in a direction, by one kind of interval"
--- source = "IOMiner, algorithm 2"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "direction", type = "Utf8", doc = "read or write" },
---   { name = "interval_kind", type = "Utf8", doc = "window: from the first access to the last; busy: from the first access on for as long as processes spent in I/O calls" },
---   { name = "record_id", type = "UInt64", doc = "The file" },
---   { name = "path", type = "Utf8", doc = "Its path" },
---   { name = "ost", type = "Utf8", doc = "Its OST and file system, such as OST 6 of scratch; NULL if there are several, or none is known" },
---   { name = "rank", type = "Utf8", doc = "Its process, such as rank 0; NULL if there are several" },
---   { name = "procs", type = "Int64", unit = "count", doc = "Processes that moved bytes; where that is not known those that opened it, an upper bound" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Bytes moved" },
---   { name = "process_time", type = "Float64", unit = "s", doc = "Time that processes spent in the direction, added up" },
---   { name = "requests", type = "Int64", unit = "count", doc = "POSIX requests" },
---   { name = "consec", type = "Int64", unit = "count", doc = "Those that begin where the one before ended" },
---   { name = "small", type = "Int64", unit = "count", doc = "Those of at most 1 KiB" },
---   { name = "begins", type = "Float64", unit = "s", doc = "Start of the interval, from the start of the program" },
---   { name = "ends", type = "Float64", unit = "s", doc = "End of the interval" },
---   { name = "length", type = "Float64", unit = "s", doc = "Its length" },
---   { name = "exclusive_time", type = "Float64", unit = "s", doc = "That part of the critical time that falls to the file if the fewest files are to cover it" },
---   { name = "by_length", type = "Int64", doc = "1 for the longest interval, and so on" },
---   { name = "alone", type = "Boolean", doc = "What lies before the end of the files that began earlier, and what lies behind the begin of the next one, is at most 5 % of the interval" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes of the log" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files of the log in this direction" },
---   { name = "all_bytes", type = "Int64", unit = "B", doc = "Their bytes" },
---   { name = "critical_time", type = "Float64", unit = "s", doc = "Length of the union of their intervals" },
---   { name = "lost", type = "Float64", unit = "s", doc = "How much shorter critical_time would be without the longest interval" },
--- ]
--- chart = { form = "timeline", x = ["begins", "ends"], y = "path", series = "direction" }
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
--- name = "min_time"
--- type = "float"
--- default = "0"
--- doc = "Minimum critical time of a log by windows, s; by busy times a tenth of it"
--- [[param]]
--- name = "min_nprocs"
--- type = "int"
--- default = "1"
--- doc = "Minimum processes of a log"

-- These are parameters and no columns, for conditions on logs do not reach the scan of files: windows, aggregates and joins lie between.
WITH log AS (
  SELECT job_id, log_id, direction, nprocs FROM log_facts
  WHERE ($job IS NULL OR job_id = $job) AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
    AND coalesce(nprocs, 1) >= $min_nprocs AND critical_time >= $min_time
), side AS (
  SELECT f.job_id, f.log_id, 'read' AS direction, f.record_id, f.path, CASE WHEN f.ost_count = 1 THEN 'OST ' || f.ost_list[1] || ' of ' || f.fs END AS ost,
    f.bytes_read AS bytes, f.read_time AS process_time, f.posix_reads AS requests, f.consec_reads AS consec, f.size_read_0_100 + f.size_read_100_1k AS small,
    coalesce(f.readers, CASE WHEN f.bytes_source = 'mpiio' THEN f.file_nprocs_mpiio ELSE f.file_nprocs_posix END) AS procs,
    CASE WHEN f.sharing = 'unique' THEN 'rank ' || f.slowest_rank END AS rank, l.nprocs, f.read_start AS a, f.read_end AS b, f.read_busy_end AS busy_end
  FROM log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id
  WHERE l.direction = 'read' AND NOT f.is_stream AND f.bytes_read > 0 AND ($job IS NULL OR f.job_id = $job)
  UNION ALL
  SELECT f.job_id, f.log_id, 'write', f.record_id, f.path, CASE WHEN f.ost_count = 1 THEN 'OST ' || f.ost_list[1] || ' of ' || f.fs END,
    f.bytes_written, f.write_time, f.posix_writes, f.consec_writes, f.size_write_0_100 + f.size_write_100_1k,
    coalesce(f.writers, CASE WHEN f.bytes_source = 'mpiio' THEN f.file_nprocs_mpiio ELSE f.file_nprocs_posix END),
    CASE WHEN f.sharing = 'unique' THEN 'rank ' || f.slowest_rank END, l.nprocs, f.write_start, f.write_end, f.write_busy_end
  FROM log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id
  WHERE l.direction = 'write' AND NOT f.is_stream AND f.bytes_written > 0 AND ($job IS NULL OR f.job_id = $job)
), used AS (
  SELECT job_id, log_id, direction, record_id, bytes, a, unnest(make_array(b, least(busy_end, b))) AS b, unnest(make_array('window', 'busy')) AS interval_kind FROM side
), laid AS (
  -- A file whose removal halves the time is the longest one.
  SELECT *, row_number() OVER (PARTITION BY interval_kind, job_id, log_id, direction ORDER BY b - a DESC, record_id) AS by_length,
    max(b) OVER (PARTITION BY interval_kind, job_id, log_id, direction ORDER BY a, b, record_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_end,
    lead(a) OVER (PARTITION BY interval_kind, job_id, log_id, direction ORDER BY a, b, record_id) AS next_start
  FROM used WHERE b > a
), swept AS (
  SELECT interval_kind, job_id, log_id, direction, critical_files(record_id, a, b) AS cover, io_time(a, b) AS critical_time, io_time(a, b) FILTER (WHERE by_length > 1) AS without
  FROM laid GROUP BY interval_kind, job_id, log_id, direction
), part AS (
  SELECT interval_kind, job_id, log_id, direction, critical_time, critical_time - coalesce(without, 0.0) AS lost, unnest(cover) AS part FROM swept
  WHERE critical_time >= CASE WHEN interval_kind = 'window' THEN $min_time ELSE $min_time / 10.0 END
), own AS (
  SELECT interval_kind, job_id, log_id, direction, critical_time, lost, part['id'] AS record_id, sum(part['end'] - part['start']) AS exclusive_time
  FROM part GROUP BY interval_kind, job_id, log_id, direction, critical_time, lost, part['id']
), timed AS (
  SELECT u.interval_kind, u.job_id, u.log_id, u.direction, u.record_id, u.a, u.b, u.by_length, u.b - u.a AS length, coalesce(o.exclusive_time, 0.0) AS exclusive_time,
    greatest(least(coalesce(u.before_end, u.a), u.b) - u.a, 0.0) + greatest(u.b - coalesce(u.next_start, u.b), 0.0) <= 0.05 * (u.b - u.a) AS alone,
    -- What is about the whole log, here and not over the answer: that one would be sorted with all paths.
    count(*) OVER (PARTITION BY u.interval_kind, u.job_id, u.log_id, u.direction) AS files, sum(u.bytes) OVER (PARTITION BY u.interval_kind, u.job_id, u.log_id, u.direction) AS all_bytes,
    max(o.critical_time) OVER (PARTITION BY u.interval_kind, u.job_id, u.log_id, u.direction) AS critical_time, max(o.lost) OVER (PARTITION BY u.interval_kind, u.job_id, u.log_id, u.direction) AS lost
  FROM laid u LEFT JOIN own o ON o.interval_kind = u.interval_kind AND o.job_id = u.job_id AND o.log_id = u.log_id AND o.direction = u.direction AND o.record_id = u.record_id
)
SELECT s.job_id, s.log_id, s.direction, t.interval_kind, s.record_id, s.path, s.ost, s.rank, s.procs, s.bytes, s.process_time, s.requests, s.consec, s.small,
  t.a AS begins, t.b AS ends, t.length, t.exclusive_time, t.by_length, t.alone, s.nprocs,
  t.files, t.all_bytes, t.critical_time, t.lost
FROM timed t JOIN side s ON s.job_id = t.job_id AND s.log_id = t.log_id AND s.direction = t.direction AND s.record_id = t.record_id
WHERE t.critical_time IS NOT NULL
ORDER BY s.job_id, s.log_id, s.direction, t.interval_kind, t.exclusive_time DESC, s.record_id
