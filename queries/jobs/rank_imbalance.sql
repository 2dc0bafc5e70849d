--- doc = "Logs in which one process did far more I/O than the rest, in files of its own or in a shared one"
--- grain = "one log of several processes that moved bytes"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes" },
---   { name = "own_bytes", type = "Int64", unit = "B", doc = "Bytes of POSIX and STDIO in records of one process; shared records do not say whose bytes they count" },
---   { name = "active", type = "Int64", unit = "count", doc = "Processes with such bytes" },
---   { name = "heaviest_rank", type = "Int64", unit = "rank", doc = "The process with most of them" },
---   { name = "heaviest_bytes", type = "Int64", unit = "B", doc = "Its bytes" },
---   { name = "heaviest_ratio", type = "Float64", doc = "Its bytes / those of an average process: 1 if all move the same, nprocs if it moves all" },
---   { name = "slowest_rank", type = "Int64", unit = "rank", doc = "The process with most time in such records" },
---   { name = "slowest_time", type = "Float64", unit = "s", doc = "Its time: reading, writing and metadata" },
---   { name = "slowest_ratio", type = "Float64", doc = "Its time / that of an average process" },
---   { name = "shared_path", type = "Utf8", doc = "Of the shared files that in which the slowest process lost most against the fastest" },
---   { name = "shared_slowest_rank", type = "Int64", unit = "rank", doc = "The slowest process there" },
---   { name = "shared_slowest_time", type = "Float64", unit = "s", doc = "Its time" },
---   { name = "shared_fastest_time", type = "Float64", unit = "s", doc = "Time of the fastest one" },
---   { name = "shared_slowest_bytes", type = "Int64", unit = "B", doc = "Bytes of the slowest" },
---   { name = "shared_fastest_bytes", type = "Int64", unit = "B", doc = "Bytes of the fastest" },
---   { name = "lost_time", type = "Float64", unit = "s", doc = "What the slowest process spent beyond an average one in its own files, or beyond the fastest one in the shared file, whichever is more; the answer is ordered by it" },
--- ]
--- chart = { form = "scatter", x = "nprocs", y = "lost_time", label = "app", log = ["x", "y"] }
--- [[param]]
--- name = "min_ratio"
--- type = "float"
--- default = "0"
--- doc = "Minimum heaviest_ratio, where files of one process have min_bytes, or slowest_ratio, where it spends a second more in them than an average process"
--- [[param]]
--- name = "min_bytes"
--- type = "float"
--- default = "1e8"
--- doc = "Minimum bytes of a log, and of its files of one process for heaviest_ratio; of few bytes one process often moves most"
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
WITH record AS (
  SELECT job_id, log_id, record_id, rank, coalesce(posix_bytes_read, 0) + coalesce(posix_bytes_written, 0) AS bytes,
    coalesce(posix_f_read_time, 0.0) + coalesce(posix_f_write_time, 0.0) + coalesce(posix_f_meta_time, 0.0) AS time FROM darshan_posix WHERE rank >= 0
  UNION ALL
  SELECT job_id, log_id, record_id, rank, coalesce(stdio_bytes_read, 0) + coalesce(stdio_bytes_written, 0),
    coalesce(stdio_f_read_time, 0.0) + coalesce(stdio_f_write_time, 0.0) + coalesce(stdio_f_meta_time, 0.0) FROM darshan_stdio WHERE rank >= 0
), process AS (
  SELECT r.job_id, r.log_id, r.rank, sum(r.bytes) AS bytes, sum(r.time) AS time
  FROM record r JOIN darshan_file f ON f.job_id = r.job_id AND f.log_id = r.log_id AND f.record_id = r.record_id
  WHERE NOT f.is_stream GROUP BY r.job_id, r.log_id, r.rank
), own AS (
  SELECT job_id, log_id, sum(bytes) AS own_bytes, sum(CASE WHEN bytes > 0 THEN 1 ELSE 0 END) AS active, sum(time) AS own_time,
    first_value(rank ORDER BY bytes DESC, rank) AS heaviest_rank, max(bytes) AS heaviest_bytes,
    first_value(rank ORDER BY time DESC, rank) AS slowest_rank, max(time) AS slowest_time
  FROM process GROUP BY job_id, log_id
), shared AS (
  SELECT job_id, log_id, path, slowest_rank, slowest_rank_time, fastest_rank_time, slowest_rank_bytes, fastest_rank_bytes,
    row_number() OVER (PARTITION BY job_id, log_id ORDER BY slowest_rank_time - coalesce(fastest_rank_time, 0.0) DESC, record_id) AS nth
  FROM darshan_file WHERE shared AND NOT is_stream AND slowest_rank_time > 0 AND bytes_read + bytes_written > 0
), log AS (
  SELECT l.job_id, l.log_id, l.app, l.nprocs, coalesce(o.own_bytes, 0) AS own_bytes, coalesce(o.active, 0) AS active, o.heaviest_rank, o.heaviest_bytes,
    CAST(o.heaviest_bytes AS DOUBLE) * l.nprocs / nullif(o.own_bytes, 0) AS heaviest_ratio, o.slowest_rank, o.slowest_time,
    o.slowest_time * l.nprocs / nullif(o.own_time, 0) AS slowest_ratio, s.path AS shared_path, s.slowest_rank AS shared_slowest_rank,
    s.slowest_rank_time AS shared_slowest_time, s.fastest_rank_time AS shared_fastest_time, s.slowest_rank_bytes AS shared_slowest_bytes,
    s.fastest_rank_bytes AS shared_fastest_bytes,
    greatest(o.slowest_time - o.own_time / l.nprocs, s.slowest_rank_time - coalesce(s.fastest_rank_time, 0.0)) AS lost_time
  FROM darshan_log l LEFT JOIN own o ON o.job_id = l.job_id AND o.log_id = l.log_id
    LEFT JOIN shared s ON s.job_id = l.job_id AND s.log_id = l.log_id AND s.nth = 1
  WHERE l.nprocs > 1 AND l.total_bytes - l.bytes_read_streams - l.bytes_written_streams >= greatest($min_bytes, 1.0)
    AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
)
SELECT * FROM log
WHERE $min_ratio <= 0.0 OR heaviest_ratio >= $min_ratio AND own_bytes >= $min_bytes OR slowest_ratio >= $min_ratio AND slowest_time - slowest_time / slowest_ratio >= 1.0
ORDER BY lost_time DESC, job_id, log_id
