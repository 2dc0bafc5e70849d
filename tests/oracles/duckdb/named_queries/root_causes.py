# What made the I/O of logs slow: five causes by the thresholds of queries/rules, each from the exclusive times (algorithm 2) of the files that it is
# about, by their windows and by the times for which they were busy (SEMANTICS.md 2); and, if asked for, two by what others did (job_facts.py).
# param job int NULL
# param from timestamp NULL
# param to timestamp NULL
# param min_share float 0.45
# param both bool true
# param min_time float 1
# param slow_bw float 1e9
# param evidence text files
# with both=false
# with both=false min_time=0.01 slow_bw=1e12
# with from=2026-09-10 to=2026-09-13 min_time=10
# with job=6102090 both=false
# with both=false min_share=0.2
# with from=2026-09-10 to=2026-09-13 evidence=all
# with evidence=all min_time=20
from bisect import bisect_left
from collections import defaultdict

import job_facts
import lake
from factors import cover

FILES = """
SELECT l.job_id, l.log_id, l.app, l.start_time, l.nprocs, direction, record_id, path, CASE WHEN ost_count = 1 THEN 'OST ' || ost_list[1] || ' of ' || fs END AS ost,
  CASE WHEN sharing = 'unique' THEN 'rank ' || f.slowest_rank END AS rank, CASE bytes_source WHEN 'mpiio' THEN file_nprocs_mpiio ELSE file_nprocs_posix END AS upper,
  CASE direction WHEN 'read' THEN (f.bytes_read, f.posix_reads, consec_reads, f.size_read_0_100 + f.size_read_100_1k, readers, f.read_start, f.read_end, read_busy_end, critical_read_time, f.read_time)
    ELSE (f.bytes_written, f.posix_writes, consec_writes, f.size_write_0_100 + f.size_write_100_1k, writers, f.write_start, f.write_end, write_busy_end, critical_write_time, f.write_time) END AS v
FROM darshan_file f JOIN darshan_log l USING (log_id), (VALUES ('read'), ('write')) d(direction)
WHERE NOT is_stream AND coalesce(l.nprocs, 1) >= $min_nprocs AND coalesce(l.job_id = $job, $job IS NULL) AND coalesce(l.start_time >= $from, $from IS NULL) AND coalesce(l.start_time < $to, $to IS NULL)
"""


def together(files):
    """A function that tells how long of a period at least two files are in use."""
    events = sorted([(f["a"], 1) for f in files] + [(f["b"], -1) for f in files])
    times, lengths, on, last, total = [], [], 0, None, 0.0
    for time, step in events:
        if on >= 2 and time > last:
            total += time - last
        times.append(time)
        lengths.append(total)
        on, last = on + step, time
    return lambda f: lengths[bisect_left(times, f["b"])] - lengths[bisect_left(times, f["a"])]


def union(files):
    return sum(b - a for _, a, b in cover([(f["a"], f["b"], f["record_id"]) for f in files]))


def causes(files, critical_time, nprocs):
    """[(cause, what it is about, time, files, number)] of the files of one direction."""
    moved = sum(f["bytes"] for f in files)
    by_ost, by_rank = defaultdict(list), defaultdict(list)
    for f in files:
        if f["ost"] is not None:
            by_ost[f["ost"]].append(f)
        if f["rank"] is not None:
            by_rank[f["rank"]].append(f)
    time = lambda some: sum(f["own"] for f in some)
    answer = []
    procs = lambda some: min(sum(f["procs"] for f in some), nprocs)
    busy_osts = [(time(some), ost, some) for ost, some in by_ost.items() if time(some) > 0 and procs(some) >= max(16, nprocs / 2)]
    if busy_osts:
        worst = min(busy_osts, key=lambda one: (-one[0], one[1]))
        answer.append(("one_ost", worst[1], sum(t for t, _, _ in busy_osts), [f for _, _, some in busy_osts for f in some], float(procs(worst[2]))))
    # A process is alone if none other moves more than half as much.
    ranked = sorted((-sum(f["bytes"] for f in some), rank) for rank, some in by_rank.items())
    for rank, some in by_rank.items():
        ratio = sum(f["bytes"] for f in some) * nprocs / moved
        alone = rank == ranked[0][1] and (len(ranked) == 1 or 2 * ranked[1][0] >= ranked[0][0])
        if time(some) > 0 and ratio >= 10 and alone:
            answer.append(("one_rank", rank, time(some), some, ratio))
    overlap = together(files)
    serial = [f for f in files if overlap(f) <= 0.05 * (f["b"] - f["a"])]
    length = sum(f["b"] - f["a"] for f in serial)
    if len(serial) >= 20 and max(f["b"] - f["a"] for f in serial) <= 0.2 * length:
        answer.append(("serial_files", min(serial, key=lambda f: (f["a"] - f["b"], f["record_id"]))["path"], length, serial, float(len(serial))))
    longest = min(files, key=lambda f: (f["a"] - f["b"], f["record_id"]))
    if len(files) >= 10 and longest["own"] >= 0.9 * critical_time and critical_time - union([f for f in files if f is not longest]) >= 0.5 * critical_time and longest["bytes"] < 0.99 * moved:
        answer.append(("one_file", longest["path"], longest["own"], [longest], longest["bytes"] / moved))
    small = [f for f in files if f["requests"] and f["small"] is not None and 2 * f["small"] >= f["requests"] and 2 * (f["requests"] - f["consec"]) >= f["requests"]]
    if small and time(small) > 0 and sum(f["small"] for f in small) >= 1000:
        slowest = min(small, key=lambda f: (-f["own"], f["record_id"]))
        answer.append(("small_requests", slowest["path"], time(small), small, sum(f["small"] for f in small) / sum(f["requests"] for f in small)))
    return answer


