--- doc = "Habits that cost I/O time, log by log, with what they cost and what to do: the rules of Drishti, corrected and weighed by time"
--- grain = "one log and habit"
--- source = "Bez, Ather and Byna (2022), Drishti: Guiding End-Users in the I/O Optimization Journey, PDSW; the rules differ as GUIDE.md says"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "user", type = "Utf8", doc = "User name, a guess from the log's file name" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "code", type = "Utf8", doc = "Code of Drishti" },
---   { name = "rule", type = "Utf8", doc = "" },
---   { name = "direction", type = "Utf8", doc = "read or write; NULL of a rule about both" },
---   { name = "severity", type = "Utf8", doc = "critical, warning, info or ok; info where it costs less than min_cost seconds or 1 % of the run time" },
---   { name = "value", type = "Float64", doc = "" },
---   { name = "share", type = "Float64", unit = "fraction", doc = "What the rule counts / what it is a part of; NULL of a rule without such a part" },
---   { name = "cost", type = "Float64", unit = "s", doc = "Time of the process with most of it in the files concerned, of shared files an estimate: an upper bound of what can be saved; 0 where their requests wait for something else, NULL where the rule does not say" },
---   { name = "io_hours", type = "Float64", unit = "h", doc = "Time that all processes spent in the files concerned, in the direction of the rule; NULL of a rule that says what is well, or what a log is about" },
---   { name = "io_share", type = "Float64", unit = "fraction", doc = "The same / the I/O time of all files of the log, streams left out: reading, writing and metadata operations of all processes" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files that the finding rests on" },
---   { name = "subject", type = "Utf8", doc = "The file with most of it" },
---   { name = "sentence", type = "Utf8", doc = "The finding in words" },
---   { name = "advice", type = "Utf8", doc = "What to do; NULL where there is nothing to do" },
---   { name = "flags", type = "List<Utf8>", doc = "partial: records are missing, counts are lower bounds; threads: the cost exceeded the run time, by threads that wait at the same time or by files whose slowest processes differ, and was cut to it" },
--- ]
--- chart = { form = "heat_map", x = "rule", y = "app", z = "cost", log = ["z"] }
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"
--- [[param]]
--- name = "app"
--- type = "text"
--- default = "NULL"
--- doc = "Program (default: all)"
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
--- name = "min_cost"
--- type = "float"
--- default = "1"
--- doc = "Cost, s, below which a finding is info"
--- [[param]]
--- name = "slow_bw"
--- type = "float"
--- default = "400000000"
--- doc = "Bandwidth by the slowest process, B/s, of the log and of the files concerned, from which on a finding about requests in its direction is info"
--- [[param]]
--- name = "severity"
--- type = "text"
--- default = "'warning'"
--- values = ["critical", "warning", "info", "ok"]
--- doc = "The least severity of a finding; ok: also what is well"

