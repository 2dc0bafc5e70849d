--- doc = "Logs with a bandwidth in a given range, with their critical files and the factors of the IOMiner paper, weighted by exclusive time"
--- grain = "one log that moved bytes in that direction (streams left out); with grain job the logs of one job together, on the clock"
--- source = "IOMiner, section III-F, equations 1 and 2, algorithm 2"
--- aliases = ["extract_perf_factors"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log; of a job the first of them" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs: 1, or those of the job" },
---   { name = "app", type = "Utf8", doc = "Program; of a job that which moved most bytes" },
---   { name = "user", type = "Utf8", doc = "User name by Slurm, else a guess from the log's file name" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes; of a job those of its largest log" },
---   { name = "node_count", type = "Int64", unit = "count", doc = "Nodes by Slurm" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program, or of the first one" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files that moved bytes in that direction" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Bytes moved in that direction" },
---   { name = "bw_span", type = "Float64", unit = "B/s", doc = "Bytes / (last end - first start): equation 1" },
---   { name = "bw_critical", type = "Float64", unit = "B/s", doc = "Bytes / critical_time" },
---   { name = "bw_slowest_rank", type = "Float64", unit = "B/s", doc = "Bytes / time of the slowest process; of a job the times of its logs added up, too little where they ran side by side" },
---   { name = "critical_time", type = "Float64", unit = "s", doc = "Time in which at least one file was open to that direction" },
---   { name = "busy", type = "Float64", unit = "fraction", doc = "How much of its window a critical file was busy, weighted by exclusive time; a lower bound where files are shared; of a job the mean over the windows that its logs have of a file" },
---   { name = "fs", type = "Utf8", doc = "File system with most of critical_time" },
---   { name = "factors" },
---   { name = "small_limit", type = "Int64", unit = "B", doc = "Upper end of the largest of Darshan's bins that small counts: less than small_bytes where that falls inside a bin" },
---   { name = "proc_upper", type = "Boolean", doc = "proc_per_ost counts processes that opened a shared file, for who moved its bytes is not known" },
---   { name = "critical_files", type = "List<Struct<record_id: UInt64, path: Utf8, time: Float64, share: Float64, bytes: Int64>>", doc = "The critical files by exclusive time (s), each with its share of critical_time and its bytes" },
--- ]
--- chart = { form = "parallel", y = ["small", "non_consec", "coll", "ost_count", "proc_per_ost", "node_count", "bw_critical"], z = "app" }
--- [[param]]
--- name = "direction"
--- type = "text"
--- values = ["read", "write"]
--- doc = "read or write"
--- [[param]]
--- name = "min_bw"
--- type = "float"
--- default = "0"
--- doc = "Minimum bandwidth, B/s"
--- [[param]]
--- name = "max_bw"
--- type = "float"
--- default = "'inf'"
--- doc = "Maximum bandwidth, B/s (exclusive)"
--- [[param]]
--- name = "grain"
--- type = "text"
--- default = "'log'"
--- values = ["log", "job"]
--- doc = "log or job"
--- [[param]]
--- name = "interval"
--- type = "text"
--- default = "'window'"
--- values = ["window", "busy", "dxt"]
--- doc = "When a file is in use: from its first access to the end of the last (window, as in the paper), for as long as it was busy from the first access on (busy), or in its traced segments, where there are some (dxt)"
--- [[param]]
--- name = "bw"
--- type = "text"
--- default = "'critical'"
--- values = ["critical", "span", "slowest_rank"]
--- doc = "Bandwidth that the limits are for: by critical time, by the span of the I/O, or by the slowest process"
--- [[param]]
--- name = "small_bytes"
--- type = "int"
--- default = "1024"
--- doc = "Largest size of a small request, B"
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"
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

-- A log is a group of its own, or belongs to that of its job, which is called by the first of its logs. Seconds of a job's logs are
-- counted from the start of the first. By the bandwidths that darshan_log has, files of logs far outside the
-- band are not read.
WITH grouped AS (
  SELECT job_id, log_id, log_id AS grp, 0.0 AS offset
  FROM darshan_log
  WHERE $grain <> 'job' AND ($job IS NULL OR job_id = $job) AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
    AND CASE WHEN $direction = 'read' THEN read_files ELSE write_files END > 0 AND ($interval <> 'window'
    OR CASE WHEN $bw = 'critical' THEN CASE WHEN $direction = 'read' THEN read_bw_critical ELSE write_bw_critical END
      WHEN $bw = 'span' THEN CASE WHEN $direction = 'read' THEN read_bw_span ELSE write_bw_span END
      ELSE CASE WHEN $direction = 'read' THEN read_bw_slowest_rank ELSE write_bw_slowest_rank END END BETWEEN $min_bw * 0.999999 AND $max_bw * 1.000001)
  UNION ALL
  SELECT job_id, log_id, first_value(log_id) OVER (PARTITION BY job_id, uid, log_group ORDER BY start_time, log_id) AS grp,
    CAST(CAST(start_time AS BIGINT) - min(CAST(start_time AS BIGINT)) OVER (PARTITION BY job_id, uid, log_group ORDER BY start_time, log_id) AS DOUBLE) / 1000000.0 AS offset
  FROM darshan_log_group WHERE $grain = 'job' AND start_time IS NOT NULL AND ($job IS NULL OR job_id = $job) AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
), file AS (
  SELECT f.job_id, f.log_id, g.grp, g.offset, f.record_id, f.path, f.fs, f.ost_bits, f.ost_count AS osts,
    CASE WHEN $direction = 'read' THEN f.bytes_read ELSE f.bytes_written END AS bytes,
    CASE WHEN $direction = 'read' THEN f.posix_reads ELSE f.posix_writes END AS requests,
    CASE WHEN $direction = 'read' THEN f.consec_reads ELSE f.consec_writes END AS consec,
    CASE WHEN $small_bytes >= 100 THEN CASE WHEN $direction = 'read' THEN f.size_read_0_100 ELSE f.size_write_0_100 END ELSE 0 END
      + CASE WHEN $small_bytes >= 1024 THEN CASE WHEN $direction = 'read' THEN f.size_read_100_1k ELSE f.size_write_100_1k END ELSE 0 END
      + CASE WHEN $small_bytes >= 10240 THEN CASE WHEN $direction = 'read' THEN f.size_read_1k_10k ELSE f.size_write_1k_10k END ELSE 0 END
      + CASE WHEN $small_bytes >= 102400 THEN CASE WHEN $direction = 'read' THEN f.size_read_10k_100k ELSE f.size_write_10k_100k END ELSE 0 END
      + CASE WHEN $small_bytes >= 1048576 THEN CASE WHEN $direction = 'read' THEN f.size_read_100k_1m ELSE f.size_write_100k_1m END ELSE 0 END
      + CASE WHEN $small_bytes >= 4194304 THEN CASE WHEN $direction = 'read' THEN f.size_read_1m_4m ELSE f.size_write_1m_4m END ELSE 0 END
      + CASE WHEN $small_bytes >= 10485760 THEN CASE WHEN $direction = 'read' THEN f.size_read_4m_10m ELSE f.size_write_4m_10m END ELSE 0 END
      + CASE WHEN $small_bytes >= 104857600 THEN CASE WHEN $direction = 'read' THEN f.size_read_10m_100m ELSE f.size_write_10m_100m END ELSE 0 END
      + CASE WHEN $small_bytes >= 1073741824 THEN CASE WHEN $direction = 'read' THEN f.size_read_100m_1g ELSE f.size_write_100m_1g END ELSE 0 END AS small,
    CASE WHEN $direction = 'read' THEN f.mpiio_coll_reads ELSE f.mpiio_coll_writes END AS collective,
    CASE WHEN $direction = 'read' THEN f.readers ELSE f.writers END AS active,
    CASE WHEN f.bytes_source = 'mpiio' THEN f.file_nprocs_mpiio ELSE f.file_nprocs_posix END AS upper,
    CASE WHEN $direction = 'read' THEN f.read_busy ELSE f.write_busy END AS busy,
    g.offset + CASE WHEN $direction = 'read' THEN f.read_start ELSE f.write_start END AS a,
    g.offset + CASE WHEN $direction = 'read' THEN f.read_end ELSE f.write_end END AS b,
    g.offset + CASE WHEN $direction = 'read' THEN f.read_busy_end ELSE f.write_busy_end END AS busy_end
  FROM grouped g JOIN darshan_file f ON f.job_id = g.job_id AND f.log_id = g.log_id
  WHERE NOT f.is_stream AND CASE WHEN $direction = 'read' THEN f.bytes_read ELSE f.bytes_written END > 0 AND ($job IS NULL OR f.job_id = $job)
), segment AS (
  SELECT x.job_id, f.grp, x.log_id, x.record_id, f.offset + x.access_start AS a, f.offset + x.access_end AS b
  FROM file f JOIN darshan_dxt x ON x.job_id = f.job_id AND x.log_id = f.log_id AND x.record_id = f.record_id
  WHERE $interval = 'dxt' AND ($job IS NULL OR x.job_id = $job) AND x.operation = $direction AND x.module = 'POSIX' AND x.access_length > 0
), used AS (
  SELECT job_id, grp, record_id, a, CASE WHEN $interval = 'busy' THEN busy_end ELSE b END AS b FROM file WHERE $interval <> 'dxt'
  UNION ALL
  SELECT job_id, grp, record_id, a, b FROM segment WHERE $interval = 'dxt'
  UNION ALL
  SELECT f.job_id, f.grp, f.record_id, f.a, f.b FROM file f LEFT ANTI JOIN segment s ON s.job_id = f.job_id AND s.log_id = f.log_id AND s.record_id = f.record_id
  WHERE $interval = 'dxt'
), covered AS (
  SELECT job_id, grp, critical_files(record_id, a, b) AS cover FROM used GROUP BY job_id, grp
), share AS (
  SELECT job_id, grp, unnest(cover) AS part FROM covered
), own AS (
  SELECT job_id, grp, part['id'] AS record_id, sum(part['end'] - part['start']) AS time FROM share GROUP BY job_id, grp, part['id']
), critical AS (
  SELECT f.job_id, f.grp, f.record_id, min(o.time) AS time, min(f.path) AS path, min(f.fs) AS fs, ost_union(f.fs, f.ost_bits) AS ost_bits, max(f.osts) AS osts,
    sum(f.bytes) AS bytes, sum(f.requests) AS requests, sum(f.consec) AS consec, sum(f.small) AS small, max(f.collective) AS collective,
    max(coalesce(f.active, f.upper)) AS procs, bool_or(f.active IS NULL) AS proc_upper,
    coalesce(sum(f.busy * (f.b - f.a)) / nullif(sum(CASE WHEN f.busy IS NOT NULL THEN f.b - f.a END), 0), max(f.busy)) AS busy
  FROM own o JOIN file f ON f.job_id = o.job_id AND f.grp = o.grp AND f.record_id = o.record_id
  GROUP BY f.job_id, f.grp, f.record_id
), by_fs AS (
  SELECT *, sum(time) OVER (PARTITION BY job_id, grp, fs) AS fs_time, sum(time) OVER (PARTITION BY job_id, grp) AS critical_time FROM critical
), c AS (
  SELECT *, row_number() OVER (PARTITION BY job_id, grp ORDER BY fs_time DESC, fs) = 1 AS first_of_main,
    fs IS NOT DISTINCT FROM first_value(fs) OVER (PARTITION BY job_id, grp ORDER BY fs_time DESC, fs) AS on_main_fs
  FROM by_fs
), factors AS (
  SELECT c.job_id, c.grp, sum(c.time) AS critical_time, sum(c.time * c.busy) / nullif(sum(CASE WHEN c.busy IS NOT NULL THEN c.time END), 0) AS busy,
    min(c.fs) FILTER (WHERE c.first_of_main) AS fs, bool_or(c.proc_upper) AS proc_upper,
    /* factors */
    array_agg(named_struct('record_id', c.record_id, 'path', c.path, 'time', c.time, 'share', c.time / c.critical_time, 'bytes', c.bytes) ORDER BY c.time DESC, c.record_id) AS critical_files
  FROM c GROUP BY c.job_id, c.grp
), total AS (
  SELECT job_id, grp, count(DISTINCT record_id) AS files, sum(bytes) AS bytes, max(b) - min(a) AS span FROM file GROUP BY job_id, grp
), log AS (
  SELECT l.job_id, g.grp, l.log_id, l.app, l.start_time, l.nprocs, CASE WHEN $direction = 'read' THEN l.bytes_read ELSE l.bytes_written END AS bytes,
    CASE WHEN $direction = 'read' THEN l.read_time_by_slowest ELSE l.write_time_by_slowest END AS slowest, j."user", j.node_count
  FROM grouped g JOIN darshan_log l ON l.job_id = g.job_id AND l.log_id = g.log_id JOIN job j ON j.job_id = g.job_id AND j.log_id = g.log_id
  WHERE $job IS NULL OR l.job_id = $job AND j.job_id = $job
), program AS (
  SELECT job_id, grp, count(*) AS logs, first_value(app ORDER BY bytes DESC, log_id) AS app, max("user") AS "user", max(nprocs) AS nprocs, max(node_count) AS node_count,
    min(start_time) AS start_time, nullif(sum(slowest), 0) AS slowest
  FROM log GROUP BY job_id, grp
), measured AS (
  SELECT p.*, t.files, t.bytes, t.bytes / nullif(t.span, 0) AS bw_span, t.bytes / nullif(x.critical_time, 0) AS bw_critical, t.bytes / p.slowest AS bw_slowest_rank
  FROM total t JOIN factors x ON x.job_id = t.job_id AND x.grp = t.grp JOIN program p ON p.job_id = t.job_id AND p.grp = t.grp
)
SELECT m.job_id, m.grp AS log_id, m.logs, m.app, m."user", m.nprocs, m.node_count, m.start_time, m.files, m.bytes, m.bw_span, m.bw_critical, m.bw_slowest_rank,
  x.critical_time, x.busy, x.fs, /* names of factors */
  CASE WHEN $small_bytes >= 1073741824 THEN 1073741824 WHEN $small_bytes >= 104857600 THEN 104857600 WHEN $small_bytes >= 10485760 THEN 10485760
    WHEN $small_bytes >= 4194304 THEN 4194304 WHEN $small_bytes >= 1048576 THEN 1048576 WHEN $small_bytes >= 102400 THEN 102400 WHEN $small_bytes >= 10240 THEN 10240
    WHEN $small_bytes >= 1024 THEN 1024 WHEN $small_bytes >= 100 THEN 100 ELSE 0 END AS small_limit,
  x.proc_upper, x.critical_files
FROM measured m JOIN factors x ON x.job_id = m.job_id AND x.grp = m.grp
WHERE CASE WHEN $bw = 'critical' THEN m.bw_critical WHEN $bw = 'span' THEN m.bw_span ELSE m.bw_slowest_rank END >= $min_bw
  AND CASE WHEN $bw = 'critical' THEN m.bw_critical WHEN $bw = 'span' THEN m.bw_span ELSE m.bw_slowest_rank END < $max_bw
ORDER BY CASE WHEN $bw = 'critical' THEN m.bw_critical WHEN $bw = 'span' THEN m.bw_span ELSE m.bw_slowest_rank END, m.job_id, m.grp
