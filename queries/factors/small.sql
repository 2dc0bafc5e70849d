--- doc = "Share of small requests, those of at most small_limit bytes: weighted by the time that is each critical file's own; NULL where sizes are not known"
--- unit = "fraction"
sum(c.time * c.small / nullif(c.requests, 0)) / nullif(sum(CASE WHEN c.requests > 0 THEN c.time END), 0)
