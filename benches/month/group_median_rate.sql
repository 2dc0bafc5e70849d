-- At which rate does each program write: lower quartile, median, upper quartile
-- class: group
-- floor: darshan_log=app,write_bw_span
-- ordered: no
SELECT app, count(*) AS logs, percentile_cont(0.25) WITHIN GROUP (ORDER BY write_bw_span) AS p25, percentile_cont(0.5) WITHIN GROUP (ORDER BY write_bw_span) AS p50,
  percentile_cont(0.75) WITHIN GROUP (ORDER BY write_bw_span) AS p75
FROM darshan_log WHERE write_bw_span IS NOT NULL GROUP BY app
