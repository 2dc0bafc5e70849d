-- What did each log of each job do with its files?
-- class: job
-- floor: darshan_file=job_id,log_id,is_stream,bytes_read,bytes_written,meta_time,write_end
-- ordered: no
SELECT job_id, log_id, count(*) AS files, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, sum(meta_time) AS meta_time, max(write_end) AS write_end
FROM darshan_file WHERE NOT is_stream GROUP BY job_id, log_id
