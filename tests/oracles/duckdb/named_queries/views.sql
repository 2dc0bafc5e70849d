-- The views that questions ask, as tables: from what `iolode schema NAME` says of them and from SEMANTICS.md 5.

-- Logs of one job id and user are one job while each begins before, or within 24 hours of, the end of those before it.
CREATE TABLE darshan_log_group AS
WITH spans AS (
  SELECT job_id, log_id, uid, start_time, coalesce(end_time, start_time) AS end_time FROM darshan_log
), first_of_group AS (
  SELECT s.*, NOT EXISTS (
      SELECT 1 FROM spans e
      WHERE e.job_id = s.job_id AND e.uid IS NOT DISTINCT FROM s.uid AND (e.start_time, e.log_id) < (s.start_time, s.log_id)
        AND e.end_time + INTERVAL 24 HOURS >= s.start_time) AS opens
  FROM spans s WHERE start_time IS NOT NULL
)
SELECT job_id, log_id, uid, start_time, end_time,
  count(*) FILTER (opens) OVER (PARTITION BY job_id, uid ORDER BY start_time, log_id) AS log_group
FROM first_of_group
UNION ALL BY NAME
SELECT job_id, log_id, uid, 0 AS log_group, start_time, end_time FROM spans WHERE start_time IS NULL;

CREATE TABLE darshan_job AS
SELECT job_id, g.uid, log_group, min("user") AS "user", min(g.start_time) AS job_start, max(g.end_time) AS job_end, count(*) AS logs,
  max(nprocs) AS nprocs_max, list_sort(list_distinct(list(app))) AS apps, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written
FROM darshan_log_group g JOIN darshan_log l USING (job_id, log_id)
GROUP BY ALL;

-- A log's Slurm record: the same id, times that agree within 2 s, the same user where both say who it was; of several that with
-- which it overlaps longest, and then the one submitted last.
CREATE TABLE job AS
WITH fits AS (
  SELECT l.log_id, s AS record, epoch_us(least(coalesce(s.end_time, l.until), l.until)) - epoch_us(greatest(s.start_time, l.start_time)) AS overlap,
    coalesce(s.uid, l.uid) IS NOT NULL AND s.uid IS NOT NULL AND l.uid IS NOT NULL AS sure_user, l."user" AS guess
  FROM (SELECT *, coalesce(end_time, start_time) AS until FROM darshan_log) l JOIN slurm_job s ON s.job_id = l.job_id
  WHERE s.start_time - INTERVAL 2 SECONDS <= l.until AND coalesce(s.end_time + INTERVAL 2 SECONDS >= l.start_time, true)
    AND coalesce(s.uid = l.uid, true)
), best AS (
  SELECT log_id, arg_max(fits, (overlap, coalesce(epoch_us(record.submit_time), -9e18::BIGINT))) AS f, count(*) FILTER (overlap > 2000000) AS records
  FROM fits GROUP BY log_id
), parts AS (  -- The record's own id, and those of the other components of its het job: steps may span all of them.
  SELECT b.log_id, b.f.record.job_id AS id FROM best b
  UNION
  SELECT b.log_id, s.job_id FROM best b JOIN slurm_job s ON s.het_job_id = b.f.record.het_job_id
), holds AS (  -- Steps that hold the log's window, within 2 s; srun's before the batch step.
  SELECT p.log_id, t.step_id, t.step_id IN ('batch', 'interactive') AS script, sum(t.node_count) AS node_count, sum(t.ntasks) AS ntasks
  FROM parts p JOIN darshan_log l USING (log_id) JOIN slurm_step t ON t.job_id = p.id
  WHERE t.step_id <> 'extern' AND t.start_time - INTERVAL 2 SECONDS <= l.start_time
    AND (t.end_time IS NULL OR t.end_time + INTERVAL 2 SECONDS >= coalesce(l.end_time, l.start_time))
  GROUP BY ALL
), step AS (
  SELECT log_id, CASE count(*) WHEN 1 THEN min(step_id) END AS step_id, CASE WHEN min(node_count) = max(node_count) THEN max(node_count) END AS node_count,
    CASE WHEN min(ntasks) = max(ntasks) THEN max(ntasks) END AS ntasks
  FROM holds h WHERE NOT script OR NOT EXISTS (SELECT 1 FROM holds o WHERE o.log_id = h.log_id AND NOT o.script)
  GROUP BY log_id
)
SELECT l.job_id, l.log_id,
  CASE WHEN b.log_id IS NULL THEN 'none'
    WHEN b.records > 1 OR (NOT b.f.sure_user AND b.f.record."user" <> b.f.guess) THEN 'ambiguous'
    WHEN b.f.record.het_job_id IS NOT NULL THEN 'leader'
    WHEN step.node_count IS NOT NULL THEN 'step' ELSE 'job' END AS match,
  step.step_id, coalesce(step.node_count, b.f.record.node_count) AS node_count, b.f.record.node_count AS job_node_count, step.ntasks, b.f.record.job_id_text AS job_id_text,
  b.f.record.submit_time AS submit_time, b.f.record.start_time AS slurm_start, b.f.record.end_time AS slurm_end, b.f.record.cluster AS cluster,
  b.f.record.account AS account, b.f.record.partition AS partition, b.f.record.job_name AS job_name, b.f.record.state AS state,
  l.uid, coalesce(b.f.record."user", l."user") AS "user", l.app, l.nprocs, l.start_time, l.end_time, l.run_time, l.bytes_read, l.bytes_written,
  l.partial, l.status
FROM darshan_log l LEFT JOIN best b USING (log_id) LEFT JOIN step USING (log_id);

-- One Slurm record with the logs that ran in it. Records of array tasks without their raw id (below 0) stand only where no
-- other dump says it.
CREATE TABLE slurm_job_io AS
WITH known AS (
  SELECT job_id, submit_time, slurm_start, count(*) AS logs, max(end_time) AS last FROM job WHERE match <> 'none' GROUP BY ALL
)
SELECT s.*, coalesce(s.end_time, greatest(s.start_time + to_microseconds((coalesce(s.elapsed, 0) * 1e6)::BIGINT), last)) AS ran_until,
  -- Of a record without an end all that is known counts, but a pause before the last log's end is not.
  s.node_count * (CASE WHEN s.end_time IS NULL AND last > s.start_time THEN greatest(coalesce(s.elapsed, 0), epoch(last - s.start_time)) ELSE s.elapsed END) / 3600 AS node_hours,
  coalesce(logs, 0) AS logs
FROM slurm_job s LEFT JOIN known k ON k.job_id = s.job_id AND k.submit_time IS NOT DISTINCT FROM s.submit_time AND k.slurm_start IS NOT DISTINCT FROM s.start_time
WHERE s.job_id >= 0 OR NOT EXISTS (SELECT 1 FROM slurm_job k WHERE k.job_id >= 0 AND k.job_id_text = s.job_id_text
  AND coalesce(k.start_time = s.start_time, s.start_time IS NULL));
