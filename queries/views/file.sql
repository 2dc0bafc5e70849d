--- doc = "One file in one log, with the program, user and processes of the log"
--- key = ["log_id", "record_id"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "user", type = "Utf8", doc = "User name, a guess from the log's file name" },
---   { name = "uid", type = "Int64", doc = "User id" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes of the log" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "end_time", type = "Timestamp", doc = "End of the program" },
---   { name = "run_time", type = "Float64", unit = "s", doc = "Run time of the program" },
---   { name = "exe", type = "Utf8", doc = "Command line" },
---   { name = "log_path", type = "Utf8", doc = "Path of the log when it was imported" },
---   { name = "partial", type = "Boolean", doc = "Darshan ran out of memory in this log: files are missing, sums are lower bounds" },
---   { name = "darshan_file.*" },
--- ]

-- The keys are those of the log, by which both scans are pruned: a condition on the log finds the jobs whose files are read.
SELECT l.job_id, l.log_id, l.app, l."user", l.uid, l.nprocs, l.start_time, l.end_time, l.run_time, l.exe, l.log_path, l.partial, f.* EXCEPT (job_id, log_id)
FROM darshan_log l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id
