-- How do processes share files, in the classes of the paper?
-- class: named
-- floor: darshan_file=job_id,log_id,is_stream,bytes_read,bytes_written,sharing,file_nprocs_posix,file_nprocs_mpiio darshan_log=job_id,log_id,nprocs
-- ordered: no
SELECT class, ratio, logs FROM file_sharing()
-- for duckdb, spark
SELECT class, ratio, count(*) AS logs
FROM (SELECT CASE WHEN shared = files THEN 'N-1' WHEN own = files AND files >= nprocs THEN 'N-N' ELSE 'N-M' END AS class,
    power(2.0, floor(log2(CAST(files AS DOUBLE) / nprocs))) AS ratio
  FROM (SELECT f.job_id, f.log_id, l.nprocs, count(*) AS files, sum(CASE WHEN f.sharing = 'unique' THEN 1 ELSE 0 END) AS own,
      sum(CASE WHEN f.sharing = 'shared' OR greatest(f.file_nprocs_posix, f.file_nprocs_mpiio) >= l.nprocs THEN 1 ELSE 0 END) AS shared
    FROM darshan_file f JOIN darshan_log l ON l.job_id = f.job_id AND l.log_id = f.log_id
    WHERE NOT f.is_stream AND f.bytes_read + f.bytes_written > 0 AND l.nprocs > 1 GROUP BY f.job_id, f.log_id, l.nprocs) log) one
GROUP BY class, ratio
