# Programs whose classes changed: shares of logs before and since a date, and the probability of such a difference by chance, from the normal distribution of Python.
# param mode text full
# param since timestamp NULL
# param min_logs int 5
# param min_change float 0.25
# param max_chance float 0.01
# param min_confidence float 0
# param from timestamp NULL
# param to timestamp NULL
# near chance 1e-6
# with min_logs=1 min_change=0 max_chance=1
# with mode=reference since=2026-09-12 from=2026-09-05 to=2026-09-19 min_change=0.1 max_chance=1
# with min_confidence=0.6 min_logs=1 min_change=0 max_chance=1
from collections import Counter
from datetime import timedelta
from statistics import NormalDist

import lake
import mosaic_programs


def rows(con, params):
    starts = [one["start_time"] for one in lake.rows(con, "SELECT start_time FROM darshan_log WHERE start_time IS NOT NULL")]
    starts = [one for one in starts if params["to"] is None or one < params["to"]]
    since = params["since"] or (max(starts) - timedelta(days=7) if starts else None)
    sql = "SELECT app, start_time, read_classes AS read, write_classes AS write, metadata_classes AS metadata, read_confidence, write_confidence, l.status AS log_status FROM darshan_mosaic JOIN darshan_log l USING (log_id) WHERE mode = $mode AND darshan_mosaic.status = 'ok'"
    n, having = Counter(), Counter()
    for one in lake.rows(con, sql, {"mode": params["mode"]}):
        app, time = one["app"], one["start_time"]
        if not mosaic_programs.sure(one, params["min_confidence"]):
            continue
        if app is None or time is None or (params["from"] and time < params["from"]) or (params["to"] and time >= params["to"]):
            continue
        n[app, time >= since] += 1
        for direction in ("read", "write", "metadata"):
            for name in one[direction]:
                having[app, direction, name, time >= since] += 1
    out = []
    for app, direction, name in {key[:3] for key in having}:
        before, after = n[app, False], n[app, True]
        if min(before, after) < max(params["min_logs"], 1):
            continue
        a, b = having[app, direction, name, False], having[app, direction, name, True]
        p = (a + b) / (before + after)
        change = b / after - a / before
        spread = (p * (1 - p) * (1 / before + 1 / after)) ** 0.5
        chance = 2 * NormalDist().cdf(-abs(change) / spread) if spread else 1.0
        if abs(change) >= params["min_change"] and chance <= params["max_chance"]:
            out.append({"app": app, "direction": direction, "class": name, "logs_before": before, "logs_since": after, "share_before": a / before, "share_since": b / after, "change": change, "chance": chance})
    return out
