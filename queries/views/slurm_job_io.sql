--- doc = "One Slurm record with what the Darshan logs that ran in it say"
--- key = ["job_id", "submit_time"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Raw id" },
---   { name = "submit_time", type = "Timestamp", doc = "When it was submitted, or put back into the queue" },
---   { name = "job_id_text", type = "Utf8", doc = "The id as Slurm shows it" },
---   { name = "last_record", type = "Boolean", doc = "No later record of this job is in the lake" },
---   { name = "cluster", type = "Utf8", doc = "Cluster" },
---   { name = "user", type = "Utf8", doc = "User name" },
---   { name = "uid", type = "Int64", doc = "User id" },
---   { name = "account", type = "Utf8", doc = "Account that is charged" },
---   { name = "partition", type = "Utf8", doc = "Partition" },
---   { name = "qos", type = "Utf8", doc = "Quality of service" },
---   { name = "job_name", type = "Utf8", doc = "Name" },
---   { name = "state", type = "Utf8", doc = "State" },
---   { name = "start_time", type = "Timestamp", doc = "Start" },
---   { name = "end_time", type = "Timestamp", doc = "End" },
---   { name = "ran_until", type = "Timestamp", doc = "End of the job; if the record was dumped while it ran, the later of start_time + elapsed and the end of its last log" },
---   { name = "elapsed", type = "Float64", unit = "s", doc = "Time that it ran" },
---   { name = "node_count", type = "Int64", unit = "count", doc = "Nodes that it was given" },
---   { name = "node_hours", type = "Float64", unit = "h", doc = "Nodes times hours that it ran; if the record was dumped while it ran, the hours up to ran_until" },
---   { name = "ncpus", type = "Int64", unit = "count", doc = "CPUs" },
---   { name = "logs", type = "Int64", unit = "count", doc = "Darshan logs that ran in it; 0: nothing is known of its I/O" },
---   { name = "nprocs_max", type = "Int64", unit = "count", doc = "Processes of its largest log" },
---   { name = "apps", type = "List<Utf8>", doc = "Its programs, each once, in alphabetical order" },
---   { name = "bytes_read", type = "Int64", unit = "B", doc = "Bytes read by its logs, streams included; NULL without logs" },
---   { name = "bytes_written", type = "Int64", unit = "B", doc = "Bytes written by its logs, streams included; NULL without logs" },
---   { name = "ambiguous", type = "Boolean", doc = "It is not certain that all of these logs are its own: several records fit them, or they may be of another component of the het job" },
--- ]

-- Logs of all components of a het job stand with its leader. An array task whose raw id a poor dump did not say (it is below 0)
-- is left out where another dump says it.
WITH logs AS (
  SELECT job_id, submit_time, slurm_start, count(*) AS logs, max(nprocs) AS nprocs_max,
    array_agg(DISTINCT app ORDER BY app) FILTER (WHERE app IS NOT NULL) AS apps, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
    max(end_time) AS logs_end, bool_or(match IN ('ambiguous', 'leader')) AS ambiguous
  FROM job WHERE match <> 'none' GROUP BY job_id, submit_time, slurm_start
), one AS (
  SELECT * FROM slurm_job WHERE job_id >= 0
  UNION ALL
  SELECT * FROM slurm_job n WHERE n.job_id < 0
    AND NOT EXISTS (SELECT 1 FROM slurm_job k WHERE k.job_id >= 0 AND k.job_id_text = n.job_id_text AND (n.start_time IS NULL OR k.start_time = n.start_time))
)
SELECT s.job_id, s.submit_time, s.job_id_text, s.last_record, s.cluster, s."user", s.uid, s.account, s.partition, s.qos, s.job_name, s.state, s.start_time, s.end_time,
  coalesce(s.end_time, greatest(s.start_time, arrow_cast(CAST(s.start_time AS BIGINT) + CAST(s.elapsed * 1000000.0 AS BIGINT), 'Timestamp(Microsecond, Some("UTC"))'), l.logs_end)) AS ran_until,
  s.elapsed, s.node_count, s.node_count * CASE WHEN s.end_time IS NULL AND l.logs_end > s.start_time
    THEN greatest(coalesce(s.elapsed, 0.0), (CAST(l.logs_end AS BIGINT) - CAST(s.start_time AS BIGINT)) / 1000000.0) ELSE s.elapsed END / 3600.0 AS node_hours, s.ncpus, coalesce(l.logs, 0) AS logs, l.nprocs_max, l.apps,
  l.bytes_read, l.bytes_written, l.ambiguous
FROM one s LEFT JOIN logs l ON l.job_id = s.job_id AND (l.submit_time IS NOT DISTINCT FROM s.submit_time) AND (l.slurm_start IS NOT DISTINCT FROM s.start_time)
