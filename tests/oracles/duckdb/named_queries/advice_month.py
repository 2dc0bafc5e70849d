# The findings of advice.py by program and habit: jobs, node-hours by Slurm and cost, of a period and of the one as long before it.
# param app text NULL
# param user text NULL
# param from timestamp NULL
# param to timestamp NULL
# param min_cost float 1
# param slow_bw float 400000000
# param severity text warning
# param coverage bool true
# with severity=ok
# with from=2026-09-16 to=2026-10-01
# with from=2026-09-10T12:00:00 to=2026-09-20T12:00:00 severity=info
# with from=2026-09-16
# with to=2026-09-16 min_cost=10
# with app=storm_les severity=info
# with user=nowak from=2026-09-15 to=2026-10-01 severity=info
# with from=2026-09-16 to=2026-10-01 coverage=false
# leaves advice
from collections import defaultdict

import advice
import lake


def rows(con, p):
    start, end = p["from"], p["to"]
    before = start - (end - start) if start and end else start
    inside = lambda time, first: (first is None or time is not None and time >= first) and (end is None or time is not None and time < end)
    records = {(row["job_id"], row["submit_time"]): row for row in lake.rows(con, "SELECT job_id, submit_time, start_time, node_hours, logs FROM slurm_job_io")}
    sql = "SELECT j.*, g.log_group FROM job j JOIN darshan_log_group g USING (job_id, log_id)"
    logs = {}
    for log in lake.rows(con, sql):
        if inside(log["start_time"], before) and p["app"] in (None, log["app"]) and p["user"] in (None, log["user"]):
            logs[log["log_id"]] = {**log, "current": inside(log["start_time"], start), "job": (log["job_id"], log["uid"], log["log_group"])}
    jobs = defaultdict(set)
    for log in logs.values():
        if log["current"]:
            jobs[log["app"]].add(log["job"])
    of_job = defaultdict(lambda: None)
    for log in logs.values():
        if log["submit_time"] is not None and log["current"]:
            # Of several records the last, as of several of one program: those of other programs do not count.
            known = of_job[log["app"], log["job"]]
            of_job[log["app"], log["job"]] = max(log["submit_time"], known or log["submit_time"])
    habits = defaultdict(list)
    found = advice.rows(con, {"job": None, "app": p["app"], "from": before, "to": end, "min_cost": p["min_cost"], "slow_bw": p["slow_bw"], "severity": p["severity"]})
    for finding in found:
        log = logs.get(finding["log_id"])
        if log:
            habits[log["app"], finding["code"], finding["rule"]].append({**finding, **{name: log[name] for name in ("current", "job", "uid", "submit_time", "bytes_read", "bytes_written")}})
    answer = []
    for (app, code, rule), findings in habits.items():
        now = [one for one in findings if one["current"]]
        if now:
            answer.append(habit(app, code, rule, now, [one for one in findings if not one["current"]], records, jobs[app], of_job, bool(start and end)))
    if p["coverage"] and (answer or p["app"] is None and p["user"] is None):
        answer.append(coverage(con, records, lambda time: inside(time, start)))
    return answer


def habit(app, code, rule, now, earlier, records, of_app, of_job, compared):
    own = defaultdict(lambda: None)
    for one in now:
        if one["submit_time"] is not None:
            own[one["job"]] = max(one["submit_time"], own[one["job"]] or one["submit_time"])
    known = [records.get((job[0], own[job])) for job in {one["job"] for one in now}]
    of_records = [records.get((job[0], of_job[app, job])) for job in of_app]
    node_hours, app_hours = total(row and row["node_hours"] for row in known), total(row and row["node_hours"] for row in of_records)
    cost, cost_before = total(one["io_hours"] for one in now), total(one["io_hours"] for one in earlier)
    before = (cost_before or 0.0) if compared and cost is not None else None
    costs = [(-one["cost"] if one["cost"] is not None else float("inf"), one["job_id"]) for one in now]
    return {
        "app": app, "code": code, "rule": rule, "jobs": len(known), "share_jobs": len(known) / len(of_app), "logs": len(now),
        "users": len({one["uid"] for one in now} - {None}), "node_hours": node_hours, "share_node_hours": node_hours / app_hours if node_hours is not None and app_hours else None,
        "jobs_without_record": sum(row is None for row in known), "io_hours": cost, "io_hours_before": before,
        "change": (cost - before) / before if before else None, "bytes": total(one["bytes_read"] + one["bytes_written"] for one in now), "example_job": min(costs)[1],
    }


def coverage(con, records, inside):
    logs = [log for log in lake.rows(con, "SELECT uid, start_time, bytes_read + bytes_written AS bytes FROM darshan_log") if inside(log["start_time"])]
    slurm = [row for row in lake.rows(con, "SELECT start_time, node_hours, logs FROM slurm_job_io") if inside(row["start_time"])]
    hours, with_log = total(row["node_hours"] for row in slurm), total(row["node_hours"] for row in slurm if row["logs"])
    return {
        "app": None, "code": None, "rule": "coverage", "jobs": len(slurm), "share_jobs": sum(row["logs"] > 0 for row in slurm) / len(slurm) if slurm else None, "logs": len(logs),
        "users": len({log["uid"] for log in logs} - {None}), "node_hours": hours, "share_node_hours": (with_log or 0.0) / hours if hours else None, "jobs_without_record": None,
        "io_hours": None, "io_hours_before": None, "change": None, "bytes": total(log["bytes"] for log in logs), "example_job": None,
    }


def total(values):
    values = [value for value in values if value is not None]
    return sum(values) if values else None
