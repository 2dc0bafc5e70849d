-- Logs in which one process did far more I/O than the rest: bytes and times of POSIX and STDIO records of single processes, and
-- the shared record in which the slowest process lost most against the fastest. Streams are left out (SEMANTICS.md 1).
-- param min_ratio float 0
-- param min_bytes float 1e8
-- with min_ratio=50
-- with min_bytes=0
-- with min_bytes=0 min_ratio=3
WITH rec AS (
  SELECT log_id, record_id, rank, posix_bytes_read + posix_bytes_written AS bytes, posix_f_read_time + posix_f_write_time + posix_f_meta_time AS t FROM darshan_posix
  UNION ALL
  SELECT log_id, record_id, rank, stdio_bytes_read + stdio_bytes_written, stdio_f_read_time + stdio_f_write_time + stdio_f_meta_time FROM darshan_stdio
), own AS (
  SELECT log_id, rank, sum(coalesce(bytes, 0)) AS bytes, sum(coalesce(t, 0)) AS t
  FROM rec JOIN darshan_file f USING (log_id, record_id) WHERE rank >= 0 AND NOT f.is_stream GROUP BY ALL
), heavy AS (
  SELECT log_id, sum(bytes) AS own_bytes, count(*) FILTER (bytes > 0) AS active, arg_max(rank, (bytes, -rank)) FILTER (bytes > 0) AS heaviest_rank, max(bytes) FILTER (bytes > 0) AS heaviest_bytes,
    arg_max(rank, (t, -rank)) FILTER (t > 0) AS slowest_rank, max(t) FILTER (t > 0) AS slowest_time, sum(t) AS t
  FROM own GROUP BY log_id
), shared AS (
  SELECT log_id, path AS shared_path, slowest_rank AS shared_slowest_rank, slowest_rank_time AS shared_slowest_time, fastest_rank_time AS shared_fastest_time,
    slowest_rank_bytes AS shared_slowest_bytes, fastest_rank_bytes AS shared_fastest_bytes
  FROM darshan_file WHERE shared AND NOT is_stream AND slowest_rank_time IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY log_id ORDER BY slowest_rank_time - fastest_rank_time DESC, record_id) = 1
)
SELECT l.job_id, l.log_id, app, nprocs, coalesce(own_bytes, 0) AS own_bytes, coalesce(active, 0) AS active, heaviest_rank, heaviest_bytes, heaviest_bytes / (own_bytes / nprocs) AS heaviest_ratio,
  slowest_rank, slowest_time, slowest_time / (t / nprocs) AS slowest_ratio, shared_path, shared_slowest_rank, shared_slowest_time, shared_fastest_time, shared_slowest_bytes, shared_fastest_bytes,
  greatest(slowest_time - t / nprocs, shared_slowest_time - coalesce(shared_fastest_time, 0)) AS lost_time
FROM darshan_log l LEFT JOIN heavy USING (log_id) LEFT JOIN shared USING (log_id)
WHERE nprocs > 1 AND total_bytes - bytes_read_streams - bytes_written_streams >= greatest($min_bytes, 1)
  AND ($min_ratio <= 0 OR own_bytes >= $min_bytes AND heaviest_bytes / (own_bytes / nprocs) >= $min_ratio
    OR slowest_time / (t / nprocs) >= $min_ratio AND slowest_time - t / nprocs >= 1)