WITH log AS (
  SELECT l.job_id, l.log_id, l.app, l."user", l.start_time, CAST(l.nprocs AS DOUBLE) AS nprocs, l.run_time, l.read_bw_slowest_rank AS read_bw, l.write_bw_slowest_rank AS write_bw,
    ratio(coalesce(l.read_bw_slowest_rank * l.read_time_by_slowest, 0.0) + coalesce(l.write_bw_slowest_rank * l.write_time_by_slowest, 0.0), coalesce(l.read_time_by_slowest, 0.0) + coalesce(l.write_time_by_slowest, 0.0)) AS bw,
    array_has(l.modules, 'MPI-IO') AS has_mpiio,
    -- Of a damaged log records may be missing in any module.
    l.status = 'damaged' OR array_has(l.partial_modules, 'POSIX') AS posix_partial, l.status = 'damaged' OR array_has(l.partial_modules, 'MPI-IO') AS mpiio_partial
  FROM darshan_log l
  WHERE ($job IS NULL OR l.job_id = $job) AND ($app IS NULL OR l.app = $app) AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
), log_with_nodes AS (
  SELECT l.job_id, l.log_id, l.nprocs, l.has_mpiio, l.posix_partial, l.mpiio_partial, j.job_node_count AS nodes
  FROM log l LEFT JOIN job j ON j.job_id = l.job_id AND j.log_id = l.log_id
), posix_record AS (
  -- Requests that are neither sequential nor the first of their process are random for certain.
  SELECT r.job_id, r.log_id, r.record_id, r.rank, l.nprocs, r.posix_bytes_read AS bytes_read, r.posix_bytes_written AS bytes_written,
    CAST(r.posix_bytes_read + r.posix_bytes_written AS DOUBLE) AS bytes, r.posix_f_variance_rank_bytes AS variance,
    greatest(r.posix_reads - r.posix_seq_reads - CASE WHEN r.rank = -1 THEN l.nprocs WHEN r.posix_reads > 0 THEN 1 ELSE 0 END, 0) AS random_reads,
    greatest(r.posix_writes - r.posix_seq_writes - CASE WHEN r.rank = -1 THEN l.nprocs WHEN r.posix_writes > 0 THEN 1 ELSE 0 END, 0) AS random_writes,
    r.posix_mem_not_aligned, r.posix_max_byte_read, r.posix_max_byte_written, r.posix_f_read_time, r.posix_f_write_time, r.posix_f_meta_time, r.posix_f_slowest_rank_time,
    ratio(r.posix_f_slowest_rank_time, r.posix_f_read_time + r.posix_f_write_time + r.posix_f_meta_time) AS slowest,
    (r.posix_f_read_time + r.posix_f_write_time + r.posix_f_meta_time) / l.nprocs AS mean_time
  FROM log l JOIN darshan_posix r ON r.job_id = l.job_id AND r.log_id = l.log_id WHERE $job IS NULL OR r.job_id = $job
), posix AS (
  SELECT job_id, log_id, record_id, sum(random_reads) AS random_reads, sum(random_writes) AS random_writes, sum(posix_mem_not_aligned) AS mem_not_aligned,
    max(posix_max_byte_read) AS posix_max_byte_read, max(posix_max_byte_written) AS posix_max_byte_written, sum(posix_f_meta_time) AS posix_meta_time,
    max(posix_f_slowest_rank_time) FILTER (WHERE rank = -1) AS slowest_time, max(posix_f_slowest_rank_time - mean_time) FILTER (WHERE rank = -1) AS waited,
    max(ratio(sqrt(variance) * nprocs, bytes)) FILTER (WHERE rank = -1) AS posix_cv,
    coalesce(max(nprocs / (1 + power(ratio(sqrt(variance) * nprocs, bytes), 2))) FILTER (WHERE rank = -1), ratio(power(sum(bytes), 2), sum(bytes * bytes))) AS k_eff,
    ratio(max(bytes_read) - avg(bytes_read), max(bytes_read)) AS read_gap, ratio(max(bytes_written) - avg(bytes_written), max(bytes_written)) AS write_gap,
    array_agg(named_struct('rank', rank, 'slowest', slowest, 'posix_f_read_time', posix_f_read_time, 'posix_f_write_time', posix_f_write_time, 'posix_f_meta_time', posix_f_meta_time)) AS records
  FROM posix_record GROUP BY job_id, log_id, record_id
), mpiio AS (
  SELECT r.job_id, r.log_id, r.record_id, sum(r.mpiio_f_read_time) AS mpiio_read_time, sum(r.mpiio_f_write_time) AS mpiio_write_time, sum(r.mpiio_nb_reads) AS mpiio_nb_reads,
    sum(r.mpiio_nb_writes) AS mpiio_nb_writes,
    max(ratio(sqrt(r.mpiio_f_variance_rank_bytes) * l.nprocs, r.mpiio_bytes_read + r.mpiio_bytes_written)) FILTER (WHERE r.rank = -1) AS mpiio_cv,
    max(r.mpiio_f_slowest_rank_time) FILTER (WHERE r.rank = -1) AS slowest_time,
    max(r.mpiio_f_slowest_rank_time - (r.mpiio_f_read_time + r.mpiio_f_write_time + r.mpiio_f_meta_time) / l.nprocs) FILTER (WHERE r.rank = -1) AS waited,
    array_agg(named_struct('rank', r.rank, 'slowest', ratio(r.mpiio_f_slowest_rank_time, r.mpiio_f_read_time + r.mpiio_f_write_time + r.mpiio_f_meta_time), 'mpiio_f_read_time', r.mpiio_f_read_time, 'mpiio_f_write_time', r.mpiio_f_write_time)) AS records
  FROM log l JOIN darshan_mpiio r ON r.job_id = l.job_id AND r.log_id = l.log_id WHERE $job IS NULL OR r.job_id = $job
  GROUP BY r.job_id, r.log_id, r.record_id
), stdio AS (
  SELECT r.job_id, r.log_id, r.record_id,
    array_agg(named_struct('rank', r.rank, 'slowest', ratio(r.stdio_f_slowest_rank_time, r.stdio_f_read_time + r.stdio_f_write_time + r.stdio_f_meta_time), 'stdio_f_read_time', r.stdio_f_read_time, 'stdio_f_write_time', r.stdio_f_write_time, 'stdio_f_meta_time', r.stdio_f_meta_time)) AS records
  FROM log l JOIN darshan_stdio r ON r.job_id = l.job_id AND r.log_id = l.log_id WHERE $job IS NULL OR r.job_id = $job
  GROUP BY r.job_id, r.log_id, r.record_id
), file AS (
  -- The struct has what rules may name of a file.
  SELECT f.job_id, f.log_id, f.record_id, coalesce(f.read_time, 0.0) + coalesce(f.write_time, 0.0) + coalesce(f.meta_time, 0.0) AS io_time,
    p.records AS posix_records, m.records AS mpiio_records, s.records AS stdio_records,
    named_struct(
      'nprocs', l.nprocs, 'has_mpiio', l.has_mpiio, 'posix_partial', l.posix_partial, 'mpiio_partial', l.mpiio_partial, 'nodes', l.nodes,
      'sharing', f.sharing, 'several', f.sharing IN ('shared', 'part_shared'), 'file_nprocs_posix', f.file_nprocs_posix, 'file_nprocs_mpiio', f.file_nprocs_mpiio,
      'bytes_source', f.bytes_source, 'bytes_read', f.bytes_read, 'bytes_written', f.bytes_written, 'reads', f.reads, 'writes', f.writes,
      'posix_bytes_read', f.posix_bytes_read, 'posix_bytes_written', f.posix_bytes_written, 'stdio_bytes_read', f.stdio_bytes_read, 'stdio_bytes_written', f.stdio_bytes_written,
      'mpiio_bytes_read', f.mpiio_bytes_read, 'mpiio_bytes_written', f.mpiio_bytes_written, 'posix_reads', f.posix_reads, 'posix_writes', f.posix_writes,
      'small_reads', f.size_read_0_100 + f.size_read_100_1k + f.size_read_1k_10k + f.size_read_10k_100k + f.size_read_100k_1m,
      'small_writes', f.size_write_0_100 + f.size_write_100_1k + f.size_write_1k_10k + f.size_write_10k_100k + f.size_write_100k_1m,
      'seq_reads', f.seq_reads, 'seq_writes', f.seq_writes, 'consec_reads', f.consec_reads, 'consec_writes', f.consec_writes,
      'not_aligned', f.not_aligned, 'mem_not_aligned', p.mem_not_aligned, 'opens', f.opens, 'stats', f.stats, 'seeks', f.seeks, 'syncs', f.syncs,
      'mpiio_indep_reads', f.mpiio_indep_reads, 'mpiio_indep_writes', f.mpiio_indep_writes, 'mpiio_coll_reads', f.mpiio_coll_reads, 'mpiio_coll_writes', f.mpiio_coll_writes,
      'mpiio_nb_reads', m.mpiio_nb_reads, 'mpiio_nb_writes', m.mpiio_nb_writes, 'collective', coalesce(f.mpiio_coll_reads, 0) + coalesce(f.mpiio_coll_writes, 0) > 0,
      'read_time', f.read_time, 'write_time', f.write_time, 'meta_time', f.meta_time, 'posix_meta_time', p.posix_meta_time, 'mpiio_read_time', m.mpiio_read_time, 'mpiio_write_time', m.mpiio_write_time,
      'file_alignment', f.file_alignment, 'reaches', greatest(coalesce(p.posix_max_byte_read, 0), coalesce(p.posix_max_byte_written, 0)) + 1 > f.file_alignment,
      'size', greatest(coalesce(f.max_byte_read, -1), coalesce(f.max_byte_written, -1)) + 1, 'posix_max_byte_read', p.posix_max_byte_read, 'posix_max_byte_written', p.posix_max_byte_written,
      'stripe_count', f.stripe_count, 'ost_count', f.ost_count, 'fs_osts', f.fs_osts, 'random_reads', p.random_reads, 'random_writes', p.random_writes,
      -- Processes that leave POSIX to aggregators wait for them in MPI-IO.
      'slowest_time', CASE WHEN coalesce(f.mpiio_coll_reads, 0) + coalesce(f.mpiio_coll_writes, 0) > 0 THEN m.slowest_time ELSE p.slowest_time END,
      'waited', CASE WHEN coalesce(f.mpiio_coll_reads, 0) + coalesce(f.mpiio_coll_writes, 0) > 0 THEN m.waited ELSE p.waited END, 'posix_cv', p.posix_cv, 'mpiio_cv', m.mpiio_cv, 'k_eff', p.k_eff, 'read_gap', p.read_gap, 'write_gap', p.write_gap
    ) AS file
  FROM log_with_nodes l JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id
    LEFT JOIN posix p ON p.job_id = f.job_id AND p.log_id = f.log_id AND p.record_id = f.record_id
    LEFT JOIN mpiio m ON m.job_id = f.job_id AND m.log_id = f.log_id AND m.record_id = f.record_id
    LEFT JOIN stdio s ON s.job_id = f.job_id AND s.log_id = f.log_id AND s.record_id = f.record_id
  WHERE NOT f.is_stream AND ($job IS NULL OR f.job_id = $job)
), summed AS (
  SELECT job_id, log_id, sum(io_time) AS io_time, rule_sums(file, record_id, posix_records, mpiio_records, stdio_records) AS sums FROM file GROUP BY job_id, log_id
), found AS (
  SELECT l.job_id, l.log_id, l.app, l."user", l.start_time, l.nprocs, l.run_time, l.read_bw, l.write_bw, l.bw, l.posix_partial OR l.mpiio_partial AS partial, s.io_time,
    unnest(rule_findings(named_struct('nprocs', l.nprocs, 'run_time', l.run_time, 'has_mpiio', l.has_mpiio), s.sums)) AS finding
  FROM log l JOIN summed s ON s.job_id = l.job_id AND s.log_id = l.log_id
), costed AS (
  SELECT job_id, log_id, app, "user", start_time, nprocs, run_time, read_bw, write_bw, bw, partial, io_time, finding['code'] AS code, finding['value'] AS value, finding['share'] AS share,
    CASE WHEN finding['cost'] > run_time THEN run_time ELSE finding['cost'] END AS cost, finding['cost'] > run_time AS threads, finding['touched'] AS touched,
    finding['files'] AS files, finding['record_id'] AS record_id, finding['sum'] AS sum, finding['whole'] AS whole, finding['least'] AS least, finding['time'] AS time, finding['rate'] AS rate, finding['costly_files'] AS costly_files
  FROM found
), rule(code, rule, direction, severity, bandwidth, advice) AS (
  VALUES /* rules */
), judged AS (
  -- What costs little, or moves bytes as fast as they can be moved, is no fault.
  SELECT c.*, r.rule, r.direction, r.advice, CASE WHEN r.severity <> 'ok' AND (c.cost < $min_cost OR c.cost < 0.01 * c.run_time
      OR least(c.rate, CASE r.bandwidth WHEN 'read' THEN read_bw WHEN 'write' THEN write_bw WHEN 'both' THEN bw END) >= $slow_bw) THEN 'info' ELSE r.severity END AS severity
  FROM costed c JOIN rule r ON r.code = c.code
), named AS (
  SELECT w.*, coalesce(f.path, 'a file without a name') AS subject
  FROM (SELECT * FROM judged WHERE array_position(make_array('critical', 'warning', 'info', 'ok'), severity) <= array_position(make_array('critical', 'warning', 'info', 'ok'), $severity)) w LEFT JOIN darshan_file f ON f.job_id = w.job_id AND f.log_id = w.log_id AND f.record_id = w.record_id
)
SELECT job_id, log_id, app, "user", start_time, code, rule, direction, severity, value, share, cost, touched / 3600.0 AS io_hours, ratio(touched, io_time) AS io_share, files, subject,
  rule_sentence(rule, subject, sum, whole, share, CAST(files AS DOUBLE), least, time, nprocs, run_time, costly_files) AS sentence, advice,
  array_remove_all(make_array(CASE WHEN partial THEN 'partial' ELSE '' END, CASE WHEN threads THEN 'threads' ELSE '' END), '') AS flags
FROM named
ORDER BY job_id, log_id, array_position(make_array('critical', 'warning', 'info', 'ok'), severity), cost DESC, code, direction
