-- Bytes and process time of Darshan's logs on each OST: bytes as darshan_file has them for each stripe, times in the same parts.
-- param fs text NULL
-- param from timestamp NULL
-- param to timestamp NULL
-- with fs=scratch from=2026-09-11 to=2026-09-12
-- with fs=/scratch1
WITH chosen AS (
  SELECT f.* FROM darshan_file f JOIN darshan_log l USING (log_id)
  WHERE coalesce(f.fs = $fs, $fs IS NULL) AND coalesce(l.start_time >= $from, $from IS NULL) AND coalesce(l.start_time < $to, $to IS NULL)
    AND f.ost_list IS NOT NULL
), stripe AS (  -- One row for each place in the layout.
  SELECT log_id, record_id, fs, unnest(ost_list) AS ost, unnest(ost_bytes_read) AS r, unnest(ost_bytes_written) AS w, bytes_read, bytes_written, read_time, write_time FROM chosen
)
SELECT fs, ost, count(DISTINCT log_id) AS logs, count(DISTINCT (log_id, record_id)) AS files, sum(r) AS bytes_read, sum(w) AS bytes_written, sum(r) + sum(w) AS total_bytes,
  CASE WHEN ost IS NOT NULL THEN (sum(r) + sum(w)) / avg(sum(r) + sum(w)) FILTER (WHERE ost IS NOT NULL) OVER (PARTITION BY fs) END AS times_mean,
  sum(CASE WHEN bytes_read > 0 THEN read_time * r / bytes_read END) AS read_time, sum(CASE WHEN bytes_written > 0 THEN write_time * w / bytes_written END) AS write_time
FROM stripe WHERE r > 0 OR w > 0 GROUP BY fs, ost
