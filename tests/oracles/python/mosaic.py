"""MOSAIC's classes of Darshan logs, mode `reference`, computed a second time: mosaic.py OUT LOG_OR_FOLDER..

Written from the description of the method (Jolivel, Tessier, Monniot, Pallez, PDSW 2024, and the published tool's first version), not
from the Rust code, and plain: mean shift by all pairs. Logs are read by pydarshan. Writes one JSON object to OUT, from the name of each log to
its status, classes, figures and groups, and prints how many logs there are.
"""

import decimal
import json
import math
import os
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")
import darshan  # noqa: E402
from darshan.backend import cffi_backend  # noqa: E402

MIN_BYTES = 100_000_000
SPIKE = 250
SPIKE_COUNT_FROM = 10
MOST_SEGMENTS = 4096
MICROSECOND = decimal.Decimal("0.000001")


def microseconds(seconds):
    """The time of a counter, rounded to microseconds, ties to even, as a whole number of them."""
    rounded = decimal.Decimal(float(seconds)).quantize(MICROSECOND, rounding=decimal.ROUND_HALF_EVEN)
    return int(rounded.scaleb(6))


# Section 2: operations.


def operations(report, modules, nprocs):
    """(status, operations): one for each record, with bytes, first and last access of both directions, opens and seeks."""
    module = next((name for name in ("MPI-IO", "POSIX", "STDIO") if name in modules), None)
    if module is None:
        return "no_module", []
    prefix = module.replace("-", "")
    ints, floats, records = read(report, module)
    posix = None
    if module == "MPI-IO":
        if "POSIX" not in modules:
            return "no_posix", []
        posix = read(report, "POSIX")
        if len(posix[2]) < len(records):
            return "no_posix", []
    found = []
    for position, record in enumerate(records):
        value = lambda name: int(record["counters"][ints[f"{prefix}_{name}"]])
        time = lambda name: microseconds(record["fcounters"][floats[f"{prefix}_{name}"]])
        operation = {"procs": nprocs if record["rank"] == -1 else 1, "busy": {}}
        for direction, moved, x in (("read", "BYTES_READ", "READ"), ("write", "BYTES_WRITTEN", "WRITE")):
            count = value(moved)
            if count < 0:
                return "inconsistent", []
            if count > 0:
                start, end = time(f"F_{x}_START_TIMESTAMP"), time(f"F_{x}_END_TIMESTAMP")
                if end < start:
                    return "inconsistent", []
                operation[direction] = (start, end, count)
                operation["busy"][direction] = float(record["fcounters"][floats[f"{prefix}_F_{x}_TIME"]])
        if posix:
            other = posix[2][position]["counters"]
            operation["opens"], operation["seeks"] = int(other[posix[0]["POSIX_OPENS"]]), int(other[posix[0]["POSIX_SEEKS"]])
        else:
            operation["opens"], operation["seeks"] = value("OPENS"), value("SEEKS")
        found.append(operation)
    return "ok", found


def read(report, module):
    """Places of the counters by name, and the records in the order of the log."""
    report.mod_read_all_records(module, dtype="numpy")
    names = report.counters[module]
    ints, floats = ({name: at for at, name in enumerate(names[kind])} for kind in ("counters", "fcounters"))
    return ints, floats, list(report.records[module])


def of_direction(found, direction):
    """(start, end, bytes, opens, seeks, rank seconds), seconds, in the order of merging."""
    own = [operation for operation in found if direction in operation]
    first = lambda operation: min(operation[d][0] for d in ("read", "write") if d in operation)
    # Two stable sorts, one after the other: the first is the order of ties.
    own.sort(key=first)
    own.sort(key=lambda operation: operation[direction][0])
    result = []
    for operation in own:
        start, end, count = operation[direction]
        start, end = start / 1e6, end / 1e6
        result.append((start, end, count, operation["opens"], operation["seeks"], (end - start) * operation["procs"]))
    return result


# Section 3: merging.


def merge(operations, total):
    gaps = [b[0] - a[1] for a, b in zip(operations, operations[1:]) if b[0] > a[1]]
    if not gaps:
        return operations
    gap = sum(gaps) / len(gaps)
    merged, i = list(operations), 0
    while i + 1 < len(merged):
        a, b = merged[i], merged[i + 1]
        d, w = b[0] - a[1], b[1] - a[0]
        share = d / w if w else 0.0
        if (d < 0.001 * total or d < 0.75 * gap or share < 0.01) and d < 1.5 * max(a[1] - a[0], b[1] - b[0]):
            merged[i] = (min(a[0], b[0]), max(a[1], b[1]), *(x + y for x, y in zip(a[2:], b[2:])))
            del merged[i + 1]
        else:
            i += 1
    return merged


# Section 4: segments.


