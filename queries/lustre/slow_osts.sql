--- doc = "OSTs on which files are slower than other files of the same log, with slowdown and false discovery rate"
--- grain = "one OST and direction, where logs have files on it and files elsewhere"
--- columns = [
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "ost", type = "Int32", doc = "Index of the OST" },
---   { name = "direction", type = "Utf8", doc = "read or write" },
---   { name = "slow", type = "Boolean", doc = "It is slower than other OSTs by more than min_slowdown, with q at most max_q" },
---   { name = "slowdown", type = "Float64", doc = "How many times as long a byte takes as on the other OSTs of the same logs; geometric mean" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files that this is known from: those that lie on this OST and on none that is slower" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs of these files" },
---   { name = "jobs", type = "Int64", unit = "count", doc = "Job ids of these logs" },
---   { name = "z", type = "Float64", doc = "By how many standard errors the logarithm of slowdown exceeds that of min_slowdown" },
---   { name = "q", type = "Float64", doc = "False discovery rate if this OST and those with a smaller q are called slow (Benjamini and Hochberg)" },
--- ]
--- chart = { form = "scatter", x = "ost", y = "slowdown", series = "direction" }
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
--- [[param]]
--- name = "min_slowdown"
--- type = "float"
--- default = "1.25"
--- doc = "Minimum slowdown of a slow OST"
--- [[param]]
--- name = "max_q"
--- type = "float"
--- default = "0.05"
--- range = [0, 1]
--- doc = "Maximum false discovery rate"
--- [[param]]
--- name = "min_bytes"
--- type = "float"
--- default = "1048576"
--- doc = "Minimum bytes of a file in the direction; the time of a few bytes says nothing about the OST"

