--- doc = "How full each OST is"
--- grain = "one OST"
--- columns = [
---   { name = "fs", type = "Utf8", doc = "File system" },
---   { name = "ost", type = "Int32", doc = "Index of the OST" },
---   { name = "oss", type = "Utf8", doc = "Server that it is on" },
---   { name = "time", type = "Timestamp", doc = "Time of the sample" },
---   { name = "bytes_used", type = "Int64", unit = "B", doc = "Bytes in use" },
---   { name = "bytes_free", type = "Int64", unit = "B", doc = "Bytes free" },
---   { name = "pct_used", type = "Float64", unit = "%", doc = "Bytes in use, in percent of bytes in use and free" },
---   { name = "inodes_used", type = "Int64", unit = "count", doc = "Inodes in use" },
---   { name = "inodes_free", type = "Int64", unit = "count", doc = "Inodes free" },
---   { name = "pct_inodes_used", type = "Float64", unit = "%", doc = "Inodes in use, in percent of inodes in use and free" },
---   { name = "above_average", type = "Float64", unit = "%", doc = "pct_used less the mean of all OSTs of the file system" },
--- ]
--- chart = { form = "bar", x = "ost", y = "pct_used", series = "fs" }
--- [[param]]
--- name = "at"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Use the last sample up to this time (default: the newest)"
--- [[param]]
--- name = "fs"
--- type = "text"
--- default = "NULL"
--- doc = "File system (default: all)"
--- [[param]]
--- name = "above"
--- type = "float"
--- default = "0"
--- range = [0, 100]
--- doc = "Minimum fullness, percent"

WITH newest AS (
  SELECT fs, ost, max(time) AS time FROM lmt_ost
  WHERE bytes_used IS NOT NULL AND ($at IS NULL OR time <= $at) AND ($fs IS NULL OR fs = $fs) GROUP BY fs, ost
), level AS (
  SELECT o.fs, o.ost, o.oss, o.time, o.bytes_used, o.bytes_free, 100.0 * o.bytes_used / nullif(o.bytes_used + o.bytes_free, 0) AS pct_used,
    o.inodes_used, o.inodes_free, 100.0 * o.inodes_used / nullif(o.inodes_used + o.inodes_free, 0) AS pct_inodes_used
  FROM newest n JOIN lmt_ost o ON o.fs = n.fs AND o.ost = n.ost AND o.time = n.time
), compared AS (
  SELECT *, pct_used - avg(pct_used) OVER (PARTITION BY fs) AS above_average FROM level
)
SELECT * FROM compared WHERE coalesce(pct_used, 0.0) >= $above ORDER BY pct_used DESC NULLS LAST, fs, ost
