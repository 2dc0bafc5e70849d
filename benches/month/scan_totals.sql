-- What was moved in all, and how long did that take?
-- class: scan
-- floor: darshan_file=bytes_read,bytes_written,read_time,write_time,meta_time
-- ordered: no
SELECT sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, sum(read_time) AS read_time, sum(write_time) AS write_time, sum(meta_time) AS meta_time
FROM darshan_file
