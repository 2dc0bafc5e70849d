-- Who moved most, and in how many process hours?
-- class: group
-- floor: darshan_log=user,app,nprocs,run_time,total_bytes
-- ordered: yes
SELECT "user", count(*) AS logs, count(DISTINCT app) AS apps, sum(nprocs * run_time) / 3600 AS process_hours, sum(total_bytes) AS bytes
FROM darshan_log GROUP BY "user" ORDER BY bytes DESC, "user" LIMIT 20
