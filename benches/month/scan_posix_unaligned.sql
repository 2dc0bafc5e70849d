-- How many requests of records that wrote were not aligned, in the file or in memory?
-- class: scan
-- floor: darshan_posix=posix_reads,posix_writes,posix_file_not_aligned,posix_mem_not_aligned
-- ordered: no
SELECT count(*) AS records, sum(posix_reads + posix_writes) AS requests, sum(posix_file_not_aligned) AS in_file, sum(posix_mem_not_aligned) AS in_memory
FROM darshan_posix WHERE posix_writes > 0
