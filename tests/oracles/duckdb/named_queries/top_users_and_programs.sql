-- Who moved most: bytes by user, account, program, directory or file system, and the node-hours in which a file was in use.
-- A directory is the path of a file without its name, cut after two levels; logs of users, accounts and programs are all of
-- theirs, those of directories and file systems the ones that moved bytes there.
-- param by text user
-- param n int 10
-- param from timestamp NULL
-- param to timestamp NULL
-- with n=1000000
-- with by=account n=1000000
-- with by=app n=1000000
-- with by=directory n=1000000
-- with by=fs
-- with by=fs from=2026-09-10 to=2026-09-12
-- with by=account n=3 from=2026-09-20
WITH file AS (
  SELECT j.job_id, j.log_id, j.node_count, f.bytes_read, f.bytes_written, read_start, read_end, write_start, write_end,
    CASE $by WHEN 'user' THEN j."user" WHEN 'account' THEN account WHEN 'app' THEN app WHEN 'fs' THEN fs
      ELSE CASE WHEN path LIKE '/%' THEN '/' || coalesce(array_to_string(list_filter(string_split(path, '/'), lambda level: level <> '')[:-2][:2], '/'), '') END END AS name
  FROM job j LEFT JOIN darshan_file f ON f.log_id = j.log_id AND NOT is_stream
  WHERE coalesce(j.start_time >= $from, $from IS NULL) AND coalesce(j.start_time < $to, $to IS NULL)
    AND ($by IN ('user', 'account', 'app') OR f.bytes_read + f.bytes_written > 0)
), win AS (
  SELECT log_id, name, read_start AS a, read_end AS b FROM file WHERE bytes_read > 0 AND read_end > read_start
  UNION ALL
  SELECT log_id, name, write_start, write_end FROM file WHERE bytes_written > 0 AND write_end > write_start
), covered AS (  -- Of each window that which lies beyond all before it.
  SELECT log_id, name, greatest(0, b - greatest(a, coalesce(max(b) OVER (PARTITION BY log_id, name ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), a))) AS more FROM win
), busy AS (
  SELECT log_id, name, sum(more) AS seconds FROM covered GROUP BY ALL
), log AS (
  SELECT job_id, log_id, node_count, name, coalesce(sum(bytes_read), 0) AS r, coalesce(sum(bytes_written), 0) AS w FROM file GROUP BY ALL
)
SELECT log.name, count(DISTINCT job_id) AS jobs, count(*) AS logs, sum(r) AS bytes_read, sum(w) AS bytes_written, sum(r + w) AS total_bytes,
  sum(r + w) / sum(sum(r + w)) OVER () AS share, coalesce(sum(seconds), 0) AS io_time, sum(seconds * node_count) / 3600 AS io_node_hours
FROM log LEFT JOIN busy ON busy.log_id = log.log_id AND busy.name IS NOT DISTINCT FROM log.name
GROUP BY log.name
QUALIFY row_number() OVER (ORDER BY total_bytes DESC, log.name) <= $n
