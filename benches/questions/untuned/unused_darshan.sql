-- Which node hours ran without a log, by account and state?
-- class: untuned
-- floor: slurm_job=job_id,account,state,node_count,elapsed darshan_log=job_id
-- ordered: yes
SELECT j.account, j.state, count(*) AS jobs, sum(CASE WHEN l.job_id IS NULL THEN 1 ELSE 0 END) AS jobs_without, max(j.node_count) AS most_nodes
FROM slurm_job j LEFT JOIN (SELECT DISTINCT job_id FROM darshan_log) l ON l.job_id = j.job_id
WHERE j.start_time IS NOT NULL GROUP BY j.account, j.state ORDER BY jobs_without DESC, j.account, j.state LIMIT 50
