-- What did the OSTs of a file see while it was written, for files that were begun within ten minutes?
-- class: lmt
-- floor:
-- ordered: no
SELECT f.log_id, f.record_id, count(*) AS samples, sum(s.bytes_written) AS seen, max(s.bytes_written / s.interval_s) AS peak
FROM (SELECT log_id, record_id, unnest(ost_list) AS ost, write_start_time, write_end_time FROM darshan_file
  WHERE fs = '$fs' AND bytes_written > 0 AND write_start_time >= '$hour' AND write_start_time < '$minutes_end' AND write_end_time < '$day_end') f
JOIN lmt_ost s ON s.ost = f.ost AND s.start_time < f.write_end_time AND s.time > f.write_start_time
WHERE s.fs = '$fs' AND s.time > '$hour' AND s.time <= '$day_end' GROUP BY f.log_id, f.record_id
-- for spark
SELECT f.log_id, f.record_id, count(*) AS samples, sum(s.bytes_written) AS seen, max(s.bytes_written / s.interval_s) AS peak
FROM (SELECT log_id, record_id, explode(ost_list) AS ost, write_start_time, write_end_time FROM darshan_file
  WHERE fs = '$fs' AND bytes_written > 0 AND write_start_time >= '$hour' AND write_start_time < '$minutes_end' AND write_end_time < '$day_end') f
JOIN lmt_ost s ON s.ost = f.ost AND s.start_time < f.write_end_time AND s.time > f.write_start_time
WHERE s.fs = '$fs' AND s.time > '$hour' AND s.time <= '$day_end' GROUP BY f.log_id, f.record_id
