--- doc = "One job: the logs of one job id and user that overlap or lie within 24 hours of each other"
--- key = ["job_id", "uid", "log_group"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it: the raw Slurm id, or a process id outside a scheduler" },
---   { name = "uid", type = "Int64", doc = "User id; NULL if the job regions are damaged" },
---   { name = "log_group", type = "Int64", doc = "Number of the group of logs with this job id and user, from 1 in order of time; 0 without start times" },
---   { name = "user", type = "Utf8", doc = "User name: the file name of a log up to the first _, a guess" },
---   { name = "job_start", type = "Timestamp", doc = "Start of its first program" },
---   { name = "job_end", type = "Timestamp", doc = "End of its last program" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Logs" },
---   { name = "nprocs_max", type = "Int64", unit = "count", doc = "Processes of its largest log" },
---   { name = "nprocs_sum", type = "Int64", unit = "count", doc = "Processes of all its logs, whether they ran side by side or not" },
---   { name = "apps", type = "List<Utf8>", doc = "Its programs, each once, in alphabetical order" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files of all its logs, streams included; one that several logs used counts in each" },
---   { name = "bytes_read", type = "Int64", unit = "B", doc = "Bytes read, streams included" },
---   { name = "bytes_written", type = "Int64", unit = "B", doc = "Bytes written, streams included" },
---   { name = "read_start_time", type = "Timestamp", doc = "First read of any file, streams left out, on the clock" },
---   { name = "read_end_time", type = "Timestamp", doc = "End of the last read of any file, streams left out, on the clock" },
---   { name = "write_start_time", type = "Timestamp", doc = "First write of any file, streams left out, on the clock" },
---   { name = "write_end_time", type = "Timestamp", doc = "End of the last write of any file, streams left out, on the clock" },
---   { name = "partial", type = "Boolean", doc = "A log of it is partial: sums are lower bounds" },
---   { name = "damaged", type = "Boolean", doc = "A log of it is damaged: sums are lower bounds" },
--- ]

-- There is no run time and no bandwidth, for neither can be summed over logs that run side by side.
WITH numbered AS (
  SELECT l.job_id, l.uid, g.log_group, l."user", l.app, l.nprocs, g.start_time, g.end_time, l.files, l.bytes_read, l.bytes_written,
    l.read_start_time, l.read_end_time, l.write_start_time, l.write_end_time, l.partial, l.status
  FROM darshan_log l JOIN darshan_log_group g ON g.job_id = l.job_id AND g.log_id = l.log_id
)
SELECT job_id, uid, log_group, min("user") AS "user", min(start_time) AS job_start, max(end_time) AS job_end, count(*) AS logs,
  max(nprocs) AS nprocs_max, sum(nprocs) AS nprocs_sum, array_agg(DISTINCT app ORDER BY app) FILTER (WHERE app IS NOT NULL) AS apps,
  sum(files) AS files, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
  min(read_start_time) AS read_start_time, max(read_end_time) AS read_end_time,
  min(write_start_time) AS write_start_time, max(write_end_time) AS write_end_time,
  bool_or(partial) AS partial, bool_or(status = 'damaged') AS damaged
FROM numbered GROUP BY job_id, uid, log_group
