-- How many logs and jobs used each file system?
-- class: group
-- floor: darshan_file=fs,log_id,job_id
-- ordered: no
SELECT fs, count(DISTINCT log_id) AS logs, count(DISTINCT job_id) AS jobs, count(*) AS files FROM darshan_file GROUP BY fs
