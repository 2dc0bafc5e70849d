-- On which file system lies the file to which each log wrote most?
-- class: job
-- floor: darshan_file=job_id,log_id,record_id,fs,is_stream,bytes_written
-- ordered: no
SELECT fs, count(*) AS logs, sum(bytes_written) AS bytes_written
FROM (SELECT fs, bytes_written, row_number() OVER (PARTITION BY job_id, log_id ORDER BY bytes_written DESC, record_id) AS place FROM darshan_file WHERE NOT is_stream) one
WHERE place = 1 GROUP BY fs
