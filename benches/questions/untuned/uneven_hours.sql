-- In which hours did one OST move more than three times the mean of its file system?
-- class: untuned
-- floor: lmt_ost=fs,ost,time,bytes_read,bytes_written
-- ordered: yes
WITH hourly AS (
  SELECT fs, ost, date_trunc('hour', time) AS hour, sum(bytes_read + bytes_written) AS bytes FROM lmt_ost GROUP BY fs, ost, date_trunc('hour', time)
), ranked AS (
  SELECT fs, hour, ost, bytes, avg(bytes) OVER (PARTITION BY fs, hour) AS mean, row_number() OVER (PARTITION BY fs, hour ORDER BY bytes DESC, ost) AS place FROM hourly
)
SELECT fs, hour, ost, bytes, mean FROM ranked WHERE place = 1 AND bytes > 3 * mean ORDER BY fs, hour
