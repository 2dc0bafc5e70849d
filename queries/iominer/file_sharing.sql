--- doc = "How processes share files: the ratio of files to processes, and the classes of the IOMiner paper"
--- grain = "one class and power of two of files / processes; logs of one process are left out"
--- aliases = ["sharing"]
--- source = "IOMiner, figure 9 and equation 5, whose ratio is taken as files / processes"
--- columns = [
---   { name = "class", type = "Utf8", doc = "N-1: all processes share each file; N-N: each file is one process's, and there are as many or more; N-M: all else" },
---   { name = "ratio", type = "Float64", doc = "Files / processes from here on, to twice as much" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs" },
---   { name = "share_of_logs", type = "Float64", unit = "fraction", doc = "Part of all logs with several processes and a file that moved bytes" },
--- ]
--- chart = { form = "bar", x = "ratio", y = "logs", series = "class", stacked = true, log = ["x"] }
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
  SELECT f.job_id, f.log_id, l.nprocs, count(*) AS files, sum(CASE WHEN f.sharing = 'shared' OR greatest(f.file_nprocs_posix, f.file_nprocs_mpiio) >= l.nprocs THEN 1 ELSE 0 END) AS shared,
    sum(CASE WHEN f.sharing = 'unique' THEN 1 ELSE 0 END) AS own
  FROM darshan_file f JOIN darshan_log l ON l.job_id = f.job_id AND l.log_id = f.log_id
  WHERE NOT f.is_stream AND f.bytes_read + f.bytes_written > 0 AND l.nprocs > 1 AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
  GROUP BY f.job_id, f.log_id, l.nprocs
), log AS (
  SELECT CASE WHEN shared = files THEN 'N-1' WHEN own = files AND files >= nprocs THEN 'N-N' ELSE 'N-M' END AS class,
    power(2.0, floor(log2(CAST(files AS DOUBLE) / nprocs))) AS ratio
  FROM file
)
SELECT class, ratio, count(*) AS logs, CAST(count(*) AS DOUBLE) / sum(count(*)) OVER () AS share_of_logs FROM log GROUP BY class, ratio ORDER BY class, ratio
