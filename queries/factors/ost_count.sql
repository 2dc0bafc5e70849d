--- doc = "Distinct OSTs of the critical files on fs; NULL where no layout is known"
--- type = "Int64"
--- unit = "count"
nullif(ost_count(ost_union(c.fs, c.ost_bits) FILTER (WHERE c.on_main_fs)), 0)
