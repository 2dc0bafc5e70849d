"""Every value that pydarshan 3.5.0 returns of a lake's logs, against the lake: compare_pydarshan.py LAKE.

The lake was filled by one ingest with --dxt. Each log is read in a process of its own, for libdarshan remembers across
logs whether it has seen the header of an APMPI module (source/darshan/FORMAT.md 12.9). Records are taken from libdarshan's
memory where pydarshan cannot wrap them (12.10). Differences that are right, each by its number in source/darshan/FORMAT.md 12:

  1, 2, 3   POSIX 1 to 3: variances, slowest times, and on big-endian logs three more times are lost: taken from the bytes
  4         the partial flags of big-endian logs are not swapped: taken from the bytes; nor are UUIDs to be swapped
  5         LUSTRE 1: OSTS, MDTS and STRIPE_OFFSET are dropped: taken from the bytes
  8         a command line without mounts comes back empty: taken from the bytes
  12        metadata: the last line may lack its end
  17        LUSTRE: rarely an address of memory stands where the first OST of a component was: read until two readings agree
And by FORMAT.md 13.6: HEATMAP of runtimes 3.4.0 to 3.4.3: libdarshan cuts or pads bins to those of the first record
And by SEMANTICS.md 1: a negative count is NULL, but for strides; a double of -1 is NULL.
"""

import collections
import multiprocessing
import os
import struct
import sys
import uuid

import duckdb
from darshan.backend import cffi_backend as lib

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))

import lake_files  # noqa: E402
from raw_log import POSIX, RawLog

# Modules whose records have a fixed size: table, prefix of the counters, ids after the head, bytes after the doubles.
FIXED = {
    1: ("darshan_posix", "posix", 0, 0), 2: ("darshan_mpiio", "mpiio", 0, 0), 3: ("darshan_h5f", "h5f", 0, 0),
    4: ("darshan_h5d", "h5d", 1, 0), 5: ("darshan_pnetcdf_file", "pnetcdf_file", 0, 0),
    6: ("darshan_pnetcdf_var", "pnetcdf_var", 1, 0), 7: ("darshan_bgq", "bgq", 0, 0),
    9: ("darshan_stdio", "stdio", 0, 0), 16: ("darshan_dfs", "dfs", 0, 32), 17: ("darshan_daos", "daos", 0, 48),
}
LUSTRE, DXT, MDHIM, APXC, APMPI, HEATMAP = 8, {10: "POSIX", 11: "MPIIO"}, 12, 13, 14, 15
SHOWN = 20


def counter_names(prefix, floats):
    """Names as libdarshan has them, in its order, in lower case."""
    names, array = [], getattr(lib.libdutil, f"{prefix}_{'f_' if floats else ''}counter_names")
    while not (name := lib.ffi.string(array[len(names)]).decode()).endswith("NUM_INDICES"):
        names.append(name.lower())
    return names


def count(value):
    return value if value >= 0 else None


def number(value):
    return value if value != -1.0 else None


