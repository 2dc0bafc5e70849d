-- How hard did one OST work while each of its files of one day was written?
-- class: lmt
-- floor:
-- ordered: no
SELECT f.log_id, f.record_id, count(*) AS samples, sum(s.bytes_written) AS seen, max(s.bytes_written / s.interval_s) AS peak
FROM darshan_file f JOIN lmt_ost s ON s.start_time < f.write_end_time AND s.time > f.write_start_time
WHERE f.fs = '$fs' AND ost_contains(f.ost_bits, $ost) AND f.write_start_time >= '$day' AND f.write_end_time < '$day_end'
  AND s.fs = '$fs' AND s.ost = $ost AND s.time > '$day' AND s.time <= '$day_end'
GROUP BY f.log_id, f.record_id
-- for duckdb
SELECT f.log_id, f.record_id, count(*) AS samples, sum(s.bytes_written) AS seen, max(s.bytes_written / s.interval_s) AS peak
FROM darshan_file f JOIN lmt_ost s ON s.start_time < f.write_end_time AND s.time > f.write_start_time
WHERE f.fs = '$fs' AND list_contains(f.ost_list, $ost) AND f.write_start_time >= '$day' AND f.write_end_time < '$day_end'
  AND s.fs = '$fs' AND s.ost = $ost AND s.time > '$day' AND s.time <= '$day_end'
GROUP BY f.log_id, f.record_id
-- for spark
SELECT f.log_id, f.record_id, count(*) AS samples, sum(s.bytes_written) AS seen, max(s.bytes_written / s.interval_s) AS peak
FROM darshan_file f JOIN lmt_ost s ON s.start_time < f.write_end_time AND s.time > f.write_start_time
WHERE f.fs = '$fs' AND array_contains(f.ost_list, $ost) AND f.write_start_time >= '$day' AND f.write_end_time < '$day_end'
  AND s.fs = '$fs' AND s.ost = $ost AND s.time > '$day' AND s.time <= '$day_end'
GROUP BY f.log_id, f.record_id
