-- How much seeking and opening do the POSIX records of files on Lustre stand for?
-- class: job
-- floor: darshan_posix=job_id,log_id,record_id,posix_seeks,posix_opens,posix_f_meta_time darshan_file=job_id,log_id,record_id,fs,fs_type
-- ordered: no
SELECT f.fs, count(*) AS records, sum(p.posix_seeks) AS seeks, sum(p.posix_opens) AS opens, sum(p.posix_f_meta_time) AS meta_time
FROM darshan_posix p JOIN darshan_file f ON f.job_id = p.job_id AND f.log_id = p.log_id AND f.record_id = p.record_id
WHERE f.fs_type = 'lustre' GROUP BY f.fs
