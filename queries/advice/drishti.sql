--- doc = "The 32 triggers of Drishti 0.8 by its own formulas, log by log: for comparison with papers and sites that use it"
--- grain = "one log"
--- source = "Bez, Ather and Byna (2022), Drishti: Guiding End-Users in the I/O Optimization Journey, PDSW; its tool, version 0.8"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "s01", type = "Boolean", doc = "STDIO_HIGH_USAGE: more than 10 % of the bytes went through STDIO" },
---   { name = "p01", type = "Boolean", doc = "POSIX_WRITE_COUNT_INTENSIVE: more writes than reads" },
---   { name = "p02", type = "Boolean", doc = "POSIX_READ_COUNT_INTENSIVE: more reads than writes" },
---   { name = "p03", type = "Boolean", doc = "POSIX_WRITE_SIZE_INTENSIVE: more bytes written than read" },
---   { name = "p04", type = "Boolean", doc = "POSIX_READ_SIZE_INTENSIVE: more bytes read than written" },
---   { name = "p05", type = "Boolean", doc = "POSIX_HIGH_SMALL_READ_REQUESTS: many reads of at most 1 MiB" },
---   { name = "p06", type = "Boolean", doc = "POSIX_HIGH_SMALL_WRITE_REQUESTS: many writes of at most 1 MiB" },
---   { name = "p07", type = "Boolean", doc = "POSIX_HIGH_MISALIGNED_MEMORY_USAGE: accesses not aligned in memory" },
---   { name = "p08", type = "Boolean", doc = "POSIX_HIGH_MISALIGNED_FILE_USAGE: accesses not aligned in the file" },
---   { name = "p09", type = "Boolean", doc = "POSIX_REDUNDANT_READ_USAGE: an offset beyond the bytes read" },
---   { name = "p10", type = "Boolean", doc = "POSIX_REDUNDANT_WRITE_USAGE: an offset beyond the bytes written" },
---   { name = "p11", type = "Boolean", doc = "POSIX_HIGH_RANDOM_READ_USAGE: many reads that are not sequential" },
---   { name = "p12", type = "Boolean", doc = "POSIX_HIGH_SEQUENTIAL_READ_USAGE: reads, and not p11" },
---   { name = "p13", type = "Boolean", doc = "POSIX_HIGH_RANDOM_WRITE_USAGE: many writes that are not sequential" },
---   { name = "p14", type = "Boolean", doc = "POSIX_HIGH_SEQUENTIAL_WRITE_USAGE: writes, and not p13" },
---   { name = "p15", type = "Boolean", doc = "POSIX_HIGH_SMALL_READ_REQUESTS_SHARED_FILE: p05 over records of all processes" },
---   { name = "p16", type = "Boolean", doc = "POSIX_HIGH_SMALL_WRITE_REQUESTS_SHARED_FILE: p06 over records of all processes" },
---   { name = "p17", type = "Boolean", doc = "POSIX_HIGH_METADATA_TIME: a record with more than 30 s of metadata operations" },
---   { name = "p18", type = "Boolean", doc = "POSIX_SIZE_IMBALANCE: bytes of the slowest and the fastest process of a shared file" },
---   { name = "p19", type = "Boolean", doc = "POSIX_TIME_IMBALANCE: their times" },
---   { name = "p21", type = "Boolean", doc = "POSIX_INDIVIDUAL_WRITE_SIZE_IMBALANCE: bytes written by the processes of a file" },
---   { name = "p22", type = "Boolean", doc = "POSIX_INDIVIDUAL_READ_SIZE_IMBALANCE: bytes read by them" },
---   { name = "m01", type = "Boolean", doc = "MPI_IO_NO_USAGE: the log has no MPI-IO" },
---   { name = "m02", type = "Boolean", doc = "MPI_IO_NO_COLLECTIVE_READ_USAGE: many independent reads and no collective one" },
---   { name = "m03", type = "Boolean", doc = "MPI_IO_NO_COLLECTIVE_WRITE_USAGE: many independent writes and no collective one" },
---   { name = "m04", type = "Boolean", doc = "MPI_IO_COLLECTIVE_READ_USAGE: at least one collective read" },
---   { name = "m05", type = "Boolean", doc = "MPI_IO_COLLECTIVE_WRITE_USAGE: at least one collective write" },
---   { name = "m06", type = "Boolean", doc = "MPI_IO_BLOCKING_READ_USAGE: MPI-IO, and no non-blocking read" },
---   { name = "m07", type = "Boolean", doc = "MPI_IO_BLOCKING_WRITE_USAGE: MPI-IO, and no non-blocking write" },
---   { name = "m08", type = "Boolean", doc = "MPI_IO_AGGREGATORS_INTRA: cb_nodes below the nodes of the job" },
---   { name = "m09", type = "Boolean", doc = "MPI_IO_AGGREGATORS_INTER: cb_nodes above them" },
---   { name = "m10", type = "Boolean", doc = "MPI_IO_AGGREGATORS_OK: cb_nodes equal to them" },
--- ]
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start then or later"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before"
--- [[param]]
--- name = "stdio"
--- type = "float"
--- default = "0.1"
--- range = [0, 1]
--- doc = "s01: share of the bytes"
--- [[param]]
--- name = "share_gap"
--- type = "float"
--- default = "0.1"
--- range = [0, 1]
--- doc = "p01 to p04: difference of the directions, of their sum"
--- [[param]]
--- name = "small_share"
--- type = "float"
--- default = "0.1"
--- range = [0, 1]
--- doc = "p05, p06, p15, p16: share of the requests"
--- [[param]]
--- name = "small_count"
--- type = "int"
--- default = "1000"
--- doc = "The same: requests"
--- [[param]]
--- name = "misaligned"
--- type = "float"
--- default = "0.1"
--- range = [0, 1]
--- doc = "p07, p08: share of the requests"
--- [[param]]
--- name = "random"
--- type = "float"
--- default = "0.2"
--- range = [0, 1]
--- doc = "p11, p13: share of the requests"
--- [[param]]
--- name = "random_count"
--- type = "int"
--- default = "1000"
--- doc = "The same: requests"
--- [[param]]
--- name = "meta_time"
--- type = "float"
--- default = "30"
--- doc = "p17: time of a record, s"
--- [[param]]
--- name = "stragglers"
--- type = "float"
--- default = "0.15"
--- range = [0, 1]
--- doc = "p18, p19: difference of two processes, of the bytes or the time of all"
--- [[param]]
--- name = "imbalance"
--- type = "float"
--- default = "0.3"
--- range = [0, 1]
--- doc = "p21, p22: difference of the most and the least, of the most"
--- [[param]]
--- name = "collective_count"
--- type = "int"
--- default = "1000"
--- doc = "m02, m03: independent calls"
-- As the tool does it, all records of a module count, streams too; what is wrong with its formulas is in them.
WITH log AS (
  SELECT job_id, log_id, app, array_has(modules, 'POSIX') AS has_posix, array_has(modules, 'MPI-IO') AS has_mpiio,
    nullif(split_part(split_part(';' || mpi_hints, ';cb_nodes=', 2), ';', 1), '') AS cb_nodes
  FROM darshan_log
  WHERE ($job IS NULL OR job_id = $job) AND ($from IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time < $to)
), posix AS (
  SELECT job_id, log_id, sum(posix_reads) AS reads, sum(posix_writes) AS writes, sum(posix_bytes_read) AS bytes_read, sum(posix_bytes_written) AS bytes_written,
    sum(small_reads) AS small_reads, sum(small_writes) AS small_writes, sum(small_reads) FILTER (WHERE rank = -1) AS small_reads_shared,
    sum(small_writes) FILTER (WHERE rank = -1) AS small_writes_shared, sum(posix_reads) FILTER (WHERE rank = -1) AS reads_shared,
    sum(posix_writes) FILTER (WHERE rank = -1) AS writes_shared, sum(posix_mem_not_aligned) AS mem_not_aligned, sum(posix_file_not_aligned) AS file_not_aligned,
    max(posix_max_byte_read) AS max_byte_read, max(posix_max_byte_written) AS max_byte_written, sum(posix_seq_reads) AS seq_reads, sum(posix_seq_writes) AS seq_writes,
    max(posix_f_meta_time) AS meta_time,
    max(ratio(abs(posix_slowest_rank_bytes - posix_fastest_rank_bytes), posix_bytes_read + posix_bytes_written)) FILTER (WHERE rank = -1) AS bytes_gap,
    max(ratio(abs(posix_f_slowest_rank_time - posix_f_fastest_rank_time), posix_f_read_time + posix_f_write_time + posix_f_meta_time)) FILTER (WHERE rank = -1) AS time_gap
  FROM (SELECT *, posix_size_read_0_100 + posix_size_read_100_1k + posix_size_read_1k_10k + posix_size_read_10k_100k + posix_size_read_100k_1m AS small_reads,
    posix_size_write_0_100 + posix_size_write_100_1k + posix_size_write_1k_10k + posix_size_write_10k_100k + posix_size_write_100k_1m AS small_writes
    FROM darshan_posix WHERE $job IS NULL OR job_id = $job)
  GROUP BY job_id, log_id
), by_file AS (
  SELECT job_id, log_id, max(posix_bytes_written) AS most_written, min(posix_bytes_written) AS least_written, max(posix_bytes_read) AS most_read, min(posix_bytes_read) AS least_read
  FROM darshan_posix WHERE rank >= 0 AND ($job IS NULL OR job_id = $job) GROUP BY job_id, log_id, record_id
), process AS (
  SELECT job_id, log_id, max(ratio(most_written - least_written, most_written)) AS write_gap, max(ratio(most_read - least_read, most_read)) AS read_gap FROM by_file GROUP BY job_id, log_id
), stdio AS (
  SELECT job_id, log_id, sum(stdio_bytes_read + stdio_bytes_written) AS bytes FROM darshan_stdio WHERE $job IS NULL OR job_id = $job GROUP BY job_id, log_id
), mpiio AS (
  SELECT job_id, log_id, sum(mpiio_bytes_read + mpiio_bytes_written) AS bytes, sum(mpiio_coll_reads) AS coll_reads, sum(mpiio_coll_writes) AS coll_writes,
    sum(mpiio_indep_reads) AS indep_reads, sum(mpiio_indep_writes) AS indep_writes, sum(mpiio_nb_reads) AS nb_reads, sum(mpiio_nb_writes) AS nb_writes
  FROM darshan_mpiio WHERE $job IS NULL OR job_id = $job GROUP BY job_id, log_id
), whole AS (
  SELECT l.*, p.reads, p.writes, p.bytes_read, p.bytes_written, p.small_reads, p.small_writes, p.small_reads_shared, p.small_writes_shared, p.reads_shared, p.writes_shared,
    p.mem_not_aligned, p.file_not_aligned, p.max_byte_read, p.max_byte_written, p.meta_time, p.bytes_gap, p.time_gap, r.write_gap, r.read_gap, m.coll_reads, m.coll_writes,
    m.indep_reads, m.indep_writes, m.nb_reads, m.nb_writes, p.reads - p.seq_reads AS random_reads, p.writes - p.seq_writes AS random_writes, coalesce(s.bytes, 0) AS stdio_bytes,
    coalesce(m.bytes, 0) AS mpiio_bytes, coalesce(p.bytes_read + p.bytes_written, 0) AS posix_bytes, CAST(j.job_node_count AS VARCHAR) AS nodes
  FROM log l LEFT JOIN posix p ON p.job_id = l.job_id AND p.log_id = l.log_id LEFT JOIN process r ON r.job_id = l.job_id AND r.log_id = l.log_id
    LEFT JOIN stdio s ON s.job_id = l.job_id AND s.log_id = l.log_id LEFT JOIN mpiio m ON m.job_id = l.job_id AND m.log_id = l.log_id
    LEFT JOIN job j ON j.job_id = l.job_id AND j.log_id = l.log_id
)
-- MPI-IO's bytes pass through POSIX too, and are taken off there.
SELECT job_id, log_id, app,
  coalesce(ratio(stdio_bytes, stdio_bytes + mpiio_bytes + posix_bytes - CASE WHEN posix_bytes >= mpiio_bytes THEN mpiio_bytes ELSE 0 END) > $stdio, false) AS s01,
  has_posix AND coalesce(ratio(writes - reads, writes + reads) > $share_gap, false) AS p01,
  has_posix AND coalesce(ratio(reads - writes, writes + reads) > $share_gap, false) AS p02,
  has_posix AND coalesce(ratio(bytes_written - bytes_read, bytes_written + bytes_read) > $share_gap, false) AS p03,
  has_posix AND coalesce(ratio(bytes_read - bytes_written, bytes_written + bytes_read) > $share_gap, false) AS p04,
  has_posix AND coalesce(ratio(small_reads, reads) > $small_share AND small_reads > $small_count, false) AS p05,
  has_posix AND coalesce(ratio(small_writes, writes) > $small_share AND small_writes > $small_count, false) AS p06,
  has_posix AND coalesce(ratio(mem_not_aligned, reads + writes) > $misaligned, false) AS p07,
  has_posix AND coalesce(ratio(file_not_aligned, reads + writes) > $misaligned, false) AS p08,
  has_posix AND coalesce(max_byte_read > bytes_read, false) AS p09,
  has_posix AND coalesce(max_byte_written > bytes_written, false) AS p10,
  has_posix AND coalesce(ratio(random_reads, reads) > $random AND random_reads > $random_count, false) AS p11,
  has_posix AND coalesce(reads > 0 AND NOT (ratio(random_reads, reads) > $random AND random_reads > $random_count), false) AS p12,
  has_posix AND coalesce(ratio(random_writes, writes) > $random AND random_writes > $random_count, false) AS p13,
  has_posix AND coalesce(writes > 0 AND NOT (ratio(random_writes, writes) > $random AND random_writes > $random_count), false) AS p14,
  has_posix AND coalesce(ratio(small_reads_shared, reads_shared) > $small_share AND small_reads_shared > $small_count, false) AS p15,
  has_posix AND coalesce(ratio(small_writes_shared, writes_shared) > $small_share AND small_writes_shared > $small_count, false) AS p16,
  has_posix AND coalesce(meta_time > $meta_time, false) AS p17,
  has_posix AND coalesce(bytes_gap > $stragglers, false) AS p18,
  has_posix AND coalesce(time_gap > $stragglers, false) AS p19,
  has_posix AND coalesce(write_gap > $imbalance, false) AS p21,
  has_posix AND coalesce(read_gap > $imbalance, false) AS p22,
  NOT has_mpiio AS m01,
  has_mpiio AND coalesce(coll_reads = 0 AND indep_reads > $collective_count, false) AS m02,
  has_mpiio AND coalesce(coll_writes = 0 AND indep_writes > $collective_count, false) AS m03,
  has_mpiio AND coalesce(coll_reads > 0, false) AS m04,
  has_mpiio AND coalesce(coll_writes > 0, false) AS m05,
  has_mpiio AND coalesce(nb_reads, 0) = 0 AS m06,
  has_mpiio AND coalesce(nb_writes, 0) = 0 AS m07,
  has_mpiio AND coalesce(cb_nodes < nodes, false) AS m08,
  has_mpiio AND coalesce(cb_nodes > nodes, false) AS m09,
  has_mpiio AND coalesce(cb_nodes = nodes, false) AS m10
FROM whole
ORDER BY job_id, log_id
