-- How many files does each program write and share, and what do they cost?
-- class: job
-- floor: darshan_file=job_id,log_id,bytes_written,sharing,meta_time darshan_log=job_id,log_id,app
-- ordered: no
SELECT l.app, count(*) AS files, sum(CASE WHEN f.sharing = 'shared' THEN 1 ELSE 0 END) AS shared, sum(f.bytes_written) AS bytes_written, sum(f.meta_time) AS meta_time
FROM darshan_file f JOIN darshan_log l ON l.job_id = f.job_id AND l.log_id = f.log_id GROUP BY l.app
