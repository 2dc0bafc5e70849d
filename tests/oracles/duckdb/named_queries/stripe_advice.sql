-- Files that a wider or a narrower layout would serve better: the sizes of NERSC's advice for Cori, 8 OSTs from 1 GB, 24 from
-- 10 GB, 72 from 100 GB, for files of several processes; one for all else.
-- param fs text NULL
-- param app text NULL
-- param job int NULL
-- param min_time float 1
-- param many_procs int 32
-- with min_time=0
-- with min_time=0 many_procs=2
-- with fs=scratch many_procs=1000 min_time=100
WITH file AS (
  SELECT l.app, f.fs, f.log_id, f.record_id, f.path, f.stripe_size, f.stripe_count, f.bytes_read + f.bytes_written AS bytes, coalesce(greatest(max_byte_read, max_byte_written), -1) + 1 AS size, sharing <> 'unique' AS several,
    coalesce(f.read_end - f.read_start, 0) + coalesce(f.write_end - f.write_start, 0) AS time, f.fs_osts, l.nprocs, ost_count,
    CASE WHEN readers IS NOT NULL AND writers IS NOT NULL THEN greatest(readers, writers) WHEN bytes_source = 'mpiio' THEN file_nprocs_mpiio ELSE file_nprocs_posix END AS procs
  FROM darshan_file f JOIN darshan_log l USING (log_id)
  WHERE NOT is_stream AND f.stripe_count IS NOT NULL AND f.bytes_read + f.bytes_written > 0 AND coalesce(f.fs = $fs, $fs IS NULL) AND coalesce(l.app = $app, $app IS NULL) AND coalesce(l.job_id = $job, $job IS NULL)
), wish AS (
  SELECT *, least(CASE WHEN NOT several OR size < 1e9 THEN 1 WHEN size < 1e10 THEN 8 WHEN size < 1e11 THEN 24 ELSE 72 END, coalesce(fs_osts, 72)) AS wanted FROM file WHERE size > 0
), advised AS (
  SELECT *, CASE WHEN several AND size >= 1e9 AND stripe_count < wanted THEN 'wider' WHEN stripe_count > 1 AND (size < 1e9 OR (NOT several AND nprocs >= $many_procs)) THEN 'narrower' END AS advice FROM wish
)
SELECT app, fs, advice, stripe_size, stripe_count, max(wanted) AS advised_count, max(fs_osts) AS fs_osts, count(*) AS files, count(DISTINCT log_id) AS logs, sum(bytes) AS bytes, sum(time) AS time, max(procs / ost_count) AS proc_per_ost,
  arg_max(path, (size, -log_id::HUGEINT, -record_id::HUGEINT)) AS largest_path, max(size) AS largest_size
FROM advised WHERE advice IS NOT NULL GROUP BY ALL HAVING sum(time) >= $min_time
