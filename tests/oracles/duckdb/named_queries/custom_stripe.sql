-- Logs on Lustre with a file whose striping somebody chose: IOMiner, figure 4 and section III-B (SEMANTICS.md 4).
-- param strict bool false
-- with strict=true
WITH laid AS (
  SELECT log_id, f.fs, coalesce(m.stripe_size, 1048576) AS default_size, coalesce(m.stripe_count, 1) AS default_count,
    CASE WHEN $strict THEN (f.stripe_size, f.stripe_count, stripe_offset) <> (1048576, 1, -1) ELSE f.stripe_size <> default_size OR f.stripe_count <> default_count END AS custom
  FROM darshan_file f LEFT JOIN (SELECT DISTINCT fs, stripe_size, stripe_count FROM lake_mount) m ON m.fs = f.fs
  WHERE f.stripe_size IS NOT NULL AND f.stripe_count IS NOT NULL AND (NOT $strict OR stripe_offset IS NOT NULL)
)
SELECT fs, count(DISTINCT log_id) AS logs, count(DISTINCT log_id) FILTER (custom) AS custom_logs, custom_logs / logs AS share, count(*) AS files,
  count(*) FILTER (custom) AS custom_files, default_size AS stripe_size, default_count AS stripe_count
FROM laid GROUP BY ALL
