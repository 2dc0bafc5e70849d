-- What was moved on each file system, by how files are shared?
-- class: group
-- floor: darshan_file=fs,fs_type,sharing,bytes_read,bytes_written,read_time,write_time
-- ordered: no
SELECT fs, fs_type, sharing, count(*) AS files, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, sum(read_time) AS read_time, sum(write_time) AS write_time
FROM darshan_file GROUP BY fs, fs_type, sharing
