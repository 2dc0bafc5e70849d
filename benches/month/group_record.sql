-- Which files did most logs touch?
-- class: group
-- floor: darshan_file=record_id,bytes_read
-- ordered: yes
SELECT record_id, count(*) AS logs, sum(bytes_read) AS bytes_read FROM darshan_file GROUP BY record_id ORDER BY logs DESC, record_id LIMIT 20
