# What is known of a period, figure by figure.
# param mode text full
# param app text NULL
# param from timestamp NULL
# param to timestamp NULL
# with mode=reference
# with from=2026-09-10 to=2026-09-14T12:00
# with from=2001-01-01 to=2001-01-02
import lake


def rows(con, params):
    first, last, app = params["from"], params["to"], params["app"]
    late = lambda time: (first is None or time >= first) and (last is None or time < last)
    everything = lake.rows(con, "SELECT * FROM darshan_log")
    if first or last:
        everything = [one for one in everything if one["start_time"] is not None and late(one["start_time"])]
    logs = [one for one in everything if app in (None, one["app"])]
    moved = {one["log_id"]: {d: one[f"bytes_{w}"] - one[f"bytes_{w}_streams"] for d, w in (("read", "read"), ("write", "written"))} for one in logs}
    program = {one["log_id"]: (one["uid"], one["exe"]) for one in logs}
    found = [one for one in lake.rows(con, "SELECT * FROM darshan_mosaic") if one["mode"] == params["mode"] and one["log_id"] in moved]
    ok = [one for one in found if one["status"] == "ok"]
    failed = [one for one in lake.rows(con, "SELECT * FROM lake_input") if one["source"] == "darshan" and one["status"] == "failed"]
    failed = [one for one in failed if app is None and (one["start_time"] is None or late(one["start_time"]))]
    of = lambda part, whole: part / whole if whole else None
    total = {d: sum(one[d] for one in moved.values()) for d in ("read", "write")}
    out = []

    def figure(name, count=None, size=None, share=None, share_of=None):
        out.append({"figure": name, "count": count, "bytes": size, "share": share, "share_of": share_of})

    if app is not None and not logs:
        return []
    figure("logs", len(logs), sum(total.values()) if logs else None)
    figure("inputs that could not be read", len(failed))
    figure("analysed: none; run `iolode analyze mosaic`" if logs and not found else "analysed", len(found), None, of(len(found), len(logs)), "logs")
    if not found:
        return out
    figure("with classes", len(ok), None, of(len(ok), len(found)), "analysed")
    for why in {one["status"] for one in found} - {"ok"}:
        count = sum(one["status"] == why for one in found)
        figure(f"without classes: {why}", count, None, of(count, len(found)), "analysed")
    for what in {one["evidence"] for one in ok}:
        count = sum(one["evidence"] == what for one in ok)
        figure(f"classes rest on {what}", count, None, of(count, len(ok)), "with classes")
    count = sum(one["partial_trace"] for one in ok)
    figure("traced in part, so that classes rest on something else", count, None, of(count, len(ok)), "with classes")
    whole = {one["log_id"] for one in logs if one["status"] == "ok"}
    count = sum(one["log_id"] not in whole for one in ok)
    figure("of damaged or partial logs: classes of the records that are left", count, None, of(count, len(ok)), "with classes")
    figure("programs (user and command line) with classes", len({program[one["log_id"]] for one in ok}))
    for d, done, verb in (("read", "reads", "read"), ("write", "writes", "wrote")):
        periodic = [one for one in ok if f"{d}_periodic" in one[f"{d}_classes"]]
        size = sum(moved[one["log_id"]][d] for one in periodic) if periodic else None
        figure(f"logs with periodic {done}, and all bytes that these {verb}", len(periodic), size, of(len(periodic), len(ok)), "with classes")
        repeated = sum(g["segments"] * g["bytes"] for one in periodic for g in one[f"{d}_groups"] if g["segments"] > 1 and (params["mode"] == "reference" or g["period"] == one[f"{d}_period"]))
        figure(f"bytes of the repetitions of {done}", None, round(repeated), of(repeated, total[d]), f"bytes that all logs {verb}")
        sure = [one[f"{d}_confidence"] for one in found if one[f"{d}_confidence"] is not None]
        figure(f"confidence of the classes of {done}", len(sure), None, of(sum(sure), len(sure)), f"mean over logs that {d}")
    return out
