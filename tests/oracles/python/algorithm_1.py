"""What queries/examples/algorithm_1.sql answers, computed once more: DuckDB reads the lake's Parquet files, the rest is Python.

usage: algorithm_1.py LAKE ANSWERS

ANSWERS holds the script's answers as CSV, one below the other. Nothing of iolode is used, and nothing of what it derives from
the three sources together: neither its views nor its functions.
"""

import csv
import math
import sys

import duckdb

import lake_files

lake, answers = sys.argv[1:]
db = duckdb.connect()


def rows(sql):
    return db.execute(sql).fetchall()


for table in ["darshan_log", "darshan_file", "slurm_job", "slurm_step", "lmt_ost"]:
    db.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet({lake_files.files(lake)[table]})")


def quantile(values, part):
    """Between neighbours, as a line through them."""
    at = part * (len(values) - 1)
    below = math.floor(at)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (at - below)


def cover(intervals):
    """The fewest intervals with all of the time that there is: of those that have begun, always the one that ends last."""
    parts, now = [], -math.inf
    left = sorted(intervals, key=lambda i: i[1])
    while True:
        open_now = [i for i in left if i[1] <= now < i[2]]
        if not open_now:
            later = [i for i in left if i[1] > now]
            if not later:
                return parts
            now = min(i[1] for i in later)
            continue
        best = max(open_now, key=lambda i: (i[2], -i[1], -i[0]))
        parts.append((best[0], best[2] - now))
        now = best[2]


# Lines 5 to 12.
counts = [[rows(f"SELECT count(*) FROM {t}")[0][0] for t in ("darshan_log", "darshan_file", "slurm_job", "lmt_ost")]]
logs = rows("SELECT job_id, bytes_read, bytes_written, log_id, epoch_us(start_time), epoch_us(end_time) FROM darshan_log")
# Line 14.
selected = sorted([job, written] for job, _, written, *_ in logs if written < 10**9)
# Line 15.
binned = sorted([job, written, sum(written >= edge for edge in (10**9, 10**10))] for job, _, written, *_ in logs)
# Line 17.
osts = {}
for job, fs, numbers in rows("SELECT job_id, fs, ost_list FROM darshan_file WHERE ost_list IS NOT NULL"):
    osts.setdefault((job, fs), set()).update(numbers)
grouped = sorted([job, fs, len(numbers)] for (job, fs), numbers in osts.items())
# Line 19.
written = sorted(float(log[2]) for log in logs)
percents = [[10.0 * part, quantile(written, part / 10)] for part in range(11)]
# Line 21: the step that was running while the program did, over all components of its job; else the record that was.
SECOND = 10**6
records = rows("SELECT job_id, node_count, epoch_us(start_time), epoch_us(end_time), het_job_id FROM slurm_job WHERE start_time IS NOT NULL")
steps = rows("SELECT job_id, node_count, epoch_us(start_time), epoch_us(end_time), step_id FROM slurm_step WHERE step_id NOT IN ('batch', 'extern')")
components = {}
for record in records:
    components.setdefault(record[4] or record[0], set()).add(record[0])
joined = []
for job, read, wrote, _, start, end in logs:
    def running(of, ids):
        return [r for r in of if r[0] in ids and r[2] <= start + SECOND and end - SECOND <= (r[3] or end)]

    record = running(records, {job})
    nodes = {}
    for step in running(steps, components.get(job, set()) | {job}):
        nodes[step[4]] = nodes.get(step[4], 0) + step[1]
    if record:
        counts_of = set(nodes.values()) or {r[1] for r in record}
        assert len(counts_of) == 1, (job, counts_of)
        joined.append([job, counts_of.pop(), read, wrote])
joined.sort()
# Line 23.
large = {log[3] for log in logs if log[2] > 10**10}
files = rows(
    """SELECT job_id, log_id, record_id, bytes_written, write_start, write_end, is_stream, posix_writes, consec_writes,
         size_write_0_100 + size_write_100_1k, mpiio_coll_writes, ost_list, fs, coalesce(writers, file_nprocs_posix) FROM darshan_file"""
)
of_log = {}
for file in files:
    if file[1] in large:
        of_log.setdefault((file[0], file[1]), []).append(file)
low_bw = [[job, len(of), sum(f[3] for f in of)] for (job, _), of in of_log.items()]
low_bw.sort(key=lambda row: (row[0], row[2]))
# Line 25: equations 1 and 2.
factors = []
for (job, _), of in of_log.items():
    wrote = [f for f in of if not f[6] and f[3] > 0]
    by_id = {f[2]: f for f in wrote}
    usable = [(f[2], f[4], f[5]) for f in wrote if f[4] is not None and f[5] is not None and f[5] > f[4]]
    own = {}
    for record, time in cover(usable):
        own[record] = own.get(record, 0.0) + time
    total = sum(own.values())
    size = sum(f[3] for f in wrote)
    if not total or size / total >= 1e9:
        continue
    critical = [(by_id[record], time) for record, time in own.items()]

    def weighed(share):
        known = [(share(f), t) for f, t in critical if share(f) is not None]
        return sum(p * t for p, t in known) / sum(t for _, t in known) if known else None

    by_fs = {}
    for f, t in critical:
        by_fs[f[12]] = by_fs.get(f[12], 0.0) + t
    main = max(by_fs, key=lambda fs: by_fs[fs])
    numbers = set().union(*(f[11] or [] for f, _ in critical if f[12] == main))
    factors.append(
        [
            job,
            size,
            total,
            size / total,
            weighed(lambda f: f[9] / f[7] if f[7] and f[9] is not None else None),
            weighed(lambda f: (f[7] - f[8]) / f[7] if f[7] else None),
            int(any((f[10] or 0) > 0 for f, _ in critical)),
            len(numbers) or None,
            weighed(lambda f: f[13] / len(set(f[11])) if f[11] and f[13] is not None else None),
        ]
    )
factors.sort()

expected = [
    ("job_tuples,file_tuples,slurm_tuples,lmt_tuples", counts),
    ("job_id,bytes_written", selected),
    ("job_id,bytes_written,workload", binned),
    ("job_id,fs,osts", grouped),
    ("percent,value", percents),
    ("job_id,node_count,bytes_read,bytes_written", joined),
    ("job_id,files,bytes_written", low_bw),
    ("job_id,bytes,critical_time,bw_critical,small,non_consec,coll,ost_count,proc_per_ost", factors),
]

headings = {heading for heading, _ in expected}
found = []
with open(answers) as text:
    for line in text:
        if line.strip() in headings:
            found.append((line.strip(), []))
        else:
            found[-1][1].append(next(csv.reader([line])))


def same(cell, value):
    if value is None:
        return cell == ""
    if isinstance(value, float):
        return cell != "" and math.isclose(float(cell), value, rel_tol=1e-9, abs_tol=1e-12)
    return cell == str(value)


assert [heading for heading, _ in found] == [heading for heading, _ in expected]
for (heading, cells), (_, values) in zip(found, expected):
    assert len(cells) == len(values), f"{heading}: {len(cells)} rows, expected {len(values)}"
    for row, value in zip(cells, values):
        assert all(map(same, row, value)), f"{heading}: {row}, expected {value}"
    assert values, heading
print(", ".join(f"{len(values)} rows" for _, values in expected))
