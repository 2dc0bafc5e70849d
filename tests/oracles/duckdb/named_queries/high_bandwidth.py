# Large logs that move much, and fast: IOMiner, section III-F (20 GB/s and more).
# param direction text
# param min_nprocs int 1000
# param min_bytes float 1e7
# param min_bw float 2e10
# param grain text log
# param bw text critical
# with direction=read
# with direction=write
# with direction=write min_bw=1e9 min_nprocs=100 min_bytes=0 bw=span
# with direction=read min_bw=1e9 bw=slowest_rank min_nprocs=1
# with direction=read grain=job min_bw=1e8
from large import large


def rows(con, params):
    return large(con, params, params["direction"], min_bw=params["min_bw"])