def segments(operations):
    """(start, end, length of work, bytes, opens, seeks, rank seconds, end of work)."""
    walked = []
    for operation in operations:
        if walked and operation[0] <= max(member[1] for member in walked[-1]):
            walked[-1].append(operation)
        else:
            walked.append([operation])
    result = []
    for at, members in enumerate(walked):
        start, work_start = members[0][0], min(member[0] for member in members)
        work_end = max(member[1] for member in members)
        if at + 1 < len(walked):
            end = walked[at + 1][0][0]
        elif result:
            end = start + (result[-1]["end"] - result[-1]["start"])
        else:
            end = work_end
        result.append({"start": start, "end": end, "work": work_end - work_start, "work_end": work_end, "bytes": sum(m[2] for m in members),
                       "metadata": sum(2 * m[3] + m[4] for m in members), "rank_seconds": sum(m[5] for m in members)})
    return result


# Section 5: groups.


def variation(values):
    mean = sum(values) / len(values)
    if mean == 0:
        return 0.0
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) / mean


def near(values):
    mean = sum(values) / len(values)
    return mean == 0 or all(abs(value - mean) / mean <= 0.25 for value in values)


def cluster(durations, counts):
    """A label for each segment."""
    n = len(durations)
    if n == 1:
        return [0]
    same = variation(counts) < 0.01 and near(counts)
    durations_alike = variation(durations) < (0.1 if same else 0.01) and (same or near(durations))
    if durations_alike and variation(counts) < 0.005 and (same or near(counts)):
        return [0] * n
    if durations_alike:
        points = [[count] for count in counts]
    elif variation(counts) < 0.005 and near(counts):
        points = [[duration] for duration in durations]
    else:
        points = list(zip(durations, counts))
    return mean_shift(np.array(points, dtype=float))


def distances(points, point):
    return np.sqrt(((points - point) ** 2).sum(axis=1))


def mean_shift(points):
    n = len(points)
    k = max(1, n // 2)
    h = max(0.1, float(np.mean([np.sort(distances(points, point))[k - 1] for point in points])))
    ends = {}
    for point in points:
        at = point
        for _ in range(300):
            within = points[distances(points, at) <= h]
            if not len(within):
                break
            old, at = at, within.mean(axis=0)
            if math.sqrt(((at - old) ** 2).sum()) <= 0.001 * h:
                break
        ends[tuple(at)] = len(within)
    order = sorted(ends, key=lambda end: (ends[end], end), reverse=True)
    kept = []
    for end in order:
        if all(math.dist(end, other) > h for other in kept):
            kept.append(end)
    return [int(np.argmin(distances(np.array(kept), point))) for point in points]


def groups(found):
    rest, result = list(found), []
    while rest:
        labels = cluster([s["end"] - s["start"] for s in rest], [s["bytes"] for s in rest])
        sizes = {label: labels.count(label) for label in labels}
        label = min(sizes, key=lambda label: (sizes[label], -labels.index(label)))
        result.append(group([s for s, own in zip(rest, labels) if own == label]))
        rest = [s for s, own in zip(rest, labels) if own != label]
    return sorted(result, key=lambda group: group["start"])


def group(members):
    m, first, last = len(members), members[0], members[-1]
    end = first["work_end"] if m == 1 else last["end"]
    lengths = [member["work"] for member in members]
    rates = [member["rank_seconds"] / member["work"] for member in members if member["work"] > 0]
    return {
        "start": first["start"], "end": end, "segments": m,
        "period": end - first["start"] if m == 1 else (last["start"] - first["start"]) / (m - 1),
        "work": sum(lengths) / m, "work_cv": variation(lengths) if m >= 3 else 0.0, "bytes": sum(s["bytes"] for s in members) / m,
        "ranks": sum(rates) / len(rates) if rates else 0.0, "metadata": sum(s["metadata"] for s in members) / m,
    }


# Section 6: classes.


def spread(values):
    """Population deviation over mean."""
    if sum(values) == 0:
        return 0.0
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)) / mean


def parts(found, total):
    """Bytes in the first quarter, the middle half and the last quarter."""
    clamp = lambda x: min(max(x, 0.0), 1.0)
    a = m = z = 0.0
    for group in found:
        for i in range(group["segments"]):
            start, length = group["start"] + i * group["period"], group["work"]
            if length == 0:
                first, last = float(start < total / 4), float(start >= total - total / 4)
            else:
                first, last = clamp((total / 4 - start) / length), clamp((start + length - (total - total / 4)) / length)
            a += first * group["bytes"]
            z += last * group["bytes"]
            m += (1 - first - last) * group["bytes"]
    return a, m, z


def temporality(a, m, z, total):
    if total == 0:
        return ["unclear_pattern"]
    found = []
    if a > 2 * (m + z):
        found.append("on_start")
    elif a < (m + z) / 5 and spread([m / 2, m / 2, z]) < 0.25:
        found.append("after_start")
    if z > 2 * (a + m):
        found.append("on_end")
    elif z < (a + m) / 5 and spread([a, m / 2, m / 2]) < 0.25:
        found.append("before_end")
    if a + z > 4 * m and spread([a, z]) < 0.25:
        found.append("on_start_and_on_end")
    if m > 4 * (a + z):
        found.append("after_start_before_end")
    if spread([a, m / 2, m / 2, z]) < 0.25:
        found.append("steady")
    return found or ["unclear_pattern"]


