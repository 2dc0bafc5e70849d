"""What an anonymised export gives away: python3 export_leaks.py LAKE EXPORT KEY

Reads both with DuckDB and the raw bytes of the export's files. Prints one line of figures; any leak is an error.

- no user, account, program, job name, host, component of a path longer than three characters, job id or log id of the lake is a value, a part of a value
  or a word in the bytes of any file of the export;
- pseudonyms of users and jobs are those that three lines of Python make of the key;
- no record id is the hash of a true path, and each is that of the new one;
- sums of counters are those of the lake.
"""

import base64
import bz2
import hmac
import os
import re
import sys
import tomllib
import zlib

import duckdb
from lake_files import files as data_files

LAKE, EXPORT, KEY = sys.argv[1:4]
key = bytes.fromhex(open(KEY).read())
MASK = (1 << 64) - 1


def text(domain, value):
    mac = hmac.new(key, f"{domain}\0{value}".encode(), "sha256").digest()
    return base64.b32encode(mac[:10]).decode().lower()


def number(domain, value):
    mac = hmac.new(key, f"{domain}\0{value}".encode(), "sha256").digest()
    return int.from_bytes(mac[:8], "big") >> 12


def record_id(name):
    """Darshan's hash of a name (lookup8 of Bob Jenkins)."""
    a = b = 0
    c, at, n = 0x9E3779B97F4A7C13, 0, len(name)

    def mix(a, b, c):
        for r, l, s in ((43, 9, 8), (38, 23, 5), (35, 49, 11), (12, 18, 22)):
            a = ((a - b - c) & MASK) ^ (c >> r)
            b = ((b - c - a) & MASK) ^ ((a << l) & MASK)
            c = ((c - a - b) & MASK) ^ (b >> s)
        return a, b, c

    word = lambda part: int.from_bytes(part, "little")
    while n - at >= 24:
        a, b, c = a + word(name[at : at + 8]), b + word(name[at + 8 : at + 16]), c + word(name[at + 16 : at + 24])
        a, b, c = mix(a & MASK, b & MASK, c & MASK)
        at += 24
    rest = name[at:]
    a, b, c = a + word(rest[:8]), b + word(rest[8:16]), c + n + (word(rest[16:]) << 8)
    return mix(a & MASK, b & MASK, c & MASK)[2]


db = duckdb.connect()


FILES = {LAKE: data_files(LAKE), EXPORT: data_files(EXPORT)}


def files(root, table):
    return FILES[root].get(table, [])


def rows(root, table, sql):
    found = files(root, table)
    return db.execute(sql.replace("FROM t", f"FROM read_parquet({found!r})")).fetchall() if found else []


def column(root, table, name):
    return {value for (value,) in rows(root, table, f'SELECT DISTINCT "{name}" FROM t') if value is not None}


TABLES = sorted(FILES[LAKE])

# What each column is, in words: a column that is kept has one of the words of its description.
SCHEMAS = os.path.join(os.path.dirname(__file__), "../../../schemas")
WORD = re.compile(r"[A-Za-z0-9_.@+~-]+")
described = {}
for directory, _, here in os.walk(SCHEMAS):
    for name in here:
        with open(os.path.join(directory, name), "rb") as file:
            for column_ in tomllib.load(file)["columns"]:
                described[name[:-5], column_["name"]] = (column_["export"], set(WORD.findall(column_["doc"])))

# What must not be found.
secrets = set()
for table in ("darshan_log", "slurm_job", "slurm_step"):
    known = {row[0] for row in rows(LAKE, table, "SELECT column_name FROM (DESCRIBE SELECT * FROM t)")}
    for name in ("user", "account", "app", "job_name", "step_name", "cluster"):
        if name in known:
            secrets |= column(LAKE, table, name)
    if "nodes" in known:
        secrets |= {value for (value,) in rows(LAKE, table, "SELECT DISTINCT unnest(nodes) FROM t") if value}
for table, name in (("lmt_oss", "oss"), ("lmt_mdt", "mds"), ("darshan_dxt", "hostname"), ("darshan_apmpi", "node_name"), ("lmt_ost", "fs")):
    secrets |= column(LAKE, table, name)
