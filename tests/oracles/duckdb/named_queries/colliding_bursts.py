# Phases of two logs that meet: by a sweep over the phases of each file system and direction rather than in slices.
# param job int NULL
# param fs text NULL
# param direction text both
# param min_bytes float 1e9
# param min_bytes_overlap float 1e8
# param min_overlap float 10
# param from timestamp NULL
# param to timestamp NULL
# near overlap together
# near share 1
# near times_chance 1
# near own_bytes 1e9
# near neighbour_bytes 1e9
# with min_bytes=1e6 min_bytes_overlap=0 min_overlap=0.5
# with direction=write min_bytes=1e7 min_overlap=0.01
# with fs=scratch from=2026-09-10 to=2026-09-14T12:00 min_overlap=0.1
from collections import defaultdict
from datetime import datetime

import lake

EPOCH = datetime(1970, 1, 1)


def union(phases):
    """Intervals of whole microseconds without overlap: from where one ends the one goes on that ends last (Algorithm 2 of the paper)."""
    todo = sorted((p for p in phases if p[1] > p[0]), key=lambda p: (p[0], p[1]))
    out, at, i = [], None, 0
    while i < len(todo):
        at = todo[i][0] if at is None or todo[i][0] > at else at
        best, j = None, i
        while j < len(todo) and todo[j][0] <= at:
            if todo[j][1] > at and (best is None or todo[j][1] > best[1]):
                best = todo[j]
            j += 1
        if best is None:
            i = j
            continue
        out.append((at, best[1], best[2]))
        at = best[1]
        while i < len(todo) and todo[i][1] <= at:
            i += 1
    return [(round_half(a), round_half(b), rate) for a, b, rate in out]


def round_half(value):
    """As a CAST of a float to an integer: towards zero."""
    return int(value)


def phases(log, d):
    """(start, end, bytes a second) of the phases of a log in a direction, in microseconds."""
    classes, groups, length = set(log[f"{d}_classes"]), log[f"{d}_groups"], log["length"]
    first = (log["start_time"] - EPOCH) // (datetime(1970, 1, 1, 0, 0, 0, 1) - EPOCH)
    starts, ends = classes & {f"{d}_on_start", f"{d}_on_start_and_on_end"}, classes & {f"{d}_on_end", f"{d}_on_start_and_on_end"}
    for g in groups:
        for i in range(g["segments"]):
            start = g["start"] + i * g["period"]
            middle = start + g["work"] / 2
            counts = (f"{d}_periodic" in classes and g["segments"] > 1 and g["period"] == log[f"{d}_period"]) or (starts and middle < length / 4) or (ends and middle >= length * 0.75)
            if counts and g["work"] > 0:
                yield first + start * 1e6, first + (start + g["work"]) * 1e6, g["bytes"] / g["work"]


def rows(con, params):
    logs = {one["log_id"]: one for one in lake.rows(con, """SELECT m.* EXCLUDE (run_time), m.run_time AS length, l.app, l.start_time FROM darshan_mosaic m JOIN darshan_log l USING (log_id)
      WHERE mode = 'full' AND m.status = 'ok' AND m.run_time > 0 AND l.start_time IS NOT NULL""")}
    inside = lambda time: (params["from"] is None or time >= params["from"]) and (params["to"] is None or time < params["to"])
    logs = {key: one for key, one in logs.items() if inside(one["start_time"])}
    out = []
    for d in ("read", "write"):
        if params["direction"] not in (d, "both"):
            continue
        moved = "bytes_read" if d == "read" else "bytes_written"
        on, whole = {}, defaultdict(int)
        for one in lake.rows(con, f"SELECT log_id, fs, {moved} AS bytes, ost_list FROM darshan_file WHERE NOT is_stream AND {moved} > 0"):
            place = on.setdefault((one["log_id"], one["fs"]), {"bytes": 0, "osts": set(), "known": True, "any": False})
            place["bytes"] += one["bytes"]
            whole[one["log_id"]] += one["bytes"]
            place["known"] &= one["ost_list"] is not None
            place["any"] |= one["ost_list"] is not None
            place["osts"] |= set(one["ost_list"] or [])
        own = {key: union(phases(log, d)) for key, log in logs.items()}
        by_fs = defaultdict(list)
        for (key, fs), place in on.items():
            if key in logs and fs is not None and place["bytes"] >= params["min_bytes"] and params["fs"] in (None, fs):
                by_fs[fs] += [(a, b, key, rate * place["bytes"] / whole[key]) for a, b, rate in own[key]]
        for fs, all_phases in by_fs.items():
            met = defaultdict(lambda: [0, 0.0, 0.0])
            open_now = []
            for phase in sorted(all_phases):
                open_now = [one for one in open_now if one[1] > phase[0]]
                for other in open_now:
                    x, y = sorted((phase, other), key=lambda one: (logs[one[2]]["job_id"], one[2]))
                    if logs[x[2]]["job_id"] == logs[y[2]]["job_id"]:
                        continue
                    time = min(x[1], y[1]) - max(x[0], y[0])
                    found = met[x[2], y[2]]
                    found[0] += time
                    found[1] += time * x[3] / 1e6
                    found[2] += time * y[3] / 1e6
                open_now.append(phase)
            for (a, b), (overlap, bytes_a, bytes_b) in met.items():
                if params["job"] is not None:
                    if params["job"] not in (logs[a]["job_id"], logs[b]["job_id"]):
                        continue
                    if logs[b]["job_id"] == params["job"]:
                        a, b, bytes_a, bytes_b = b, a, bytes_b, bytes_a
                pa, pb, la, lb = on[a, fs], on[b, fs], logs[a], logs[b]
                shared = len(pa["osts"] & pb["osts"]) if pa["any"] and pb["any"] else None
                if min(bytes_a, bytes_b) < params["min_bytes_overlap"] or overlap < params["min_overlap"] * 1e6 or (shared == 0 and pa["known"] and pb["known"]):
                    continue
                later = (lb["start_time"] - la["start_time"]).total_seconds()
                together = min(la["length"], lb["length"] + later) - max(0.0, later)
                busy_a, busy_b = (sum(q - p for p, q, _ in own[key]) / 1e6 for key in (a, b))
                chance = together * busy_a / la["length"] * busy_b / lb["length"]
                out.append({"fs": fs, "direction": d, "job_id": la["job_id"], "log_id": a, "app": la["app"], "neighbour_job_id": lb["job_id"], "neighbour_log_id": b, "neighbour_app": lb["app"], "shared_osts": shared, "together": together,
                            "overlap": overlap / 1e6, "share": overlap / 1e6 / min(busy_a, busy_b), "overlap_by_chance": chance, "times_chance": overlap / 1e6 / chance if chance else None, "own_bytes": bytes_a, "neighbour_bytes": bytes_b})
    return out
