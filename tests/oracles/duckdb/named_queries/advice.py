# Habits that cost I/O time: Drishti's rules, corrected, in Python over the records of each log (Bez et al. 2022; GUIDE.md says how they differ).
# param job int NULL
# param app text NULL
# param from timestamp NULL
# param to timestamp NULL
# param min_cost float 1
# param slow_bw float 400000000
# param severity text warning
# with severity=ok
# with severity=info min_cost=0.001
# with app=storm_les severity=info
# with severity=critical min_cost=10
# with severity=warning slow_bw=1e300
# with severity=info slow_bw=1e8
# leaves sentence advice
from collections import defaultdict
from math import sqrt

import lake
from drishti import SMALL, records

# Code, name, direction, severity; what is not said here stands in `rules`.
RULES = {
    "S01": ("stdio_high_usage", None, "critical"), "P01": ("write_count_intensive", "write", "info"), "P02": ("read_count_intensive", "read", "info"),
    "P03": ("write_size_intensive", "write", "info"), "P04": ("read_size_intensive", "read", "info"), "P05": ("small_reads", "read", "critical"),
    "P06": ("small_writes", "write", "critical"), "P07": ("misaligned_memory", None, "info"), "P08": ("misaligned_file", None, "critical"),
    "P09": ("redundant_reads", "read", "warning"), "P10": ("redundant_writes", "write", "warning"), "P11": ("random_reads", "read", "critical"),
    "P12": ("sequential_reads", "read", "ok"), "P13": ("random_writes", "write", "critical"), "P14": ("sequential_writes", "write", "ok"),
    "P15": ("small_reads_shared", "read", "critical"), "P16": ("small_writes_shared", "write", "critical"), "P17": ("metadata_time", None, "critical"),
    "P18": ("size_imbalance", None, "critical"), "P19": ("time_imbalance", None, "critical"), "P21": ("individual_write_imbalance", "write", "critical"),
    "P22": ("individual_read_imbalance", "read", "critical"), "M01": ("no_mpi_io", None, "warning"), "M02": ("independent_reads", "read", "critical"),
    "M03": ("independent_writes", "write", "critical"), "M04": ("collective_reads", "read", "ok"), "M05": ("collective_writes", "write", "ok"),
    "M06": ("blocking_reads", "read", "info"), "M07": ("blocking_writes", "write", "info"), "M08": ("few_aggregators", None, "warning"),
    "M09": ("many_aggregators", None, "warning"), "M10": ("aggregators_fit", None, "ok"),
    "I01": ("read_modify_write", "read", "critical"), "I02": ("write_amplification", "write", "critical"), "I03": ("read_amplification", "read", "critical"),
    "I04": ("reads_without_bytes", "read", "warning"), "I05": ("metadata_bound", None, "critical"), "I06": ("repeated_opens", None, "warning"),
    "I07": ("many_small_files", None, "warning"), "I08": ("many_stats", None, "warning"), "I09": ("many_seeks", None, "warning"),
    "I10": ("many_syncs", "write", "warning"), "I11": ("small_appends", "write", "warning"), "I12": ("random_reads_of_all", "read", "critical"),
    "I13": ("narrow_stripes", None, "warning"), "I14": ("wide_stripes", None, "warning"), "I15": ("mpi_io_waits", None, "info"),
    "I16": ("slow_requests", None, "critical"),
}
ALL = ("read_time", "write_time", "meta_time")
# The part of a file's I/O time that a rule is about, where it is another than that of its direction.
TOUCHES = {**{code: ("read_time", "write_time") for code in ("P08", "I13", "I16")}, **{code: ("meta_time",) for code in ("P17", "I05", "I06", "I08", "I09")}}


SEVERITIES = ("critical", "warning", "info", "ok")


def rows(con, p):
    shown = SEVERITIES[: SEVERITIES.index(p["severity"]) + 1]
    nodes = {row["log_id"]: row["job_node_count"] for row in lake.rows(con, "SELECT log_id, job_node_count FROM job")}
    tables = {name: records(con, name) for name in ("posix", "mpiio", "stdio")}
    files = defaultdict(list)
    for file in lake.rows(con, "SELECT * FROM darshan_file WHERE NOT is_stream ORDER BY record_id"):
        files[file["log_id"]].append(file)
    answer = []
    for log in lake.rows(con, "SELECT * FROM darshan_log"):
        start = log["start_time"]
        if p["job"] is not None and log["job_id"] != p["job"] or p["app"] is not None and log["app"] != p["app"] or p["from"] and (not start or start < p["from"]) or p["to"] and (not start or start >= p["to"]):
            continue
        own = {name: by_file(table[log["log_id"]]) for name, table in tables.items()}
        for code, (value, share, weights, cost) in rules(log, files[log["log_id"]], own, nodes.get(log["log_id"])).items():
            answer.append(finding(log, code, value, share, weights, cost, p, process_time(files[log["log_id"]], ALL)))
    return [row for row in answer if row["severity"] in shown]


