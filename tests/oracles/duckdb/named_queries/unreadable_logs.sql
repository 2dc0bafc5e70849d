-- Inputs that were not read, or not wholly: as the lake's manifest has them.
-- param partial bool true
-- with partial=false
SELECT status, source, path, error, bytes, modified_time FROM lake_input
WHERE status IN ('failed', 'damaged') OR (status = 'partial' AND $partial)
