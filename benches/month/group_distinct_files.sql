-- How many different files are there?
-- class: group
-- floor: darshan_file=record_id
-- ordered: no
SELECT count(DISTINCT record_id) AS files FROM darshan_file
