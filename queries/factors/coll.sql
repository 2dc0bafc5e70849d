--- doc = "1 if a critical file was read or written collectively through MPI-IO, in that direction; else 0"
--- type = "Int64"
max(CASE WHEN c.collective > 0 THEN 1 ELSE 0 END)