def periodicity(found):
    """(classes, period, busy)."""
    several = [group for group in found if group["segments"] > 1]
    alone = len(found) - len(several)
    repeats = sum(group["segments"] for group in several)
    if not repeats > 3 * alone:
        return [], None, None
    period = (max(g["end"] for g in several) - min(g["start"] for g in several)) / repeats
    busy = sum(g["segments"] * g["work"] / g["period"] for g in several) / repeats
    scale = "s" if period <= 30 else "min" if period <= 1800 else "h" if period <= 43200 else "day_or_more"
    classes = ["periodic", f"periodic_{scale}"]
    if busy <= 0.25:
        classes.append("periodic_low_busy_time")
    if busy >= 0.75:
        classes.append("periodic_high_busy_time")
    return classes, period, busy


def metadata(found, start_nanoseconds):
    """(classes, figures)."""
    seconds = {}
    for operation in found:
        own = [operation[d] for d in ("read", "write") if d in operation]
        opens, seeks = operation["opens"], operation["seeks"]
        if not own or opens + seeks <= 0:
            continue
        clock = lambda time: (start_nanoseconds + 1000 * time) // 1_000_000_000
        first, last = clock(min(start for start, _, _ in own)), clock(max(end for _, end, _ in own))
        for second, count in ((first, opens + seeks), (last, opens)):
            if count > 0:
                seconds[second] = seconds.get(second, 0) + count
    total = sum(seconds.values())
    duration = max(seconds) - min(seconds) if seconds else 0
    figures = {
        "highest_spike": max(seconds.values(), default=0),
        "spike_count": sum(count >= SPIKE_COUNT_FROM for count in seconds.values()),
        "average_per_spike": total // len(seconds) if seconds else 0,
        "operations_per_second": total / duration if duration else 0.0,
        "operations_duration": duration,
    }
    classes = []
    if figures["highest_spike"] > SPIKE:
        classes.append("metadata_high_spike")
    if figures["operations_per_second"] > 50 and figures["spike_count"] > 5:
        classes.append("metadata_high_density")
    if figures["spike_count"] > 5:
        classes.append("metadata_multiple_spikes")
    return classes or ["metadata_insignificant_load"], figures


def mosaic(path):
    report = darshan.DarshanReport(path, read_all=False)
    job = report.metadata["job"]
    start = job["start_time_sec"] * 1_000_000_000 + job["start_time_nsec"]
    end = job["end_time_sec"] * 1_000_000_000 + job["end_time_nsec"]
    nprocs = job["nprocs"]
    status, found = operations(report, report.modules, nprocs)
    result = {"status": status}
    if status != "ok":
        return result
    both = [operation[d] for operation in found for d in ("read", "write") if d in operation]
    total = max([(end - start) / 1e9] + [last / 1e6 for _, last, _ in both])
    result["run_time"] = total
    for direction in ("read", "write"):
        own = of_direction(found, direction)
        count, opens, seeks = (sum(operation[at] for operation in own) for at in (2, 3, 4))
        if count < MIN_BYTES and opens <= nprocs and seeks <= nprocs:
            result[direction] = {"classes": [f"{direction}_insignificant"], "groups": [], "shares": None, "period": None, "busy": None}
            continue
        cut = segments(merge(own, total))
        if len(cut) > MOST_SEGMENTS:
            return {"status": "too_many"}
        grouped = groups(cut)
        a, m, z = parts(grouped, total)
        repeats, period, busy = periodicity(grouped)
        result[direction] = {
            "classes": [f"{direction}_{name}" for name in temporality(a, m, z, total) + repeats], "groups": grouped,
            "shares": [part / (a + m + z) for part in (a, m, z)], "period": period, "busy": busy,
        }
        # Section 8: the share of the bytes whose window is short, or mostly work.
        sure = 0
        for operation in found:
            if direction in operation:
                first, last, moved = operation[direction]
                length = (last - first) / 1e6
                busy_time = operation["busy"][direction] / (operation["procs"] * length) if length > 0 else 0.0
                sure += moved if length < total / 4 or busy_time >= 0.5 else 0
        result[direction]["confidence"] = sure / count
    classes, figures = metadata(found, start)
    result.update(figures)
    result["metadata_classes"] = classes
    return result


def logs(paths):
    for path in paths:
        if os.path.isdir(path):
            yield from sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(".darshan"))
        else:
            yield path


if __name__ == "__main__":
    found = {os.path.basename(path): mosaic(path) for path in logs(sys.argv[2:])}
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump(found, out)
    print(f"{len(found)} logs")
