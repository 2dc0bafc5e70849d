# The factors of section III-F for each log or job: critical files by algorithm 2 with the choice that makes their cover minimum,
# each factor weighted by the time that is a file's own (equation 2), bandwidths by equation 1 and beside it. SEMANTICS.md 1-4.
from collections import defaultdict

import lake

BINS = ["0_100", "100_1k", "1k_10k", "10k_100k", "100k_1m", "1m_4m", "4m_10m", "10m_100m", "100m_1g"]
ENDS = [100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30]

FILES = """
SELECT f.log_id, record_id, path, fs, bytes_{past} AS bytes, {dir}_start AS a, {dir}_end AS b, {dir}_busy_end AS busy_b,
  {dir}_busy AS busy, posix_{dir}s AS requests, consec_{dir}s AS consec, {sizes} AS sizes, mpiio_coll_{dir}s AS collective, {doers} AS known_procs,
  CASE bytes_source WHEN 'mpiio' THEN file_nprocs_mpiio ELSE file_nprocs_posix END AS opened_procs, ost_count AS osts, ost_list
FROM darshan_file f WHERE NOT is_stream AND bytes_{past} > 0
"""

LOGS = """
SELECT j.job_id, j.log_id, j.app, j."user", j.nprocs, j.node_count, j.start_time, l.{dir}_time_by_slowest AS slowest_time, of_user AS uid, log_group
FROM job j JOIN darshan_log l USING (log_id) JOIN (SELECT log_id, log_group, uid AS of_user FROM darshan_log_group) USING (log_id)
"""


def cover(intervals):
    """The fewest of the intervals (start, end, id) that cover the time of all: [(id, start of its own part, end)]."""
    rest = sorted((a, -b, one) for a, b, one in intervals if a is not None and b is not None and b > a)
    answer, until, at = [], None, 0
    while at < len(rest):
        if until is None or rest[at][0] > until:  # A gap: the first that begins opens the next stretch, the longest of several.
            until = rest[at][0]
        best = None
        while at < len(rest) and rest[at][0] <= until:
            a, b, one = rest[at][0], -rest[at][1], rest[at][2]
            if b > until and (best is None or b > best[1]):
                best = (a, b, one)
            at += 1
        if best is None:
            continue
        # Others that begin before its end may go on from there.
        answer.append((best[2], until, best[1]))
        until = best[1]
    return answer


def weighted(files, value, known):
    """Mean of a value over files weighted by their own time, of those of which it is known."""
    time = sum(f["time"] for f in files if known(f))
    return sum(f["time"] * value(f) for f in files if known(f)) / time if time else None


def most(logs, moved):
    """The program that moved most bytes; of equal ones that of the least log_id."""
    programs = defaultdict(int)
    for log in logs:
        programs[log["app"]] += moved[log["log_id"]]
    return max(logs, key=lambda log: (programs[log["app"]], -log["log_id"]))["app"]


def units(con, params):
    """What a row is about: [(its logs, the first one first)]."""
    dir_ = params["direction"]
    logs = lake.rows(con, LOGS.format(dir=dir_))
    if params.get("job") is not None:
        logs = [log for log in logs if log["job_id"] == params["job"]]
    if params.get("from") is not None:
        logs = [log for log in logs if log["start_time"] is not None and log["start_time"] >= params["from"]]
    if params.get("to") is not None:
        logs = [log for log in logs if log["start_time"] is not None and log["start_time"] < params["to"]]
    if params["grain"] == "log":
        return [[log] for log in logs]
    jobs = defaultdict(list)
    for log in logs:
        if log["start_time"] is not None:
            jobs[log["job_id"], log["uid"], log["log_group"]].append(log)
    return [sorted(job, key=lambda log: (log["start_time"], log["log_id"])) for job in jobs.values()]


def segments(con, direction):
    """The traced segments of files: (log_id, record_id) to [(start, end)]."""
    sql = "SELECT log_id, record_id, access_start AS a, access_end AS b FROM darshan_dxt WHERE module = 'POSIX' AND access_length > 0 AND operation = $direction"
    answer = defaultdict(list)
    for one in lake.rows(con, sql, {"direction": direction}):
        answer[one["log_id"], one["record_id"]].append((one["a"], one["b"]))
    return answer


