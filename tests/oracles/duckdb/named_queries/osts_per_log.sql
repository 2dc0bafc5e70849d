-- Distinct OSTs of the files of a log, or job, on each file system: IOMiner, algorithm 1, line 17.
-- param grain text log
-- with grain=job
WITH one AS (  -- What a row is: a log by itself, or the logs of a job, of which the first gives it its log_id.
  SELECT log_id, CASE $grain WHEN 'log' THEN log_id ELSE first_value(log_id) OVER (PARTITION BY job_id, uid, log_group ORDER BY start_time, log_id) END AS first_log
  FROM darshan_log_group
)
SELECT job_id, first_log AS log_id, fs, count(*) AS files, len(list_distinct(flatten(list(ost_list)))) AS osts, max(fs_osts) AS fs_osts
FROM darshan_file JOIN one USING (log_id)
WHERE ost_list IS NOT NULL
GROUP BY ALL
