-- First read, last write, largest file and slowest calls of the month
-- class: scan
-- floor: darshan_file=is_stream,read_start_time,write_end_time,max_byte_written,max_read_time,max_write_time
-- ordered: no
SELECT min(read_start_time) AS first_read, max(write_end_time) AS last_write, max(max_byte_written) AS farthest_byte, max(max_read_time) AS slowest_read,
  max(max_write_time) AS slowest_write
FROM darshan_file WHERE NOT is_stream
