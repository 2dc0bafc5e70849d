-- How many logs have each percentage of bytes read: IOMiner, figure 8 and equation 4.
WITH one AS (  -- 0 is for logs that read nothing.
  SELECT CASE WHEN bytes_read = 0 THEN 0 ELSE greatest(1, 100::HUGEINT * bytes_read // (bytes_read + bytes_written)) END AS percent
  FROM darshan_log WHERE bytes_read + bytes_written > 0
), counted AS (
  SELECT percent, count(*) AS logs FROM one GROUP BY percent
)
SELECT percent, coalesce(logs, 0) AS logs, coalesce(logs, 0) / (SELECT count(*) FROM one) AS share_of_logs
FROM range(101) every(percent) LEFT JOIN counted USING (percent)
