-- How much is written to a file of each file system: median, 95th and 99th percentile
-- class: group
-- floor: darshan_file=fs,bytes_written
-- ordered: no
SELECT fs, percentile_cont(0.5) WITHIN GROUP (ORDER BY bytes_written) AS p50, percentile_cont(0.95) WITHIN GROUP (ORDER BY bytes_written) AS p95,
  percentile_cont(0.99) WITHIN GROUP (ORDER BY bytes_written) AS p99
FROM darshan_file WHERE bytes_written > 0 GROUP BY fs