def by_file(of_log):
    found = defaultdict(list)
    for record in of_log:
        found[record["record_id"]].append(record)
    return found


def process_time(files, times):
    return sum(f[time] or 0 for f in files for time in times)


def is_fast(log, files, direction, time, least):
    """Whether bytes move as fast as they can be moved by the slowest process: those of the files, and those of the log, of both directions one after the other."""
    rates = []
    if time:
        rates.append(sum(f[name] for f in files for name, side in (("bytes_read", "read"), ("bytes_written", "write")) if direction in (None, side)) / time)
    sides = [(log[f"{side}_bw_slowest_rank"], log[f"{side}_time_by_slowest"]) for side in ("read", "write") if direction in (None, side)]
    sides = [(bw, time) for bw, time in sides if bw is not None and time]
    if sides:
        whole = sum(log[f"{side}_time_by_slowest"] or 0 for side in ("read", "write"))
        rates.append(sides[0][0] if direction else sum(bw * time for bw, time in sides) / whole)
    return bool(rates) and min(rates) >= least


def matters(code, f):
    """Whether the rule can cost time in a file with weight: small requests that take longer than 0.1 s wait for something else, and those far below a block are
    never aligned, in a file of one process those below a block; files that are only read have no locks that exclude each other."""
    if code == "P08":
        several = f["sharing"] in ("shared", "part_shared")
        mean = 65536 if several else max(65536, f["file_alignment"] or 0)
        return f["posix_writes"] > 0 and f["posix_bytes_read"] + f["posix_bytes_written"] >= mean * (f["posix_reads"] + f["posix_writes"])
    word = {"P05": "read", "P15": "read", "P06": "write", "P16": "write"}.get(code)
    return word is None or (f[f"{word}_time"] or 0) <= 0.1 * f[f"posix_{word}s"]


def finding(log, code, value, share, weights, cost, p, io_time):
    name, direction, severity = RULES[code]
    touched, concerned = None, [f for weight, f in weights if weight > 0 and matters(code, f)]
    if severity in ("critical", "warning"):
        touched = process_time(concerned, TOUCHES.get(code) or ((f"{direction}_time",) if direction else ALL))
    run_time, threads = log["run_time"], False
    # What waits, and rules without a time, have the bandwidth of the log.
    time = None if cost is None or code in ("P18", "P19") else cost
    if cost is not None:
        threads = run_time is not None and cost > run_time
        cost = run_time if threads else cost
        if severity != "ok" and (cost < p["min_cost"] or run_time is not None and cost < 0.01 * run_time):
            severity = "info"
    if severity != "ok" and TOUCHES.get(code) != ("meta_time",) and code != "P09" and is_fast(log, concerned, "write" if code == "I01" else direction, time, p["slow_bw"]):
        severity = "info"
    most = max(weights, key=lambda one: (one[0], -one[1]["record_id"]))[1]
    flags = ["partial"] if log["status"] == "damaged" or {"POSIX", "MPI-IO"} & set(log["partial_modules"] or []) else []
    return {
        "job_id": log["job_id"], "log_id": log["log_id"], "app": log["app"], "user": log["user"], "start_time": log["start_time"], "code": code, "rule": name,
        "direction": direction, "severity": severity, "value": value, "share": share, "cost": cost,
        "io_hours": None if touched is None else touched / 3600, "io_share": None if touched is None or not io_time else touched / io_time, "files": sum(weight > 0 for weight, _ in weights),
        "subject": most["path"] or "a file without a name", "flags": flags + (["threads"] if threads else []),
    }


