--- doc = "Share of requests that do not begin where the one before ended, weighted in the same way"
--- unit = "fraction"
sum(c.time * (c.requests - c.consec) / nullif(c.requests, 0)) / nullif(sum(CASE WHEN c.requests > 0 THEN c.time END), 0)
