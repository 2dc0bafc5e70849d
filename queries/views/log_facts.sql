--- doc = "A log in one direction: its files, times and bandwidths"
--- key = ["log_id", "direction"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "direction", type = "Utf8", doc = "read or write" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "run_time", type = "Float64", unit = "s", doc = "Run time of the program" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files that moved bytes in the direction, streams left out" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Bytes moved, streams left out" },
---   { name = "time", type = "Float64", unit = "s", doc = "Time that processes spent in the direction" },
---   { name = "meta_time", type = "Float64", unit = "s", doc = "Time that processes spent in metadata operations, of both directions" },
---   { name = "critical_time", type = "Float64", unit = "s", doc = "Time in which at least one file was in use in the direction, by windows" },
---   { name = "bw_span", type = "Float64", unit = "B/s", doc = "Bytes / (last end - first start)" },
---   { name = "bw_critical", type = "Float64", unit = "B/s", doc = "Bytes / critical time" },
---   { name = "bw_slowest_rank", type = "Float64", unit = "B/s", doc = "Bytes / I/O time of the slowest process" },
--- ]

-- A log that moved no byte in a direction has a row all the same: its processes may have spent time there.
SELECT job_id, log_id, 'read' AS direction, app, nprocs, start_time, run_time, read_files AS files, bytes_read - bytes_read_streams AS bytes, read_time AS time, meta_time,
  critical_read_time AS critical_time, read_bw_span AS bw_span, read_bw_critical AS bw_critical, read_bw_slowest_rank AS bw_slowest_rank
FROM darshan_log
UNION ALL
SELECT job_id, log_id, 'write', app, nprocs, start_time, run_time, write_files, bytes_written - bytes_written_streams, write_time, meta_time,
  critical_write_time, write_bw_span, write_bw_critical, write_bw_slowest_rank
FROM darshan_log
