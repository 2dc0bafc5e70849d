--- doc = "Programs whose bursts collide: logs of different jobs that read or write in phases at the same time on the same file system. A phase is a repetition of a periodic log or, of a log that reads or writes on its start (end), a group of segments with its middle in the first (last) quarter of the run"
--- grain = "one pair of logs of different jobs, file system and direction"
--- source = "MOSAIC"
--- analysis = "mosaic"
--- columns = [
---   { name = "fs", type = "Utf8", doc = "File system on which both moved bytes" },
---   { name = "direction", type = "Utf8", doc = "read or write" },
---   { name = "job_id", type = "Int64", doc = "Job id: the one that was asked for, else the lesser" },
---   { name = "log_id", type = "Int64", doc = "Its log" },
---   { name = "app", type = "Utf8", doc = "Its program" },
---   { name = "neighbour_job_id", type = "Int64", doc = "The other job" },
---   { name = "neighbour_log_id", type = "Int64", doc = "Its log" },
---   { name = "neighbour_app", type = "Utf8", doc = "Its program" },
---   { name = "shared_osts", type = "Int64", unit = "count", doc = "OSTs on which both moved bytes in the direction; NULL if those of one are not known. Pairs that share none for certain are left out" },
---   { name = "together", type = "Float64", unit = "s", doc = "Time in which both ran, by analysed_time of mosaic: where a log rests on bins, up to the end of its last one" },
---   { name = "overlap", type = "Float64", unit = "s", doc = "Time in which both were in a phase" },
---   { name = "share", type = "Float64", unit = "fraction", doc = "overlap of the phases of the one that has less of them" },
---   { name = "overlap_by_chance", type = "Float64", unit = "s", doc = "together times the share of its run that each was in phases: what overlap would be if their phases were spread over their runs at random. Jobs that start together and read on start have more" },
---   { name = "times_chance", type = "Float64", doc = "overlap / overlap_by_chance" },
---   { name = "own_bytes", type = "Float64", unit = "B", doc = "Bytes that the first moved in overlap on the file system, estimated: those of a phase spread evenly over it, and over file systems as those of the log" },
---   { name = "neighbour_bytes", type = "Float64", unit = "B", doc = "Bytes of the other, in the same way" },
--- ]
--- chart = { form = "scatter", x = "overlap", y = "times_chance", series = "direction", label = "app", log = ["x", "y"] }
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id: pairs with one of its logs (default: all)"
--- [[param]]
--- name = "fs"
--- type = "text"
--- default = "NULL"
--- doc = "File system (default: all)"
--- [[param]]
--- name = "direction"
--- type = "text"
--- default = "'both'"
--- values = ["read", "write", "both"]
--- doc = "Which phases"
--- [[param]]
--- name = "min_bytes"
--- type = "float"
--- default = "1e9"
--- doc = "Minimum bytes of a log in the direction on the file system"
--- [[param]]
--- name = "min_bytes_overlap"
--- type = "float"
--- default = "1e8"
--- doc = "Minimum bytes that each of the two moved in overlap"
--- [[param]]
--- name = "min_overlap"
--- type = "float"
--- default = "10"
--- doc = "Minimum overlap, in seconds"
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

