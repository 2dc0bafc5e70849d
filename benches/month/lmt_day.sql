-- What did each OST move on one day?
-- class: lmt
-- floor:
-- ordered: no
SELECT ost, count(*) AS samples, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, max(bytes_written / interval_s) AS peak
FROM lmt_ost WHERE fs = '$fs' AND time > '$day' AND time <= '$day_end' GROUP BY ost
