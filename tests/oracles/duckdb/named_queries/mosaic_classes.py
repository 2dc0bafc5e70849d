# Logs, node-hours and programs of each class.
# param mode text full
# param representative text log_bytes
# param app text NULL
# param min_confidence float 0
# param from timestamp NULL
# param to timestamp NULL
# with mode=reference representative=bytes
# with from=2026-09-10 to=2026-09-14T12:00
# with min_confidence=0.6
import mosaic_programs


def rows(con, params):
    logs = mosaic_programs.logs(con, params)
    classes = {}
    for one in logs:
        for direction in ("read", "write", "metadata"):
            for name in one[direction]:
                classes.setdefault((direction, name), []).append(one)

    def hours(some):
        known = [one["node_hours"] for one in some if one["node_hours"] is not None]
        return sum(known) if known else None

    programs = sum(one["stands_for"] > 0 for one in logs)
    all_hours = hours(logs)
    out = []
    for (direction, name), some in classes.items():
        own = hours(some)
        standing = [one["stands_for"] for one in some if one["stands_for"]]
        out.append({
            "direction": direction, "class": name, "logs": len(some), "share_logs": len(some) / len(logs),
            "node_hours": own, "share_node_hours": own / all_hours if own is not None and all_hours else None,
            "programs": len(standing), "share_programs": len(standing) / programs,
            "represented": sum(standing), "share_represented": sum(standing) / len(logs),
        })
    return out
