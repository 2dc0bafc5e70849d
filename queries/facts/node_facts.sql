--- doc = "What rules look at of shared nodes: other jobs that Slurm ran on nodes of a log's job meanwhile, and the bytes that they moved from there"
--- grain = "one log with a Slurm record"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "nodes", type = "Int64", unit = "count", doc = "Nodes of the job" },
---   { name = "shared_nodes", type = "Int64", unit = "count", doc = "Those of them on which another job ran while the log's program did" },
---   { name = "jobs", type = "Int64", unit = "count", doc = "Such jobs" },
---   { name = "neighbour_job_id", type = "Int64", doc = "The one that moved most bytes, raw id" },
---   { name = "io_time", type = "Float64", unit = "s", doc = "I/O time of a process of the log in the mean" },
---   { name = "run_time", type = "Float64", unit = "s", doc = "Run time of the program, at least 1 s" },
---   { name = "own", type = "Float64", unit = "B", doc = "Bytes that the log moved on the shared nodes: those of all its nodes, divided evenly" },
---   { name = "others", type = "Float64", unit = "B", doc = "Bytes that the logs of these jobs moved on the shared nodes meanwhile: those of all their nodes and of their run time, divided evenly" },
---   { name = "others_share", type = "Float64", doc = "others of both" },
--- ]
--- chart = { form = "scatter", x = "own", y = "others" }
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that end at this time or later (default: all)"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before this time (default: all)"
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"

-- Components of one heterogeneous job have nodes of their own, so that jobs of other raw ids are others. A log of another user has the id of a process.
WITH own AS (
  SELECT j.job_id, j.log_id, j.start_time, greatest(j.end_time, j.start_time + INTERVAL '1 second') AS end_time, s.nodes, array_length(s.nodes) AS node_count,
    CAST(j.bytes_read + j.bytes_written AS DOUBLE) AS bytes
  FROM job j JOIN slurm_job s ON s.job_id_text = j.job_id_text AND s.submit_time = j.submit_time
  WHERE j.start_time IS NOT NULL AND j.end_time IS NOT NULL AND array_length(s.nodes) > 0 AND ($job IS NULL OR j.job_id = $job) AND ($from IS NULL OR j.end_time >= $from) AND ($to IS NULL OR j.start_time < $to)
), placed AS (
  SELECT job_id, log_id, start_time, end_time, unnest(nodes) AS node FROM own
), other AS (
  SELECT job_id, uid, start_time, end_time, array_length(nodes) AS node_count, unnest(nodes) AS node FROM slurm_job
  WHERE start_time IS NOT NULL AND end_time > start_time AND ($to IS NULL OR start_time < $to) AND ($from IS NULL OR end_time >= $from)
), beside AS (
  SELECT p.job_id, p.log_id, o.job_id AS other_id, o.uid, o.node_count, p.node, max(p.start_time) AS start_time, max(p.end_time) AS end_time
  FROM placed p JOIN other o ON o.node = p.node AND o.job_id <> p.job_id AND o.start_time < p.end_time AND o.end_time > p.start_time
  GROUP BY p.job_id, p.log_id, o.job_id, o.uid, o.node_count, p.node
), pair AS (
  SELECT job_id, log_id, other_id, uid, CAST(count(*) AS DOUBLE) / node_count AS part, max(start_time) AS start_time, max(end_time) AS end_time
  FROM beside GROUP BY job_id, log_id, other_id, uid, node_count
), moved AS (
  SELECT p.job_id, p.log_id, p.other_id, sum(p.part * CAST(l.bytes_read + l.bytes_written AS DOUBLE) * CAST(CAST(least(l.end_time, p.end_time) AS BIGINT) - CAST(greatest(l.start_time, p.start_time) AS BIGINT) AS DOUBLE)
    / CAST(CAST(l.end_time AS BIGINT) - CAST(l.start_time AS BIGINT) AS DOUBLE)) AS bytes
  FROM pair p JOIN darshan_log l ON l.job_id = p.other_id AND (l.uid = p.uid OR l.uid IS NULL OR p.uid IS NULL) AND l.start_time < p.end_time AND l.end_time > p.start_time AND l.end_time > l.start_time
  GROUP BY p.job_id, p.log_id, p.other_id
), met AS (
  SELECT p.job_id, p.log_id, count(DISTINCT p.other_id) AS jobs, first_value(p.other_id ORDER BY coalesce(m.bytes, 0.0) DESC, p.other_id) AS neighbour_job_id, sum(coalesce(m.bytes, 0.0)) AS others
  FROM pair p LEFT JOIN moved m ON m.job_id = p.job_id AND m.log_id = p.log_id AND m.other_id = p.other_id GROUP BY p.job_id, p.log_id
), shared AS (
  SELECT job_id, log_id, count(DISTINCT node) AS shared_nodes FROM beside GROUP BY job_id, log_id
), spent AS (
  SELECT f.job_id, f.log_id, sum(coalesce(f.read_time, 0.0) + coalesce(f.write_time, 0.0) + coalesce(f.meta_time, 0.0)) AS io_time
  FROM darshan_file f WHERE NOT f.is_stream AND ($job IS NULL OR f.job_id = $job) GROUP BY f.job_id, f.log_id
), joined AS (
  SELECT o.job_id, o.log_id, CAST(o.node_count AS BIGINT) AS nodes, coalesce(s.shared_nodes, 0) AS shared_nodes, coalesce(m.jobs, 0) AS jobs, m.neighbour_job_id, coalesce(t.io_time, 0.0) / l.nprocs AS io_time, greatest(l.run_time, 1.0) AS run_time,
    o.bytes * coalesce(s.shared_nodes, 0) / o.node_count AS own, coalesce(m.others, 0.0) AS others
  FROM own o JOIN darshan_log l ON l.job_id = o.job_id AND l.log_id = o.log_id LEFT JOIN met m ON m.job_id = o.job_id AND m.log_id = o.log_id
    LEFT JOIN shared s ON s.job_id = o.job_id AND s.log_id = o.log_id LEFT JOIN spent t ON t.job_id = o.job_id AND t.log_id = o.log_id
)
SELECT job_id, log_id, nodes, shared_nodes, jobs, neighbour_job_id, io_time, run_time, own, others, ratio(others, own + others) AS others_share
FROM joined ORDER BY others DESC, job_id, log_id
