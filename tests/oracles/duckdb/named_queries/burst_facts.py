# Bursts of writes: the files of a log in the order of their starts, one loop over each log.
# param job int NULL
# param from timestamp NULL
# param to timestamp NULL
# with from=2026-09-11T10:00:00 to=2026-09-11T16:00:00
from collections import defaultdict

import lake


def rows(con, p):
    logs = {log["log_id"]: log for log in lake.rows(con, "SELECT job_id, log_id, nprocs, run_time, start_time FROM darshan_log")}
    written = defaultdict(list)
    for file in lake.rows(con, "SELECT * FROM darshan_file WHERE NOT is_stream"):
        if (file["bytes_written"] or 0) > 0 and file["write_start"] is not None:
            ends = [end for end in (file["write_end"], file["write_busy_end"]) if end is not None]
            written[file["log_id"]].append((file["write_start"], min(ends), file["bytes_written"], file["write_end"]))
    answer = []
    for log_id, files in written.items():
        log = logs[log_id]
        start, run_time = log["start_time"], log["run_time"] or 0
        if p["job"] is not None and log["job_id"] != p["job"] or p["from"] and (not start or start < p["from"]) or p["to"] and (not start or start >= p["to"]):
            continue
        if run_time <= 0:
            continue
        largest = max(file[2] for file in files)
        files = [file for file in files if file[2] >= 0.01 * largest]
        bursts, until, used_until = [], None, None
        for a, b, _, end in sorted(files):
            if used_until is None or a - used_until >= max(1.0, 0.01 * run_time):
                bursts.append([a, 0.0])
            bursts[-1][1] += max(0.0, b - (a if until is None else max(a, until)))
            until = b if until is None else max(until, b)
            used_until = end if used_until is None else max(used_until, end)
        length, moved = sum(burst[1] for burst in bursts), sum(file[2] for file in files)
        answer.append({
            "job_id": log["job_id"], "log_id": log_id, "nprocs": log["nprocs"], "bursts": len(bursts), "files": len(files), "bytes": moved, "burst_time": length, "longest": max(burst[1] for burst in bursts),
            "interval": (bursts[-1][0] - bursts[0][0]) / (len(bursts) - 1) if len(bursts) > 1 else None, "run_time": log["run_time"], "share": length / run_time,
            "bw": moved / length if length else None,
        })
    return answer