def rows(con, params):
    """The factors of each log or job whose bandwidth lies in [min_bw, max_bw)."""
    params = {"grain": "log", "interval": "window", "bw": "critical", "small_bytes": 1024, "min_bw": 0, "max_bw": float("inf")} | params
    direction = params["direction"]
    limits = [end for end in ENDS if end <= params["small_bytes"]]
    sizes = " + ".join(f"size_{direction}_{BINS[at]}" for at in range(len(limits))) or "CASE WHEN size_read_0_100 IS NOT NULL THEN 0 END"
    by_log = defaultdict(list)
    for file in lake.rows(con, FILES.format(dir=direction, past={"read": "read", "write": "written"}[direction], doers={"read": "readers", "write": "writers"}[direction], sizes=sizes)):
        by_log[file["log_id"]].append(file)
    traced = segments(con, direction) if params["interval"] == "dxt" else {}
    answer = []
    for logs in units(con, params):
        first = logs[0]
        files, intervals, spans, moved = {}, [], [], defaultdict(int)
        for log in logs:
            shift = 0.0 if log is first else (log["start_time"] - first["start_time"]).total_seconds()
            for file in by_log[log["log_id"]]:
                moved[log["log_id"]] += file["bytes"]
                files.setdefault(file["record_id"], []).append(file)
                if file["a"] is not None and file["b"] is not None:
                    spans.append((file["a"] + shift, file["b"] + shift))
                parts = traced.get((log["log_id"], file["record_id"])) or [(file["a"], file["busy_b"] if params["interval"] == "busy" else file["b"])]
                intervals += [(a + shift, b + shift, file["record_id"]) for a, b in parts if a is not None and b is not None]
        if not files:
            continue
        own = defaultdict(float)
        for one, a, b in cover(intervals):
            own[one] += b - a
        critical = []
        for one, time in own.items():
            same = files[one]  # One file in several logs of a job is one file.
            critical.append({"record_id": one, "path": same[0]["path"], "fs": same[0]["fs"], "time": time, "bytes": sum(f["bytes"] for f in same), "of": same})
        critical_time = sum(f["time"] for f in critical) or None
        size = sum(moved.values())
        span = max(b for _, b in spans) - min(a for a, _ in spans) if spans else 0
        slowest = sum(log["slowest_time"] or 0 for log in logs)
        row = {
            "job_id": first["job_id"], "log_id": first["log_id"], "logs": len(logs), "app": most(logs, moved),
            "user": max((log["user"] for log in logs if log["user"] is not None), default=None), "nprocs": max((log["nprocs"] for log in logs if log["nprocs"] is not None), default=None),
            "node_count": max((log["node_count"] for log in logs if log["node_count"] is not None), default=None), "start_time": first["start_time"], "files": len(files), "bytes": size,
            "bw_span": size / span if span > 0 else None, "bw_critical": size / critical_time if critical_time else None, "bw_slowest_rank": size / slowest if slowest else None,
            "critical_time": critical_time,
        }
        bw = row[{"critical": "bw_critical", "span": "bw_span", "slowest_rank": "bw_slowest_rank"}[params["bw"]]]
        if bw is None or not params["min_bw"] <= bw < params["max_bw"]:
            continue
        answer.append(row | of_critical(critical, critical_time, limits))
    return answer


def of_critical(critical, critical_time, limits):
    """The factors, and what stands beside them."""
    for file in critical:
        same = file["of"]
        add = lambda name: None if all(f[name] is None for f in same) else sum(f[name] or 0 for f in same)
        file["requests"], file["consec"], file["small"], file["collective"] = add("requests"), add("consec"), add("sizes"), add("collective")
        timed = [f for f in same if f["busy"] is not None]
        window = sum(f["b"] - f["a"] for f in timed)  # Of a file in several logs: the busy part of all its windows.
        file["busy"] = sum(f["busy"] * (f["b"] - f["a"]) for f in timed) / window if window else None
        file["osts"] = same[0]["osts"]
        file["procs"] = max(f["known_procs"] if f["known_procs"] is not None else f["opened_procs"] for f in same)
        file["upper"] = any(f["known_procs"] is None for f in same)
    times = defaultdict(float)
    for file in critical:
        times[file["fs"]] += file["time"]
    fs = max(times, key=lambda name: times[name], default=None)
    asked = lambda f: (f["requests"] or 0) > 0
    laid = lambda f: (f["osts"] or 0) > 0
    osts = {ost for file in critical if file["fs"] == fs for f in file["of"] for ost in f["ost_list"] or [] if ost is not None}
    return {
        "busy": weighted(critical, lambda f: f["busy"], lambda f: f["busy"] is not None),
        "fs": fs,
        "small": weighted(critical, lambda f: f["small"] / f["requests"], lambda f: asked(f) and f["small"] is not None),
        "non_consec": weighted(critical, lambda f: (f["requests"] - f["consec"]) / f["requests"], asked),
        "coll": int(any((f["collective"] or 0) > 0 for f in critical)),
        "ost_count": len(osts) or None,
        "proc_per_ost": weighted(critical, lambda f: f["procs"] / f["osts"], laid),
        "small_limit": limits[-1] if limits else 0,
        "proc_upper": any(f["upper"] for f in critical),
        "critical_files": [{"record_id": f["record_id"], "path": f["path"], "time": f["time"], "share": f["time"] / critical_time, "bytes": f["bytes"]} for f in sorted(critical, key=lambda f: (-f["time"], f["record_id"]))],
    }
