-- How many of the writes were below 10 KiB?
-- class: scan
-- floor: darshan_file=is_stream,posix_writes,size_write_0_100,size_write_100_1k,size_write_1k_10k
-- ordered: no
SELECT sum(size_write_0_100 + size_write_100_1k + size_write_1k_10k) AS small, sum(posix_writes) AS writes FROM darshan_file WHERE NOT is_stream
