--- doc = "Inputs that were not read or only in part, with the reason"
--- grain = "one input"
--- columns = [
---   { name = "status", type = "Utf8", doc = "failed: nothing was read; damaged: the intact part was read; partial: Darshan had run out of memory while it recorded" },
---   { name = "source", type = "Utf8", doc = "Kind of input: darshan, slurm or lmt" },
---   { name = "path", type = "Utf8", doc = "Path of the input" },
---   { name = "error", type = "Utf8", doc = "Why" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Size" },
---   { name = "modified_time", type = "Timestamp", doc = "When it was last changed" },
--- ]
--- [[param]]
--- name = "partial"
--- type = "bool"
--- default = "true"
--- doc = "Whether those that are only partial are listed as well"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Darshan logs that start then or later; an input whose start could not be read is always listed"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Darshan logs that start before, in the same way"
SELECT status, source, path, error, bytes, modified_time FROM lake_input
WHERE (status IN ('failed', 'damaged') OR ($partial AND status = 'partial'))
  AND ($from IS NULL OR start_time IS NULL OR start_time >= $from) AND ($to IS NULL OR start_time IS NULL OR start_time < $to)
ORDER BY status = 'partial', status = 'damaged', source, path
