"""Logs with classes, and which of them stands for its program: (user id, whole command line), by the largest log or by most bytes, of equals the first path."""


def sure(one, least):
    """Whether both confidences that a log has, if any, are at least this; above 0 the log must be whole."""
    if least > 0 and one["log_status"] != "ok":
        return False
    return all(known >= least for known in (one["read_confidence"], one["write_confidence"]) if known is not None)


def logs(con, params):
    """A dict for each log that has classes: its classes by direction, node-hours, and for how many logs it stands, 0 if another does."""
    sql = """SELECT m.log_id, l.uid, l.exe, l.app, l.log_path, l.log_bytes, l.bytes_read + l.bytes_written AS bytes, l.start_time, j.node_count, l.run_time,
        read_classes AS read, write_classes AS write, metadata_classes AS metadata, read_confidence, write_confidence, l.status AS log_status
      FROM darshan_mosaic m JOIN darshan_log l USING (log_id) JOIN job j USING (log_id) WHERE m.mode = ? AND m.status = 'ok'"""
    answer = con.execute(sql, [params["mode"]])
    names = [one[0] for one in answer.description]
    found = [dict(zip(names, row)) for row in answer.fetchall()]
    app, first, last = params["app"], params["from"], params["to"]
    inside = lambda one: one["start_time"] is not None and (first is None or one["start_time"] >= first) and (last is None or one["start_time"] < last)
    found = [one for one in found if (app is None or one["app"] == app) and ((first is None and last is None) or inside(one))]
    found = [one for one in found if sure(one, params["min_confidence"])]
    size = "bytes" if params["representative"] == "bytes" else "log_bytes"
    programs = {}
    for one in found:
        programs.setdefault((one["uid"], one["exe"]), []).append(one)
        one["stands_for"] = 0
        known = one["node_count"] is not None and one["run_time"] is not None
        one["node_hours"] = one["node_count"] * one["run_time"] / 3600 if known else None
    for own in programs.values():
        first_of_program = min(own, key=lambda one: (-one[size], one["log_path"].encode(), one["log_id"]))
        first_of_program["stands_for"] = len(own)
    return found
