-- What lies in the folder of each user?
-- class: group
-- floor: darshan_file=fs,path,bytes_written
-- ordered: no
SELECT split_part(path, '/', 3) AS folder, count(*) AS files, sum(bytes_written) AS bytes_written
FROM darshan_file WHERE fs = '$fs' GROUP BY split_part(path, '/', 3)
