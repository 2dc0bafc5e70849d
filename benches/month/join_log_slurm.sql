-- What did each account move in jobs of each end, in how many node hours?
-- class: job
-- floor: darshan_log=job_id,bytes_read,bytes_written slurm_job=job_id,last_record,account,state,node_count,elapsed
-- ordered: no
SELECT s.account, s.state, count(*) AS logs, sum(s.node_count * s.elapsed) / 3600 AS node_hours, sum(l.bytes_read) AS bytes_read, sum(l.bytes_written) AS bytes_written
FROM darshan_log l JOIN slurm_job s ON s.job_id = l.job_id WHERE s.last_record GROUP BY s.account, s.state