paths = column(LAKE, "darshan_file", "path")
names = paths | column(LAKE, "darshan_mount", "mount_point") | column(LAKE, "darshan_h5d", "name") | column(LAKE, "darshan_log", "log_path")
secrets |= {part for path in names for part in re.split("[/:]", path)}
jobs, logs = column(LAKE, "darshan_log", "job_id"), column(LAKE, "darshan_log", "log_id")
numbers = {str(value) for value in jobs | column(LAKE, "slurm_job", "job_id") if abs(value) > 9999} | {str(log) for log in logs}
# Words of Darshan, Slurm and the file systems, and endings of names, which stay: a component may be called so.
keep = set(open(os.path.join(os.path.dirname(__file__), "../../../src/answer/export/endings.txt")).read().split())
keep |= {"lustre", "ext4", "tmpfs", "proc", "sysfs", "devpts", "gpfs", "batch", "extern", "interactive", "node", "read", "write", "unknown", "darshan", "none",
         "default", "POSIX", "STDIO", "HEATMAP", "LUSTRE", "<STDIN>", "<STDOUT>", "<STDERR>", "home", "path", "file", "true", "false", "null"}
keep |= column(LAKE, "darshan_mount", "fs_type") | column(LAKE, "darshan_log", "lib_ver")
secrets = {s for s in secrets if len(s) > 3 and s not in keep}

# Every value as text.
values = 0
for table in TABLES:
    for path in files(EXPORT, table):
        for name, kind in db.execute(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet('{path}'))").fetchall():
            if not ("VARCHAR" in kind or kind in ("BIGINT", "INTEGER", "UBIGINT")):
                continue
            if (table, name) == ("darshan_module", "warning"):
                continue  # a sentence of iolode's about a release of Darshan
            # Counters are numbers of anything: of numbers the columns of ids are looked at.
            is_id = name.endswith("_id") or name in ("uid", "cancelled_by")
            if kind in ("BIGINT", "INTEGER", "UBIGINT") and not is_id:
                continue
            # Of maps the values are counters.
            what = f'map_keys("{name}")' if kind.startswith("MAP") else f'"{name}"'
            for (value,) in db.execute(f"SELECT DISTINCT CAST({what} AS VARCHAR) FROM read_parquet('{path}')").fetchall():
                if value is None:
                    continue
                values += 1
                words = set(WORD.findall(value)) | {value}
                export, doc = described[table, name]
                words -= doc if export == "kept" else set()
                found = words & secrets or (words & numbers if is_id or kind == "VARCHAR" else set())
                assert not found, f"{table}.{name} has {found} in {value}"

# Lists of files and inputs.
for directory, _, here in os.walk(f"{EXPORT}/_iolode"):
    for name in here:
        if name.endswith(".parquet"):
            for row in db.execute(f"SELECT COLUMNS(*)::VARCHAR FROM read_parquet('{os.path.join(directory, name)}')").fetchall():
                words = set(WORD.findall(" ".join(value for value in row if value))) | set(row)
                found = (words & secrets) - {"darshan"} - set(TABLES) | words & numbers
                assert not found, f"{name} has {found}"



def regions(log):
    """What lies in a Darshan log: its regions follow the header, stream after stream."""
    header = 1328 if log.startswith(b"3.41") else 360
    texts, rest = [log[:8]], log[header:]
    if log[16] == 2:
        return rest
    while rest:
        stream = bz2.BZ2Decompressor() if log[16] == 1 else zlib.decompressobj()
        texts.append(stream.decompress(rest))
        assert stream.eof
        rest = stream.unused_data
    return b"\0".join(texts)


logs_read = 0
# The bytes of everything else, and of footers: the last 64 KiB of each file.
for directory, _, here in os.walk(EXPORT):
    for name in here:
        path = os.path.join(directory, name)
        with open(path, "rb") as file:
            size = os.path.getsize(path)
            file.seek(max(0, size - 65536) if name.endswith(".parquet") and "_iolode" not in directory else 0)
            bytes_ = file.read()
        if name.endswith(".darshan"):
            bytes_ = regions(bytes_)
            logs_read += 1
        words = set(re.findall(rb"[A-Za-z0-9_.@+~-]{4,}", bytes_))
        # Words of the schemas are in every footer, whatever users have called their files.
        own = {word for _, doc in described.values() for word in doc} | {name for _, name in described}
        with open(os.path.join(SCHEMAS, "../src/answer/export/readme.rs")) as readme:
            own |= set(WORD.findall(readme.read()))
        found = {s for s in secrets - own if len(s) > 5 and s.encode() in words}
        assert not found, f"{path} has {found}"