-- Phases are those of mode full: of a periodic log the repetitions of the group that has its period, of a log whose bytes come on its start those with their middle in the first
-- quarter of its run, and on its end in the last. A group has its mean period and mean work, so that a phase is where it was on average: with jitter the overlap of one pair is an
-- estimate. Phases without length are left out, and so are files that lie on no known file system.
--
-- Times are microseconds since 1970. Phases meet in slices of five minutes, into which they are cut, so that each is compared with those near it alone.
WITH classed AS (
  SELECT l.job_id, l.log_id, l.app, CAST(l.start_time AS BIGINT) AS first, m.run_time, m.read_period, m.write_period, m.read_classes, m.write_classes, m.read_groups, m.write_groups
  FROM darshan_mosaic m JOIN darshan_log l ON l.job_id = m.job_id AND l.log_id = m.log_id
  WHERE m.mode = 'full' AND m.status = 'ok' AND m.run_time > 0 AND l.start_time IS NOT NULL AND l.start_time < TIMESTAMP '2262-01-01' AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
), placed AS (
  SELECT job_id, log_id, fs, 'read' AS direction, sum(bytes_read) AS bytes, ost_union(fs, ost_bits) AS bits, count(*) = count(ost_bits) AS all_known
  FROM darshan_file WHERE NOT is_stream AND bytes_read > 0 AND $direction <> 'write' GROUP BY job_id, log_id, fs
  UNION ALL
  SELECT job_id, log_id, fs, 'write' AS direction, sum(bytes_written) AS bytes, ost_union(fs, ost_bits) AS bits, count(*) = count(ost_bits) AS all_known
  FROM darshan_file WHERE NOT is_stream AND bytes_written > 0 AND $direction <> 'read' GROUP BY job_id, log_id, fs
), on_fs AS (
  SELECT * FROM (SELECT *, CAST(bytes AS DOUBLE) / sum(bytes) OVER (PARTITION BY job_id, log_id, direction) AS share FROM placed)
  WHERE fs IS NOT NULL AND bytes >= $min_bytes AND ($fs IS NULL OR fs = $fs)
), grouped AS (
  SELECT job_id, log_id, 'read' AS direction, first, run_time, read_period AS group_period, read_period IS NOT NULL AS periodic, array_has_any(read_classes, ['read_on_start', 'read_on_start_and_on_end']) AS on_start,
    array_has_any(read_classes, ['read_on_end', 'read_on_start_and_on_end']) AS on_end, read_groups AS groups FROM classed
  UNION ALL
  SELECT job_id, log_id, 'write', first, run_time, write_period, write_period IS NOT NULL, array_has_any(write_classes, ['write_on_start', 'write_on_start_and_on_end']),
    array_has_any(write_classes, ['write_on_end', 'write_on_start_and_on_end']), write_groups FROM classed
), numbered AS (
  SELECT *, unnest(generate_series(1, CAST(array_length(groups) AS BIGINT))) AS k FROM grouped WHERE (periodic OR on_start OR on_end) AND array_length(groups) > 0
), burst AS (
  SELECT job_id, log_id, direction, k, first, run_time, periodic AND g['segments'] > 1 AND g['period'] = group_period AS repeats, on_start, on_end, g['start'] AS start, g['period'] AS period, g['work'] AS work, g['bytes'] / g['work'] AS rate,
    unnest(generate_series(0, g['segments'] - 1)) AS i
  FROM (SELECT *, groups[k] AS g FROM numbered) WHERE g['work'] > 0
), timed AS (
  SELECT job_id, log_id, direction, k, rate, first + (start + i * period) * 1000000.0 AS a, first + (start + i * period + work) * 1000000.0 AS b
  FROM burst WHERE repeats OR (on_start AND start + i * period + work / 2.0 < run_time / 4.0) OR (on_end AND start + i * period + work / 2.0 >= run_time * 0.75)
), rate AS (
  SELECT job_id, log_id, direction, k, min(rate) AS rate FROM timed GROUP BY job_id, log_id, direction, k
), phase AS (
  -- Where phases of two groups of a log meet the time counts once.
  SELECT job_id, log_id, direction, piece['id'] AS k, CAST(piece['start'] AS BIGINT) AS a, CAST(piece['end'] AS BIGINT) AS b
  FROM (SELECT job_id, log_id, direction, unnest(critical_files(k, a, b)) AS piece FROM timed GROUP BY job_id, log_id, direction)
), busy AS (
  SELECT job_id, log_id, direction, sum(b - a) AS length FROM phase GROUP BY job_id, log_id, direction
), sliced AS (
  SELECT job_id, log_id, direction, k, slice, greatest(a, slice * 300000000) AS a, least(b, (slice + 1) * 300000000) AS b
  FROM (SELECT *, unnest(generate_series(a / 300000000, b / 300000000)) AS slice FROM phase)
), flow AS (
  SELECT s.job_id, s.log_id, s.direction, s.slice, s.a, s.b, o.fs, r.rate * o.share AS rate
  FROM sliced s JOIN on_fs o ON o.job_id = s.job_id AND o.log_id = s.log_id AND o.direction = s.direction
    JOIN rate r ON r.job_id = s.job_id AND r.log_id = s.log_id AND r.direction = s.direction AND r.k = s.k
), met AS (
  SELECT x.fs, x.direction, x.job_id AS job_a, x.log_id AS log_a, y.job_id AS job_b, y.log_id AS log_b, sum(least(x.b, y.b) - greatest(x.a, y.a)) AS overlap,
    sum(x.rate * (least(x.b, y.b) - greatest(x.a, y.a))) / 1000000.0 AS bytes_a, sum(y.rate * (least(x.b, y.b) - greatest(x.a, y.a))) / 1000000.0 AS bytes_b
  FROM flow x JOIN flow y ON y.fs = x.fs AND y.direction = x.direction AND y.slice = x.slice AND x.a < y.b AND y.a < x.b AND x.job_id <> y.job_id
  WHERE ($job IS NULL AND x.job_id < y.job_id) OR ($job IS NOT NULL AND x.job_id = $job)
  GROUP BY x.fs, x.direction, x.job_id, x.log_id, y.job_id, y.log_id
  HAVING sum(least(x.b, y.b) - greatest(x.a, y.a)) >= $min_overlap * 1000000.0
), pair AS (
  SELECT m.fs, m.direction, m.job_a, m.log_a, la.app AS app_a, m.job_b, m.log_b, lb.app AS app_b, ost_overlap(oa.fs, oa.bits, ob.fs, ob.bits) AS shared_osts, oa.all_known AND ob.all_known AS all_known,
    least(la.run_time - greatest(lb.first - la.first, 0) / 1000000.0, lb.run_time - greatest(la.first - lb.first, 0) / 1000000.0) AS together, m.overlap / 1000000.0 AS overlap,
    ba.length / 1000000.0 AS length_a, bb.length / 1000000.0 AS length_b, la.run_time AS run_a, lb.run_time AS run_b, m.bytes_a, m.bytes_b
  FROM met m JOIN classed la ON la.job_id = m.job_a AND la.log_id = m.log_a JOIN classed lb ON lb.job_id = m.job_b AND lb.log_id = m.log_b
    JOIN on_fs oa ON oa.job_id = m.job_a AND oa.log_id = m.log_a AND oa.fs = m.fs AND oa.direction = m.direction
    JOIN on_fs ob ON ob.job_id = m.job_b AND ob.log_id = m.log_b AND ob.fs = m.fs AND ob.direction = m.direction
    JOIN busy ba ON ba.job_id = m.job_a AND ba.log_id = m.log_a AND ba.direction = m.direction
    JOIN busy bb ON bb.job_id = m.job_b AND bb.log_id = m.log_b AND bb.direction = m.direction
), chance AS (
  SELECT *, together * (length_a / run_a) * (length_b / run_b) AS by_chance FROM pair WHERE NOT coalesce(all_known AND shared_osts = 0, false)
)
SELECT fs, direction, job_a AS job_id, log_a AS log_id, app_a AS app, job_b AS neighbour_job_id, log_b AS neighbour_log_id, app_b AS neighbour_app, shared_osts, together, overlap, overlap / least(length_a, length_b) AS share,
  by_chance AS overlap_by_chance, overlap / nullif(by_chance, 0) AS times_chance, bytes_a AS own_bytes, bytes_b AS neighbour_bytes
FROM chance WHERE bytes_a >= $min_bytes_overlap AND bytes_b >= $min_bytes_overlap ORDER BY least(bytes_a, bytes_b) DESC, fs, direction, job_a, log_a, job_b, log_b
