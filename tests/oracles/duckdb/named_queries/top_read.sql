-- The programs that read most and their share: IOMiner, figure 5.
-- param n int 10
-- with n=3
-- with n=1000000
WITH one AS (
  SELECT app, count(*) AS logs, count(DISTINCT uid) AS users, sum(bytes_read) AS bytes_read FROM darshan_log GROUP BY app
)
SELECT *, bytes_read / sum(bytes_read) OVER () AS share, sum(bytes_read) OVER most / sum(bytes_read) OVER () AS share_so_far
FROM one
WINDOW most AS (ORDER BY bytes_read DESC, app ROWS UNBOUNDED PRECEDING)
QUALIFY row_number() OVER most <= $n
