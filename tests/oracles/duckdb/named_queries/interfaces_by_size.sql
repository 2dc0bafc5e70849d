-- Through which interface logs of each size move bytes: IOMiner, figure 10 (one process, small to 1,024, medium to 8,192, large).
WITH one AS (
  SELECT CASE WHEN nprocs <= 1 THEN 'one' WHEN nprocs <= 1024 THEN 'small' WHEN nprocs <= 8192 THEN 'medium' ELSE 'large' END AS class,
    coalesce(mpiio_indep_opens, 0) > 0 OR coalesce(mpiio_indep_reads, 0) > 0 OR coalesce(mpiio_indep_writes, 0) > 0 AS independent,
    coalesce(mpiio_coll_opens, 0) > 0 OR coalesce(mpiio_coll_reads, 0) > 0 OR coalesce(mpiio_coll_writes, 0) > 0 AS collective
  FROM darshan_log l
  WHERE nprocs IS NOT NULL  -- It opened a file that is no stream, by one of the three interfaces.
    AND EXISTS (SELECT 1 FROM darshan_file f WHERE f.log_id = l.log_id AND NOT is_stream AND bytes_source NOT IN ('dfs', 'daos') AND opens > 0)
), counted AS (
  SELECT class, count(*) AS logs, count(*) FILTER (NOT independent AND NOT collective) AS posix, count(*) FILTER (independent AND NOT collective) AS independent,
    count(*) FILTER (collective) AS collective
  FROM one GROUP BY class
)
SELECT *, posix / logs AS posix_share, independent / logs AS independent_share, collective / logs AS collective_share FROM counted
