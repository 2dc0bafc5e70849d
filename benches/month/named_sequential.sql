-- How sequential do logs read and write?
-- class: named
-- floor: darshan_log=posix_reads,posix_writes,posix_consec_reads,posix_consec_writes
-- ordered: no
SELECT percent, logs FROM consecutive_requests() WHERE logs > 0
-- for duckdb
SELECT percent, count(*) AS logs
FROM (SELECT least((posix_consec_reads + posix_consec_writes) * 100 // (posix_reads + posix_writes), 100) AS percent
  FROM darshan_log WHERE posix_reads + posix_writes > 0) one
GROUP BY percent
-- for spark
SELECT percent, count(*) AS logs
FROM (SELECT least((posix_consec_reads + posix_consec_writes) * 100 div (posix_reads + posix_writes), 100) AS percent
  FROM darshan_log WHERE posix_reads + posix_writes > 0) one
GROUP BY percent
