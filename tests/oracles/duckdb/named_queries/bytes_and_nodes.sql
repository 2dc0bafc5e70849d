-- Each log's bytes beside the nodes that Slurm gave it: IOMiner, algorithm 1, line 21; the join is that of the view job.
SELECT job_id, log_id, app, nprocs, node_count, match, bytes_read, bytes_written FROM job
