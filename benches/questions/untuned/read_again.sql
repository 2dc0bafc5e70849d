-- Which files are read by more than one job, and how often?
-- class: untuned
-- floor: darshan_file=job_id,record_id,fs,path,readers,bytes_read
-- ordered: yes
SELECT fs, path, count(DISTINCT job_id) AS jobs, sum(bytes_read) AS bytes_read FROM darshan_file
WHERE readers > 0 AND fs IS NOT NULL GROUP BY fs, path HAVING count(DISTINCT job_id) > 1 ORDER BY jobs DESC, bytes_read DESC, path LIMIT 100
