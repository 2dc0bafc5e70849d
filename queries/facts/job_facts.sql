--- doc = "What rules look at of others on the OSTs of a job: what LMT saw there during its I/O, and OSTs that are slow for all jobs"
--- grain = "one log of a job, direction and file system of which LMT has samples, where ost is NULL; and one job, direction and slow OST with files of the job"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log; where ost is not NULL the first log of the job" },
---   { name = "direction", type = "Utf8", doc = "read or write" },
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "ost", type = "Int32", doc = "The slow OST; NULL in what LMT saw of all OSTs on which the log moved bytes" },
---   { name = "critical_time", type = "Float64", unit = "s", doc = "Time on the clock in which at least one file of the job was in use in the direction, by windows" },
---   { name = "io_time", type = "Float64", unit = "s", doc = "LMT: time that all processes of the log spent reading or writing its files on the file system: those may be open for long, and used for a moment" },
---   { name = "osts", type = "Int64", unit = "count", doc = "LMT: as in lmt_interference, like the next nine columns" },
---   { name = "seconds", type = "Float64", unit = "s", doc = "LMT: lengths of the intervals, added up over OSTs" },
---   { name = "seen", type = "Int64", unit = "B", doc = "LMT: bytes that the OSTs moved in them" },
---   { name = "own", type = "Float64", unit = "B", doc = "LMT: bytes of the log" },
---   { name = "same_job", type = "Float64", unit = "B", doc = "LMT: bytes of other logs of the job" },
---   { name = "other_known", type = "Float64", unit = "B", doc = "LMT: bytes of other jobs in the lake" },
---   { name = "unexplained", type = "Float64", unit = "B", doc = "LMT: bytes that no log accounts for" },
---   { name = "others", type = "Float64", unit = "B", doc = "LMT: other_known + unexplained" },
---   { name = "others_share", type = "Float64", doc = "LMT: others / seen" },
---   { name = "coverage", type = "Float64", doc = "LMT: part of the log's bytes that the intervals hold" },
---   { name = "peak", type = "Float64", unit = "B/s", doc = "LMT: the most that an OST of the file system moved in an interval within half a day of the period" },
---   { name = "slowdown", type = "Float64", doc = "Slow OST: as in slow_osts, over the logs from slow_from to slow_to" },
---   { name = "files_of_all_jobs", type = "Int64", unit = "count", doc = "Slow OST: files that this is known from" },
---   { name = "jobs", type = "Int64", unit = "count", doc = "Slow OST: job ids of these files" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Slow OST: bytes of the job's files on it" },
---   { name = "share", type = "Float64", doc = "Slow OST: part of the critical time that these files have for themselves" },
--- ]
--- chart = { form = "scatter", x = "own", y = "others", series = "direction", log = ["x", "y"] }
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "TIMESTAMP '1970-01-01'"
--- doc = "Logs that start then or later, and what LMT saw from then on"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "TIMESTAMP '2100-01-01'"
--- doc = "Logs that start before, and what LMT saw until then"
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id, whenever its logs start (default: all); with its start and end as from and to less of the lake is read"
--- [[param]]
--- name = "about"
--- type = "text"
--- values = ["all", "lmt", "osts"]
--- default = "'all'"
--- doc = "lmt: what LMT saw; osts: slow OSTs"
--- [[param]]
--- name = "slow_from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "An OST is slow by logs that start then or later (default: 15 days before the period begins)"
--- [[param]]
--- name = "slow_to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "And before then (default: the end of the period, at least 15 days after it begins)"

