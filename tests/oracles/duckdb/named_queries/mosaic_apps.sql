-- Each class of each program: how many of its logs have it, and what these moved, of the program's bytes and of those of all logs of the period.
-- param mode text full
-- param app text NULL
-- param min_logs int 1
-- param min_confidence float 0
-- param from timestamp NULL
-- param to timestamp NULL
-- with mode=reference min_logs=20
-- with from=2026-09-10 to=2026-09-14T12:00
-- with min_confidence=0.6
WITH side AS (
  SELECT log_id, app, start_time, status AS log_status, direction, CASE direction WHEN 'read' THEN r WHEN 'write' THEN w ELSE r + w END AS bytes
  FROM (SELECT *, bytes_read - bytes_read_streams AS r, bytes_written - bytes_written_streams AS w FROM darshan_log), (VALUES ('read'), ('write'), ('metadata')) d(direction)
  WHERE ($from::TIMESTAMP IS NULL OR start_time >= $from) AND ($to::TIMESTAMP IS NULL OR start_time < $to)
), total AS (
  SELECT direction, sum(bytes) AS bytes FROM side GROUP BY direction
), kept AS (
  SELECT s.*, CASE direction WHEN 'read' THEN read_classes WHEN 'write' THEN write_classes ELSE metadata_classes END AS classes
  FROM side s JOIN darshan_mosaic m USING (log_id) WHERE mode = $mode AND status = 'ok' AND ($app::TEXT IS NULL OR app = $app)
    AND coalesce(read_confidence >= $min_confidence, true) AND coalesce(write_confidence >= $min_confidence, true) AND ($min_confidence = 0 OR s.log_status = 'ok')
), own AS (
  SELECT app, direction, count(*) AS n, sum(bytes) AS bytes FROM kept GROUP BY ALL
)
SELECT k.app, k.direction, class, count(*) AS logs, any_value(own.n) AS app_logs, count(*) / any_value(own.n) AS share_logs, sum(k.bytes) AS bytes,
  CASE WHEN any_value(own.bytes) > 0 THEN sum(k.bytes) / any_value(own.bytes) END AS share_app_bytes, CASE WHEN any_value(t.bytes) > 0 THEN sum(k.bytes) / any_value(t.bytes) END AS share_all_bytes
FROM (SELECT *, unnest(classes) AS class FROM kept) k JOIN own ON own.app IS NOT DISTINCT FROM k.app AND own.direction = k.direction JOIN total t ON t.direction = k.direction
GROUP BY k.app, k.direction, class HAVING app_logs >= $min_logs
