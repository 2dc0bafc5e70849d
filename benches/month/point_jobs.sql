-- The files of a hundred jobs in a row, by job
-- class: point
-- floor:
-- ordered: no
SELECT s.job_id, s.state, count(*) AS files, sum(f.bytes_written) AS bytes_written
FROM slurm_job s JOIN darshan_file f ON f.job_id = s.job_id
WHERE s.last_record AND s.job_id BETWEEN $job_id AND $job_id_end AND f.job_id BETWEEN $job_id AND $job_id_end GROUP BY s.job_id, s.state
