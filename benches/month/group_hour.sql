-- What was written to files that were last written in each hour?
-- class: group
-- floor: darshan_file=write_end_time,bytes_written
-- ordered: no
SELECT date_trunc('hour', write_end_time) AS hour, count(*) AS files, sum(bytes_written) AS bytes_written
FROM darshan_file WHERE write_end_time IS NOT NULL GROUP BY date_trunc('hour', write_end_time)
-- for duckdb
SELECT time_bucket(INTERVAL 1 HOUR, write_end_time) AS hour, count(*) AS files, sum(bytes_written) AS bytes_written
FROM darshan_file WHERE write_end_time IS NOT NULL GROUP BY time_bucket(INTERVAL 1 HOUR, write_end_time)
