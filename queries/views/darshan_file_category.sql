--- doc = "Files of one log and module in one category: total, read_only, write_only, read_write, unique, shared, part_shared"
--- key = ["log_id", "module", "category"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "module", type = "Utf8", doc = "POSIX, MPI-IO, STDIO, DFS or DAOS" },
---   { name = "category", type = "Utf8", doc = "total: all; read_only, write_only, read_write: by bytes moved (in none without any); unique: one process, shared: a record of all processes, part_shared: records of several" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files; a category without any has no row" },
---   { name = "bytes_read", type = "Int64", unit = "B", doc = "Bytes read from them" },
---   { name = "bytes_written", type = "Int64", unit = "B", doc = "Bytes written to them" },
---   { name = "bytes_read_max", type = "Int64", unit = "B", doc = "Most bytes read from one of them" },
---   { name = "bytes_written_max", type = "Int64", unit = "B", doc = "Most bytes written to one of them" },
---   { name = "max_byte_sum", type = "Int64", unit = "B", doc = "Sum of the highest offsets touched in each; NULL for MPI-IO, DFS and DAOS, which do not say" },
---   { name = "max_byte_max", type = "Int64", unit = "B", doc = "Highest offset touched in any; NULL for MPI-IO, DFS and DAOS" },
--- ]

-- The categories of `darshan-parser --file`, for each module by itself. Its `shared` line is
-- `shared` and `part_shared` here, and its greatest offset of that line is a sum of two; here it is the greater.
WITH record AS (
  SELECT job_id, log_id, record_id, 'POSIX' AS module, rank, posix_bytes_read AS bytes_read, posix_bytes_written AS bytes_written,
    greatest(posix_max_byte_read, posix_max_byte_written) AS max_byte FROM darshan_posix
  UNION ALL SELECT job_id, log_id, record_id, 'MPI-IO', rank, mpiio_bytes_read, mpiio_bytes_written, CAST(NULL AS BIGINT) FROM darshan_mpiio
  UNION ALL SELECT job_id, log_id, record_id, 'STDIO', rank, stdio_bytes_read, stdio_bytes_written,
    greatest(stdio_max_byte_read, stdio_max_byte_written) FROM darshan_stdio
  UNION ALL SELECT job_id, log_id, record_id, 'DFS', rank, dfs_bytes_read, dfs_bytes_written, CAST(NULL AS BIGINT) FROM darshan_dfs
  UNION ALL SELECT job_id, log_id, record_id, 'DAOS', rank, daos_bytes_read, daos_bytes_written, CAST(NULL AS BIGINT) FROM darshan_daos
), file AS (
  SELECT job_id, log_id, module, record_id, coalesce(sum(bytes_read), 0) AS bytes_read, coalesce(sum(bytes_written), 0) AS bytes_written,
    max(max_byte) AS max_byte, CASE WHEN min(rank) < 0 THEN 'shared' WHEN count(*) = 1 THEN 'unique' ELSE 'part_shared' END AS sharing
  FROM record GROUP BY job_id, log_id, module, record_id
), one AS (
  SELECT job_id, log_id, module, bytes_read, bytes_written, max_byte, unnest(make_array('total', sharing,
    CASE WHEN bytes_read > 0 AND bytes_written > 0 THEN 'read_write' WHEN bytes_read > 0 THEN 'read_only' WHEN bytes_written > 0 THEN 'write_only' END)) AS category
  FROM file
)
SELECT job_id, log_id, module, category, count(*) AS files, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
  max(bytes_read) AS bytes_read_max, max(bytes_written) AS bytes_written_max, sum(max_byte) AS max_byte_sum, max(max_byte) AS max_byte_max
FROM one WHERE category IS NOT NULL GROUP BY job_id, log_id, module, category
