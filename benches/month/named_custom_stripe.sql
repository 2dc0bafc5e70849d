-- How many logs used a file whose striping somebody chose?
-- class: named
-- floor: darshan_file=log_id,fs,stripe_size,stripe_count
-- ordered: no
SELECT fs, logs, custom_logs, files, custom_files FROM custom_stripe()
-- for duckdb, spark
SELECT fs, count(*) AS logs, sum(CASE WHEN custom_files > 0 THEN 1 ELSE 0 END) AS custom_logs, sum(files) AS files, sum(custom_files) AS custom_files
FROM (SELECT log_id, fs, count(*) AS files, sum(CASE WHEN stripe_size <> 1048576 OR stripe_count <> 1 THEN 1 ELSE 0 END) AS custom_files
  FROM darshan_file WHERE stripe_count IS NOT NULL AND fs IS NOT NULL GROUP BY log_id, fs) log
GROUP BY fs
