-- What else moved bytes on the OSTs of a log while it did: SEMANTICS.md 7. A file's bytes on an OST are spread
-- evenly over its window; intervals of at most 30 s in which the log moved bytes.
-- param from timestamp
-- param to timestamp
-- param fs text NULL
-- param job int NULL
-- with from=2026-09-11T12:00:00 to=2026-09-11T12:20:00
-- with from=2026-09-11T10:00:00 to=2026-09-11T14:00:00 fs=scratch
-- with from=2026-09-11T10:00:00 to=2026-09-11T14:00:00 job=6102090
-- near same_job seen
-- near other_known seen
-- near unexplained seen
-- near worst_ost_others seen
-- near others_share 1
WITH part AS (  -- One row for each file, direction and OST.
  SELECT f.job_id, f.log_id, l.uid, fs, ost, direction, sum(bytes) AS bytes, a, b
  FROM (
    SELECT job_id, log_id, record_id, fs, is_stream, 'read' AS direction, unnest(ost_list) AS ost, unnest(ost_bytes_read) AS bytes, epoch_us(read_start_time) AS a, epoch_us(read_end_time) AS b
    FROM darshan_file WHERE bytes_read > 0
    UNION ALL
    SELECT job_id, log_id, record_id, fs, is_stream, 'write', unnest(ost_list), unnest(ost_bytes_written), epoch_us(write_start_time), epoch_us(write_end_time)
    FROM darshan_file WHERE bytes_written > 0) f
    JOIN darshan_log l USING (log_id)
  WHERE NOT is_stream AND bytes > 0 AND a < epoch_us($to::TIMESTAMP) + 40000000 AND b > epoch_us($from::TIMESTAMP) - 40000000 AND coalesce(fs = $fs, $fs IS NULL)
  GROUP BY f.job_id, f.log_id, l.uid, fs, ost, direction, record_id, a, b
), sample AS (
  SELECT fs, ost, direction, time, interval_s, CASE direction WHEN 'read' THEN bytes_read ELSE bytes_written END AS seen, epoch_us(start_time) AS s, epoch_us(time) AS e
  FROM lmt_ost, (VALUES ('read'), ('write')) d(direction) WHERE interval_s <= 30 AND time >= $from AND time < $to
), moved AS (  -- What each log moved on each OST in each interval.
  SELECT p.job_id, p.log_id, p.uid, p.fs, p.ost, p.direction, s.time, s.interval_s, s.seen, sum(bytes * CASE WHEN b > a THEN (least(b, e) - greatest(a, s)) / (b - a) ELSE 1 END) AS own
  FROM part p JOIN sample s ON s.fs = p.fs AND s.ost = p.ost AND s.direction = p.direction AND (CASE WHEN b > a THEN a < e AND b > s ELSE a > s AND a <= e END)
  WHERE seen IS NOT NULL GROUP BY ALL
), shared AS (
  SELECT *, sum(own) OVER (PARTITION BY fs, ost, direction, time, job_id, uid) AS job, sum(own) OVER (PARTITION BY fs, ost, direction, time) AS everybody FROM moved
), on_ost AS (
  SELECT job_id, log_id, direction, fs, ost, count(*) AS intervals, sum(interval_s) AS seconds, sum(seen) AS seen, sum(own) AS own, sum(job - own) AS same_job, sum(everybody - job) AS other_known, sum(seen - everybody) AS unexplained
  FROM shared WHERE own > 0 AND coalesce(job_id = $job, $job IS NULL) GROUP BY ALL
), held AS (
  SELECT log_id, fs, sum(bytes_read) AS r, sum(bytes_written) AS w FROM darshan_file WHERE NOT is_stream AND ost_list IS NOT NULL GROUP BY ALL
), on_fs AS (
  SELECT job_id, log_id, direction, fs, count(*) AS osts, sum(intervals) AS intervals, sum(seconds) AS seconds, sum(seen) AS seen, sum(own) AS own, sum(same_job) AS same_job, sum(other_known) AS other_known,
    sum(unexplained) AS unexplained, arg_max(ost, (other_known + unexplained, -ost)) AS worst_ost, max(other_known + unexplained) AS worst_ost_others
  FROM on_ost GROUP BY job_id, log_id, direction, fs
)
SELECT o.*, l.app, (other_known + unexplained) / nullif(seen, 0) AS others_share, own / CASE direction WHEN 'read' THEN r ELSE w END AS coverage
FROM on_fs o JOIN darshan_log l ON l.log_id = o.log_id JOIN held h ON h.log_id = o.log_id AND h.fs = o.fs
