-- How often was each OST busy, and what is the most that it wrote in a second?
-- class: lmt
-- floor: lmt_ost=fs,ost,interval_s,bytes_written
-- ordered: no
SELECT fs, ost, count(*) AS samples, sum(CASE WHEN bytes_written > 1e8 * interval_s THEN 1 ELSE 0 END) AS busy, max(bytes_written / interval_s) AS peak
FROM lmt_ost GROUP BY fs, ost
