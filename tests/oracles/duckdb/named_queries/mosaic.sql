-- A row of darshan_mosaic beside who ran the log, by the Slurm record where there is one (SEMANTICS.md 5).
-- param mode text full
-- param job int NULL
-- param log int NULL
-- param app text NULL
-- param from timestamp NULL
-- param to timestamp NULL
-- with mode=reference
-- with from=2026-09-10 to=2026-09-14T12:00
SELECT m.* EXCLUDE (run_time, analysis_version), j.app, j."user", j.nprocs, j.start_time, j.run_time, j.status AS log_status, m.run_time AS analysed_time,
  CASE WHEN read_confidence IS NULL THEN write_confidence WHEN write_confidence IS NULL THEN read_confidence ELSE least(read_confidence, write_confidence) END AS confidence
FROM darshan_mosaic m JOIN job j USING (job_id, log_id)
WHERE mode = $mode AND coalesce(m.job_id = $job::BIGINT, true) AND coalesce(m.log_id = $log::BIGINT, true) AND ($app::TEXT IS NULL OR j.app = $app)
  AND ($from::TIMESTAMP IS NULL OR j.start_time >= $from) AND ($to::TIMESTAMP IS NULL OR j.start_time < $to)
