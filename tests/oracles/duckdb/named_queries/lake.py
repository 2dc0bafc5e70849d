"""A lake as DuckDB sees it: its tables over their Parquet files, and iolode's views written anew from what their documentation says."""
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import duckdb

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent.parent / "python"))

import lake_files


def connect(binary, lake):
    """A connection with a view for each table and view of the lake."""
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    newest, tables = lake_files.manifest(lake), lake_files.files(lake)
    for table in newest["schema_versions"]:
        if table.startswith("lake_"):
            continue
        if table in tables:
            paths = ", ".join(f"'{path}'" for path in tables[table])
            source = f"read_parquet([{paths}], union_by_name = true)"
            con.execute(f"CREATE VIEW {table} AS SELECT {plain_times(con, source)} FROM {source}")
        else:
            empty(con, binary, lake, table)
    inputs = [f"'{Path(lake) / one['path']}'" for one in newest["inputs"]]
    source = f"read_parquet([{', '.join(inputs)}], union_by_name = true)"
    con.execute(f"CREATE VIEW lake_input AS SELECT {plain_times(con, source)} FROM {source}")
    mounts(con, lake)
    con.execute((HERE / "views.sql").read_text())
    return con


def rows(con, sql, params=None):
    """The answer to a query, a dict for each row."""
    answer = con.execute(sql, params) if params else con.execute(sql)
    names = [one[0] for one in answer.description]
    return [dict(zip(names, row)) for row in answer.fetchall()]


def plain_times(con, source):
    """The columns of a table, times as TIMESTAMP in UTC rather than with a zone."""
    zoned = "TIMESTAMP WITH TIME ZONE"
    described = con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    return ", ".join(f"\"{one[0]}\" AT TIME ZONE 'UTC' AS \"{one[0]}\"" if one[1] == zoned else f'"{one[0]}"' for one in described)


def empty(con, binary, lake, table):
    """A table of which the lake has no rows; its columns and types are all that is asked of the binary."""
    with tempfile.TemporaryDirectory() as folder:
        answer = str(Path(folder) / "empty.parquet")
        command = [binary, "sql", "--lake", lake, "-c", f"SELECT * FROM {table} LIMIT 0", "--format", "parquet", "-o", answer]
        subprocess.run(command, check=True, capture_output=True)
        source = f"read_parquet('{answer}')"
        con.execute(f"CREATE TABLE {table} AS SELECT {plain_times(con, source)} FROM {source}")


def mounts(con, lake):
    """lake_mount: the mounts in the settings of the newest version, with 1 MiB x 1 where they do not say."""
    said = tomllib.loads(lake_files.manifest(lake)["settings"]).get("mount", [])
    con.execute("CREATE TABLE lake_mount (path TEXT, fs TEXT, lmt TEXT, osts TEXT, stripe_size BIGINT, stripe_count BIGINT)")
    for one in said:
        row = [one["path"], one["fs"], one.get("lmt"), one.get("osts"), one.get("stripe_size", 1 << 20), one.get("stripe_count", 1)]
        con.execute("INSERT INTO lake_mount VALUES (?, ?, ?, ?, ?, ?)", row)
