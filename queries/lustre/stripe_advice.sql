--- doc = "Files with too small or too large a stripe count: large shared files on few OSTs, small or single-process files on many"
--- grain = "one program, file system, kind of advice and layout"
--- source = "The sizes are those that NERSC gave its users for Cori: 8 OSTs from 1 GB, 24 from 10 GB, 72 from 100 GB"
--- columns = [
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "advice", type = "Utf8", doc = "wider: a file of 1 GB or more, shared by several processes, has fewer OSTs than its size needs; narrower: a file of less than 1 GB, or of one process among many, has several" },
---   { name = "stripe_size", type = "Int64", unit = "B", doc = "Stripe size that the files have" },
---   { name = "stripe_count", type = "Int64", unit = "count", doc = "Stripe count that they have" },
---   { name = "advised_count", type = "Int64", unit = "count", doc = "Stripe count for the largest of them, at most the OSTs of the file system" },
---   { name = "fs_osts", type = "Int64", unit = "count", doc = "OSTs of the file system; NULL where they are not known, so that advised_count may exceed them" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files, each once for each log" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Bytes that they moved, read and written" },
---   { name = "time", type = "Float64", unit = "s", doc = "Lengths of their windows, read and written, added up" },
---   { name = "proc_per_ost", type = "Float64", doc = "Processes for each OST of the file, at most; an upper bound for shared files" },
---   { name = "largest_path", type = "Utf8", doc = "The largest of the files" },
---   { name = "largest_size", type = "Int64", unit = "B", doc = "The highest byte of it that was touched, plus 1" },
--- ]
--- chart = { form = "scatter", x = "largest_size", y = "stripe_count", series = "advice", label = "app", log = ["x", "y"] }
--- [[param]]
--- name = "fs"
--- type = "text"
--- default = "NULL"
--- doc = "File system (default: all)"
--- [[param]]
--- name = "app"
--- type = "text"
--- default = "NULL"
--- doc = "Program (default: all)"
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"
--- [[param]]
--- name = "min_time"
--- type = "float"
--- default = "1"
--- doc = "Minimum time in use of the files, s"
--- [[param]]
--- name = "many_procs"
--- type = "int"
--- default = "32"
--- doc = "Minimum number of processes from which one OST is advised for a file of one process"
--- [[param]]
--- name = "log"
--- type = "int"
--- default = "NULL"
--- doc = "Log id, beside the job's (default: all)"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start then or later"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before"
WITH file AS (
  SELECT f.job_id, f.log_id, f.record_id, f.path, f.fs, f.stripe_size, f.stripe_count, f.fs_osts, f.bytes_read + f.bytes_written AS bytes,
    greatest(coalesce(f.max_byte_read, -1), coalesce(f.max_byte_written, -1)) + 1 AS size, f.sharing <> 'unique' AS several,
    CASE WHEN f.readers IS NULL OR f.writers IS NULL THEN CASE WHEN f.bytes_source = 'mpiio' THEN f.file_nprocs_mpiio ELSE f.file_nprocs_posix END
      ELSE greatest(f.readers, f.writers) END AS procs, f.ost_count,
    coalesce(f.read_end - f.read_start, 0.0) + coalesce(f.write_end - f.write_start, 0.0) AS time
  FROM darshan_file f
  WHERE NOT f.is_stream AND f.stripe_count IS NOT NULL AND f.bytes_read + f.bytes_written > 0 AND ($fs IS NULL OR f.fs = $fs) AND ($job IS NULL OR f.job_id = $job) AND ($log IS NULL OR f.log_id = $log)
), wanted AS (
  SELECT f.*, l.app, l.nprocs,
    least(CASE WHEN f.several AND f.size >= 100000000000 THEN 72 WHEN f.several AND f.size >= 10000000000 THEN 24 WHEN f.several AND f.size >= 1000000000 THEN 8 ELSE 1 END,
      coalesce(f.fs_osts, 72)) AS wanted
  FROM file f JOIN darshan_log l ON l.job_id = f.job_id AND l.log_id = f.log_id WHERE f.size > 0 AND ($app IS NULL OR l.app = $app)
    AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
), advised AS (
  SELECT *, CASE WHEN several AND size >= 1000000000 AND stripe_count < wanted THEN 'wider'
    WHEN stripe_count > 1 AND (size < 1000000000 OR NOT several AND nprocs >= $many_procs) THEN 'narrower' END AS advice
  FROM wanted
)
SELECT app, fs, advice, stripe_size, stripe_count, max(wanted) AS advised_count, max(fs_osts) AS fs_osts, count(*) AS files, count(DISTINCT log_id) AS logs, sum(bytes) AS bytes, sum(time) AS time,
  max(CAST(procs AS DOUBLE) / nullif(ost_count, 0)) AS proc_per_ost, first_value(path ORDER BY size DESC, log_id, record_id) AS largest_path, max(size) AS largest_size
FROM advised WHERE advice IS NOT NULL GROUP BY app, fs, advice, stripe_size, stripe_count HAVING sum(time) >= $min_time
ORDER BY time DESC, app, fs, advice, stripe_size, stripe_count
