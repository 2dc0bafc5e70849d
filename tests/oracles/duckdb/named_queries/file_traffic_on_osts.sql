-- What each file moved on each of its OSTs in each LMT interval, beside what the OST saw: SEMANTICS.md 2 and 7.
-- Intervals less than 5 s beside a file's window are shown with nothing of it, for stamps of LMT are rounded down to 5 s.
-- param from timestamp
-- param to timestamp
-- param fs text NULL
-- with from=2026-09-11T12:00:00 to=2026-09-11T12:05:00
-- with from=2026-09-11T11:00:00 to=2026-09-11T11:40:00 fs=scratch
-- with from=2026-09-11T12:30:00 to=2026-09-11T13:10:00 fs=scratch
-- with from=2026-09-11T10:00:00 to=2026-09-11T14:00:00
-- near unexplained seen
-- near own_file seen
-- near same_job seen
-- near other_known seen
WITH part AS (  -- One row for each file, direction and OST: its bytes there, and when, in microseconds.
  SELECT f.job_id, f.log_id, l.uid, record_id, path, fs, ost, direction, sum(bytes) AS bytes, any_value(a) AS a, any_value(b) AS b
  FROM (
    SELECT job_id, log_id, record_id, path, fs, is_stream, 'read' AS direction, unnest(ost_list) AS ost, unnest(ost_bytes_read) AS bytes, epoch_us(read_start_time) AS a, epoch_us(read_end_time) AS b
    FROM darshan_file WHERE bytes_read > 0
    UNION ALL
    SELECT job_id, log_id, record_id, path, fs, is_stream, 'write', unnest(ost_list), unnest(ost_bytes_written), epoch_us(write_start_time), epoch_us(write_end_time)
    FROM darshan_file WHERE bytes_written > 0) f
    JOIN darshan_log l USING (log_id)
  WHERE NOT is_stream AND a IS NOT NULL AND b IS NOT NULL AND bytes > 0 AND a < epoch_us($to) + 40000000 AND b > epoch_us($from) - 40000000 AND coalesce(fs = $fs, $fs IS NULL)
  GROUP BY ALL
), sample AS (
  SELECT fs, ost, direction, start_time, time, interval_s, reset, gap, CASE direction WHEN 'read' THEN bytes_read ELSE bytes_written END AS seen, epoch_us(start_time) AS s, epoch_us(time) AS e
  FROM lmt_ost, (VALUES ('read'), ('write')) d(direction) WHERE interval_s <= 30
), cell AS (  -- The share of a file's window that lies in an interval (start, time].
  SELECT p.*, s.start_time, s.time, s.interval_s, s.reset, s.gap, s.seen, s, e, CASE WHEN b > a THEN greatest(0, least(b, e) - greatest(a, s)) / (b - a) ELSE (a > s AND a <= e)::INT END AS share
  FROM part p JOIN sample s ON s.fs = p.fs AND s.ost = p.ost AND s.direction = p.direction AND b > s.s - 5000000 AND a < s.e + 5000000
), known AS (  -- Of the part of a window between from and to.
  SELECT log_id, record_id, ost, direction, CASE WHEN any_value(b) > any_value(a)
      THEN sum(greatest(0, least(b, e) - greatest(a, s, epoch_us($from)))) / nullif(greatest(least(any_value(b), epoch_us($to)) - greatest(any_value(a), epoch_us($from)), 0), 0)
      ELSE least(sum(share), 1) END AS coverage
  FROM cell WHERE time >= $from AND time < $to GROUP BY ALL
), total AS (
  SELECT fs, ost, direction, time, sum(bytes * share) AS everybody FROM cell GROUP BY ALL
), job_total AS (
  SELECT fs, ost, direction, time, job_id, uid, sum(bytes * share) AS job FROM cell GROUP BY ALL
)
SELECT c.job_id, c.log_id, c.record_id, path, c.fs, c.ost, c.direction, start_time, c.time, interval_s, reset, gap, seen, bytes * share AS own_file, job - bytes * share AS same_job,
  everybody - job AS other_known, seen - everybody AS unexplained, coverage
FROM cell c JOIN known k USING (log_id, record_id, ost, direction) JOIN total t USING (fs, ost, direction, time)
  JOIN job_total j ON j.fs = c.fs AND j.ost = c.ost AND j.direction = c.direction AND j.time = c.time AND j.job_id = c.job_id AND j.uid IS NOT DISTINCT FROM c.uid
WHERE c.time >= $from AND c.time < $to
