# Checkpoints of programs: the groups of more than one segment of logs whose writes are periodic.
# param app text NULL
# param min_confidence float 0
# param from timestamp NULL
# param to timestamp NULL
# near period_cv_within 1
# with min_confidence=0.9
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
            groups = [g for g in one["write_groups"] if g["segments"] > 1]
            n = numpy.array([g["segments"] for g in groups], dtype=float)
            of = lambda name: numpy.array([g[name] for g in groups])
            period = numpy.average(of("period"), weights=n)
            within = numpy.average((of("period") - period) ** 2, weights=n) ** 0.5
            seconds = (n * of("work")).sum()
            logs.append({"n": n.sum(), "period": period, "within": within / period if len(groups) > 1 and period else None, "bytes": (n * of("bytes")).sum(), "seconds": seconds,
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
                    "period_cv_within": middle(some("within")), "checkpoint_bytes": middle([one["bytes"] / one["n"] for one in logs]),
                    "checkpoint_seconds": middle([one["seconds"] / one["n"] for one in logs]), "busy": middle(some("busy")), "share_bytes": sum(some("bytes")) / written if written else None,
                    "node_hours": sum(some("node_hours")) if some("node_hours") else None, "dxt": count("dxt"), "heatmap": count("heatmap"), "window": count("window"),
                    "confidence": sum(some("sure")) / len(some("sure")) if some("sure") else None})
    return out
