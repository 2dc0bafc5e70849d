-- How many logs have at most a given share of sequential POSIX requests: IOMiner, figure 7 and equation 3 (SEMANTICS.md 3).
-- param measure text consec
-- param direction text both
-- with measure=seq
-- with measure=seq direction=read
-- with direction=read
-- with direction=write
WITH requests AS (
  SELECT CASE WHEN $direction <> 'write' THEN posix_reads ELSE 0 END + CASE WHEN $direction <> 'read' THEN posix_writes ELSE 0 END AS total,
    CASE WHEN $direction = 'write' THEN 0 WHEN $measure = 'seq' THEN posix_seq_reads ELSE posix_consec_reads END
      + CASE WHEN $direction = 'read' THEN 0 WHEN $measure = 'seq' THEN posix_seq_writes ELSE posix_consec_writes END AS counted
  FROM darshan_log
), share AS (
  SELECT 100 * counted // total AS percent, count(*) AS logs FROM requests WHERE total > 0 GROUP BY percent
)
SELECT percent, coalesce(logs, 0) AS logs, sum(coalesce(logs, 0)) OVER (ORDER BY percent) AS logs_so_far,
  sum(coalesce(logs, 0)) OVER (ORDER BY percent) / (SELECT sum(logs) FROM share) AS share_of_logs
FROM range(101) every(percent) LEFT JOIN share USING (percent)
