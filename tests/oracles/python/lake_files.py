"""The data files of the newest version of a lake, as its manifest names them: other files in its directories belong to older versions."""

import json
import os

import duckdb


def manifest(lake):
    """The newest version of a lake."""
    folder = os.path.join(lake, "_iolode", "manifest")
    newest = max(name for name in os.listdir(folder) if name.endswith(".json"))
    with open(os.path.join(folder, newest)) as file:
        return json.load(file)["manifest"]


def files(lake):
    """The paths of the files of each table."""
    lists = [os.path.join(lake, one["path"]) for one in manifest(lake)["files"]]
    if not lists:
        return {}
    sql = "SELECT table_name, path FROM read_parquet(?) GROUP BY ALL HAVING NOT bool_or(gone) ORDER BY ALL"
    found = {}
    for table, path in duckdb.connect().execute(sql, [lists]).fetchall():
        found.setdefault(table, []).append(os.path.join(lake, path))
    return found
