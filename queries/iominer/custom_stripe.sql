--- doc = "Share of logs on Lustre with a file whose stripe size or count differs from the default of the file system"
--- grain = "one file system"
--- source = "IOMiner, figure 4 and section III-B"
--- columns = [
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs with a file of which the layout is known" },
---   { name = "custom_logs", type = "Int64", unit = "count", doc = "Those with such a file" },
---   { name = "share", type = "Float64", unit = "fraction", doc = "custom_logs of logs" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files of which the layout is known, each once for each log" },
---   { name = "custom_files", type = "Int64", unit = "count", doc = "Those that have another layout; if strict those of which it is known" },
---   { name = "stripe_size", type = "Int64", unit = "B", doc = "The default stripe size, from the settings of the lake; 1 MiB where they do not say" },
---   { name = "stripe_count", type = "Int64", unit = "count", doc = "The default stripe count, from the settings of the lake; 1 where they do not say" },
--- ]
--- chart = { form = "bar", x = "fs", y = ["logs", "custom_logs"] }
--- [[param]]
--- name = "strict"
--- type = "bool"
--- default = "false"
--- doc = "The paper's literal triple: custom is what has not size 1048576, count 1 and offset -1; logs of newer versions store no offset, and are left out"
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
-- A file system has few layouts. Each is counted with its logs, and what is custom is asked of layouts, not of files. A stream lies on no file
-- system.
WITH mount AS (
  SELECT fs, min(stripe_size) AS stripe_size, min(stripe_count) AS stripe_count FROM lake_mount GROUP BY fs
), layout AS (
  SELECT fs, stripe_size, stripe_count, CASE WHEN $strict THEN stripe_offset END AS stripe_offset, count(*) AS files, set_agg(log_id) AS logs
  FROM darshan_file f WHERE stripe_count IS NOT NULL AND fs IS NOT NULL AND (NOT $strict OR stripe_offset IS NOT NULL)
    AND ($from IS NULL AND $to IS NULL OR EXISTS (SELECT 1 FROM darshan_log l WHERE l.job_id = f.job_id AND l.log_id = f.log_id AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)))
  GROUP BY fs, stripe_size, stripe_count, CASE WHEN $strict THEN stripe_offset END
), laid AS (
  SELECT f.fs, f.files, f.logs, coalesce(m.stripe_size, 1048576) AS default_size, coalesce(m.stripe_count, 1) AS default_count,
    CASE WHEN $strict THEN f.stripe_size <> 1048576 OR f.stripe_count <> 1 OR f.stripe_offset <> -1
      ELSE f.stripe_size <> coalesce(m.stripe_size, 1048576) OR f.stripe_count <> coalesce(m.stripe_count, 1) END AS custom
  FROM layout f LEFT JOIN mount m ON m.fs = f.fs
), system AS (
  SELECT fs, CAST(array_length(set_union(logs)) AS BIGINT) AS logs, coalesce(CAST(array_length(set_union(logs) FILTER (WHERE custom)) AS BIGINT), 0) AS custom_logs,
    sum(files) AS files, sum(CASE WHEN custom THEN files ELSE 0 END) AS custom_files, min(default_size) AS stripe_size, min(default_count) AS stripe_count
  FROM laid GROUP BY fs
)
SELECT fs, logs, custom_logs, CAST(custom_logs AS DOUBLE) / logs AS share, files, custom_files, stripe_size, stripe_count FROM system ORDER BY fs
