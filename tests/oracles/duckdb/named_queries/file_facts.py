# What rules look at of a file: its interval by windows and by busy times, the time of its own (algorithm 2), and how it lies among the others.
# param job int NULL
# param from timestamp NULL
# param to timestamp NULL
# param min_time float 0
# param min_nprocs int 1
# with min_time=1 min_nprocs=2
# with from=2026-09-10 to=2026-09-13
# with job=6102090
# near lost critical_time
from itertools import accumulate

import root_causes


def rows(con, params):
    return list(facts(con, params))


def facts(con, params):
    for (job, log, direction), files in root_causes.sides(con, params).items():
        for kind, least in (("window", params["min_time"]), ("busy", params["min_time"] / 10)):
            some, critical_time = root_causes.used(files, kind, least)
            longest_first = sorted(some, key=lambda f: (f["a"] - f["b"], f["record_id"]))
            place = {f["record_id"]: at for at, f in enumerate(longest_first, 1)}
            moved, lost = sum(f["bytes"] for f in some), critical_time - root_causes.union(longest_first[1:])
            by_begin = sorted(some, key=lambda f: (f["a"], f["b"], f["record_id"]))
            latest = list(accumulate((f["b"] for f in by_begin), max))
            before = {f["record_id"]: latest[at - 1] if at else f["a"] for at, f in enumerate(by_begin)}
            after = {f["record_id"]: following["a"] for f, following in zip(by_begin, by_begin[1:])}
            for f in some:
                shared = max(min(before[f["record_id"]], f["b"]) - f["a"], 0) + max(f["b"] - after.get(f["record_id"], f["b"]), 0)
                yield {"job_id": job, "log_id": log, "direction": direction, "interval_kind": kind, "record_id": f["record_id"], "path": f["path"], "ost": f["ost"], "rank": f["rank"],
                       "procs": f["procs"], "bytes": f["bytes"], "process_time": f["process_time"], "requests": f["requests"], "consec": f["consec"], "small": f["small"],
                       "begins": f["a"], "ends": f["b"], "length": f["b"] - f["a"], "exclusive_time": f["own"], "by_length": place[f["record_id"]],
                       "alone": shared <= 0.05 * (f["b"] - f["a"]), "nprocs": f["nprocs"], "files": len(some), "all_bytes": moved,
                       "critical_time": critical_time, "lost": lost}
