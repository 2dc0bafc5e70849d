# What others did on the OSTs of a job: lmt_interference.sql with the time in which the job's files were in use and the most that an OST did within half
# a day, and the OSTs that are slow by slow_osts.py over the logs of 15 days around the start, with the time that the job's files on them have for
# themselves (algorithm 2 over the logs of a job on the clock).
# param from timestamp NULL
# param to timestamp NULL
# param job int NULL
# with from=2026-09-11 to=2026-09-12
# with from=2026-09-11T10:00:00 to=2026-09-11T14:00:00 job=6102090
# near same_job seen
# near other_known seen
# near unexplained seen
# near others seen
# near others_share 1
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

import lake
import slow_osts
from factors import cover

FILES = """
SELECT g.job_id, g.uid, g.log_group, g.log_id, g.start_time, record_id, fs, direction, list_distinct(list_filter(ost_list, lambda o: o IS NOT NULL)) AS osts,
  CASE direction WHEN 'read' THEN (bytes_read, read_start, read_end, read_time) ELSE (bytes_written, write_start, write_end, write_time) END AS v
FROM darshan_log_group g JOIN darshan_file f USING (log_id), (VALUES ('read'), ('write')) d(direction)
WHERE NOT is_stream AND g.start_time IS NOT NULL AND coalesce(g.job_id = $job, g.start_time >= $from AND g.start_time < $to)
"""

PEAK = """
SELECT fs, max(bytes_read / interval_s) AS read, max(bytes_written / interval_s) AS write FROM lmt_ost
WHERE time >= $from AND time < $to AND NOT gap AND NOT reset AND interval_s > 0 GROUP BY fs
"""

LMT = ["osts", "seconds", "seen", "own", "same_job", "other_known", "unexplained", "others_share", "coverage"]


def rows(con, params):
    return list(facts(con, params))


def facts(con, params):
    first = params["from"] or datetime(1970, 1, 1)
    last = params["to"] or datetime(2100, 1, 1)
    jobs = defaultdict(list)
    for f in lake.rows(con, FILES, {"from": first, "to": last, "job": params["job"]}):
        jobs[f["job_id"], f["uid"], f["log_group"]].append(f)
    days = timedelta(days=15)
    month = {"fs": None, "from": first - days, "to": max(last, first + days), "min_slowdown": 1.25, "max_q": 0.05, "min_bytes": 1048576.0}
    slow = [one for one in slow_osts.rows(con, month) if one["slow"]]
    times, spent, nothing = {}, defaultdict(float), dict.fromkeys([*LMT, "others", "peak", "io_time"])
    for (job, *_), files in jobs.items():
        start, log_id = min((f["start_time"], f["log_id"]) for f in files)
        for direction in ("read", "write"):
            used = []
            for f in files:
                moved, a, b, io_time = f["v"] if isinstance(f["v"], tuple) else tuple(f["v"].values())
                if f["direction"] == direction and moved > 0:
                    late = (f["start_time"] - start).total_seconds()
                    spent[f["log_id"], direction, f["fs"]] += io_time
                    used.append({**f, "bytes": moved, "a": None if a is None else late + a, "b": None if b is None else late + b})
            own = defaultdict(float)
            for one, a, b in cover([(f["a"], f["b"], f["record_id"]) for f in used]):
                own[one] += b - a
            time = sum(own.values())
            times.update({(f["log_id"], direction): time for f in used})
            for one in slow:
                on_it = [f for f in used if one["direction"] == direction and f["fs"] == one["fs"] and one["ost"] in (f["osts"] or [])]
                if on_it:
                    yield {"job_id": job, "log_id": log_id, "direction": direction, "fs": one["fs"], "ost": one["ost"], "critical_time": time, **nothing,
                           "slowdown": one["slowdown"], "files_of_all_jobs": one["files"], "jobs": one["jobs"], "bytes": sum(f["bytes"] for f in on_it),
                           "share": sum(own[record] for record in {f["record_id"] for f in on_it}) / time}
    day = timedelta(hours=12)
    peak = {one["fs"]: one for one in lake.rows(con, PEAK, {"from": first - day, "to": last + day})}
    seen = {"from": first - timedelta(seconds=5), "to": last + timedelta(seconds=40), "fs": None, "job": params["job"]}
    sql = (Path(__file__).parent / "lmt_interference.sql").read_text()
    for one in lake.rows(con, sql, seen):
        if (one["log_id"], one["direction"]) in times:
            yield {"job_id": one["job_id"], "log_id": one["log_id"], "direction": one["direction"], "fs": one["fs"], "ost": None,
                   "critical_time": times[one["log_id"], one["direction"]], "io_time": spent[one["log_id"], one["direction"], one["fs"]], **{name: one[name] for name in LMT}, "others": one["other_known"] + one["unexplained"],
                   "peak": peak.get(one["fs"], {}).get(one["direction"]), "slowdown": None, "files_of_all_jobs": None, "jobs": None, "bytes": None, "share": None}
