-- What did each program do?
-- class: group
-- floor: darshan_log=app,run_time,nprocs,bytes_read,bytes_written
-- ordered: no
SELECT app, count(*) AS logs, avg(run_time) AS run_time, max(nprocs) AS nprocs, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written
FROM darshan_log GROUP BY app