-- What is compared is the logarithm of seconds that a process needs for 100 MB, less the mean of the log: so it does not matter how fast a program
-- is. Of 100 MB, for near 0 the squares lose no digits when that of the mean is taken away. First each OST against all files that do not lie on it. A wide file is as slow as its slowest OST, so that its other OSTs look slow
-- as well. Therefore those that look slow are looked at once more: with the files in which they are the slowest that look so, against
-- files without any such OST.
WITH dated AS (
  SELECT f.job_id, f.log_id, f.record_id, f.fs, f.ost_list, 'read' AS direction,
    ln(f.read_time * 1e8 / (coalesce(f.readers, CASE WHEN f.bytes_source = 'mpiio' THEN f.file_nprocs_mpiio ELSE f.file_nprocs_posix END) * CAST(f.bytes_read AS DOUBLE))) AS y
  FROM darshan_log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id
  WHERE f.ost_list IS NOT NULL AND NOT f.is_stream AND f.bytes_read >= $min_bytes AND f.read_time > 0 AND ($fs IS NULL OR f.fs = $fs)
    AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
  UNION ALL
  SELECT f.job_id, f.log_id, f.record_id, f.fs, f.ost_list, 'write',
    ln(f.write_time * 1e8 / (coalesce(f.writers, CASE WHEN f.bytes_source = 'mpiio' THEN f.file_nprocs_mpiio ELSE f.file_nprocs_posix END) * CAST(f.bytes_written AS DOUBLE)))
  FROM darshan_log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id
  WHERE f.ost_list IS NOT NULL AND NOT f.is_stream AND f.bytes_written >= $min_bytes AND f.write_time > 0 AND ($fs IS NULL OR f.fs = $fs)
    AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
), log AS (
  SELECT job_id, log_id, fs, direction, count(*) AS n, sum(y) AS s, sum(y * y) AS ss FROM dated GROUP BY job_id, log_id, fs, direction HAVING count(*) > 1
), placed AS (
  SELECT DISTINCT job_id, log_id, record_id, fs, direction, y, ost FROM (SELECT job_id, log_id, record_id, fs, direction, y, unnest(ost_list) AS ost FROM dated) WHERE ost IS NOT NULL
), inside AS (
  SELECT job_id, log_id, fs, direction, ost, count(*) AS n, sum(y) AS s, sum(y * y) AS ss FROM placed GROUP BY job_id, log_id, fs, direction, ost
), first AS (
  SELECT i.job_id, i.fs, i.direction, i.ost, i.n, i.s / i.n - (l.s - i.s) / (l.n - i.n) AS d,
    (greatest(i.ss - i.s * i.s / i.n, 0.0) + greatest(l.ss - i.ss - (l.s - i.s) * (l.s - i.s) / (l.n - i.n), 0.0)) / greatest(l.n - 2, 1) AS v, l.n - i.n AS others
  FROM inside i JOIN log l ON l.job_id = i.job_id AND l.log_id = i.log_id AND l.fs = i.fs AND l.direction = i.direction WHERE l.n > i.n
), first_look AS (
  SELECT job_id, fs, direction, ost, n, d, 1.0 / ((greatest(v, 0.01)) * (1.0 / n + 1.0 / others)) AS w FROM first
), first_ost AS (
  SELECT fs, direction, ost, sum(n) AS files, count(*) AS logs, count(DISTINCT job_id) AS jobs, sum(w * d) / sum(w) AS d, sum(w) AS w, sum(w * w * d * d) AS w2d2, sum(w * w * d) AS w2d, sum(w * w) AS w2
  FROM first_look GROUP BY fs, direction, ost
), suspect AS (
  SELECT fs, direction, ost, files, logs, jobs, d, sqrt(greatest(1.0 / w, (w2d2 - 2.0 * d * w2d + d * d * w2) / (w * w))) AS se FROM first_ost
), ordered AS (
  SELECT *, CASE WHEN looks_slow THEN row_number() OVER (PARTITION BY fs, direction, looks_slow ORDER BY d DESC, ost) END AS nth
  FROM (SELECT *, coalesce(d - ln($min_slowdown) > 1.645 * se, false) AS looks_slow FROM suspect)
), worst AS (
  SELECT p.job_id, p.log_id, p.record_id, p.fs, p.direction, min(p.y) AS y, min(s.nth) AS nth
  FROM placed p LEFT JOIN ordered s ON s.fs = p.fs AND s.direction = p.direction AND s.ost = p.ost GROUP BY p.job_id, p.log_id, p.record_id, p.fs, p.direction
), parted AS (
  SELECT job_id, log_id, fs, direction, nth, count(*) AS n, sum(y) AS s, sum(y * y) AS ss FROM worst GROUP BY job_id, log_id, fs, direction, nth
), beside AS (
  -- The parts of a log, and beside them the sums over its files on no OST that looks slow. A window over them would be one sort more.
  SELECT job_id, log_id, fs, direction, sum(n) FILTER (WHERE nth IS NULL) AS o_n, sum(s) FILTER (WHERE nth IS NULL) AS o_s, sum(ss) FILTER (WHERE nth IS NULL) AS o_ss,
    array_agg(named_struct('nth', nth, 'n', n, 's', s, 'ss', ss)) FILTER (WHERE nth IS NOT NULL) AS parts
  FROM parted GROUP BY job_id, log_id, fs, direction
), each AS (
  SELECT job_id, fs, direction, o_n, o_s, o_ss, part['nth'] AS nth, part['n'] AS n, part['s'] AS s, part['ss'] AS ss
  FROM (SELECT job_id, fs, direction, o_n, o_s, o_ss, unnest(parts) AS part FROM beside WHERE o_n IS NOT NULL)
), again AS (
  SELECT job_id, fs, direction, nth, n, s / n - o_s / o_n AS d, (greatest(ss - s * s / n, 0.0) + greatest(o_ss - o_s * o_s / o_n, 0.0)) / greatest(n + o_n - 2, 1) AS v, o_n AS others FROM each
), again_look AS (
  SELECT job_id, fs, direction, nth, n, d, 1.0 / ((greatest(v, 0.01)) * (1.0 / n + 1.0 / others)) AS w FROM again
), again_ost AS (
  SELECT fs, direction, nth, sum(n) AS files, count(*) AS logs, count(DISTINCT job_id) AS jobs, sum(w * d) / sum(w) AS d, sum(w) AS w, sum(w * w * d * d) AS w2d2, sum(w * w * d) AS w2d, sum(w * w) AS w2
  FROM again_look GROUP BY fs, direction, nth
), known AS (
  SELECT o.fs, o.direction, o.ost, CASE WHEN o.looks_slow THEN a.files ELSE o.files END AS files, CASE WHEN o.looks_slow THEN a.logs ELSE o.logs END AS logs,
    CASE WHEN o.looks_slow THEN a.jobs ELSE o.jobs END AS jobs, CASE WHEN o.looks_slow THEN a.d ELSE o.d END AS d,
    CASE WHEN o.looks_slow THEN sqrt(greatest(1.0 / a.w, (a.w2d2 - 2.0 * a.d * a.w2d + a.d * a.d * a.w2) / (a.w * a.w))) ELSE o.se END AS se
  FROM ordered o LEFT JOIN again_ost a ON a.fs = o.fs AND a.direction = o.direction AND a.nth = o.nth
), tested AS (
  SELECT *, (d - ln($min_slowdown)) / se AS z, erfc((d - ln($min_slowdown)) / se / sqrt(2.0)) / 2.0 AS p FROM known
), ranked AS (
  SELECT *, p * count(*) OVER (PARTITION BY fs) / row_number() OVER (PARTITION BY fs ORDER BY p) AS raw_q FROM tested
), judged AS (
  SELECT *, least(min(raw_q) OVER (PARTITION BY fs ORDER BY p DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), 1.0) AS q FROM ranked
)
SELECT fs, ost, direction, coalesce(q <= $max_q, false) AS slow, exp(d) AS slowdown, coalesce(files, 0) AS files, coalesce(logs, 0) AS logs, coalesce(jobs, 0) AS jobs, z, q
FROM judged ORDER BY q <= $max_q AND q IS NOT NULL DESC, CASE WHEN q <= $max_q THEN d END DESC, fs, ost, direction
