-- Which jobs opened most files, on how many nodes?
-- class: job
-- floor: darshan_file=job_id,opens,stats,meta_time slurm_job=job_id,last_record,user,node_count
-- ordered: yes
SELECT s.job_id, s."user", s.node_count, f.opens, f.stats, f.meta_time
FROM (SELECT job_id, sum(opens) AS opens, sum(stats) AS stats, sum(meta_time) AS meta_time FROM darshan_file GROUP BY job_id) f
JOIN slurm_job s ON s.job_id = f.job_id
WHERE s.last_record AND f.opens IS NOT NULL ORDER BY f.opens DESC, s.job_id LIMIT 25
