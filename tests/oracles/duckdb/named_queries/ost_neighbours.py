# Which other jobs moved bytes on the OSTs of a job while it did, weighed by these bytes: SEMANTICS.md 7. A file's bytes on an OST
# are spread evenly over its window; where several files of a log are in use on an OST the time counts once.
# param job int
# param fs text NULL
# with job=6102090
# with job=6100262
# with job=6100274
# with job=6102068
# with job=6102068 fs=home
# with job=6101424
# with job=6100019
# with job=44
# with job=3116902
from collections import defaultdict

import lake

FLOWS = """
SELECT f.job_id, l.uid, f.log_id, fs, ost, a, greatest(b, a + 1) AS b, sum(bytes) AS bytes
FROM (
  SELECT job_id, log_id, fs, is_stream, unnest(ost_list) AS ost, unnest(ost_bytes_read) AS bytes, epoch_us(read_start_time) AS a, epoch_us(read_end_time) AS b FROM darshan_file WHERE bytes_read > 0
  UNION ALL
  SELECT job_id, log_id, fs, is_stream, unnest(ost_list), unnest(ost_bytes_written), epoch_us(write_start_time), epoch_us(write_end_time) FROM darshan_file WHERE bytes_written > 0) f
  JOIN darshan_log l USING (log_id)
WHERE NOT is_stream AND ost IS NOT NULL AND bytes > 0 AND a IS NOT NULL AND b IS NOT NULL AND coalesce(fs = $fs, $fs IS NULL)
GROUP BY ALL
"""


def union(flows):
    """The periods in which any of the flows is on."""
    answer = []
    for a, b in sorted((flow["a"], flow["b"]) for flow in flows):
        if answer and a <= answer[-1][1]:
            answer[-1][1] = max(answer[-1][1], b)
        else:
            answer.append([a, b])
    return answer


def meanwhile(flows, periods):
    """The bytes of flows in periods, and whether they meet at all."""
    parts = [flow["bytes"] * (min(flow["b"], b) - max(flow["a"], a)) / (flow["b"] - flow["a"]) for flow in flows for a, b in periods if a < flow["b"] and b > flow["a"]]
    return sum(parts), bool(parts)


def rows(con, params):
    on = defaultdict(lambda: defaultdict(list))  # (fs, ost) to log to its flows
    users, jobs = set(), {}
    for flow in lake.rows(con, FLOWS, {"fs": params["fs"]}):
        on[flow["fs"], flow["ost"]][flow["log_id"]].append(flow)
        jobs[flow["log_id"]] = flow["job_id"], flow["uid"]
        if flow["job_id"] == params["job"]:
            users.add(flow["uid"])
    ours = lambda log: jobs[log][0] == params["job"] and jobs[log][1] in users
    pairs = defaultdict(lambda: [0, 0.0, 0.0])
    for (fs, _), logs in on.items():
        for log in filter(ours, logs):
            mine = union(logs[log])
            for other, flows in logs.items():
                if ours(other):
                    continue
                theirs, met = meanwhile(flows, mine)
                if met:
                    pair = pairs[log, fs, other]
                    pair[0] += 1
                    pair[1] += theirs
                    pair[2] += meanwhile(logs[log], union(flows))[0]
    known = {row["log_id"]: row for row in lake.rows(con, 'SELECT log_id, app, "user" FROM job')}
    total = defaultdict(float)
    for (log, fs, _), (_, theirs, _) in pairs.items():
        total[log, fs] += theirs
    return [{"job_id": params["job"], "log_id": log, "fs": fs, "neighbour_job_id": jobs[other][0], "neighbour_log_id": other, "neighbour_app": known[other]["app"], "neighbour_user": known[other]["user"],
             "osts": osts, "neighbour_bytes": theirs, "own_bytes": own, "share": theirs / total[log, fs]} for (log, fs, other), (osts, theirs, own) in pairs.items()]
