--- doc = "One Darshan log, and to which job it belongs: the logs of one job id and user that overlap or lie within 24 hours of each other"
--- key = ["job_id", "log_id"]
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it: the raw Slurm id, or a process id outside a scheduler" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "uid", type = "Int64", doc = "User id; NULL if the job region is damaged" },
---   { name = "log_group", type = "Int64", doc = "Number of the job among those with this job id and user, from 1 in order of time; 0 without start times" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "end_time", type = "Timestamp", doc = "End of the program; its start where the end is not known" },
--- ]

-- Outside Slurm a job id is a process id, which comes again: logs of one job id and user are one job only while they
-- overlap or follow each other within 24 hours (SEMANTICS.md 5).
WITH ordered AS (
  SELECT job_id, log_id, uid, start_time, coalesce(end_time, start_time) AS end_time,
    max(coalesce(end_time, start_time)) OVER (PARTITION BY job_id, uid, start_time IS NULL ORDER BY start_time, log_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until
  FROM darshan_log
)
SELECT job_id, log_id, uid, CASE WHEN start_time IS NULL THEN 0 ELSE sum(CASE WHEN busy_until IS NULL OR start_time > busy_until + INTERVAL '24 hours' THEN 1 ELSE 0 END)
    OVER (PARTITION BY job_id, uid, start_time IS NULL ORDER BY start_time, log_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) END AS log_group,
  start_time, end_time
FROM ordered
