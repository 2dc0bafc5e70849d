-- Which jobs made over a thousand files of which most are below 1 MiB?
-- class: job
-- floor: darshan_file=job_id,bytes_written
-- ordered: no
SELECT job_id, count(*) AS files, sum(CASE WHEN bytes_written < 1048576 THEN 1 ELSE 0 END) AS small
FROM darshan_file WHERE bytes_written > 0 GROUP BY job_id
HAVING count(*) > 1000 AND 2 * sum(CASE WHEN bytes_written < 1048576 THEN 1 ELSE 0 END) > count(*)
