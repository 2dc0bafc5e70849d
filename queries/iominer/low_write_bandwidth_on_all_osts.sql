--- doc = "Logs of low_write_bandwidth whose files lie on all OSTs of a file system: for each program, the log that wrote most"
--- grain = "one program"
--- aliases = ["all_ost_low_write"]
--- source = "IOMiner, table II"
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
---   { name = "busy", type = "Float64", unit = "fraction", doc = "How much of its window a critical file was busy, weighted by exclusive time; a lower bound where files are shared" },
---   { name = "fs", type = "Utf8", doc = "File system with most of critical_time" },
---   { name = "factors" },
---   { name = "small_limit", type = "Int64", unit = "B", doc = "Upper end of the largest of Darshan's bins that small counts: less than small_bytes where that falls inside a bin" },
---   { name = "proc_upper", type = "Boolean", doc = "proc_per_ost counts processes that opened a shared file, for who moved its bytes is not known" },
---   { name = "critical_files", type = "List<Struct<record_id: UInt64, path: Utf8, time: Float64, share: Float64, bytes: Int64>>", doc = "The critical files by exclusive time (s), each with its share of critical_time and its bytes" },
---   { name = "fs_osts", type = "Int64", unit = "count", doc = "OSTs of fs" },
--- ]
--- [[param]]
--- name = "min_nprocs"
--- type = "int"
--- default = "1000"
--- doc = "Minimum number of processes (exclusive)"
--- [[param]]
--- name = "min_bytes"
--- type = "float"
--- default = "1e7"
--- doc = "Minimum bytes per process in that direction"
--- [[param]]
--- name = "max_bw"
--- type = "float"
--- default = "1e9"
--- doc = "Maximum bandwidth, B/s (exclusive)"
--- [[param]]
--- name = "grain"
--- type = "text"
--- default = "'log'"
--- values = ["log", "job"]
--- doc = "log or job"
--- [[param]]
--- name = "bw"
--- type = "text"
--- default = "'slowest_rank'"
--- values = ["slowest_rank", "critical", "span"]
--- doc = "Bandwidth that is compared: by the time of the slowest process, by critical time as in the paper, which a file held open makes low, or by the span of the I/O"
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
WITH fs AS (
  SELECT fs, max(fs_osts) AS fs_osts FROM darshan_file WHERE fs IS NOT NULL GROUP BY fs
), wide AS (
  SELECT p.*, s.fs_osts, row_number() OVER (PARTITION BY p.app ORDER BY p.bytes DESC, p.job_id, p.log_id) AS nth
  FROM low_write_bandwidth(min_nprocs => $min_nprocs, min_bytes => $min_bytes, max_bw => $max_bw, grain => $grain, bw => $bw, "from" => $from, "to" => $to) AS p JOIN fs s ON s.fs = p.fs
  WHERE p.ost_count = s.fs_osts
)
SELECT * EXCEPT (nth) FROM wide WHERE nth = 1 ORDER BY app
