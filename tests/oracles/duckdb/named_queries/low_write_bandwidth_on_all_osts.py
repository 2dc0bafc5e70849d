# Large logs that move slowly in this direction although their critical files lie on all OSTs, one of each program: IOMiner, table II.
# param min_nprocs int 1000
# param min_bytes float 1e7
# param max_bw float 1e9
# param grain text log
# param bw text slowest_rank
# with min_nprocs=1 min_bytes=0 max_bw=1e12
# with min_nprocs=64 min_bytes=0 max_bw=1e11 bw=span
# with min_nprocs=0 min_bytes=0 max_bw=1e13
# with grain=job min_bytes=1e5
from large import large, on_all_osts


def rows(con, params):
    return on_all_osts(con, large(con, params, "write", max_bw=params["max_bw"]))
