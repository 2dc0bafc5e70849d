-- How full each OST is by its last sample.
-- param at timestamp NULL
-- param fs text NULL
-- param above float 0
-- with at=2026-09-11T12:00:00
-- with fs=scratch above=50
-- with fs=snx11025
-- with at=2010-10-08T23:50:00
WITH sample AS (
  SELECT fs, ost, oss, time, bytes_used, bytes_free, inodes_used, inodes_free
  FROM lmt_ost
  WHERE coalesce(time <= $at, $at IS NULL) AND coalesce(fs = $fs, $fs IS NULL) AND bytes_used IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY fs, ost ORDER BY time DESC) = 1
), share AS (
  SELECT *, 100 * bytes_used / (bytes_used + bytes_free) AS pct_used, 100 * inodes_used / (inodes_used + inodes_free) AS pct_inodes_used FROM sample
), mean AS (
  SELECT *, pct_used - avg(pct_used) OVER (PARTITION BY fs) AS above_average FROM share
)
SELECT * FROM mean WHERE pct_used >= $above
-- near above_average pct_used
