--- doc = "How full each OST is"
--- grain = "one OST"
--- [[param]]
--- name = "at"
--- type = "timestamp"
--- default = "NULL"
--- doc = "The last sample up to this time; the newest if not given"
--- [[param]]
--- name = "fs"
--- type = "text"
--- default = "NULL"
--- doc = "File system; all if not given"
--- [[param]]
--- name = "above"
--- type = "float"
--- default = "0"
--- doc = "Only OSTs that are at least so full, per cent"

WITH newest AS (
  SELECT fs, ost, max(time) AS time FROM lmt_ost
  WHERE bytes_used IS NOT NULL AND ($at IS NULL OR time <= $at) AND ($fs IS NULL OR fs = $fs) GROUP BY fs, ost
), level AS (
  SELECT o.fs, o.ost, o.oss, o.time, o.bytes_used, o.bytes_free, 100.0 * o.bytes_used / nullif(o.bytes_used + o.bytes_free, 0) AS pct_used,
    o.inodes_used, o.inodes_free, 100.0 * o.inodes_used / nullif(o.inodes_used + o.inodes_free, 0) AS pct_inodes_used
  FROM newest n JOIN lmt_ost o ON o.fs = n.fs AND o.ost = n.ost AND o.time = n.time
)
SELECT *, pct_used - avg(pct_used) OVER (PARTITION BY fs) AS above_average FROM level
WHERE coalesce(pct_used, 0.0) >= $above ORDER BY pct_used DESC NULLS LAST, fs, ost
