-- What did each job do through POSIX?
-- class: job
-- floor: darshan_posix=job_id,posix_bytes_read,posix_bytes_written,posix_f_read_time,posix_f_write_time,posix_f_meta_time,posix_f_write_end_timestamp
-- ordered: no
SELECT job_id, sum(posix_bytes_read) AS bytes_read, sum(posix_bytes_written) AS bytes_written, sum(posix_f_read_time + posix_f_write_time + posix_f_meta_time) AS io_time,
  max(posix_f_write_end_timestamp) AS last_write
FROM darshan_posix GROUP BY job_id
