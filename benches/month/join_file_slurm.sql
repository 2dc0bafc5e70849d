-- What did each account move on each file system?
-- class: job
-- floor: darshan_file=job_id,fs,is_stream,bytes_read,bytes_written slurm_job=job_id,last_record,account
-- ordered: no
SELECT s.account, f.fs, count(*) AS files, sum(f.bytes_read) AS bytes_read, sum(f.bytes_written) AS bytes_written
FROM darshan_file f JOIN slurm_job s ON s.job_id = f.job_id WHERE s.last_record AND NOT f.is_stream GROUP BY s.account, f.fs
