# Checkpoints of programs: of each log whose writes are periodic the group that has this period.
# param app text NULL
# param min_period float 10
# param min_bytes float 1e6
# param min_confidence float 0
# param from timestamp NULL
# param to timestamp NULL
# with min_confidence=0.9
# with min_period=0 min_bytes=0
# with from=2026-09-10 to=2026-09-14T12:00
import lake
import numpy


def rows(con, params):
    sql = """SELECT l.app, l.start_time, l.run_time, j.node_count, l.bytes_written - l.bytes_written_streams AS written, m.evidence, m.write_period, m.write_groups, m.write_confidence AS sure
      FROM darshan_mosaic m JOIN darshan_log l USING (log_id) JOIN job j USING (log_id) WHERE m.mode = 'full' AND m.status = 'ok'"""
    programs = {}
    for one in lake.rows(con, sql):
        time = one["start_time"]
        if (params["from"] and not (time and time >= params["from"])) or (params["to"] and not (time and time < params["to"])) or params["app"] not in (None, one["app"]):
            continue
        programs.setdefault(one["app"], []).append(one)
    out = []
    for app, own in programs.items():
        logs = []
        for one in own:
            if one["write_period"] is None or (one["sure"] or 0) < params["min_confidence"]:
                continue
            own_group = [g for g in one["write_groups"] if g["segments"] > 1 and g["period"] == one["write_period"]]
            if one["write_period"] < params["min_period"] or not own_group or own_group[0]["bytes"] < params["min_bytes"]:
                continue
            g = own_group[0]
            n, seconds = g["segments"], g["segments"] * g["work"]
            logs.append({"n": n, "period": g["period"], "bytes": n * g["bytes"], "seconds": seconds,
                         "busy": seconds / one["run_time"] if one["run_time"] else None, "node_hours": one["node_count"] * seconds / 3600 if one["node_count"] is not None else None,
                         "evidence": one["evidence"], "sure": one["sure"]})
        if not logs:
            continue

        def some(name):
            return [one[name] for one in logs if one[name] is not None]

        middle = lambda values: float(numpy.median(values)) if values else None
        p10, p50, p90 = numpy.percentile(some("period"), [10, 50, 90])
        written = sum(one["written"] for one in own)
        count = lambda what: sum(one["evidence"] == what for one in logs)
        out.append({"app": app, "logs": len(logs), "app_logs": len(own), "share_logs": len(logs) / len(own), "checkpoints": int(sum(some("n"))), "period_p10": p10, "period": p50, "period_p90": p90,
                    "checkpoint_bytes": middle([one["bytes"] / one["n"] for one in logs]),
                    "checkpoint_seconds": middle([one["seconds"] / one["n"] for one in logs]), "busy": middle(some("busy")), "bytes": float(sum(some("bytes"))), "share_bytes": sum(some("bytes")) / written if written else None,
                    "node_hours": sum(some("node_hours")) if some("node_hours") else None, "dxt": count("dxt"), "heatmap": count("heatmap"), "window": count("window"),
                    "confidence": sum(some("sure")) / len(some("sure")) if some("sure") else None})
    return out
