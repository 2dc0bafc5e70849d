-- What did each log move, asked by the log alone?
-- class: group
-- floor: darshan_file=log_id,bytes_read,bytes_written,max_write_time
-- ordered: no
SELECT log_id, count(*) AS files, sum(bytes_read + bytes_written) AS bytes, max(max_write_time) AS slowest_write FROM darshan_file GROUP BY log_id
