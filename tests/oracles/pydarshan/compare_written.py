"""Compares logs with what they should hold, as pydarshan's library reads them: compare_written.py DIR.

DIR holds logs and expect.json. Each log is read in a process of its own, for libdarshan remembers across logs whether
it has seen the header of an APMPI module.
"""

import bz2
import json
import multiprocessing
import os
import struct
import sys

from darshan.backend import cffi_backend as lib

FIXED = {  # ints, doubles, bytes at the end of libdarshan's structures in memory
    1: (69, 17, 0), 2: (51, 17, 0), 3: (3, 5, 0), 4: (94, 17, 0), 5: (9, 8, 0), 6: (120, 17, 0), 7: (11, 1, 0),
    9: (14, 15, 0), 16: (52, 15, 32), 17: (64, 15, 48),
}
LUSTRE, DXT, MDHIM, APMPI, HEATMAP = 8, (10, 11), 12, 14, 15


def memory(log, number, size):
    """The next record of a module, up-converted, as bytes of that length; None at the end."""
    pointer = lib.ffi.new("void **")
    got = lib.libdutil.darshan_log_get_record(log["handle"], number, pointer)
    if got < 1:
        return None
    record = bytes(lib.ffi.buffer(pointer[0], size))
    lib.libdutil.darshan_free(pointer[0])
    return record


def fixed(log, number):
    n_ints, n_floats, n_tail = FIXED[number]
    form = "<Qq" + ("Q" if number in (4, 6) else "") + f"{n_ints}q{n_floats}d"
    record = memory(log, number, struct.calcsize(form) + n_tail)
    if record is None:
        return None
    values = list(struct.unpack_from(form, record))
    ident, rank, values = values[0], values[1], values[2:]
    file = values.pop(0) if number in (4, 6) else None
    tail = list(record[struct.calcsize(form):])
    return {"id": ident, "rank": rank, "ints": values[:n_ints], "floats": values[n_ints:], "file": file, "tail": tail}


def lustre(log):
    record = lib._log_get_lustre_record(log)
    if record is None:
        return None
    components = [
        {"ints": c["counters"].tolist(), "pool": c["pool_name"], "osts": c["ost_ids"].tolist()}
        for c in record["components"]
    ]
    return {"id": record["id"], "rank": record["rank"], "components": components}


def dxt(log, number):
    record = lib.log_get_dxt_record(log, lib._mod_names[number])
    if record is None:
        return None
    fields = ("offset", "length", "start_time", "end_time")
    writes = [[s[field] for field in fields] for s in record["write_segments"]]
    reads = [[s[field] for field in fields] for s in record["read_segments"]]
    return {"id": record["id"], "rank": record["rank"], "host": record["hostname"], "writes": writes, "reads": reads}


def heatmap(log):
    record = lib._log_get_heatmap_record(log)
    if record is None:
        return None
    bins = {"writes": record["write_bins"].tolist(), "reads": record["read_bins"].tolist()}
    return {"id": record["id"], "rank": record["rank"], "width": record["bin_width_seconds"], **bins}


def mdhim(log):
    record = memory(log, MDHIM, 16 + 5 * 8 + 4 * 8 + 3 * 8)
    if record is None:
        return None
    values = struct.unpack("<Qq5q4d3q", record)
    return {"id": values[0], "rank": values[1], "ints": list(values[2:7] + values[11:]), "floats": list(values[7:11])}


def apmpi(log, first):
    if first:
        record = memory(log, APMPI, 48)
        ident, rank, magic, sync, total, synced = struct.unpack("<QqqI4xdd", record)
        assert magic == int.from_bytes(b"APMPI", "big"), magic
        return {"id": ident, "rank": rank, "sync": sync, "variances": [total, synced]}
    record = memory(log, APMPI, 5232)
    if record is None:
        return None
    values = struct.unpack("<Qq396Q240d128s", record)
    node = values[-1].split(b"\0")[0].decode()
    return {"id": values[0], "rank": values[1], "ints": list(values[2:398]), "floats": list(values[398:-1]), "node": node}


def read(log, number, at):
    if number in FIXED:
        return fixed(log, number)
    if number in DXT:
        return dxt(log, number)
    return {LUSTRE: lustre, HEATMAP: heatmap, MDHIM: mdhim}[number](log) if number != APMPI else apmpi(log, at == 0)


def differences(got, want, path=""):
    """Paths at which two values differ; what should be None is not compared: libdarshan gets it wrong."""
    if want is None:
        return []
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        return [d for key in want for d in differences(got[key], want[key], f"{path}.{key}")]
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [d for at, pair in enumerate(zip(got, want)) for d in differences(*pair, f"{path}[{at}]")]
    return [] if got == want else [f"{path}: {got} instead of {want}"]


def compare(directory, name, want):
    log = lib.log_open(os.path.join(directory, name))
    job = lib.log_get_job(log)
    modules = lib.log_get_modules(log)
    numbers = {m["idx"]: m for m in modules.values()}
    fields = ("uid", "start_time_sec", "start_time_nsec", "end_time_sec", "end_time_nsec", "nprocs", "jobid")
    got = {
        "version": job["log_ver"],
        "job": [job[field] for field in fields],
        "metadata": "".join(f"{key}={value}\n" for key, value in job["metadata"].items()),
        "exe": lib.log_get_exe(log),
        "mounts": sorted(map(list, lib.log_get_mounts(log))),
        "names": sorted(map(list, lib.log_get_name_records(log).items())),
        "partial": sorted(number for number, module in numbers.items() if module["partial_flag"]),
        "modules": [],
    }
    want["mounts"].sort()
    want["names"].sort()
    values = 0
    for module in want["modules"]:
        number, records = module["id"], []
        while number in numbers and (record := read(log, number, len(records))) is not None:
            records.append(record)
            values += json.dumps(record).count(",") + 1
        got["modules"].append({"id": number, "version": numbers.get(number, {}).get("ver"), "records": records})
    lib.log_close(log)
    return [name + d for d in differences(got, want)], values


def plain(name):
    """The log with the same content that is not compressed."""
    return name.replace(".bzip2", "-Little-None.darshan")


def regions(directory, name, unpack):
    """What the name region and the module regions of a little-endian log hold."""
    with open(os.path.join(directory, name), "rb") as file:
        log = file.read()
    maps = struct.unpack_from("<130Q", log, 32) if log.startswith(b"3.41") else struct.unpack_from("<34Q", log, 24)
    starts, lengths = maps[::2], maps[1::2]
    return [unpack(log[start:start + length]) for start, length in zip(starts, lengths)]


def main(directory):
    with open(os.path.join(directory, "expect.json")) as file:
        expect = json.load(file)
    with multiprocessing.Pool(2, maxtasksperchild=1) as pool:
        results = pool.starmap(compare, [(directory, *item) for item in expect.items()], chunksize=1)
    for found, _ in results:
        print("\n".join(found[:20]))
    print(f"{len(results)} logs, {sum(values for _, values in results)} values")
    packed = [name for name in sorted(os.listdir(directory)) if name.endswith(".bzip2")]
    wrong = [name for name in packed if regions(directory, name, bz2.decompress) != regions(directory, plain(name), bytes)]
    print(f"{len(packed)} bzip2 logs, wrong: {wrong}")
    sys.exit(bool(wrong) or any(found for found, _ in results))


if __name__ == "__main__":
    main(sys.argv[1])
