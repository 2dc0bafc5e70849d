-- How many HDF5 files were there, and what was read of them?
-- class: scan
-- floor: darshan_file=path,bytes_read
-- ordered: no
SELECT count(*) AS files, sum(bytes_read) AS bytes_read FROM darshan_file WHERE path LIKE '%.h5'
