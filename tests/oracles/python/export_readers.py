"""An export as other tools read it: python3 export_readers.py LAKE DELTA EXPECTED ARROW

EXPECTED has two lines of the lake that was exported: count, bytes read, bytes written and files of darshan_log; rows, bytes read, bytes written and
distinct record ids of darshan_file. DuckDB, Polars and pandas read the Parquet files, delta-rs the Delta tables. ARROW is darshan_log
as a file of Arrow, which pyarrow, Polars and pandas read.
"""

import sys

import deltalake
import duckdb
import pandas
import polars
import pyarrow.ipc

LAKE, DELTA, EXPECTED, ARROW = sys.argv[1:5]
with open(EXPECTED) as file:
    expected = [[int(value) for value in line.split(",")] for line in file.read().split("\n")]


def same(reader, log, file):
    found = [[int(value) for value in log], [int(value) for value in file]]
    assert found == expected, f"{reader}: {found}, expected {expected}"


one = duckdb.connect().execute
log = one(f"SELECT count(*), sum(bytes_read), sum(bytes_written), sum(files) FROM '{LAKE}/darshan_log/*.parquet'").fetchone()
file = one(f"SELECT count(*), sum(bytes_read), sum(bytes_written), count(DISTINCT record_id) FROM '{LAKE}/darshan_file/*.parquet'").fetchone()
same("DuckDB", log, file)

log, file = (polars.read_parquet(f"{LAKE}/{table}/*.parquet") for table in ("darshan_log", "darshan_file"))
sums = lambda frame: [len(frame), frame["bytes_read"].sum(), frame["bytes_written"].sum()]
same("Polars", sums(log) + [log["files"].sum()], sums(file) + [file["record_id"].n_unique()])

log, file = (pandas.read_parquet(f"{LAKE}/{table}") for table in ("darshan_log", "darshan_file"))
same("pandas", sums(log) + [log["files"].sum()], sums(file) + [file["record_id"].nunique()])

for reader, log in (
    ("pyarrow", polars.from_arrow(pyarrow.ipc.open_file(ARROW).read_all())),
    ("Polars, Arrow", polars.read_ipc(ARROW)),
    ("pandas, Arrow", pandas.read_feather(ARROW)),
):
    same(reader, sums(log) + [log["files"].sum()], expected[1])

tables = {name: deltalake.DeltaTable(f"{DELTA}/{name}") for name in ("darshan_log", "darshan_file", "slurm_job", "lmt_ost")}
frame = lambda table: polars.from_arrow(tables[table].to_pyarrow_table())
log, file = frame("darshan_log"), frame("darshan_file")
same("delta-rs", sums(log) + [log["files"].sum()], sums(file) + [file["record_id"].n_unique()])
lake = polars.read_parquet(f"{LAKE}/darshan_file/*.parquet")["record_id"]
assert file["record_id"].dtype == polars.Int64
assert sorted(value % 2**64 for value in set(file["record_id"])) == sorted(set(lake)), "not the same bits"
assert len(frame("slurm_job")) > 0 and len(frame("lmt_ost")) > 0
print(f"{len(log)} logs and {len(file)} files read by DuckDB, Polars, pandas and delta-rs")
