-- What ran on a file system, an OST or an MDT between two times: each file's bytes spread evenly over its window, its opens from
-- the first to the last open, without such times over the run (SEMANTICS.md 2 and 7).
-- param fs text
-- param from timestamp
-- param to timestamp
-- param ost int NULL
-- param mdt int NULL
-- with fs=scratch from=2026-09-11T12:00:00 to=2026-09-11T12:10:00
-- with fs=scratch from=2026-09-11T12:00:00 to=2026-09-11T12:10:00 ost=17
-- with fs=home from=2026-09-11T12:00:00 to=2026-09-11T12:00:05
-- with fs=home from=2026-09-11T12:00:00 to=2026-09-11T12:10:00 mdt=0
-- with fs=scratch from=2026-09-01 to=2026-10-01 ost=3
-- with fs=/scratch1 from=2017-01-01 to=2018-01-01 ost=14
-- with fs=/ from=2000-01-01 to=2030-01-01
WITH opened AS (  -- First and last open of each file, by the interface that its counters are of.
  SELECT log_id, record_id, bytes_source, min(a) FILTER (a > 0) AS a, max(b) FILTER (b > 0) AS b
  FROM darshan_file f JOIN (
    SELECT 'posix' AS module, log_id, record_id, posix_f_open_start_timestamp AS a, posix_f_open_end_timestamp AS b FROM darshan_posix
    UNION ALL SELECT 'stdio', log_id, record_id, stdio_f_open_start_timestamp, stdio_f_open_end_timestamp FROM darshan_stdio
    UNION ALL SELECT 'mpiio', log_id, record_id, mpiio_f_open_start_timestamp, mpiio_f_open_end_timestamp FROM darshan_mpiio) m USING (log_id, record_id)
  WHERE contains(f.bytes_source, m.module)
  GROUP BY ALL
), asked AS (
  SELECT f.log_id, f.record_id, f.opens, f.stats, epoch_us($from) AS t0, epoch_us($to) AS t1, epoch_us(read_start_time) AS ra, epoch_us(read_end_time) AS rb, epoch_us(write_start_time) AS wa,
    epoch_us(write_end_time) AS wb, coalesce(epoch_us(j.start_time) + trunc(o.a * 1e6)::BIGINT, epoch_us(j.start_time)) AS oa, coalesce(epoch_us(j.start_time) + trunc(o.b * 1e6)::BIGINT, epoch_us(j.end_time)) AS ob,
    CASE WHEN $ost IS NULL THEN f.bytes_read ELSE list_sum(list_filter(f.ost_bytes_read, lambda b, k: f.ost_list[k] = $ost)) END AS r,
    CASE WHEN $ost IS NULL THEN f.bytes_written ELSE list_sum(list_filter(f.ost_bytes_written, lambda b, k: f.ost_list[k] = $ost)) END AS w
  FROM darshan_file f JOIN job j USING (log_id) LEFT JOIN opened o USING (log_id, record_id)
  WHERE f.fs = $fs AND NOT f.is_stream AND ($ost IS NULL OR list_contains(f.ost_list, $ost::INTEGER))
), part AS (  -- The part of each window that lies between the two times; one of no length counts wholly where it begins between them.
  SELECT *, CASE WHEN rb > ra THEN greatest(0, least(rb, t1) - greatest(ra, t0)) / (rb - ra) ELSE (ra >= t0 AND ra < t1)::INT END AS pr,
    CASE WHEN wb > wa THEN greatest(0, least(wb, t1) - greatest(wa, t0)) / (wb - wa) ELSE (wa >= t0 AND wa < t1)::INT END AS pw,
    CASE WHEN ob > oa THEN greatest(0, least(ob, t1) - greatest(oa, t0)) / (ob - oa) ELSE (oa >= t0 AND oa < t1)::INT END AS po
  FROM asked
), log AS (
  SELECT log_id, coalesce(sum(r * pr), 0) AS bytes_read, coalesce(sum(w * pw), 0) AS bytes_written, coalesce(sum(opens * po), 0) AS opens,
    coalesce(sum(stats * po), 0) AS stats, count(*) FILTER (r * pr > 0 OR w * pw > 0 OR (opens + coalesce(stats, 0)) * po > 0) AS files
  FROM part GROUP BY log_id
)
SELECT j.job_id, log_id, j."user", account, app, job_name, nprocs, node_count, match, start_time, end_time, log.bytes_read, log.bytes_written, opens, stats, files
FROM log JOIN job j USING (log_id) WHERE files > 0
