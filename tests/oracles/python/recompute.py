"""darshan_file and darshan_log of a lake, recomputed by DuckDB from the tables of the modules: recompute.py LAKE.

Integers and text must be equal, doubles within 1e-12 of each other. Mounts, layouts and bytes by OST are recomputed here, from
darshan_mount and darshan_lustre (SEMANTICS.md 4, source/darshan/FORMAT.md 3 and 7.1). Not recomputed, for the tables of the
modules do not hold what they come from: darshan_file.path, and what darshan_log says of the log itself (compare_pydarshan.py
compares these).
"""

import math
import os
import struct
import sys
import tomllib

import duckdb

import lake_files

HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = ["posix", "mpiio", "stdio", "dfs", "daos", "lustre", "mount", "module", "dxt", "log", "file"]
TYPES = {"Int64": "BIGINT", "UInt64": "UBIGINT", "Int32": "INTEGER", "Utf8": "VARCHAR", "Float64": "DOUBLE", "Boolean": "BOOLEAN",
         "Binary": "BLOB", "Timestamp": "TIMESTAMPTZ"}
# Of the log as a whole: nothing in the modules says it.
OF_THE_LOG = {"log_path", "uid", "user", "exe", "exe_truncated", "app", "nprocs", "start_time", "end_time", "run_time", "log_version", "partial",
              "status", "log_bytes", "byte_order", "compression", "lib_ver", "mpi_hints", "fork_parent", "modules", "partial_modules", "job_id"}
SHOWN = 30


def sql_type(name):
    if name.startswith("List<"):
        return sql_type(name[5:-1]) + "[]"
    return "VARCHAR" if name.startswith("Struct<") else TYPES[name]


def load(db, lake):
    """One table for each of TABLES; empty where the lake has no file of it. The lake's own rows are stored_file and log."""
    for table in TABLES:
        name = "stored_file" if table == "file" else table
        files = lake_files.files(lake).get(f"darshan_{table}")
        if files:
            db.execute(f"create table {name} as from read_parquet({files})")
            continue
        with open(f"{HERE}/../../../schemas/darshan/darshan_{table}.toml", "rb") as schema:
            columns = tomllib.load(schema)["columns"]
        db.execute(f"create table {name} ({', '.join(column['name'] + ' ' + sql_type(column['type']) for column in columns)})")


