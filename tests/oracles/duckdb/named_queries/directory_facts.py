# Files that single processes made in a directory, and their times by process: dictionaries over the files of each log.
# param job int NULL
# param from timestamp NULL
# param to timestamp NULL
# param min_files int 2
# with from=2026-09-11T10:00:00 to=2026-09-11T16:00:00
# with min_files=100
from collections import defaultdict

import lake


def rows(con, p):
    logs = {log["log_id"]: log for log in lake.rows(con, "SELECT job_id, log_id, nprocs, run_time, start_time FROM darshan_log")}
    made = defaultdict(list)
    for file in lake.rows(con, "SELECT * FROM darshan_file WHERE NOT is_stream AND path IS NOT NULL"):
        if file["sharing"] == "unique" and (file["writes"] or 0) > 0:
            directory, _, _ = file["path"].rpartition("/")
            made[file["log_id"], directory if "/" in file["path"] else file["path"]].append(file)
    answer = []
    for (log_id, directory), files in made.items():
        log = logs[log_id]
        start = log["start_time"]
        if p["job"] is not None and log["job_id"] != p["job"] or p["from"] and (not start or start < p["from"]) or p["to"] and (not start or start >= p["to"]):
            continue
        if len(files) < p["min_files"]:
            continue
        meta, spent = defaultdict(float), defaultdict(float)
        for f in files:
            meta[f["slowest_rank"]] += f["meta_time"] or 0
            spent[f["slowest_rank"]] += sum(f[time] or 0 for time in ("read_time", "write_time", "meta_time"))
        answer.append({
            "job_id": log["job_id"], "log_id": log_id, "directory": directory, "files": len(files), "procs": len({f["slowest_rank"] for f in files} - {None}), "nprocs": log["nprocs"],
            "opens": sum(f["opens"] for f in files if f["opens"] is not None) if any(f["opens"] is not None for f in files) else None,
            "bytes": sum(f["bytes_read"] + f["bytes_written"] for f in files), "meta_time": max(meta.values()), "io_time": max(spent.values()), "run_time": log["run_time"],
        })
    return answer
