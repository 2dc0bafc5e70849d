-- Who makes many tiny files, and with which program?
-- class: untuned
-- floor: darshan_file=job_id,log_id,fs,is_stream,bytes_written,writers,opens,meta_time darshan_log=job_id,log_id,user,app
-- ordered: yes
SELECT l.user, l.app, count(*) AS files, sum(CASE WHEN f.bytes_written < 65536 THEN 1 ELSE 0 END) AS tiny, sum(f.opens) AS opens, max(f.meta_time) AS longest_metadata
FROM darshan_file f JOIN darshan_log l ON f.job_id = l.job_id AND f.log_id = l.log_id
WHERE NOT f.is_stream AND f.writers > 0 GROUP BY l.user, l.app HAVING count(*) > 100 ORDER BY tiny DESC, l.user, l.app LIMIT 30
