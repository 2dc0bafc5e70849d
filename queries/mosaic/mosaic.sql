--- doc = "What kind of I/O each log does: its classes by MOSAIC, and the figures they rest on"
--- grain = "one log that was analysed"
--- source = "MOSAIC"
--- analysis = "mosaic"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "user", type = "Utf8", doc = "User name by Slurm, else a guess from the name of the log" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "run_time", type = "Float64", unit = "s", doc = "Run time of the program" },
---   { name = "mode", type = "Utf8", doc = "full: the best evidence that the log holds, the published tool's mistakes corrected; reference: as the published tool" },
---   { name = "status", type = "Utf8", doc = "ok, or why there are no classes: no_module, no_records, no_posix, no_order, no_times, inconsistent, outside_run, too_many" },
---   { name = "log_status", type = "Utf8", doc = "How whole the log is: ok, partial or damaged; then these are the classes of the records that are left" },
---   { name = "evidence", type = "Utf8", doc = "What the classes rest on: dxt (traced accesses), heatmap (bytes by interval of time) or window (first and last access of each file)" },
---   { name = "partial_trace", type = "Boolean", doc = "Accesses were traced, but too few or too many of them, so that the classes rest on something else" },
---   { name = "analysed_time", type = "Float64", unit = "s", doc = "Length of the run whose quarters count: from start to end, or to the last access if that comes later. run_time of logs that know whole seconds alone has another second" },
---   { name = "read_classes", type = "List<Utf8>", doc = "Classes of the reads; NULL without classes" },
---   { name = "write_classes", type = "List<Utf8>", doc = "Classes of the writes; NULL without classes" },
---   { name = "metadata_classes", type = "List<Utf8>", doc = "Classes of the load on the metadata servers; NULL without classes" },
---   { name = "read_bytes", type = "Int64", unit = "B", doc = "Bytes read by the operations that were looked at; NULL without classes" },
---   { name = "write_bytes", type = "Int64", unit = "B", doc = "Bytes written by the operations that were looked at; NULL without classes" },
---   { name = "read_start_share", type = "Float64", doc = "Part of the bytes read in the first quarter of the run; NULL where reads are insignificant" },
---   { name = "read_middle_share", type = "Float64", doc = "Part of the bytes read in the middle half of the run" },
---   { name = "read_end_share", type = "Float64", doc = "Part of the bytes read in the last quarter of the run" },
---   { name = "write_start_share", type = "Float64", doc = "Part of the bytes written in the first quarter of the run; NULL where writes are insignificant" },
---   { name = "write_middle_share", type = "Float64", doc = "Part of the bytes written in the middle half of the run" },
---   { name = "write_end_share", type = "Float64", doc = "Part of the bytes written in the last quarter of the run" },
---   { name = "read_period", type = "Float64", unit = "s", doc = "From one repetition of the reads to the next; NULL if they are not periodic" },
---   { name = "read_period_busy", type = "Float64", doc = "Part of the period that is reading" },
---   { name = "write_period", type = "Float64", unit = "s", doc = "From one repetition of the writes to the next; NULL if they are not periodic" },
---   { name = "write_period_busy", type = "Float64", doc = "Part of the period that is writing" },
---   { name = "read_groups", type = "List<Struct<start: Float64, end: Float64, segments: Int64, period: Float64, work: Float64, work_cv: Float64, bytes: Float64, ranks: Float64, metadata: Float64>>", doc = "Groups of segments of reads that are alike, by start: seconds since the log's start, mean seconds of period and of work, mean bytes" },
---   { name = "write_groups", type = "List<Struct<start: Float64, end: Float64, segments: Int64, period: Float64, work: Float64, work_cv: Float64, bytes: Float64, ranks: Float64, metadata: Float64>>", doc = "Groups of segments of writes that are alike, by start" },
---   { name = "highest_spike", type = "Int64", unit = "count", doc = "Most opens, closes and seeks in a second, of which seeks do not reach a metadata server; NULL without classes" },
---   { name = "spike_count", type = "Int64", unit = "count", doc = "Seconds with at least 10 of them" },
---   { name = "average_per_spike", type = "Int64", unit = "count", doc = "Mean of the seconds that have any, fraction dropped" },
---   { name = "operations_per_second", type = "Float64", unit = "1/s", doc = "All of them over operations_duration; 0 if that is 0" },
---   { name = "operations_duration", type = "Int64", unit = "s", doc = "From the first second that has any to the last" },
---   { name = "read_confidence", type = "Float64", doc = "How sure the classes of reads are, from 0 to 1: 1 for dxt, less for long bins, and for windows the share of bytes in short or busy ones; NULL without reads" },
---   { name = "write_confidence", type = "Float64", doc = "How sure the classes of writes are, from 0 to 1; NULL without writes" },
---   { name = "confidence", type = "Float64", doc = "The lesser of read_confidence and write_confidence: of the one that there is if a log only reads or only writes" },
--- ]
--- chart = { form = "scatter", x = "write_period", y = "write_bytes", series = "evidence", label = "app", log = ["x", "y"] }
--- [[param]]
--- name = "mode"
--- type = "text"
--- default = "'full'"
--- values = ["full", "reference"]
--- doc = "full: the best evidence that a log holds; reference: as the published tool"
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"
--- [[param]]
--- name = "log"
--- type = "int"
--- default = "NULL"
--- doc = "One log, by its log_id (default: all)"
--- [[param]]
--- name = "app"
--- type = "text"
--- default = "NULL"
--- doc = "Program (default: all)"
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
SELECT j.job_id, j.log_id, j.app, j."user", j.nprocs, j.start_time, j.run_time,
  m.mode, m.status, j.status AS log_status, m.evidence, m.partial_trace, m.run_time AS analysed_time, m.read_classes, m.write_classes, m.metadata_classes, m.read_bytes, m.write_bytes, m.read_start_share, m.read_middle_share,
  m.read_end_share, m.write_start_share, m.write_middle_share, m.write_end_share, m.read_period, m.read_period_busy, m.write_period, m.write_period_busy, m.read_groups, m.write_groups, m.highest_spike,
  m.spike_count, m.average_per_spike, m.operations_per_second, m.operations_duration, m.read_confidence, m.write_confidence,
  least(coalesce(m.read_confidence, m.write_confidence), coalesce(m.write_confidence, m.read_confidence)) AS confidence
FROM job j JOIN darshan_mosaic m ON m.job_id = j.job_id AND m.log_id = j.log_id
WHERE m.mode = $mode AND ($job IS NULL OR m.job_id = $job) AND ($log IS NULL OR m.log_id = $log) AND ($app IS NULL OR j.app = $app)
  AND ($from IS NULL OR j.start_time >= $from) AND ($to IS NULL OR j.start_time < $to)
ORDER BY j.start_time, j.job_id, j.log_id
