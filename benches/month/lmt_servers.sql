-- What did OSTs write on one day while their server was busy, and else?
-- class: lmt
-- floor:
-- ordered: no
SELECT o.oss, c.pct_cpu > 50 AS busy, count(*) AS samples, sum(o.bytes_written) AS bytes_written
FROM lmt_ost o JOIN lmt_oss c ON c.fs = o.fs AND c.oss = o.oss AND c.time = o.time
WHERE o.fs = '$fs' AND o.time > '$day' AND o.time <= '$day_end' AND c.fs = '$fs' AND c.time > '$day' AND c.time <= '$day_end'
GROUP BY o.oss, c.pct_cpu > 50
