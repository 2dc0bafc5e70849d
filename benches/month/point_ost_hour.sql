-- One OST for one hour
-- class: point
-- floor:
-- ordered: no
SELECT time, interval_s, bytes_read, bytes_written FROM lmt_ost WHERE fs = '$fs' AND ost = $ost AND time > '$hour' AND time <= '$hour_end'
