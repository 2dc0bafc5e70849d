-- How often did a program of a user write at less than half the rate of its run before?
-- class: group
-- floor: darshan_log=user,app,start_time,log_id,write_bw_span
-- ordered: no
SELECT app, count(*) AS runs, sum(CASE WHEN write_bw_span < 0.5 * before THEN 1 ELSE 0 END) AS slower
FROM (SELECT app, write_bw_span, lag(write_bw_span) OVER (PARTITION BY "user", app ORDER BY start_time, log_id) AS before
  FROM darshan_log WHERE write_bw_span IS NOT NULL) one
WHERE before IS NOT NULL GROUP BY app
