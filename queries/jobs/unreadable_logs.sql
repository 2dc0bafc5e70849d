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
SELECT status, source, path, error, bytes, modified_time FROM lake_input
WHERE status IN ('failed', 'damaged') OR ($partial AND status = 'partial') ORDER BY status = 'partial', status = 'damaged', source, path
