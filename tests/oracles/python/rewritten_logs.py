"""Whether the logs of an anonymised export say what the originals say: python3 rewritten_logs.py LAKE EXPORT KEY

Reads both with pydarshan. Prints one line of figures.

- each log of the lake has a rewritten one, or the list says why not;
- module by module, record by record, every counter is that of the original, and each record id has one new id in the whole log;
- names, hosts and what the job region says of somebody are the pseudonyms of the key; times and processes are as they were;
- no record id but those of the standard streams is one of the original's.
"""

import base64
import csv
import hmac
import os
import sys
import warnings

import darshan.backend.cffi_backend as backend
import duckdb
import numpy
from lake_files import files

warnings.simplefilter("ignore")
LAKE, EXPORT, KEY = sys.argv[1:4]
key = bytes.fromhex(open(KEY).read())
STREAMS = {14734109647742566553, 15920181672442173319, 7238257241479193519}
CONSTANT = {"<STDIN>", "<STDOUT>", "<STDERR>", "APMPI", "APXC", "darshan-apmpi-header", "UNKNOWN"}
# A name before a rename, and a job id of a control system.
REPLACED = {("POSIX", 12), ("BG/Q", 0)}


def mac(domain, value):
    return hmac.new(key, f"{domain}\0{value}".encode(), "sha256").digest()


def text(domain, value):
    return base64.b32encode(mac(domain, value)[:10]).decode().lower()


def bits(domain, value, n):
    return int.from_bytes(mac(domain, value)[:8], "big") >> (64 - n)


def records(log, module):
    while (record := backend.log_get_record(log, module, dtype="numpy")) is not None:
        yield record


class Ids:
    """The new ids of a log, each of which stands for one old one."""

    def __init__(self):
        self.new, self.old = {}, {}

    def pair(self, a, b):
        assert self.new.setdefault(a, b) == b and self.old.setdefault(b, a) == a, (a, b)
        assert (a == b) == (a in STREAMS) or a == b and a in constant, f"record id {a} is {b}"


def equal(module, a, b, ids, path=()):
    """Compares a record with the original, and counts the numbers."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        return sum(equal(module, a[name], b[name], ids, path + (name,)) for name in a)
    if isinstance(a, (list, numpy.ndarray)) and not (isinstance(a, numpy.ndarray) and a.ndim == 1):
        assert len(a) == len(b)
        return sum(equal(module, x, y, ids, path) for x, y in zip(a, b))
    name = path[-1]
    if name == "id":
        ids.pair(int(a), int(b))
        return 0
    if name == "file_rec_id":
        # 0 stands for none.
        assert a != 0 or b == 0
        if a != 0:
            ids.pair(int(a), int(b))
        return 0
    if name in ("hostname", "node_name"):
        assert b == (text("host", a) if a else ""), f"{name} {b} for {a}"
        return 0
    if name == "pool_name":
        assert b == ""
        return 0
    if isinstance(a, numpy.ndarray):
        different = numpy.flatnonzero(~((a == b) | ((a != a) & (b != b))))
        different = [at for at in different if not (name == "counters" and (module, at) in REPLACED)]
        assert not different, f"{module} {path}: {different} differ"
        return len(a)
    assert a == b, f"{module} {path}: {b} for {a}"
    return 1


listed = {int(row["log_id"]): row for row in csv.DictReader(open(f"{EXPORT}/logs.csv"))}
logs = duckdb.connect().execute(f"SELECT log_id, log_path, job_id, uid, app, status FROM read_parquet({files(LAKE)['darshan_log']!r}) ORDER BY ALL").fetchall()
assert len(listed) == len(logs)
assert set(os.listdir(f"{EXPORT}/logs")) == {row["file"] for row in listed.values() if row["file"]}
assert len({os.path.getmtime(f"{EXPORT}/logs/{name}") for name in os.listdir(f"{EXPORT}/logs")}) == 1
counters, rewritten, left_out, modules_left_out = 0, 0, 0, 0
for log_id, path, job_id, uid, app, status in logs:
    row = listed[bits("log", log_id, 63)]
    assert int(row["job_id"]) == bits("job", job_id, 52)
    if not row["file"]:
        assert status == "damaged", f"{path} is {status} and left out: {row['left_out']}"
        left_out += 1
        continue
    old, new = backend.log_open(path), backend.log_open(f"{EXPORT}/logs/{row['file']}")
    a, b = backend.log_get_job(old), backend.log_get_job(new)
    for name in ("start_time_sec", "start_time_nsec", "end_time_sec", "end_time_nsec", "nprocs", "log_ver"):
        assert a.get(name) == b.get(name), f"{path}: {name}"
    assert (b["jobid"], b["uid"]) == (bits("job", job_id, 52), bits("uid", uid, 52))
    assert set(b["metadata"]) <= {"lib_ver", "h"} and b["metadata"].get("lib_ver") == a["metadata"].get("lib_ver")
    mounts, new_mounts = backend.log_get_mounts(old), backend.log_get_mounts(new)
    # Without mounts the library finds no command line.
    assert backend.log_get_exe(new).strip() == (text("app", app) if app and mounts else "")
    path_of = lambda one: "/".join(part and text("path", part) for part in one.split("/"))
    left = row["left_out"].split("; ") if row["left_out"] else []
    left_mounts = [int(part.split()[0]) for part in left if part.endswith(("mount", "mounts"))]
    assert len(new_mounts) + sum(left_mounts) == len(mounts)
    # The endings of names stay, and mount points may have some.
    expected = {path_of(mount) for mount, _ in mounts}
    strange = {mount for mount, _ in new_mounts} - expected
    assert len(strange) <= sum("." in mount for mount, _ in mounts), strange
    left = [part for part in left if not part.endswith(("mount", "mounts"))]
    modules_left_out += len(left)
    present = backend.log_get_modules(old)
    names, new_names = backend.log_get_name_records(old), backend.log_get_name_records(new)
    constant = {id_ for id_, name in names.items() if name in CONSTANT or name.startswith("heatmap:")}
    assert present.keys() - set(left) == backend.log_get_modules(new).keys(), path
    ids = Ids()
    for module in present:
        if module in left or module not in backend._structdefs:
            continue
        # A reader keeps its place in one module at a time.
        originals, ours = records(old, module), records(new, module)
        for original in originals:
            counters += equal(module, original, next(ours), ids)
        assert next(ours, None) is None
    for a, b in ids.new.items():
        assert (a in names) == (b in new_names), f"{path}: the name of {a}"
        if a in names and a not in constant and a not in STREAMS:
            assert names[a] != new_names[b]
            assert names[a].count("/") == new_names[b].count("/")
    backend.log_close(old)
    backend.log_close(new)
    rewritten += 1
assert rewritten > 0 and counters > 1000
print(f"{rewritten} logs with {counters} numbers as in the originals, {left_out} left out, {modules_left_out} modules left out")
