-- Which kinds of files are there?
-- class: scan
-- floor: darshan_file=fs,fs_type,bytes_source,sharing
-- ordered: no
SELECT DISTINCT fs, fs_type, bytes_source, sharing FROM darshan_file
