# The triggers of Drishti 0.8 by its own formulas, in Python over the records of each log (Bez et al. 2022; the tool's thresholds).
# param job int NULL
# param from timestamp NULL
# param to timestamp NULL
# param stdio float 0.1
# param share_gap float 0.1
# param small_share float 0.1
# param small_count int 1000
# param misaligned float 0.1
# param random float 0.2
# param random_count int 1000
# param meta_time float 30
# param stragglers float 0.15
# param imbalance float 0.3
# param collective_count int 1000
# with small_count=10 random_count=10 collective_count=10 meta_time=0.1
# with stdio=0.5 share_gap=0.5 small_share=0.5 misaligned=0.5 random=0.01 random_count=0 stragglers=0.5 imbalance=0.6
from collections import defaultdict

import lake

SMALL = ("0_100", "100_1k", "1k_10k", "10k_100k", "100k_1m")


def rows(con, p):
    logs = lake.rows(con, "SELECT job_id, log_id, app, start_time, modules, mpi_hints FROM darshan_log")
    nodes = {row["log_id"]: row["job_node_count"] for row in lake.rows(con, "SELECT log_id, job_node_count FROM job")}
    tables = {name: records(con, name) for name in ("posix", "mpiio", "stdio")}
    answer = []
    for log in logs:
        start = log["start_time"]
        if p["job"] is not None and log["job_id"] != p["job"] or p["from"] and (not start or start < p["from"]) or p["to"] and (not start or start >= p["to"]):
            continue
        own = {name: table[log["log_id"]] for name, table in tables.items()}
        codes = triggers(log, own, nodes.get(log["log_id"]), p)
        answer.append({"job_id": log["job_id"], "log_id": log["log_id"], "app": log["app"], **codes})
    return answer


def records(con, name):
    """The records of a module by log, counters without the module's prefix, NULL as 0."""
    found = defaultdict(list)
    for row in lake.rows(con, f"SELECT * FROM darshan_{name}"):
        found[row["log_id"]].append({key.removeprefix(name + "_"): value or 0 for key, value in row.items()})
    return found


def triggers(log, own, nodes, p):
    posix, mpiio, stdio = own["posix"], own["mpiio"], own["stdio"]
    has_posix, has_mpiio = "POSIX" in (log["modules"] or []), "MPI-IO" in (log["modules"] or [])
    total = lambda of, *names: sum(record[name] for record in of for name in names)
    exceeds = lambda part, whole, share: whole != 0 and part / whole > share
    small = lambda of, word: total(of, *(f"size_{word}_{size}" for size in SMALL))
    shared, alone = [r for r in posix if r["rank"] == -1], [r for r in posix if r["rank"] >= 0]
    reads, writes, br, bw = (total(posix, name) for name in ("reads", "writes", "bytes_read", "bytes_written"))
    by_stdio, by_mpiio = total(stdio, "bytes_read", "bytes_written"), total(mpiio, "bytes_read", "bytes_written")
    by_posix = br + bw - by_mpiio if br + bw >= by_mpiio else br + bw
    random_reads, random_writes = reads - total(posix, "seq_reads"), writes - total(posix, "seq_writes")
    jumps_r = exceeds(random_reads, reads, p["random"]) and random_reads > p["random_count"]
    jumps_w = exceeds(random_writes, writes, p["random"]) and random_writes > p["random_count"]
    many_small = lambda of, word, counter: exceeds(small(of, word), total(of, counter), p["small_share"]) and small(of, word) > p["small_count"]
    codes = {
        "s01": exceeds(by_stdio, by_stdio + by_posix + by_mpiio, p["stdio"]),
        "p01": exceeds(writes - reads, writes + reads, p["share_gap"]), "p02": exceeds(reads - writes, writes + reads, p["share_gap"]),
        "p03": exceeds(bw - br, bw + br, p["share_gap"]), "p04": exceeds(br - bw, bw + br, p["share_gap"]),
        "p05": many_small(posix, "read", "reads"), "p06": many_small(posix, "write", "writes"),
        "p07": exceeds(total(posix, "mem_not_aligned"), reads + writes, p["misaligned"]), "p08": exceeds(total(posix, "file_not_aligned"), reads + writes, p["misaligned"]),
        "p09": any(r["max_byte_read"] > br for r in posix), "p10": any(r["max_byte_written"] > bw for r in posix),
        "p11": jumps_r, "p12": reads > 0 and not jumps_r, "p13": jumps_w, "p14": writes > 0 and not jumps_w,
        "p15": many_small(shared, "read", "reads"), "p16": many_small(shared, "write", "writes"),
        "p17": any(r["f_meta_time"] > p["meta_time"] for r in posix),
        "p18": any(exceeds(abs(r["slowest_rank_bytes"] - r["fastest_rank_bytes"]), r["bytes_read"] + r["bytes_written"], p["stragglers"]) for r in shared),
        "p19": any(exceeds(abs(r["f_slowest_rank_time"] - r["f_fastest_rank_time"]), r["f_read_time"] + r["f_write_time"] + r["f_meta_time"], p["stragglers"]) for r in shared),
        "p21": uneven(alone, "bytes_written", p["imbalance"]), "p22": uneven(alone, "bytes_read", p["imbalance"]),
    }
    codes = {code: bool(has_posix and holds) if code[0] == "p" else holds for code, holds in codes.items()}
    coll_r, coll_w = total(mpiio, "coll_reads"), total(mpiio, "coll_writes")
    hints = dict(hint.split("=", 1) for hint in (log["mpi_hints"] or "").split(";") if "=" in hint)
    mine, theirs = hints.get("cb_nodes"), None if nodes is None else str(nodes)
    known = mine is not None and theirs is not None
    codes |= {"m01": not has_mpiio} | {code: bool(has_mpiio and mpiio and holds) for code, holds in {
        "m02": coll_r == 0 and total(mpiio, "indep_reads") > p["collective_count"], "m03": coll_w == 0 and total(mpiio, "indep_writes") > p["collective_count"],
        "m04": coll_r > 0, "m05": coll_w > 0}.items()}
    codes |= {code: bool(has_mpiio and holds) for code, holds in {
        "m06": total(mpiio, "nb_reads") == 0, "m07": total(mpiio, "nb_writes") == 0,
        "m08": known and mine < theirs, "m09": known and mine > theirs, "m10": known and mine == theirs}.items()}
    return codes


def uneven(alone, counter, imbalance):
    by_file = defaultdict(list)
    for record in alone:
        by_file[record["record_id"]].append(record[counter])
    return any(max(values) > 0 and (max(values) - min(values)) / max(values) > imbalance for values in by_file.values())
