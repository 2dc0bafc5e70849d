-- The programs that wrote most, and their share of all that was written
-- class: named
-- floor: darshan_log=app,uid,bytes_written
-- ordered: yes
SELECT * FROM top_write()
-- for duckdb, spark
SELECT app, logs, users, bytes_written, CAST(bytes_written AS DOUBLE) / sum(bytes_written) OVER () AS share,
  CAST(sum(bytes_written) OVER (ORDER BY bytes_written DESC, app ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS DOUBLE) / sum(bytes_written) OVER () AS share_so_far
FROM (SELECT app, count(*) AS logs, count(DISTINCT uid) AS users, sum(bytes_written) AS bytes_written FROM darshan_log GROUP BY app) one
ORDER BY bytes_written DESC, app LIMIT 10
