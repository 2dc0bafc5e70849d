-- On how many OSTs do the files of a log lie?
-- class: named
-- floor: darshan_file=job_id,log_id,fs,fs_osts,ost_bits
-- ordered: no
SELECT job_id, log_id, fs, files, osts FROM osts_per_log()
-- for duckdb
SELECT job_id, log_id, fs, count(*) AS files, len(list_distinct(flatten(list(ost_list)))) AS osts
FROM darshan_file WHERE ost_list IS NOT NULL GROUP BY job_id, log_id, fs
-- for spark
SELECT job_id, log_id, fs, count(*) AS files, size(array_distinct(flatten(collect_list(ost_list)))) AS osts
FROM darshan_file WHERE ost_list IS NOT NULL GROUP BY job_id, log_id, fs
