-- How many logs have each percentage of bytes read?
-- class: named
-- floor: darshan_log=bytes_read,total_bytes
-- ordered: no
SELECT percent, logs FROM read_ratio() WHERE logs > 0
-- for duckdb, spark
SELECT percent, count(*) AS logs
FROM (SELECT CASE WHEN bytes_read = 0 THEN 0 ELSE greatest(CAST(floor(1e2 * bytes_read / total_bytes) AS BIGINT), 1) END AS percent FROM darshan_log WHERE total_bytes > 0) one
GROUP BY percent