def bitmap(data):
    """Values of a serialised roaring bitmap, by the format's specification."""
    cookie, = struct.unpack_from("<I", data)
    if cookie & 0xFFFF == 12347:
        n, at = (cookie >> 16) + 1, 4 + ((cookie >> 16) + 8) // 8
        runs = [data[4 + i // 8] >> i % 8 & 1 for i in range(n)]
    else:
        n, at, runs = struct.unpack_from("<I", data, 4)[0], 8, None
    heads = [struct.unpack_from("<HH", data, at + 4 * i) for i in range(n)]
    at += 4 * n + (4 * n if runs is None or n >= 4 else 0)
    values = []
    for i, (key, less_one) in enumerate(heads):
        if runs and runs[i]:
            count, = struct.unpack_from("<H", data, at)
            for run in range(count):
                start, length = struct.unpack_from("<HH", data, at + 2 + 4 * run)
                values += [key << 16 | value for value in range(start, start + length + 1)]
            at += 2 + 4 * count
        elif less_one < 4096:
            values += [key << 16 | value for value in struct.unpack_from(f"<{less_one + 1}H", data, at)]
            at += 2 * (less_one + 1)
        else:
            words = data[at:at + 8192]
            values += [key << 16 | value for value in range(65536) if words[value // 8] >> value % 8 & 1]
            at += 8192
    return values


def largest_remainder(total, weights):
    """Whole shares in proportion to the weights, their sum the total."""
    whole = sum(weights)
    if whole == 0:
        return [0] * len(weights)
    shares = [total * weight // whole for weight in weights]
    by_rest = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in by_rest[:total - sum(shares)]:
        shares[i] += 1
    return shares


class Layout:
    """The layout of a file, from the records of all its processes: the widest, and OSTs that only others name."""

    def __init__(self, records):
        records = sorted(records, key=lambda record: (-len(record["ost_list"]), record["rank"]))
        widest = records[0]
        self.components = widest["components"]
        self.osts = list(widest["ost_list"])
        for record in sorted(records[1:], key=lambda record: record["place"]):
            self.osts += [ost for ost in dict.fromkeys(record["ost_list"]) if ost is not None and ost not in self.osts]
        self.stripe_offset, self.fs_osts = widest["lustre_stripe_offset"], widest["lustre_osts"]
        mirrors = [component["mirror_id"] for component in self.components]
        self.mirrored = len(set(mirrors)) > 1
        at, self.used = 0, []
        for component in self.components:
            width = len(component["ost_list"])
            if component["mirror_id"] == mirrors[0]:
                end = component["ext_end"] if component["ext_end"] >= 0 else math.inf
                on_mdt = (component["stripe_pattern"] or 0) & 2 or width == 0
                self.used.append((component["ext_start"] or 0, end, component["stripe_size"], width, at, on_mdt, component["stripe_count"]))
            at += width

    def component_at(self, highest):
        for start, end, size, _, _, _, count in self.used:
            if highest is not None and start <= highest < end:
                return size, count
        return (self.components[0]["stripe_size"], self.components[0]["stripe_count"]) if self.components else (None, None)

    def weigh(self, extents):
        """Bytes of [offset, end) on each element of the list of OSTs, and last on the metadata target."""
        weights = [0] * (len(self.osts) + 1)
        for offset, beyond in extents:
            for start, end, size, width, first, on_mdt, _ in self.used:
                a, b = max(offset, start), min(beyond, end)
                if a >= b:
                    continue
                if on_mdt:
                    weights[-1] += b - a
                    continue
                a, b = a - start, b - start
                for slot in range(width):
                    held = lambda at: at // (size * width) * size + min(max(at % (size * width) - slot * size, 0), size)
                    weights[first + slot] += held(b) - held(a)
        return weights

    def spread(self, total, extents):
        weights = self.weigh(extents)
        if not any(weights):
            for _, _, _, width, first, _, _ in self.used:
                weights[first:first + width] = [1] * width
        return largest_remainder(total, weights)[:-1]


def of_files(db):
    """Column by column what darshan_mount, darshan_lustre and darshan_dxt say of each file."""
    def dicts(query):
        cursor = db.execute(query)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]
    mounts, layouts, traces = {}, {}, {}
    for mount in dicts("from mount order by log_id, position"):
        mounts.setdefault(mount["log_id"], []).append(mount)
    for place, record in enumerate(dicts("from lustre order by log_id, record_id, rank")):
        layouts.setdefault((record["log_id"], record["record_id"]), []).append(record | {"place": place})
    for log, ident, operation, offset, length in db.execute(
            "select log_id, record_id, operation, access_offset, access_length from dxt where module = 'POSIX' and access_offset is not null").fetchall():
        traces.setdefault((log, ident, operation), []).append((offset, offset + length))
    cache = {}
    for file in dicts("select s.log_id, s.record_id, s.path, f.bytes_read, f.bytes_written, f.max_byte_read, f.max_byte_written "
                      "from stored_file s join file f using (log_id, record_id)"):
        key, path = (file["log_id"], file["record_id"]), file["path"] or ""
        held = [mount for mount in mounts.get(key[0], []) if path.startswith("/")
                and (path + "/").startswith(mount["mount_point"].rstrip("/") + "/")]
        mount = max(held, key=lambda mount: len(mount["mount_point"]), default={"mount_point": None, "fs_type": None})
        row = {"mount_point": mount["mount_point"], "fs": mount["mount_point"], "fs_type": mount["fs_type"]}
        row |= dict.fromkeys(["stripe_size", "stripe_count", "stripe_offset", "n_components", "mirrored", "fs_osts", "ost_list",
                              "ost_bits", "ost_count", "ost_used", "ost_bytes_read", "ost_bytes_written"])
        row |= {"fs_unsure": key in layouts and mount["mount_point"] is not None and mount["fs_type"] != "lustre", "ost_bytes_even": False}
        if key in layouts:
            layout = Layout(layouts[key])
            touched = [at for at in (file["max_byte_read"], file["max_byte_written"]) if at is not None]
            highest = max(touched, default=None)
            size, count = layout.component_at(highest)
            known = sorted({ost for ost in layout.osts if ost is not None})
            row |= {"stripe_size": size, "stripe_count": count, "stripe_offset": layout.stripe_offset, "n_components": len(layout.components),
                    "mirrored": layout.mirrored, "fs_osts": layout.fs_osts, "ost_list": layout.osts, "ost_bits": known, "ost_count": len(known)}
            if highest is not None:
                row["ost_used"] = len({ost for ost, weight in zip(layout.osts, layout.weigh([(0, highest + 1)])) if weight and ost is not None})
            for direction, suffix in (("read", "read"), ("write", "written")):
                traced = traces.get((*key, direction))
                extents = traced or ([(0, highest + 1)] if highest is not None else [])
                row[f"ost_bytes_{suffix}"] = layout.spread(file[f"bytes_{suffix}"], extents)
                row["ost_bytes_even"] |= not extents and file[f"bytes_{suffix}"] > 0
        cache[key] = row
    return cache


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= 1e-12 * max(abs(a), abs(b))
    return a == b


def compare(db, stored, again, key, left_out, more, wrong):
    """Rows of two tables by key; how many values were compared."""
    def rows(table):
        columns = db.execute(f"describe {table}").fetchall()
        chosen = [f"epoch_us({name}) as {name}" if kind.startswith("TIMESTAMP") else name for name, kind, *_ in columns]
        cursor = db.execute(f"select {', '.join(chosen)} from {table}")
        names = [column[0] for column in cursor.description]
        return names, {tuple(row[names.index(name)] for name in key): dict(zip(names, row)) for row in cursor.fetchall()}
    names, found = rows(stored)
    again_names, expected = rows(again)
    if found.keys() != expected.keys():
        wrong.append(f"{stored}: {len(found.keys() - expected.keys())} rows too many, {len(expected.keys() - found.keys())} missing")
    values = 0
    more_names = next(iter(more.values())).keys() if more else ()
    columns = [name for name in names if name not in left_out]
    if lacking := set(columns) - set(again_names) - set(more_names):
        wrong.append(f"{stored}: not recomputed: {sorted(lacking)}")
    paths = dict(db.execute("select log_id, parse_filename(log_path) from log").fetchall())
    for at in found.keys() & expected.keys():
        want = expected[at] | more.get(at, {})
        got = found[at]
        if got.get("ost_bits") is not None:
            got["ost_bits"] = bitmap(got["ost_bits"])
        for name in columns:
            values += 1
            if name in want and not same(got[name], want[name]):
                wrong.append(f"{paths[at[0]]} {at[1:]}: {name}: {got[name]!r} instead of {want[name]!r}"[:400])
    return len(found), values


def main(lake):
    db, wrong = duckdb.connect(config={"threads": 2}), []
    db.execute("set timezone = 'UTC'")
    load(db, lake)
    for script in ("recompute_file.sql", "recompute_log.sql"):
        with open(f"{HERE}/{script}") as file:
            db.execute(file.read())
    files, in_files = compare(db, "stored_file", "file", ["log_id", "record_id"], {"path"}, of_files(db), wrong)
    logs, in_logs = compare(db, "log", "log_again", ["log_id"], OF_THE_LOG, {}, wrong)
    print("\n".join(wrong[:SHOWN]))
    print(f"{logs} logs and {files} files, {in_files + in_logs} values, {len(wrong)} differences")
    sys.exit(bool(wrong) or not logs)


if __name__ == "__main__":
    main(sys.argv[1])
