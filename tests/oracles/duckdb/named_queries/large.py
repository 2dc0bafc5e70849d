# Large logs that move much, slowly or fast: what low_read_bandwidth, low_write_bandwidth, high_bandwidth and the tables of all OSTs have in common.
import factors
import lake


def large(con, params, direction, **band):
    """Logs of more processes than min_nprocs with min_bytes for each of them, whose bandwidth lies in the band."""
    asked = {"direction": direction, "grain": params["grain"], "bw": params["bw"], **band}
    return [row for row in factors.rows(con, asked) if row["nprocs"] is not None and row["nprocs"] > params["min_nprocs"] and row["bytes"] >= params["min_bytes"] * row["nprocs"]]


def on_all_osts(con, found):
    """Of each program the row that moved most, of those whose critical files lie on all OSTs of their file system."""
    all_of = {row["fs"]: row["n"] for row in lake.rows(con, "SELECT fs, max(fs_osts) AS n FROM darshan_file WHERE fs IS NOT NULL GROUP BY fs")}
    best = {}
    for row in found:
        row["fs_osts"] = all_of.get(row["fs"])
        if row["ost_count"] is None or row["ost_count"] != row["fs_osts"]:
            continue
        size = (row["bytes"], -row["job_id"], -row["log_id"])
        if row["app"] not in best or size > best[row["app"]][0]:
            best[row["app"]] = size, row
    return [row for _, row in best.values()]
