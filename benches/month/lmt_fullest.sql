-- How full was each OST at its last sample?
-- class: lmt
-- floor: lmt_ost=fs,ost,time,bytes_free,bytes_used
-- ordered: no
SELECT s.fs, s.ost, s.time, s.bytes_free, s.bytes_used
FROM lmt_ost s JOIN (SELECT fs, ost, max(time) AS time FROM lmt_ost GROUP BY fs, ost) last ON last.fs = s.fs AND last.ost = s.ost AND last.time = s.time
