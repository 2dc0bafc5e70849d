-- Percentiles of a column of darshan_log: IOMiner, algorithm 1, line 19; interpolated as quantile_cont.
-- param of text bytes_written
-- param parts int 100
-- with of=bytes_read parts=4
-- with of=total_bytes parts=7
-- with of=files parts=10
-- with of=nprocs parts=3
-- with of=run_time parts=1000
-- with of=read_bw_critical parts=20
-- with of=write_bw_critical
WITH cuts AS (
  SELECT range AS k, range / $parts AS q FROM range($parts + 1)
), ranked AS (
  SELECT v, row_number() OVER (ORDER BY v) - 1 AS place, count(*) OVER () AS n
  FROM (SELECT CAST(CASE $of WHEN 'bytes_written' THEN bytes_written WHEN 'bytes_read' THEN bytes_read WHEN 'total_bytes' THEN total_bytes WHEN 'files' THEN files
    WHEN 'nprocs' THEN nprocs WHEN 'run_time' THEN run_time WHEN 'read_bw_critical' THEN read_bw_critical ELSE write_bw_critical END AS DOUBLE) AS v FROM darshan_log)
  WHERE v IS NOT NULL
), spot AS (  -- The value at place q x (n - 1), between the two neighbours of it.
  SELECT k, q * (n - 1) AS place FROM cuts, (SELECT max(n) AS n FROM ranked)
)
SELECT 100.0 * k / $parts AS percent, low.v + (spot.place - floor(spot.place)) * (high.v - low.v) AS value
FROM spot JOIN ranked low ON low.place = floor(spot.place) JOIN ranked high ON high.place = ceil(spot.place)
