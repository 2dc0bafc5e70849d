-- Algorithm 1 of the IOMiner paper (Wang et al., IEEE CLUSTER 2018, section II-A), line by line.
--
--     iolode sql --lake LAKE -f queries/examples/algorithm_1.sql
--
-- Line 2, miner = IOMiner("setup.json"), is --lake: what setup.json says is in the settings of the lake.
-- Line 4, miner.init_stores(start_date, end_date), is `iolode ingest --lake LAKE --from .. --to ..`, once for each period.
-- Lines 5 to 12, miner.load(..), need nothing: the tuples are tables, and what a query does not ask for is not read.
--     job_tuples    darshan_log        one row a log
--     file_tuples   darshan_file       one row a file of a log
--     slurm_tuples  slurm_job          one row an accounting record
--     lmt_tuples    lmt_ost, ..        one row an interval of a storage target
SELECT (SELECT count(*) FROM darshan_log) AS job_tuples, (SELECT count(*) FROM darshan_file) AS file_tuples,
  (SELECT count(*) FROM slurm_job) AS slurm_tuples, (SELECT count(*) FROM lmt_ost) AS lmt_tuples;

-- Lines 13 and 14: jobs that write less than 1 GB.
--     selected_tuples = job_tuples.project("job_id", "bytes_written").filter("bytes_written < 1GB")
SELECT job_id, bytes_written FROM darshan_log WHERE bytes_written < 1000000000 ORDER BY job_id, bytes_written;

-- Line 15: and every job in its bin, by a function of the user's own, which stays in the lake. Made once more as it is, it
-- changes nothing.
--     binned_tuples = job_tuples.bin("workload", classify_workload, "bytes_written")
CREATE OR REPLACE FUNCTION classify_workload(bytes BIGINT) RETURNS BIGINT
  RETURN CASE WHEN bytes < 1000000000 THEN 0 WHEN bytes < 10000000000 THEN 1 ELSE 2 END;

SELECT job_id, bytes_written, classify_workload(bytes_written) AS workload FROM darshan_log ORDER BY job_id, bytes_written;

-- Lines 16 and 17: how many storage targets each job used. Their numbers belong to a file system.
--     grouped_tuples = file_tuples.group("job_id", calculate_ost_count)
SELECT job_id, fs, ost_count(ost_union(fs, ost_bits)) AS osts
FROM darshan_file WHERE ost_bits IS NOT NULL GROUP BY job_id, fs ORDER BY job_id, fs;

-- Lines 18 and 19: how the sizes of writes are distributed over the jobs, in tenths.
--     percents = job_tuples.percentile("bytes_written")
SELECT percent, value FROM log_percentiles(of => 'bytes_written', parts => 10);

-- Lines 20 and 21: what each job moved, beside the nodes that Slurm gave it. The view `job` is this join; it knows which of the
-- records of a requeued job, and which step, a log belongs to.
--     joined_tuples = job_tuples.join(slurm_tuples, "job_id").project("job_id", "node_count", "bytes_read", "bytes_written")
SELECT job_id, node_count, bytes_read, bytes_written FROM job WHERE node_count IS NOT NULL ORDER BY job_id, bytes_read, bytes_written;

-- Lines 22 and 23: the files of the jobs that write more than 10 GB.
--     low_bw_tuples = job_tuples.filter("bytes_written > 10GB").join(file_tuples, "job_id")
CREATE OR REPLACE VIEW low_bw_tuples AS
  SELECT j.job_id, j.log_id, f.record_id, f.path, f.bytes_written
  FROM darshan_log j JOIN darshan_file f ON f.job_id = j.job_id AND f.log_id = j.log_id WHERE j.bytes_written > 10000000000;

SELECT job_id, count(*) AS files, sum(bytes_written) AS bytes_written FROM low_bw_tuples GROUP BY job_id, log_id ORDER BY job_id, bytes_written;

-- Lines 24 and 25: of these, what may have made the writes slow where they were slower than 1 GB/s.
--     perf_factors = low_bw_tuples.extract_perf_factors("0", "1GB", "write")
SELECT job_id, bytes, critical_time, bw_critical, small, non_consec, coll, ost_count, proc_per_ost
FROM perf_factors('write', min_bw => 0, max_bw => 1e9) WHERE log_id IN (SELECT log_id FROM low_bw_tuples) ORDER BY job_id, bytes, critical_time;