class Log:
    """One log as pydarshan and as the lake have it."""

    def __init__(self, lake, path, log_id):
        self.path, self.log_id, self.lake = path, log_id, lake
        self.db = duckdb.connect()
        self.raw = RawLog(path)
        self.handle = lib.log_open(path)
        self.name_records = lib.log_get_name_records(self.handle)
        self.modules = {m["idx"]: m for m in lib.log_get_modules(self.handle).values()}
        self.values, self.wrong = 0, []
        self.counts = collections.Counter()

    def rows(self, table, columns, order=""):
        files = lake_files.files(self.lake).get(table)
        if not files:
            return []
        order = f"order by {order}" if order else ""
        query = f"select {', '.join(columns)} from read_parquet(?) where log_id = ? {order}"
        return self.db.execute(query, [files, self.log_id]).fetchall()

    def check(self, what, names, got, want):
        """Two rows, or lists of rows by key."""
        self.values += len(names)
        for name, a, b in zip(names, got, want, strict=True):
            if a != b:
                self.wrong.append(f"{os.path.basename(self.path)}: {what} {name}: {a!r} instead of {b!r}")

    def check_rows(self, table, names, got, want):
        """Rows by (record id, rank)."""
        if missing := want.keys() - got.keys():
            self.wrong.append(f"{os.path.basename(self.path)}: {table}: lacks {len(missing)} records, such as {next(iter(missing))}")
        if extra := got.keys() - want.keys():
            self.wrong.append(f"{os.path.basename(self.path)}: {table}: {len(extra)} records too many, such as {next(iter(extra))}")
        for key in want.keys() & got.keys():
            self.check(f"{table} {key}", names, got[key], want[key])
        self.counts[table] += len(want)

    def memory(self, module, size):
        """The next record as it lies in libdarshan's memory; None at the end."""
        pointer = lib.ffi.new("void **")
        if lib.libdutil.darshan_log_get_record(self.handle["handle"], module, pointer) < 1:
            return None
        record = bytes(lib.ffi.buffer(pointer[0], size))
        lib.libdutil.darshan_free(pointer[0])
        return record

    def fixed(self, module):
        table, prefix, ids, tail = FIXED[module]
        ints, floats = counter_names(prefix, False), counter_names(prefix, True)
        form = struct.Struct(f"<Qq{ids}Q{len(ints)}q{len(floats)}d{tail}s")
        old_posix = module == POSIX and self.raw.versions[POSIX] < 4
        truth, lost = (self.raw.posix_floats(), self.raw.posix_floats_lost()) if old_posix else ({}, set())
        names = [name for name in ("name", "file_record_id") if ids] + ints + floats
        want = {}
        while (record := self.memory(module, form.size)) is not None:
            ident, rank, *values = form.unpack(record)
            uuids = values.pop() if tail else b""
            if not tail:
                values.pop()
            row = []
            if ids:
                # 12.4: swapped by another module's version; H5D 1 has none.
                file = int.from_bytes(file_id(self.raw, module, len(want), form.size), "little") if self.raw.order == ">" else values[0]
                values.pop(0)
                row += [(self.name_records.get(ident) or None), None if module == 4 and self.raw.versions[4] == 1 else file]
            for name, value in zip(ints, values):
                if name == "posix_renamed_from":
                    row.append(value % 2**64 if self.raw.versions[POSIX] == 4 else None)
                elif prefix == "posix" and name.endswith("_stride"):
                    row.append(value)
                else:
                    row.append(count(value))
            doubles = values[len(ints):]
            for at in lost:
                doubles[at] = truth[ident, rank][at]
            if old_posix:
                self.check(f"{table} {(ident, rank)} by the bytes", floats, doubles, truth[ident, rank])
            row += map(number, doubles)
            if tail:
                pool, container = uuids[:16], uuids[16:32]
                if self.raw.order == ">":
                    pool, container = pool[::-1], container[::-1]
                row += [str(uuid.UUID(bytes=pool)), str(uuid.UUID(bytes=container))]
                row += struct.unpack("<QQ", uuids[32:])  if tail == 48 else []
            want[ident, rank] = row
        if tail:
            names = names + ["pool_uuid", "cont_uuid"] + (["oid_hi", "oid_lo"] if tail == 48 else [])
        got = {row[:2]: row[2:] for row in self.rows(table, ["record_id", "rank"] + names)}
        self.check_rows(table, names, got, want)

    def lustre_records(self):
        handle, records = lib.log_open(self.path), []
        while (record := lib._log_get_lustre_record(handle)) is not None:
            components = [(c["counters"].tolist(), c["pool_name"], c["ost_ids"].tolist()) for c in record["components"]]
            records.append((record["id"], record["rank"], components))
        lib.log_close(handle)
        return records

    def lustre(self):
        readings = [self.lustre_records(), self.lustre_records()]
        while readings[-1] not in readings[:-1] and len(readings) < 5:
            readings.append(self.lustre_records())
        heads = self.raw.lustre_heads() if self.raw.versions[LUSTRE] == 1 else {}
        names = ["osts", "mdts", "stripe_offset", "components", "osts of all"]
        want = {}
        for ident, rank, comps in readings[-1]:
            key = (ident, rank)
            osts, mdts, offset = heads.get(key, (None, None, None))
            components = []
            for ints, pool, ost_ids in comps:
                # The end of the extent may be -1: the end of the file.
                ints = [value if at == 5 else count(value) for at, value in enumerate(ints)]
                components.append((*ints, pool or None, [count(ost) for ost in ost_ids]))
            all_osts = [ost for component in components for ost in component[8]]
            want[key] = [osts if heads and osts >= 0 else None, mdts if heads and mdts >= 0 else None, offset, components, all_osts]
        columns = ["record_id", "rank", "lustre_osts", "lustre_mdts", "lustre_stripe_offset", "components", "ost_list"]
        fields = ["stripe_size", "stripe_count", "stripe_pattern", "flags", "ext_start", "ext_end", "mirror_id", "pool_name", "ost_list"]
        got = {}
        for row in self.rows("darshan_lustre", columns):
            components = [tuple(component[field] for field in fields) for component in row[5]]
            got[row[:2]] = [*row[2:5], components, row[6]]
        self.check_rows("darshan_lustre", names, got, want)

    def dxt(self, module):
        fields = ("offset", "length", "start_time", "end_time")
        columns = ["access_offset", "access_length", "access_start", "access_end"]
        no_offset = module == 11 and self.raw.versions[module] == 1
        want, hosts = {}, {}
        while (record := lib.log_get_dxt_record(self.handle, lib._mod_names[module])) is not None:
            hosts[record["id"], record["rank"]] = record["hostname"]
            for operation in ("read", "write"):
                for at, segment in enumerate(record[f"{operation}_segments"]):
                    row = [segment[field] for field in fields]
                    row[0] = None if no_offset else row[0]
                    want[record["id"], record["rank"], operation, at] = row
        key = ["record_id", "rank", "operation", "segment"]
        got = {}
        for row in self.rows("darshan_dxt", [*key, *columns, "hostname", "module"]):
            if row[9] == DXT[module]:
                got[row[:4]] = list(row[4:8])
                if row[8] != hosts.get(row[:2]):
                    self.wrong.append(f"{self.path}: {row[:4]}: host {row[8]} instead of {hosts.get(row[:2])}")
        self.check_rows(f"darshan_dxt {DXT[module]}", columns, got, want)

    def heatmap(self):
        names, interfaces = lib.log_get_name_records(self.handle), {}
        want, bins = {}, {}
        while (record := lib._log_get_heatmap_record(self.handle)) is not None:
            key = (record["id"], record["rank"])
            interfaces[key] = names[record["id"]].removeprefix("heatmap:")
            want[key] = (record["bin_width_seconds"], record["read_bins"].tolist(), record["write_bins"].tolist())
        got = {}
        columns = ["record_id", "rank", "module", "bin", "bin_width", "bin_start", "bytes_read", "bytes_written"]
        for ident, rank, module, at, width, start, read, written in self.rows("darshan_heatmap", columns, "record_id, rank, bin"):
            stored = got.setdefault((ident, rank), (width, [], []))
            self.check("darshan_heatmap", ["module", "bin", "start"], [module, at, start],
                       [interfaces.get((ident, rank)), len(stored[1]), at * width])
            stored[1].append(read)
            stored[2].append(written)
        for key, (width, read, written) in want.items():
            if key in got and abs(len(got[key][1]) - len(read)) == 1 and (3, 21) <= self.raw.version:
                n = max(len(got[key][1]), len(read))
                pad = lambda values: values + [0] * (n - len(values))
                got[key] = (got[key][0], pad(got[key][1]), pad(got[key][2]))
                want[key] = (width, pad(read), pad(written))
        self.values += sum(2 * len(read) for _, read, _ in want.values())
        self.check_rows("darshan_heatmap", ["bin_width", "reads", "writes"], got, want)

    def mdhim(self):
        want = {}
        ints = ["puts", "gets", "put_max_size", "get_max_size", "servers"]
        floats = ["f_put_timestamp", "f_get_timestamp", "f_put_max_duration", "f_get_max_duration"]
        columns = [f"mdhim_{name}" for name in ints + floats] + ["mdhim_server_histogram"]
        data, at = self.raw.unpack(self.raw.regions[MDHIM]), 0
        while at < len(data):
            values = struct.unpack_from(self.raw.order + "Qq5q4d", data, at)
            servers = max(1, values[6])
            histogram = struct.unpack_from(f"{self.raw.order}{servers}q", data, at + 88)
            want[values[:2]] = [*map(count, values[2:7]), *map(number, values[7:]), list(histogram)]
            at += 88 + 8 * servers
        got = {row[:2]: row[2:] for row in self.rows("darshan_mdhim", ["record_id", "rank"] + columns)}
        self.check_rows("darshan_mdhim", columns, got, want)

    def apmpi(self):
        def names(array, n):
            return [lib.ffi.string(array[at]).decode().lower() for at in range(n)]
        head = self.memory(APMPI, 48)
        if head is None:
            return
        flag, total, synced = struct.unpack_from("<I4xdd", head, 24)
        columns = names(lib.libdutil.apmpi_counter_names, 396)
        columns += names(lib.libdutil.apmpi_f_mpiop_totaltime_counter_names, 222)
        columns += names(lib.libdutil.apmpi_f_mpiop_synctime_counter_names, 16)
        columns += names(lib.libdutil.apmpi_f_mpi_global_counter_names, 2)
        want = {}
        while (record := self.memory(APMPI, 5232)) is not None:
            values = struct.unpack("<Qq396q240d128s", record)
            node = values[-1].split(b"\0")[0].decode() or None
            want[values[:2]] = [*map(count, values[2:398]), *map(number, values[398:-1]), node, flag != 0, number(total), number(synced)]
        columns += ["node_name", "sync_flag", "variance_total_time", "variance_total_sync_time"]
        got = {row[:2]: row[2:] for row in self.rows("darshan_apmpi", ["record_id", "rank"] + columns)}
        self.check_rows("darshan_apmpi", columns, got, want)

    def job(self):
        job, raw = lib.log_get_job(self.handle), self.raw
        seconds = lambda which: job[f"{which}_time_sec"] * 10**6 + job[f"{which}_time_nsec"] // 1000
        exe = lib.log_get_exe(self.handle)
        if b"\n" not in raw.tail():
            exe = raw.tail().decode()  # 12.8
        exe = exe.removesuffix("<TRUNCATED>")
        new = raw.version >= (3, 41)
        run_time = job["end_time_sec"] - job["start_time_sec"] + 1.0
        if new:
            run_time = (job["end_time_sec"] - job["start_time_sec"]) + (job["end_time_nsec"] - job["start_time_nsec"]) / 1e9
        metadata = raw.job[56 if new else 40:][:1024].split(b"\0")[0].decode().split("\n")
        metadata = dict(line.split("=", 1) for line in metadata if "=" in line)  # 12.12
        want = [job["jobid"], job["uid"], job["nprocs"], seconds("start"), seconds("end"), job["log_ver"], exe or None,
                metadata.get("lib_ver"), metadata.get("h"), any(raw.partial), {"<": "little", ">": "big"}[raw.order]]
        names = ["job_id", "uid", "nprocs", "epoch_us(start_time)", "epoch_us(end_time)", "log_version", "exe", "lib_ver",
                 "mpi_hints", "partial", "byte_order"]
        (got,) = self.rows("darshan_log", names + ["run_time"])
        got = list(got)
        got[6] = got[6].removesuffix("<TRUNCATED>").rstrip() if got[6] else got[6]
        want[6] = want[6].rstrip() if want[6] else want[6]
        self.check("darshan_log", names, got[:-1], want)
        if abs(got[-1] - run_time) > 1e-6 * max(1, run_time):
            self.wrong.append(f"{self.path}: run time {got[-1]} instead of {run_time}")

    def mounts(self):
        want = sorted(lib.log_get_mounts(self.handle))
        got = sorted(self.rows("darshan_mount", ["mount_point", "fs_type"]))
        self.check("darshan_mount", range(1), [got], [want])
        self.counts["darshan_mount"] += len(want)

    def names(self):
        for ident, path in self.rows("darshan_file", ["record_id", "path"]):
            self.check(f"darshan_file {ident}", ["path"], [path], [self.name_records.get(ident) or None])
            self.counts["names"] += 1

    def compare(self):
        self.job()
        self.mounts()
        self.names()
        for module in self.modules:
            if not self.raw.regions[module]:
                continue
            if module in FIXED:
                self.fixed(module)
            elif module in DXT:
                self.dxt(module)
            elif module != APXC:
                {LUSTRE: self.lustre, MDHIM: self.mdhim, APMPI: self.apmpi, HEATMAP: self.heatmap}[module]()
        lib.log_close(self.handle)
        return self.values, self.wrong, self.counts


