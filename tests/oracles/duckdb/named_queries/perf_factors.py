# Logs or jobs whose bandwidth lies in a band, with their critical files and factors: IOMiner III-F, equations 1 and 2, algorithm 2.
# param direction text
# param min_bw float 0
# param max_bw float inf
# param grain text log
# param interval text window
# param bw text critical
# param small_bytes int 1024
# param job int NULL
# param from timestamp NULL
# param to timestamp NULL
# with direction=read
# with direction=write
# with direction=write max_bw=1e9 small_bytes=1048576
# with direction=read min_bw=1e8 max_bw=1e10 bw=span small_bytes=99
# with direction=write max_bw=1e9 bw=slowest_rank small_bytes=10000000000
# with direction=read interval=busy
# with direction=write interval=busy max_bw=1e10
# with direction=read interval=dxt
# with direction=write interval=dxt
# with direction=read grain=job
# with direction=write grain=job interval=busy
# with direction=write grain=job interval=dxt bw=span min_bw=1e6
# with direction=write grain=job bw=slowest_rank max_bw=1e9
# with direction=write job=6100019
# with direction=read grain=job job=6100019
# with direction=read from=2026-09-10 to=2026-09-12T12:00:00
# with direction=write grain=job from=2026-09-10 to=2026-09-12
import factors


def rows(con, params):
    return factors.rows(con, params)
