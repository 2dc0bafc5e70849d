# OSTs on which files are slower than other files of the same log: the method that the query's own comment describes, with means
# and sums of squares taken anew from the files. Files of a log are compared by the logarithm of the seconds that a process needs
# for a byte; logs are weighed by their variance (0.01 at least), and the error of the mean is no less than their scatter says.
# What looks slow is looked at again, a file with the slowest of its OSTs that look so. q after Benjamini and Hochberg, by file system.
# param fs text NULL
# param from timestamp NULL
# param to timestamp NULL
# param min_slowdown float 1.25
# param max_q float 0.05
# param min_bytes float 1048576
# with min_slowdown=1.01 max_q=0.5
# with fs=scratch from=2026-09-05 to=2026-09-20
# with min_bytes=1e9 min_slowdown=2
# with fs=/scratch1
from collections import defaultdict
from math import erfc, exp, fsum, isnan, log, sqrt

import lake

FILES = """
SELECT f.job_id, f.log_id, f.fs, direction, list_distinct(list_filter(ost_list, lambda o: o IS NOT NULL)) AS osts,
  CASE direction WHEN 'read' THEN f.read_time / coalesce(readers, procs) / f.bytes_read ELSE f.write_time / coalesce(writers, procs) / f.bytes_written END AS seconds
FROM (SELECT *, CASE bytes_source WHEN 'mpiio' THEN file_nprocs_mpiio ELSE file_nprocs_posix END AS procs FROM darshan_file) f JOIN darshan_log l USING (log_id), (VALUES ('read'), ('write')) d(direction)
WHERE ost_list IS NOT NULL AND NOT is_stream AND coalesce(fs = $fs, $fs IS NULL)
  AND coalesce(l.start_time >= $from, $from IS NULL) AND coalesce(l.start_time < $to, $to IS NULL)
  AND CASE direction WHEN 'read' THEN f.bytes_read >= $min_bytes AND f.read_time > 0 ELSE f.bytes_written >= $min_bytes AND f.write_time > 0 END
"""


def mean(values):
    return fsum(values) / len(values)


def squares(values):
    middle = mean(values)
    return fsum((one - middle) ** 2 for one in values)


def contrast(slow, others):
    """By how much one log's files on an OST are slower than its others, and the weight of that."""
    variance = (squares(slow) + squares(others)) / max(len(slow) + len(others) - 2, 1)
    return mean(slow) - mean(others), 1 / (max(variance, 0.01) * (1 / len(slow) + 1 / len(others)))


def pooled(looks):
    """The mean over logs and its error: [(job, files, difference, weight)] to (files, logs, jobs, mean, error)."""
    weight = fsum(w for *_, w in looks)
    middle = fsum(w * d for *_, d, w in looks) / weight
    scatter = fsum((w * (d - middle)) ** 2 for *_, d, w in looks) / weight**2
    return sum(n for _, n, _, _ in looks), len(looks), len({job for job, *_ in looks}), middle, sqrt(max(1 / weight, scatter))


def rows(con, params):
    used = {name: params[name] for name in ("fs", "from", "to", "min_bytes")}
    logs = defaultdict(list)
    for file in lake.rows(con, FILES, used):
        logs[file["fs"], file["direction"], (file["job_id"], file["log_id"])].append((log(file["seconds"]), set(file["osts"])))
    logs = {key: files for key, files in logs.items() if len(files) > 1}

    first = defaultdict(list)
    for (fs, direction, (job, _)), files in logs.items():
        for ost in {one for _, osts in files for one in osts}:
            slow = [y for y, osts in files if ost in osts]
            others = [y for y, osts in files if ost not in osts]
            if others:
                first[fs, direction, ost].append((job, len(slow), *contrast(slow, others)))
    known = {key: pooled(looks) for key, looks in first.items()}
    limit = log(params["min_slowdown"])
    suspects = {key: d for key, (*_, d, error) in known.items() if d - limit > 1.645 * error}

    again = defaultdict(list)
    for (fs, direction, (job, _)), files in logs.items():
        worst = defaultdict(list)
        for y, osts in files:
            ours = [one for one in osts if (fs, direction, one) in suspects]
            worst[max(ours, key=lambda one: (suspects[fs, direction, one], -one)) if ours else None].append(y)
        others = worst.pop(None, None)
        for ost, slow in worst.items() if others else ():
            again[fs, direction, ost].append((job, len(slow), *contrast(slow, others)))
    for key in suspects:
        known[key] = pooled(again[key]) if key in again else (0, 0, 0, None, None)

    answer = []
    for (fs, direction, ost), (files, count, jobs, d, error) in known.items():
        z = None if d is None else (d - limit) / error
        answer.append({"fs": fs, "ost": ost, "direction": direction, "slowdown": None if d is None else exp(d), "files": files, "logs": count, "jobs": jobs, "z": z, "q": None, "slow": False})
    for fs in {row["fs"] for row in answer}:
        ours = [row for row in answer if row["fs"] == fs]
        tested = sorted((row for row in ours if row["z"] is not None), key=lambda row: row["z"])
        least = 1.0
        for place, row in enumerate(tested):  # From the least significant on.
            p = erfc(row["z"] / sqrt(2)) / 2
            least = min(least, p * len(ours) / (len(tested) - place))
            row["q"] = least
            row["slow"] = least <= params["max_q"]
    return answer
# near z 1
# near q 1