def rules(log, files, own, nodes):
    """The rules that hold: value, share, the weight of each file, and the cost."""
    P, found = log["nprocs"] or 0, {}
    modules, partial = log["modules"] or [], ["POSIX", "MPI-IO"] if log["status"] == "damaged" else log["partial_modules"] or []
    run_time = log["run_time"] or 0
    posix, mpiio, stdio = own["posix"], own["mpiio"], own["stdio"]
    share_of = lambda part, whole: None if not whole else part / whole
    exceeds = lambda share, least: share is not None and share > least

    def weigh(weight, where=lambda f: True):
        """The files that count, with their weights; a weight that is not known is none."""
        return [(float(w), f) for f in files if where(f) for w in [weight(f)] if w is not None]

    def time(weights, module, *counters):
        """Of the slowest process: of shared records its part, at least that of the mean process, and the most that one has in records of its own."""
        shared, slowest, single = 0.0, 0.0, defaultdict(float)
        for weight, f in weights:
            for record in module[f["record_id"]] if weight > 0 else []:
                spent = sum(record[name] for name in counters)
                if record["rank"] == -1:
                    shared += spent
                    whole = record["f_read_time"] + record["f_write_time"] + record["f_meta_time"]
                    slowest += spent * record["f_slowest_rank_time"] / whole if whole else 0
                else:
                    single[record["rank"]] += spent
        one = max(single.values(), default=0)
        return max(slowest, shared / P) + one

    total = lambda weights: sum(weight for weight, _ in weights)
    counted = lambda name: sum(f[name] or 0 for f in files if f[name] is not None)
    pair = lambda f, a, b: None if f[a] is None or f[b] is None else f[a] + f[b]
    has_posix = lambda f: f["posix_reads"] is not None
    several = lambda f: f["sharing"] in ("shared", "part_shared")
    collective = lambda f: (f["mpiio_coll_reads"] or 0) + (f["mpiio_coll_writes"] or 0) > 0
    moved = lambda f: f["bytes_read"] + f["bytes_written"]
    certain = lambda r, word: max(r[f"{word}s"] - r[f"seq_{word}s"] - (P if r["rank"] == -1 else r[f"{word}s"] > 0), 0)
    R, W = counted("posix_reads"), counted("posix_writes")

    def add(code, holds, value, share, weights, cost=None):
        if holds and weights:
            found[code] = (float(value), share, weights, cost)

    weights = weigh(lambda f: (f["stdio_bytes_read"] or 0) + (f["stdio_bytes_written"] or 0))
    share = share_of(total(weights), sum(moved(f) for f in files))
    spent = time(weights, stdio, "f_read_time", "f_write_time")
    add("S01", total(weights) >= 1e8 and (exceeds(share, 0.1) or spent > 0.05 * run_time), share or 0, share, weights, spent)
    for code, more, less in (("P01", "posix_writes", "posix_reads"), ("P02", "posix_reads", "posix_writes")):
        weights = weigh(lambda f: f[more] - f[less], has_posix)
        share = share_of(total(weights), R + W)
        add(code, R + W > 1000 and exceeds(share, 0.1), share or 0, share, weights)
    for code, more, less in (("P03", "bytes_written", "bytes_read"), ("P04", "bytes_read", "bytes_written")):
        weights, whole = weigh(lambda f: f[more] - f[less]), sum(moved(f) for f in files)
        share = share_of(total(weights), whole)
        add(code, whole >= 1e8 and exceeds(share, 0.1), share or 0, share, weights)
    for word, all_requests, codes in (("read", R, ("P05", "P15", "P11", "P12", "P09")), ("write", W, ("P06", "P16", "P13", "P14", "P10"))):
        small, mixed, jumps, forward, again = codes
        clock, past = f"f_{word}_time", {"read": "read", "write": "written"}[word]
        for code, where in ((small, has_posix), (mixed, lambda f: has_posix(f) and several(f))):
            smaller = lambda f: sum(f[f"size_{word}_{size}"] for size in SMALL)
            mostly = lambda f: where(f) and smaller(f) > 0.1 * f[f"posix_{word}s"]
            weights = weigh(smaller, mostly)
            share = share_of(total(weights), sum(f[f"posix_{word}s"] for f in files if mostly(f)))
            add(code, total(weights) > 1000, total(weights), share, weights, time([(w, f) for w, f in weights if matters(code, f)], posix, clock))
        weights = weigh(lambda f: sum(certain(r, word) for r in posix[f["record_id"]]), has_posix)
        share = share_of(total(weights), all_requests)
        add(jumps, total(weights) > 1000 and exceeds(share, 0.2), total(weights), share, weights, time(weights, posix, clock))
        if "POSIX" not in partial:
            weights = weigh(lambda f: f[f"seq_{word}s"], has_posix)
            share = share_of(total(weights), all_requests)
            add(forward, all_requests > 1000 and share is not None and 1 - share <= 0.2, share or 0, share, weights)
        counter = f"posix_bytes_{past}"
        end = lambda f: max((r[f"max_byte_{past}"] for r in posix[f["record_id"]]), default=None)
        weights = weigh(lambda f: None if end(f) is None else max(f[counter] - (end(f) + 1), 0), lambda f: (f[counter] or 0) > 0)
        share = share_of(total(weights), sum(f[counter] for f in files if (f[counter] or 0) > 0))
        add(again, total(weights) >= 1e8 and exceeds(share, 0.1), total(weights), share, weights, time(weights, posix, clock))
    weights = weigh(lambda f: sum(r["mem_not_aligned"] for r in posix[f["record_id"]]), has_posix)
    share = share_of(total(weights), R + W)
    add("P07", total(weights) > 1000 and exceeds(share, 0.1), total(weights), share, weights)
    reach = lambda f: max((max(r["max_byte_read"], r["max_byte_written"]) for r in posix[f["record_id"]]), default=0) + 1
    reaches = lambda f: has_posix(f) and f["file_alignment"] is not None and reach(f) > f["file_alignment"] and (f["not_aligned"] or 0) > 0.1 * (f["posix_reads"] + f["posix_writes"])
    weights = weigh(lambda f: f["not_aligned"], reaches)
    share = share_of(total(weights), sum(pair(f, "posix_reads", "posix_writes") or 0 for f in files if reaches(f)))
    add("P08", total(weights) > 1000, total(weights), share, weights, time([(w, f) for w, f in weights if matters("P08", f)], posix, "f_read_time", "f_write_time"))
    weights = weigh(lambda f: sum(r["f_meta_time"] for r in posix[f["record_id"]]), lambda f: posix[f["record_id"]])
    spent = time(weights, posix, "f_meta_time")
    add("P17", spent > 30 or spent > 1 and spent > 0.1 * run_time, spent, None, weights, spent)

    def cv(module, f):
        found = [r for r in module[f["record_id"]] if r["rank"] == -1 and r["bytes_read"] + r["bytes_written"]]
        return max((sqrt(r["f_variance_rank_bytes"]) * P / (r["bytes_read"] + r["bytes_written"]) for r in found), default=None)

    mean = lambda r: (r["f_read_time"] + r["f_write_time"] + r["f_meta_time"]) / P
    shared_of = lambda f: [r for r in posix[f["record_id"]] if r["rank"] == -1]
    # Processes that leave POSIX to aggregators wait for them in MPI-IO.
    calls_of = lambda f: [r for r in mpiio[f["record_id"]] if r["rank"] == -1] if collective(f) else shared_of(f)
    waited = lambda f: max((r["f_slowest_rank_time"] - mean(r) for r in calls_of(f)), default=None)
    slowest = lambda f: max((r["f_slowest_rank_time"] for r in calls_of(f)), default=None)
    lost = lambda weights: sum(waited(f) for _, f in weights if waited(f) is not None) if any(waited(f) is not None for _, f in weights) else None
    weights = weigh(lambda f: 1, lambda f: f["sharing"] == "shared" and moved(f) >= 1e8 and (cv(mpiio if collective(f) else posix, f) or 0) > 0.5)
    add("P18", weights, len(weights), None, weights, lost(weights))
    weights = weigh(lambda f: 1, lambda f: slowest(f) is not None and slowest(f) >= 1 and waited(f) > 0.5 * slowest(f))
    add("P19", weights, len(weights), None, weights, lost(weights))
    for code, word, past in (("P21", "write", "written"), ("P22", "read", "read")):
        def gap(f):
            values = [r[f"bytes_{past}"] for r in posix[f["record_id"]]]
            return (max(values) - sum(values) / len(values)) / max(values) if values and max(values) else 0
        weights = weigh(lambda f: 1, lambda f: f["sharing"] == "part_shared" and not collective(f) and moved(f) >= 1e8 and gap(f) > 0.3)
        add(code, weights, len(weights), None, weights, time(weights, posix, f"f_{word}_time"))
    weights = weigh(lambda f: pair(f, "posix_bytes_read", "posix_bytes_written"), lambda f: several(f) and has_posix(f))
    add("M01", P > 1 and "MPI-IO" not in modules and total(weights) >= 1e8, total(weights), None, weights)
    for word, alone, joint, waits in (("read", "M02", "M04", "M06"), ("write", "M03", "M05", "M07")):
        indep, coll = f"mpiio_indep_{word}s", f"mpiio_coll_{word}s"
        calls = lambda f: pair(f, indep, coll)
        where = lambda f: several(f) and (f[indep] or 0) > 1000 and f[indep] / calls(f) > 0.5
        weights = weigh(lambda f: f[indep], where)
        add(alone, total(weights) > 0, total(weights), share_of(total(weights), sum(calls(f) for f in files if where(f))), weights, time(weights, mpiio, f"f_{word}_time"))
        if "MPI-IO" not in partial:
            weights = weigh(lambda f: f[coll])
            share = share_of(total(weights), sum(calls(f) or 0 for f in files))
            add(joint, total(weights) > 0 and share >= 0.5, share or 0, share, weights)
        weights = weigh(lambda f: sum(r[f"f_{word}_time"] for r in mpiio[f["record_id"]]), lambda f: mpiio[f["record_id"]])
        spent, without_waiting = time(weights, mpiio, f"f_{word}_time"), sum(r[f"nb_{word}s"] for _, f in weights for r in mpiio[f["record_id"]])
        add(waits, "MPI-IO" in modules and not without_waiting and spent >= 1 and spent >= 0.1 * run_time, spent, None, weights, spent)

    def k_eff(f):
        shared = shared_of(f)
        known = [cv(posix, f)] if shared and cv(posix, f) is not None else []
        if known:
            return P / (1 + known[0] ** 2)
        moves = [r["bytes_read"] + r["bytes_written"] for r in posix[f["record_id"]]]
        return sum(moves) ** 2 / sum(b * b for b in moves) if any(moves) else None

    joined = lambda f: collective(f) and has_posix(f) and (pair(f, "posix_bytes_read", "posix_bytes_written") or 0) >= 1e8 and k_eff(f) is not None
    few = lambda f: k_eff(f) < 2 and P >= 16 if nodes is None else k_eff(f) < nodes / 2
    many = lambda f: f["ost_count"] is not None and k_eff(f) > 4 * f["ost_count"]
    for code, where in (("M08", few), ("M09", many)):
        weights = weigh(lambda f: 1, lambda f: joined(f) and where(f))
        add(code, weights, min((k_eff(f) for _, f in weights), default=0), None, weights, time(weights, mpiio, "f_read_time", "f_write_time"))
    if "POSIX" not in partial:
        weights = weigh(lambda f: 1, lambda f: joined(f) and not few(f) and not many(f) and (nodes is not None or f["ost_count"] is not None))
        add("M10", weights, min((k_eff(f) for _, f in weights), default=0), None, weights)

    at_least = lambda code, weights, of, least, *clock, strict=True: add(
        code, total(weights) > least if strict else total(weights) >= least, total(weights), None if of is None else share_of(total(weights), sum(of(f) for _, f in weights)), weights, time(weights, *clock))
    n = lambda f, name: f[name] or 0
    weights = weigh(lambda f: f["posix_bytes_read"], lambda f: n(f, "mpiio_bytes_written") > 0 and not n(f, "mpiio_bytes_read") and n(f, "posix_bytes_read") > 0)
    at_least("I01", weights, lambda f: f["mpiio_bytes_written"], 1e8, posix, "f_read_time", strict=False)
    for code, word, past in (("I02", "write", "written"), ("I03", "read", "read")):
        asked, moved_below = f"mpiio_bytes_{past}", f"posix_bytes_{past}"
        weights = weigh(lambda f: f[moved_below] - f[asked], lambda f: n(f, asked) > 0 and n(f, moved_below) > 1.5 * f[asked] and f["bytes_source"] != "mpiio")
        at_least(code, weights, lambda f: f[asked], 1e8, posix, f"f_{word}_time", strict=False)

    def both(weights, *clock):
        """By process, over the records of POSIX and of STDIO."""
        joined = {f["record_id"]: posix[f["record_id"]] + stdio[f["record_id"]] for _, f in weights}
        return time(weights, joined, *clock)

    meta, everything = ("f_meta_time",), ("f_read_time", "f_write_time", "f_meta_time")
    for code, weights, least, clock in (
        ("I04", weigh(lambda f: f["reads"], lambda f: f["reads"] > 0 and f["bytes_read"] == 0), 1000, ("f_read_time",)),
        ("I06", weigh(lambda f: f["opens"], lambda f: n(f, "opens") > 10 * max(f["file_nprocs_posix"], f["file_nprocs_mpiio"], 1)), 1000, meta),
        ("I07", weigh(lambda f: 1, lambda f: moved(f) <= 2**20 and n(f, "opens") > 0), 1000, everything),
        ("I09", weigh(lambda f: f["seeks"], lambda f: n(f, "seeks") > f["reads"] + f["writes"]), 10000, meta),
        ("I10", weigh(lambda f: f["syncs"], lambda f: n(f, "syncs") > 4 * max(f["file_nprocs_posix"], 1) and f["syncs"] * 10 >= f["writes"]), 100, ("f_write_time",)),
    ):
        add(code, total(weights) > least, total(weights), None, weights, both(weights, *clock))
    weights = weigh(lambda f: n(f, "meta_time"))
    share, cost = share_of(total(weights), process_time(files, ALL)), both(weights, *meta)
    add("I05", share is not None and share >= 0.5 and cost >= 1, share, share, weights, cost)
    weights = weigh(lambda f: f["stats"], lambda f: n(f, "stats") > 10 * max(n(f, "opens"), f["file_nprocs_posix"], 1))
    at_least("I08", weights, None, 1000, posix, "f_meta_time")
    weights = weigh(lambda f: f["posix_writes"], lambda f: n(f, "posix_writes") > 0 and f["consec_writes"] >= 0.9 * f["posix_writes"] and f["posix_bytes_written"] <= 65536 * f["posix_writes"])
    at_least("I11", weights, None, 1000, posix, "f_write_time")
    jumps = lambda f: sum(certain(r, "read") for r in posix[f["record_id"]])
    end = lambda f: max((r["max_byte_read"] for r in posix[f["record_id"]]), default=None)
    weights = weigh(jumps, lambda f: n(f, "posix_reads") > 0 and jumps(f) > 0.2 * f["posix_reads"] and f["posix_bytes_read"] >= 1e8 and end(f) is not None and f["posix_bytes_read"] >= 0.9 * (end(f) + 1))
    at_least("I12", weights, lambda f: f["posix_reads"], 1000, posix, "f_read_time")
    size = lambda f: max(-1 if f[name] is None else f[name] for name in ("max_byte_read", "max_byte_written")) + 1
    wanted = lambda f: min(72 if size(f) >= 1e11 else 24 if size(f) >= 1e10 else 8, 72 if f["fs_osts"] is None else f["fs_osts"])
    weights = weigh(moved, lambda f: several(f) and size(f) >= 1e9 and f["stripe_count"] is not None and f["stripe_count"] < wanted(f)
                    and moved(f) * max(f["file_nprocs_posix"], f["file_nprocs_mpiio"], 1) >= 1e8 * f["stripe_count"] * ((f["read_time"] or 0) + (f["write_time"] or 0)))
    add("I13", total(weights) >= 1e9, min((f["stripe_count"] for w, f in weights if w > 0), default=0), None, weights, time(weights, posix, "f_read_time", "f_write_time"))
    wide = lambda f: f["stripe_count"] is not None and f["stripe_count"] > 1 and size(f) > 0 and (size(f) < 1e9 or not several(f) and P >= 32)
    weights = weigh(lambda f: 1, wide)
    add("I14", len(weights) > 100, len(weights), None, weights, time(weights, posix, *everything))
    in_calls = lambda f: sum(r["f_read_time"] + r["f_write_time"] for r in mpiio[f["record_id"]])
    if "POSIX" not in partial:
        weights = weigh(lambda f: in_calls(f) - process_time([f], ALL), lambda f: f["bytes_source"] != "mpiio" and mpiio[f["record_id"]] and in_calls(f) > 5 * process_time([f], ALL))
        spent = time(weights, mpiio, "f_read_time", "f_write_time")
        add("I15", spent >= 1 and spent > 0.1 * run_time, spent, share_of(total(weights), sum(in_calls(f) for _, f in weights)), weights, spent)
    requests = lambda f: pair(f, "posix_reads", "posix_writes") or 0
    moving = lambda f: process_time([f], ("read_time", "write_time"))
    weights = weigh(requests, lambda f: several(f) and f["bytes_source"] == "posix" and 0 < pair(f, "posix_bytes_read", "posix_bytes_written") <= 2**20 * requests(f) and moving(f) > 0.1 * requests(f))
    add("I16", total(weights) > 100, min((moving(f) / requests(f) for w, f in weights if w > 0), default=0), None, weights, time(weights, posix, "f_read_time", "f_write_time"))
    return found
