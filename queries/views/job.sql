--- doc = "One Darshan log with the Slurm record of the job, array task or het leader that it ran in, and the step"
--- key = ["log_id"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "match", type = "Utf8", doc = "How its Slurm record was found: step (and the step that it ran in), job (no step holds it, or several that differ), leader (a component of a het job: which one is not known), ambiguous (several records fit, or the user's name differs), none" },
---   { name = "step_id", type = "Utf8", doc = "Step that it ran in; NULL if several may be it" },
---   { name = "node_count", type = "Int64", unit = "count", doc = "Nodes of that step, of all components that it spans; else of the job" },
---   { name = "ntasks", type = "Int64", unit = "count", doc = "Tasks of that step" },
---   { name = "job_id_text", type = "Utf8", doc = "The id as Slurm shows it" },
---   { name = "submit_time", type = "Timestamp", doc = "When the job was submitted: with job_id the key of slurm_job" },
---   { name = "slurm_start", type = "Timestamp", doc = "Start of the job" },
---   { name = "slurm_end", type = "Timestamp", doc = "End of the job" },
---   { name = "cluster", type = "Utf8", doc = "Cluster" },
---   { name = "account", type = "Utf8", doc = "Account that is charged" },
---   { name = "partition", type = "Utf8", doc = "Partition" },
---   { name = "qos", type = "Utf8", doc = "Quality of service" },
---   { name = "job_name", type = "Utf8", doc = "Name of the job" },
---   { name = "state", type = "Utf8", doc = "State of the job" },
---   { name = "job_node_count", type = "Int64", unit = "count", doc = "Nodes of the job" },
---   { name = "ncpus", type = "Int64", unit = "count", doc = "CPUs of the job" },
---   { name = "node_list", type = "Utf8", doc = "Nodes of the job" },
---   { name = "uid", type = "Int64", doc = "User id, from the log" },
---   { name = "user", type = "Utf8", doc = "User name by Slurm, else a guess from the log's file name" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "end_time", type = "Timestamp", doc = "End of the program" },
---   { name = "run_time", type = "Float64", unit = "s", doc = "Run time of the program" },
---   { name = "bytes_read", type = "Int64", unit = "B", doc = "Bytes read, streams included" },
---   { name = "bytes_written", type = "Int64", unit = "B", doc = "Bytes written, streams included" },
---   { name = "partial", type = "Boolean", doc = "Darshan ran out of memory: sums are lower bounds" },
---   { name = "status", type = "Utf8", doc = "ok, partial or damaged" },
--- ]

-- Darshan writes down SLURM_JOBID: the raw id of a job or an array task, and for every component of a heterogeneous job that
-- of its leader; outside Slurm, its process id, which may be the id of somebody's job. So besides the id the times must agree,
-- within 2 s, and the user where Slurm's dump says who it was. The user's name is a guess on Darshan's side (SEMANTICS.md 5).
-- 
-- A log runs in the one srun that lasts as long, else in the batch or interactive step; one job can have several at a time,
-- and then what they agree on counts.
WITH candidate AS (
  SELECT l.job_id, l.log_id, l.start_time AS log_start, coalesce(l.end_time, l.start_time) AS log_end, s.job_id_text, s.submit_time,
    s.start_time AS slurm_start, s.end_time AS slurm_end, s.cluster, s.account, s.partition, s.qos, s.job_name, s.state, s.het_job_id,
    s.node_count, s.ncpus, s.node_list, s."user" AS slurm_user,
    s."user" IS NOT NULL AND l."user" IS NOT NULL AND s."user" <> l."user" AND (s.uid IS NULL OR l.uid IS NULL) AS other_name,
    CAST(least(coalesce(s.end_time, l.end_time, l.start_time), coalesce(l.end_time, l.start_time)) AS BIGINT)
      - CAST(greatest(s.start_time, l.start_time) AS BIGINT) AS overlap
  FROM darshan_log l JOIN slurm_job s ON s.job_id = l.job_id
  WHERE s.start_time <= coalesce(l.end_time, l.start_time) + INTERVAL '2 seconds'
    AND coalesce(s.end_time, l.start_time) >= l.start_time - INTERVAL '2 seconds'
    AND (s.uid IS NULL OR l.uid IS NULL OR s.uid = l.uid)
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY job_id, log_id ORDER BY overlap DESC, submit_time DESC NULLS LAST) AS place,
    count(*) FILTER (WHERE overlap > 2000000) OVER (PARTITION BY job_id, log_id) AS records
  FROM candidate
), record AS (
  SELECT * FROM ranked WHERE place = 1
), component AS (
  SELECT r.job_id, r.log_id, r.log_start, r.log_end, r.job_id AS part_id FROM record r
  UNION ALL
  SELECT r.job_id, r.log_id, r.log_start, r.log_end, s.job_id FROM record r JOIN slurm_job s ON s.het_job_id = r.het_job_id
  WHERE s.job_id <> r.job_id
), step AS (
  SELECT c.job_id, c.log_id, t.step_id, CASE WHEN t.step_id IN ('batch', 'interactive') THEN 2 ELSE 1 END AS kind,
    sum(t.node_count) AS node_count, sum(t.ntasks) AS ntasks
  FROM component c JOIN slurm_step t ON t.job_id = c.part_id
  WHERE t.step_id <> 'extern' AND t.start_time <= c.log_start + INTERVAL '2 seconds'
    AND coalesce(t.end_time, c.log_end) >= c.log_end - INTERVAL '2 seconds'
  GROUP BY c.job_id, c.log_id, t.step_id
), nearest AS (
  SELECT job_id, log_id, step_id, node_count, ntasks, kind, min(kind) OVER (PARTITION BY job_id, log_id) AS best FROM step
), chosen AS (
  SELECT job_id, log_id, CASE WHEN count(*) = 1 THEN min(step_id) END AS step_id,
    CASE WHEN min(node_count) = max(node_count) THEN min(node_count) END AS node_count,
    CASE WHEN min(ntasks) = max(ntasks) THEN min(ntasks) END AS ntasks
  FROM nearest WHERE kind = best GROUP BY job_id, log_id
)
SELECT l.job_id, l.log_id,
  CASE WHEN r.log_id IS NULL THEN 'none' WHEN r.records > 1 OR r.other_name THEN 'ambiguous' WHEN r.het_job_id IS NOT NULL THEN 'leader'
    WHEN c.node_count IS NOT NULL THEN 'step' ELSE 'job' END AS match,
  c.step_id, coalesce(c.node_count, r.node_count) AS node_count, c.ntasks,
  r.job_id_text, r.submit_time, r.slurm_start, r.slurm_end, r.cluster, r.account, r.partition, r.qos, r.job_name, r.state,
  r.node_count AS job_node_count, r.ncpus, r.node_list, l.uid, coalesce(r.slurm_user, l."user") AS "user", l.app, l.nprocs, l.start_time, l.end_time, l.run_time,
  l.bytes_read, l.bytes_written, l.partial, l.status
FROM darshan_log l
  LEFT JOIN record r ON r.job_id = l.job_id AND r.log_id = l.log_id
  LEFT JOIN chosen c ON c.job_id = l.job_id AND c.log_id = l.log_id