-- No WINDOW clause: DataFusion 55.2 does not find its windows in a scalar subquery. Intervals of LMT have up to 30 s, and stamps that are up to 5 s late.
WITH log AS (
  SELECT job_id, log_id, first_value(log_id) OVER (PARTITION BY job_id, uid, log_group ORDER BY start_time, log_id) AS first_log,
    CAST(CAST(start_time AS BIGINT) - min(CAST(start_time AS BIGINT)) OVER (PARTITION BY job_id, uid, log_group ORDER BY start_time, log_id) AS DOUBLE) / 1000000.0 AS offset
  FROM darshan_log_group WHERE start_time IS NOT NULL AND ($job IS NULL AND start_time >= $from AND start_time < $to OR job_id = $job)
), side AS (
  SELECT f.job_id, l.first_log, f.log_id, 'read' AS direction, f.record_id, f.fs, f.ost_list, f.bytes_read AS bytes, f.read_time AS io_time, l.offset + f.read_start AS a, l.offset + f.read_end AS b
  FROM log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id WHERE NOT f.is_stream AND f.bytes_read > 0 AND ($job IS NULL OR f.job_id = $job)
  UNION ALL
  SELECT f.job_id, l.first_log, f.log_id, 'write', f.record_id, f.fs, f.ost_list, f.bytes_written, f.write_time, l.offset + f.write_start, l.offset + f.write_end
  FROM log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id WHERE NOT f.is_stream AND f.bytes_written > 0 AND ($job IS NULL OR f.job_id = $job)
), swept AS (
  SELECT job_id, first_log, direction, io_time(a, b) AS critical_time, critical_files(record_id, a, b) AS cover FROM side GROUP BY job_id, first_log, direction
), spent AS (
  SELECT job_id, log_id, direction, fs, sum(io_time) AS io_time FROM side GROUP BY job_id, log_id, direction, fs
), own AS (
  SELECT job_id, first_log, direction, part['id'] AS record_id, sum(part['end'] - part['start']) AS time
  FROM (SELECT job_id, first_log, direction, unnest(cover) AS part FROM swept) GROUP BY job_id, first_log, direction, part['id']
), placed AS (
  SELECT job_id, first_log, direction, record_id, fs, ost, sum(bytes) AS bytes
  FROM (SELECT DISTINCT job_id, first_log, log_id, direction, record_id, fs, bytes, ost FROM (SELECT *, unnest(ost_list) AS ost FROM side))
  GROUP BY job_id, first_log, direction, record_id, fs, ost
), on_slow AS (
  SELECT p.job_id, p.first_log, p.direction, p.fs, p.ost, s.slowdown, s.files, s.jobs, sum(p.bytes) AS bytes, sum(coalesce(o.time, 0.0)) AS time
  FROM slow_osts("from" => coalesce($slow_from, $from - INTERVAL '15 days'), "to" => coalesce($slow_to, greatest($to, $from + INTERVAL '15 days'))) s
    JOIN placed p ON p.fs = s.fs AND p.ost = s.ost AND p.direction = s.direction
    LEFT JOIN own o ON o.job_id = p.job_id AND o.first_log = p.first_log AND o.direction = p.direction AND o.record_id = p.record_id
  WHERE s.slow GROUP BY p.job_id, p.first_log, p.direction, p.fs, p.ost, s.slowdown, s.files, s.jobs
), peak AS (
  SELECT fs, max(bytes_read / interval_s) AS read, max(bytes_written / interval_s) AS write FROM lmt_ost
  WHERE time >= $from - INTERVAL '12 hours' AND time < $to + INTERVAL '12 hours' AND NOT gap AND NOT reset AND interval_s > 0 GROUP BY fs
)
SELECT i.job_id, i.log_id, i.direction, i.fs, CAST(NULL AS INTEGER) AS ost, s.critical_time, t.io_time, i.osts, i.seconds, i.seen, i.own, i.same_job, i.other_known, i.unexplained, i.other_known + i.unexplained AS others,
  i.others_share, i.coverage, CASE WHEN i.direction = 'read' THEN p.read ELSE p.write END AS peak, CAST(NULL AS DOUBLE) AS slowdown, CAST(NULL AS BIGINT) AS files_of_all_jobs, CAST(NULL AS BIGINT) AS jobs,
  CAST(NULL AS BIGINT) AS bytes, CAST(NULL AS DOUBLE) AS share
FROM lmt_interference("from" => $from - INTERVAL '5 seconds', "to" => $to + INTERVAL '40 seconds', job => $job) i
  JOIN log l ON l.job_id = i.job_id AND l.log_id = i.log_id JOIN swept s ON s.job_id = l.job_id AND s.first_log = l.first_log AND s.direction = i.direction
  LEFT JOIN spent t ON t.job_id = i.job_id AND t.log_id = i.log_id AND t.direction = i.direction AND t.fs = i.fs
  LEFT JOIN peak p ON p.fs = i.fs
WHERE $about = 'all' OR $about = 'lmt'
UNION ALL
SELECT o.job_id, o.first_log AS log_id, o.direction, o.fs, o.ost, s.critical_time, CAST(NULL AS DOUBLE) AS io_time, CAST(NULL AS BIGINT) AS osts, CAST(NULL AS DOUBLE) AS seconds, CAST(NULL AS BIGINT) AS seen, CAST(NULL AS DOUBLE) AS own, CAST(NULL AS DOUBLE) AS same_job, CAST(NULL AS DOUBLE) AS other_known,
  CAST(NULL AS DOUBLE) AS unexplained, CAST(NULL AS DOUBLE) AS others, CAST(NULL AS DOUBLE) AS others_share, CAST(NULL AS DOUBLE) AS coverage, CAST(NULL AS DOUBLE) AS peak, o.slowdown, o.files AS files_of_all_jobs, o.jobs, o.bytes, o.time / nullif(s.critical_time, 0) AS share
FROM on_slow o JOIN swept s ON s.job_id = o.job_id AND s.first_log = o.first_log AND s.direction = o.direction
WHERE $about = 'all' OR $about = 'osts'
ORDER BY slowdown DESC, others DESC, fs, ost, job_id, log_id, direction
