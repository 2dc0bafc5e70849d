-- When in the week is the most written?
-- class: untuned
-- floor: darshan_log=start_time,bytes_written,nprocs
-- ordered: yes
SELECT date_part('dow', start_time) AS weekday, date_part('hour', start_time) AS hour, count(*) AS logs, sum(bytes_written) AS bytes_written,
  max(nprocs) AS most_processes
FROM darshan_log GROUP BY 1, 2 ORDER BY bytes_written DESC, 1, 2
