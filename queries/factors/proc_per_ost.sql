--- doc = "Processes that access a file for each OST of its layout, weighted in the same way; an upper bound where proc_upper says so"
sum(c.time * c.procs / nullif(c.osts, 0)) / nullif(sum(CASE WHEN c.osts > 0 THEN c.time END), 0)
