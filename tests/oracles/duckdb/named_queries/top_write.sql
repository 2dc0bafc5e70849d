-- The programs that wrote most and their share: IOMiner, figure 6.
-- param n int 10
-- with n=3
-- with n=1000000
WITH one AS (
  SELECT app, count(*) AS logs, count(DISTINCT uid) AS users, sum(bytes_written) AS bytes_written FROM darshan_log GROUP BY app
)
SELECT *, bytes_written / sum(bytes_written) OVER () AS share, sum(bytes_written) OVER most / sum(bytes_written) OVER () AS share_so_far
FROM one
WINDOW most AS (ORDER BY bytes_written DESC, app ROWS UNBOUNDED PRECEDING)
QUALIFY row_number() OVER most <= $n
