-- Which jobs that ended well have no log, by account and partition?
-- class: job
-- floor: slurm_job=job_id,last_record,state,account,partition,node_count,elapsed darshan_log=job_id
-- ordered: no
SELECT s.account, s."partition", count(*) AS jobs, sum(s.node_count * s.elapsed) / 3600 AS node_hours
FROM slurm_job s WHERE s.last_record AND s.state = 'COMPLETED' AND NOT EXISTS (SELECT 1 FROM darshan_log l WHERE l.job_id = s.job_id)
GROUP BY s.account, s."partition"
