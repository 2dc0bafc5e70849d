-- What did each file system move in each hour?
-- class: lmt
-- floor: lmt_ost=fs,time,bytes_read,bytes_written
-- ordered: no
SELECT fs, date_trunc('hour', time) AS hour, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written FROM lmt_ost GROUP BY fs, date_trunc('hour', time)
-- for duckdb
SELECT fs, time_bucket(INTERVAL 1 HOUR, time) AS hour, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written FROM lmt_ost
GROUP BY fs, time_bucket(INTERVAL 1 HOUR, time)
