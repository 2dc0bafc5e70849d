# Jobs on the same nodes as a log's job while its program ran, and what their logs moved there: by hand over the records, with sets of nodes.
# param from timestamp NULL
# param to timestamp NULL
# param job int NULL
# with from=2026-09-11T10:00:00 to=2026-09-11T16:00:00
# with job=6102887
# near others_share 1
from collections import defaultdict
from datetime import timedelta

import lake

OWN = """
SELECT j.job_id, j.log_id, j.start_time, j.end_time, l.nprocs, l.run_time, l.bytes_read + l.bytes_written AS moved, s.nodes,
  (SELECT sum(coalesce(read_time, 0) + coalesce(write_time, 0) + coalesce(meta_time, 0)) FROM darshan_file f WHERE f.log_id = j.log_id AND NOT is_stream) AS spent
FROM job j JOIN slurm_job s ON s.job_id_text = j.job_id_text AND s.submit_time = j.submit_time JOIN darshan_log l ON l.log_id = j.log_id
WHERE j.end_time IS NOT NULL AND len(s.nodes) > 0 AND coalesce(j.job_id = $job, $job IS NULL) AND coalesce(j.end_time >= $from, $from IS NULL) AND coalesce(j.start_time < $to, $to IS NULL)
"""


def rows(con, params):
    slurm = lake.rows(con, "SELECT job_id, uid, start_time, end_time, nodes FROM slurm_job WHERE end_time > start_time AND len(nodes) > 0")
    on_node = defaultdict(list)
    for record in slurm:
        record["nodes"] = set(record["nodes"])
        for node in record["nodes"]:
            on_node[node].append(record)
    logs = defaultdict(list)
    for log in lake.rows(con, "SELECT job_id, uid, start_time, end_time, bytes_read + bytes_written AS moved FROM darshan_log WHERE end_time > start_time"):
        logs[log["job_id"]].append(log)
    answer = []
    for own in lake.rows(con, OWN, params):
        begin, end = own["start_time"], max(own["end_time"], own["start_time"] + timedelta(seconds=1))
        nodes, shared, met = set(own["nodes"]), set(), defaultdict(set)
        parts = {}
        for node in nodes:
            for record in on_node[node]:
                if record["job_id"] != own["job_id"] and record["start_time"] < end and record["end_time"] > begin:
                    shared.add(node)
                    met[record["job_id"], record["uid"], len(record["nodes"])].add(node)
        for (job, uid, size), common in met.items():
            share = len(common) / size
            parts[job] = parts.get(job, 0) + sum(
                share * log["moved"] * ((min(log["end_time"], end) - max(log["start_time"], begin)) / (log["end_time"] - log["start_time"]))
                for log in logs[job] if (uid is None or log["uid"] in (uid, None)) and log["start_time"] < end and log["end_time"] > begin)
        others, mine = sum(parts.values()), own["moved"] * len(shared) / len(nodes)
        answer.append({
            "job_id": own["job_id"], "log_id": own["log_id"], "nodes": len(nodes), "shared_nodes": len(shared), "jobs": len(parts),
            "neighbour_job_id": min(parts, key=lambda job: (-parts[job], job)) if parts else None, "io_time": (own["spent"] or 0) / own["nprocs"], "run_time": max(own["run_time"], 1),
            "own": mine, "others": others, "others_share": others / (others + mine) if others + mine else None,
        })
    return answer