# The key makes the same pseudonyms here.
expected = {(number("job", job), text("user", user) if user else None) for job, user in rows(LAKE, "darshan_log", 'SELECT job_id, "user" FROM t')}
found = set(rows(EXPORT, "darshan_log", 'SELECT job_id, "user" FROM t'))
assert found == expected, (len(found), len(expected))

# A guessed path is not confirmed.
ids = {table: column(EXPORT, table, "record_id") for table in TABLES if files(EXPORT, table) and table in ("darshan_file", "darshan_posix", "darshan_mpiio", "darshan_stdio", "darshan_lustre", "darshan_h5f", "darshan_h5d", "darshan_dxt")}
streams = {record_id(name) for name in (b"<STDIN>", b"<STDOUT>", b"<STDERR>")}
attack = {record_id(name.encode()) for name in names} - streams
for table, found in ids.items():
    assert not found & attack, f"{table} confirms {len(found & attack)} paths"
    originals = column(LAKE, table, "record_id") - streams
    assert not found & originals, f"{table} has {len(found & originals)} record ids of the lake"
renamed = column(EXPORT, "darshan_posix", "posix_renamed_from") if files(EXPORT, "darshan_posix") else set()
assert (0 in renamed) == (bool(files(LAKE, "darshan_posix")) and 0 in column(LAKE, "darshan_posix", "posix_renamed_from")), "0 stands for none"
renamed.discard(0)
assert not renamed & (attack | column(LAKE, "darshan_posix", "posix_renamed_from")), "names before a rename are confirmed"
new = dict(rows(EXPORT, "darshan_file", "SELECT record_id, path FROM t WHERE path IS NOT NULL"))
assert all(record_id(path.encode()) == id_ for id_, path in new.items() if id_ not in streams)
files_of = ids["darshan_file"]
for table in ("darshan_posix", "darshan_mpiio", "darshan_stdio"):
    missing = ids.get(table, set()) - files_of
    was = column(LAKE, table, "record_id") - column(LAKE, "darshan_file", "record_id")
    assert len(missing) == len(was), f"{table}: {len(missing)} records without a file, {len(was)} in the lake"

# Counters are as they were. Of Slurm the records of jobs with a log are there, of all components.
sums = 0
components = rows(LAKE, "slurm_job", "SELECT job_id, het_job_id FROM t WHERE het_job_id IS NOT NULL")
chosen = jobs | {job for job, leader in components if leader in jobs}
for table in TABLES:
    if table.startswith("lmt"):
        continue
    kinds = rows(LAKE, table, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM t)")
    kept = [name for name, kind in kinds if kind in ("BIGINT", "INTEGER", "DOUBLE") and not name.endswith("_id") and name not in ("uid", "cancelled_by", "fork_parent", "bgq_csjobid")]
    if not kept:
        continue
    sql = "SELECT count(*), " + ", ".join(f'sum("{name}")' for name in kept) + " FROM t"
    of_logs = sql + f" WHERE job_id IN ({', '.join(map(str, chosen))})" if table.startswith("slurm") else sql
    (a,), found = rows(LAKE, table, of_logs), rows(EXPORT, table, sql)
    if not found:
        assert a[0] == 0, f"{table} is missing: {a[0]} rows in the lake"
        continue
    (b,) = found
    for name, x, y in zip(["count"] + kept, a, b):
        same = x == y or (isinstance(x, float) and abs(x - y) <= 1e-9 * abs(x))
        assert same, f"{table}.{name}: {x} in the lake, {y} in the export"
        sums += 1
print(f"{len(secrets)} names and {len(numbers)} numbers in none of {values} values; {len(new)} record ids are hashes of new paths; {sums} sums are equal; {logs_read} logs")
