-- How processes share files: IOMiner, figure 9 and equation 5 with R = files / processes (SEMANTICS.md 9). Streams and files
-- without bytes are no part of it (SEMANTICS.md 1).
WITH used AS (  -- Whether all processes share a file, or one has it to itself.
  SELECT log_id, nprocs, sharing = 'unique' AS own, sharing = 'shared' OR greatest(file_nprocs_posix, file_nprocs_mpiio) >= nprocs AS every
  FROM darshan_file f JOIN darshan_log l USING (log_id)
  WHERE nprocs > 1 AND NOT is_stream AND f.bytes_read + f.bytes_written > 0
), one AS (
  SELECT log_id, count(*) / any_value(nprocs) AS ratio, CASE WHEN bool_and(every) THEN 'N-1' WHEN bool_and(own) AND count(*) >= any_value(nprocs) THEN 'N-N' ELSE 'N-M' END AS class
  FROM used GROUP BY log_id
)
SELECT class, CASE WHEN 2.0 ** round(log2(ratio)) > ratio THEN 2.0 ** (round(log2(ratio)) - 1) ELSE 2.0 ** round(log2(ratio)) END AS ratio, count(*) AS logs, count(*) / sum(count(*)) OVER () AS share_of_logs
FROM one GROUP BY ALL
