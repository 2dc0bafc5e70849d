-- What does MPI-IO write to files of each stripe count?
-- class: job
-- floor: darshan_mpiio=job_id,log_id,record_id,mpiio_bytes_written,mpiio_f_write_time darshan_file=job_id,log_id,record_id,sharing,stripe_count
-- ordered: no
SELECT f.sharing, f.stripe_count, count(*) AS records, sum(m.mpiio_bytes_written) AS bytes_written, sum(m.mpiio_f_write_time) AS write_time
FROM darshan_mpiio m JOIN darshan_file f ON f.job_id = m.job_id AND f.log_id = m.log_id AND f.record_id = m.record_id
GROUP BY f.sharing, f.stripe_count
