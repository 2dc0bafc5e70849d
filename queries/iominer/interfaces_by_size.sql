--- doc = "Through which interface logs of each size move their bytes: POSIX alone, MPI-IO independent, or MPI-IO collective"
--- grain = "one class of sizes"
--- aliases = ["middleware"]
--- source = "IOMiner, figure 10: one process, small up to 1,024, medium up to 8,192, large beyond"
--- columns = [
---   { name = "class", type = "Utf8", doc = "one, small, medium or large" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs that opened a file through POSIX, STDIO or MPI-IO" },
---   { name = "posix", type = "Int64", unit = "count", doc = "Logs without MPI-IO" },
---   { name = "independent", type = "Int64", unit = "count", doc = "Logs with MPI-IO, none of it collective" },
---   { name = "collective", type = "Int64", unit = "count", doc = "Logs with collective opens, reads or writes" },
---   { name = "posix_share", type = "Float64", unit = "fraction", doc = "posix of logs" },
---   { name = "independent_share", type = "Float64", unit = "fraction", doc = "independent of logs" },
---   { name = "collective_share", type = "Float64", unit = "fraction", doc = "collective of logs" },
--- ]
--- chart = { form = "bar", x = "class", y = ["posix_share", "independent_share", "collective_share"], stacked = true }
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
-- Logs have few different numbers of processes, so these are counted first.
WITH log AS (
  SELECT nprocs, (mpiio_coll_opens > 0 OR mpiio_coll_reads > 0 OR mpiio_coll_writes > 0) IS TRUE AS collective,
    (mpiio_indep_opens > 0 OR mpiio_indep_reads > 0 OR mpiio_indep_writes > 0) IS TRUE AS independent
  FROM darshan_log WHERE files > streams AND nprocs IS NOT NULL AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
), counted AS (
  SELECT nprocs, count(*) AS logs, count(*) FILTER (WHERE NOT collective AND NOT independent) AS posix,
    count(*) FILTER (WHERE NOT collective AND independent) AS independent, count(*) FILTER (WHERE collective) AS collective
  FROM log GROUP BY nprocs
), classed AS (
  SELECT CASE WHEN nprocs <= 1 THEN 0 WHEN nprocs <= 1024 THEN 1 WHEN nprocs <= 8192 THEN 2 ELSE 3 END AS size,
    sum(logs) AS logs, sum(posix) AS posix, sum(independent) AS independent, sum(collective) AS collective
  FROM counted GROUP BY size
)
SELECT CASE size WHEN 0 THEN 'one' WHEN 1 THEN 'small' WHEN 2 THEN 'medium' ELSE 'large' END AS class, logs, posix, independent, collective,
  CAST(posix AS DOUBLE) / logs AS posix_share, CAST(independent AS DOUBLE) / logs AS independent_share, CAST(collective AS DOUBLE) / logs AS collective_share
FROM classed ORDER BY size