def file_id(raw, module, at, size):
    """The file's record id in the record at that place of a big-endian log, as little-endian bytes."""
    data = raw.unpack(raw.regions[module])
    size = size - 8 if module == 4 and raw.versions[4] == 1 else size
    return data[at * size + 16:at * size + 24][::-1]


def compare(lake, path, log_id):
    try:
        return Log(lake, path, log_id).compare()
    except Exception as error:  # one log that cannot be compared must not hide the others
        import traceback
        return 0, [f"{path}: {traceback.format_exc()}"], collections.Counter()


def main(lake):
    db = duckdb.connect()
    logs = db.execute("select log_path, log_id from read_parquet(?)", [lake_files.files(lake)["darshan_log"]]).fetchall()
    db.close()
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        results = pool.starmap(compare, [(lake, path, log_id) for path, log_id in logs], chunksize=1)
    wrong = [line for _, lines, _ in results for line in lines]
    counts = sum((counts for *_, counts in results), collections.Counter())
    print("\n".join(wrong[:SHOWN]))
    print(f"{len(results)} logs, {sum(values for values, *_ in results)} values, {len(wrong)} differences")
    print(", ".join(f"{name} {n}" for name, n in sorted(counts.items())))
    sys.exit(bool(wrong) or not results)


if __name__ == "__main__":
    main(sys.argv[1])
