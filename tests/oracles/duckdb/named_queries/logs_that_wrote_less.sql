-- Logs, or jobs, that wrote less than a limit: IOMiner, algorithm 1, line 14 (bytes_written with streams: SEMANTICS.md 1).
-- param limit float 1e9
-- param grain text log
-- with limit=1e3
-- with grain=job
-- with grain=job limit=5e7
SELECT job_id, log_id, app, bytes_written FROM darshan_log WHERE $grain = 'log' AND bytes_written < $limit
UNION ALL
SELECT job_id, NULL, apps[1], bytes_written FROM darshan_job WHERE $grain = 'job' AND bytes_written < $limit