def sides(con, params):
    """The files of each log and direction whose critical time by windows is long enough."""
    logs = defaultdict(list)
    for f in lake.rows(con, FILES, {name: params[name] for name in ("job", "from", "to", "min_nprocs")}):
        f["bytes"], f["requests"], f["consec"], f["small"], active, f["a"], f["end"], f["busy_end"], f["critical"], f["process_time"] = f["v"]
        f["procs"] = f["upper"] if active is None else active
        if f["bytes"] > 0 and f["critical"] is not None and f["critical"] >= params["min_time"]:
            logs[f["job_id"], f["log_id"], f["direction"]].append(f)
    return logs


def used(files, kind, least):
    """Those that are in use by a kind of interval, with the time of their own, and the critical time; none if it is too short."""
    some = []
    for f in files:
        ends = [end for end in (f["end"], f["busy_end"] if kind == "busy" else None) if end is not None]
        if f["a"] is not None and ends and min(ends) > f["a"]:
            some.append({**f, "b": min(ends), "own": 0.0})
    by_id = {f["record_id"]: f for f in some}
    for one, a, b in cover([(f["a"], f["b"], f["record_id"]) for f in some]):
        by_id[one]["own"] += b - a
    critical_time = sum(f["own"] for f in some)
    return (some, critical_time) if critical_time >= least else ([], critical_time)


def rows(con, params):
    answer = []
    for (job, log, direction), files in sides(con, {**params, "min_nprocs": 2}).items():
        found = defaultdict(dict)
        for kind, least in (("window", params["min_time"]), ("busy", params["min_time"] / 10)):
            some, critical_time = used(files, kind, least)
            if not some:
                continue
            for cause, subject, time, some, number in causes(some, critical_time, files[0]["nprocs"]):
                size = sum(f["bytes"] for f in some)
                if time >= params["min_share"] * critical_time and size / time < params["slow_bw"]:
                    same = subject if cause in ("one_ost", "one_rank", "one_file") else None
                    found[cause, same][kind] = {"critical_time": critical_time, "files": len(some), "bytes": size, "bw": size / time, "number": number, "subject": subject, "share": time / critical_time,
                                                "cost": time, "io_hours": sum(f["process_time"] or 0 for f in some) / 3600}
        for (cause, _), kinds in found.items():
            if params["both"] and len(kinds) < 2:
                continue
            shown = kinds.get("window") or kinds["busy"]
            share = {"share": kinds.get("window", {}).get("share"), "share_busy": kinds.get("busy", {}).get("share")}
            first = files[0]
            least = kinds.get("busy") or kinds["window"]
            spent = {"cost": least["cost"], "io_hours": least["io_hours"]}
            answer.append({"job_id": job, "log_id": log, "app": first["app"], "start_time": first["start_time"], "nprocs": first["nprocs"], "direction": direction, "cause": cause, **shown, **share, **spent})
    if params["evidence"] == "all":
        answer += by_others(con, params)
    return [row for row in answer if row["cost"] >= min(1, params["min_time"])]


def by_others(con, params):
    """Causes by what others did on the OSTs of a job."""
    logs = {one["log_id"]: one for one in lake.rows(con, "SELECT log_id, app, start_time, nprocs FROM darshan_log")}
    for f in job_facts.rows(con, params):
        if f["critical_time"] < max(1, params["min_time"]):
            continue
        found = None
        if f["ost"] is not None and f["share"] >= 0.5:
            found = ("slow_ost", f["share"], f["slowdown"], f"OST {f['ost']} of {f['fs']}")
        elif f["ost"] is None and f["peak"] and (f["others_share"] or 0) >= 0.5 and (f["coverage"] or 0) >= 0.5 and f["others"] / f["seconds"] >= max(1e7, 0.1 * f["peak"]) and f["io_time"] >= 1:
            found = ("interference", f["others_share"] * min(1, f["io_time"] / f["critical_time"]), f["others"] / f["seconds"], f["fs"])
        log = logs[f["log_id"]]
        asked = (params["from"] is None or log["start_time"] >= params["from"]) and (params["to"] is None or log["start_time"] < params["to"])
        if found and asked:
            cause, share, number, subject = found
            yield {"job_id": f["job_id"], "log_id": f["log_id"], "app": log["app"], "start_time": log["start_time"], "nprocs": log["nprocs"], "direction": f["direction"],
                   "cause": cause, "share": share, "share_busy": share, "critical_time": f["critical_time"], "cost": share * f["critical_time"], "io_hours": None, "files": None, "bytes": None, "bw": None, "number": number, "subject": subject}
