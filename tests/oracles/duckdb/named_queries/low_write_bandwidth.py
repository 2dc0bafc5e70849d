# Large logs that move much in this direction, and slowly: IOMiner, figure 12 and section III-F (SEMANTICS.md 9).
# param min_nprocs int 1000
# param min_bytes float 1e7
# param max_bw float 1e9
# param grain text log
# param bw text slowest_rank
# with min_nprocs=1 min_bytes=0 max_bw=1e12
# with min_nprocs=1 min_bytes=1e3 max_bw=1e8 bw=critical
# with min_nprocs=16 min_bytes=0 max_bw=1e10 bw=span
# with grain=job
from large import large


def rows(con, params):
    return large(con, params, "write", max_bw=params["max_bw"])
