-- How many files were written with more than a GiB?
-- class: scan
-- floor: darshan_file=bytes_written,is_stream
-- ordered: no
SELECT count(*) AS files FROM darshan_file WHERE bytes_written > 1073741824 AND NOT is_stream
