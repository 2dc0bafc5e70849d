-- Through which interface do logs of each size move their bytes?
-- class: named
-- floor: darshan_log=files,streams,nprocs,mpiio_coll_opens,mpiio_coll_reads,mpiio_coll_writes,mpiio_indep_opens,mpiio_indep_reads,mpiio_indep_writes
-- ordered: no
SELECT class, logs, posix, independent, collective FROM interfaces_by_size()
-- for duckdb, spark
SELECT class, count(*) AS logs, sum(CASE WHEN NOT collective AND NOT independent THEN 1 ELSE 0 END) AS posix,
  sum(CASE WHEN NOT collective AND independent THEN 1 ELSE 0 END) AS independent, sum(CASE WHEN collective THEN 1 ELSE 0 END) AS collective
FROM (SELECT CASE WHEN nprocs <= 1 THEN 'one' WHEN nprocs <= 1024 THEN 'small' WHEN nprocs <= 8192 THEN 'medium' ELSE 'large' END AS class,
    coalesce(mpiio_coll_opens, 0) + coalesce(mpiio_coll_reads, 0) + coalesce(mpiio_coll_writes, 0) > 0 AS collective,
    coalesce(mpiio_indep_opens, 0) + coalesce(mpiio_indep_reads, 0) + coalesce(mpiio_indep_writes, 0) > 0 AS independent
  FROM darshan_log WHERE files > streams AND nprocs IS NOT NULL) one
GROUP BY class
