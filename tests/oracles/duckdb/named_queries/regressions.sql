-- Programs whose bandwidth over critical time fell: medians before and since, by program, direction and power of two of processes.
-- param since timestamp NULL
-- param max_ratio float 0.67
-- param min_share_below float 0.5
-- param min_logs int 5
-- param min_bytes float 1e8
-- with max_ratio=10 min_share_below=0 min_logs=1 min_bytes=0
-- with since=2026-09-15 max_ratio=1 min_share_below=0.2 min_logs=3
-- with since=2021-01-01 max_ratio=100 min_share_below=0 min_logs=1 min_bytes=0
WITH one AS (
  SELECT app, nprocs, start_time, direction, start_time >= coalesce($since, (SELECT max(start_time) FROM darshan_log) - INTERVAL 7 DAYS) AS late,
    CASE direction WHEN 'read' THEN read_bw_critical ELSE write_bw_critical END AS bw,
    CASE direction WHEN 'read' THEN bytes_read - bytes_read_streams ELSE bytes_written - bytes_written_streams END AS bytes
  FROM darshan_log, (VALUES ('read'), ('write')) d(direction)
  WHERE app IS NOT NULL AND start_time IS NOT NULL
), kept AS (
  SELECT * REPLACE ((1 << (length(bin(greatest(nprocs, 1))) - 1)) AS nprocs) FROM one WHERE bw IS NOT NULL AND bytes >= $min_bytes
), past AS (
  SELECT app, direction, nprocs, count(*) AS logs_before, quantile_cont(bw, 0.5) AS bw_before, quantile_cont(bw, 0.1) AS low FROM kept WHERE NOT late GROUP BY ALL
), present AS (
  SELECT k.app, k.direction, k.nprocs, count(*) AS logs_since, quantile_cont(bw, 0.5) AS bw_since, avg((bw < low)::INT) AS share_below
  FROM kept k JOIN past p ON p.app = k.app AND p.direction = k.direction AND p.nprocs = k.nprocs WHERE late GROUP BY ALL
)
SELECT app, direction, nprocs, CASE nprocs WHEN 1 THEN '1 process' ELSE format('{} to {} processes', nprocs, nprocs + nprocs - 1) END AS processes, logs_before, logs_since, bw_before, bw_since, bw_since / bw_before AS ratio, share_below
FROM past JOIN present USING (app, direction, nprocs)
WHERE logs_before >= $min_logs AND logs_since >= $min_logs AND bw_since / bw_before <= $max_ratio AND share_below >= $min_share_below
