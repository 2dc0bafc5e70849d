#!/usr/bin/env python3
"""Compares the answers of iolode's named queries with those of the independent versions that lie beside this file.

  compare.py BINARY LAKE.. [NAME..]

A lake that is written LAKE:NAME,NAME is asked these queries alone.
Each query of the binary has a reference here: NAME.sql (DuckDB) or NAME.py (`rows(con, params)` gives a list of dicts), both
over the lake's Parquet files as `lake.py` opens them; times are UTC without a zone. A reference begins with what it computes
and from which definition, and says in lines of comment

  param NAME TYPE [DEFAULT]     a parameter: int, float, text, bool or timestamp; without a default it must be given
  with NAME=VALUE ..            a further set of parameters to compare; the defaults are compared unless a parameter has none
  near COLUMN SCALE             a float of this column may differ by 1e-9 of SCALE, a column or a number: it is a small
                                difference of great numbers, or a probability
  leaves COLUMN ..              texts that are made of the other columns and are tested elsewhere: they are not compared

Rows are compared as multisets: integers, texts, booleans and times exactly, floats to 1e-9 of their size. Prints a line for each
comparison; exits with 1 if anything differs, if a query has no reference, or none with rows over all lakes.
"""
import importlib.util
import math
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import lake

HERE = Path(__file__).parent
RELATIVE = 1e-9
PAGES = {"diagnose"}  # Answered with a page of text rather than with rows.


@dataclass
class Reference:
    """A file with an independent version of a query, and what its comments say."""

    path: Path
    types: dict = field(default_factory=dict)
    defaults: dict = field(default_factory=dict)
    sets: list = field(default_factory=list)
    near: dict = field(default_factory=dict)
    leaves: set = field(default_factory=set)

    def __post_init__(self):
        for line in self.path.read_text().splitlines():
            words = re.match(r"(?:--|#) (param|with|near|leaves)\b(.*)", line)
            if not words:
                continue
            rest = shlex.split(words[2])
            if words[1] == "param":
                self.types[rest[0]] = rest[1]
                if len(rest) > 2:
                    self.defaults[rest[0]] = value(rest[1], rest[2])
            elif words[1] == "leaves":
                self.leaves = set(rest)
            elif words[1] == "near":
                self.near[rest[0]] = rest[1:]
            else:
                given = dict(word.split("=", 1) for word in rest)
                self.sets.append({name: value(self.types[name], text) for name, text in given.items()})
        if set(self.types) == set(self.defaults):
            self.sets.insert(0, {})

    def rows(self, con, given):
        """The reference's own answer: a list of dicts."""
        params = {**self.defaults, **given}
        if self.path.suffix == ".py":
            spec = importlib.util.spec_from_file_location(self.path.stem, self.path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module.rows(con, params)
        sql = self.path.read_text()
        return lake.rows(con, sql, {name: params[name] for name in params if re.search(rf"\${name}\b", sql)})


def value(type_name, text):
    """A parameter's value as its type says; the text NULL is none."""
    if text == "NULL":
        return None
    if type_name == "timestamp":
        return datetime.fromisoformat(text)
    if type_name == "bool":
        return text == "true"
    return {"int": int, "float": float, "text": str}[type_name](text)


def ask(binary, name, con, lake_dir, given, folder):
    """iolode's own answer: the types of its columns, and its rows; no types where the lake does not know a name that it was given."""
    options = []
    for key, item in given.items():
        if isinstance(item, datetime):
            item = item.isoformat()
        if isinstance(item, bool):
            item = str(item).lower()
        options += [f"--{key.replace('_', '-')}", str(item)]
    answer = str(Path(folder) / "answer.parquet")
    command = [binary, "query", name, "--lake", lake_dir, "--timezone", "UTC", "--format", "parquet", "-o", answer, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if re.match(r"iolode: unknown (file system|OST|MDT|user|program|job|log) `", done.stderr):
        return None, []
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}: {done.stderr.strip()}")
    source = f"read_parquet('{answer}')"
    sql = f"SELECT {lake.plain_times(con, source)} FROM {source}"
    table = con.sql(sql)
    return dict(zip(table.columns, table.types)), lake.rows(con, sql)


def plain(item, kind):
    """A value as iolode's column has it: numbers of the same kind, lists and structs as tuples."""
    if item is None:
        return None
    if kind.id in ("double", "float"):
        return float(item)
    if kind.id in ("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"):
        return int(item) if item == int(item) else f"not whole: {item}"
    if kind.id == "list":
        return tuple(plain(one, kind.children[0][1]) for one in item)
    if kind.id == "struct":
        return tuple((name, plain(item[name], one)) for name, one in kind.children)
    return item


def parts(item):
    """What must be equal of a value, and the floats in it."""
    if isinstance(item, float):
        return ("float", math.isnan(item)), [item]
    if isinstance(item, tuple):
        both = [parts(one) for one in item]
        return tuple(one[0] for one in both), [number for one in both for number in one[1]]
    return (item is None, item), []


def close(mine, theirs, scales):
    """Whether two rows' floats are equal, each to its scale."""
    for a, b, scale in zip(mine, theirs, scales):
        if a == b or (math.isnan(a) and math.isnan(b)):
            continue
        if not abs(a - b) <= RELATIVE * max(abs(a), abs(b), scale):
            return False
    return True


def scales_of(row, near):
    """For each float of a row the size of the numbers that it was made of."""
    scales = []
    for column, item in row.items():
        scale = max((abs(row[name] or 0) if name in row else float(name) for name in near.get(column, [])), default=0.0)
        scales += [scale] * len(parts(item)[1])
    return scales


def shown(row):
    return ", ".join(f"{name}={item!r}" for name, item in row.items())


def difference(mine, theirs, near):
    """The first rows that only one side has, as text; None if all are equal."""
    groups = defaultdict(lambda: ([], []))
    for side, rows in ((0, mine), (1, theirs)):
        for row in rows:
            exact, floats = parts(tuple(row.values()))
            groups[exact][side].append((floats, row))
    only = ([], [])
    for left, right in groups.values():
        if len(left) == len(right):
            # Most groups are one row, or rows with floats in the same order.
            order = lambda one: [(number != number, number) for number in one[0]]
            left.sort(key=order)
            right.sort(key=order)
            if all(close(a[0], b[0], scales_of(a[1], near)) for a, b in zip(left, right)):
                continue
        rest = list(right)
        for floats, row in left:
            scales = scales_of(row, near)
            found = next((at for at, other in enumerate(rest) if close(floats, other[0], scales)), None)
            if found is None:
                only[0].append(row)
            else:
                rest.pop(found)
        only[1].extend(row for _, row in rest)
    if not any(only):
        return None
    lines = [f"{len(only[0])} rows only of iolode, {len(only[1])} only of the reference"]
    rest = list(only[1])
    for row in only[0][:3]:
        if not rest:
            lines.append(f"    iolode     {shown(row)}")
            continue
        differing = lambda other: [name for name in row if difference_of(row[name], other[name])]
        nearest = min(rest, key=lambda other: len(differing(other)))
        rest.remove(nearest)
        named = [*list(row)[:2], *(name for name in differing(nearest) if name not in list(row)[:2])]
        lines += [f"    iolode     {shown({name: row[name] for name in named})}", f"    reference  {shown({name: nearest[name] for name in named})}"]
    if not only[0]:
        lines += [f"    reference  {shown(row)}" for row in only[1][:3]]
    return "\n".join(lines)


def difference_of(a, b):
    """Whether two values differ by more than rounding."""
    (exact_a, floats_a), (exact_b, floats_b) = parts(a), parts(b)
    return exact_a != exact_b or len(floats_a) != len(floats_b) or not close(floats_a, floats_b, [0.0] * len(floats_a))


def compare(binary, reference, lake_dir, con, given, folder):
    """(rows, difference or None) of one query with one set of parameters."""
    name = reference.path.stem
    kinds, theirs = ask(binary, name, con, lake_dir, given, folder)
    if kinds is None:
        mine = reference.rows(con, given)
        return 0, f"{len(mine)} rows of a name that iolode does not know" if mine else None
    kinds = {column: kind for column, kind in kinds.items() if column not in reference.leaves}
    mine = reference.rows(con, given)
    for row in mine[:1]:
        if set(row) != set(kinds):
            return len(theirs), f"columns {sorted(set(row) ^ set(kinds))} on one side only"
    normal = lambda rows: [{one: plain(row[one], kinds[one]) for one in kinds} for row in rows]
    return len(theirs), difference(normal(theirs), normal(mine), reference.near)


def main():
    binary, *rest = sys.argv[1:]
    lakes = {word.partition(":")[0]: [name for name in word.partition(":")[2].split(",") if name] for word in rest if Path(word.partition(":")[0]).is_dir()}
    listed = subprocess.run([binary, "query"], capture_output=True, text=True, check=True).stdout
    # Titles of groups begin at the margin.
    known = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line.split()[0] not in PAGES]
    names = [word for word in rest if word.partition(":")[0] not in lakes] or known
    if not lakes or set(names) - set(known):
        sys.exit(f"{__doc__}\nno such query: {sorted(set(names) - set(known))}")
    bad = []
    full = defaultdict(int)
    with tempfile.TemporaryDirectory() as folder:
        for lake_dir, only in lakes.items():
            con = lake.connect(binary, lake_dir)
            for name in only or names:
                path = next((HERE / (name + end) for end in (".sql", ".py") if (HERE / (name + end)).exists()), None)
                if path is None:
                    bad.append(f"{name}: no reference")
                    continue
                reference = Reference(path)
                for given in reference.sets:
                    what = " ".join([name, *(f"{key}={item}" for key, item in given.items())])
                    try:
                        rows, differs = compare(binary, reference, lake_dir, con, given, folder)
                    except Exception as error:  # Of any kind: the next comparison goes on.
                        rows, differs = 0, f"{type(error).__name__}: {str(error).splitlines()[0]}"
                    full[name] += rows > 0
                    print(f"{lake_dir}: {what}: {rows} rows, {'same' if differs is None else 'DIFFERENT: ' + differs}", flush=True)
                    if differs is not None:
                        bad.append(f"{lake_dir}: {what}")
    empty = [name for name in names if not full[name]]
    bad = list(dict.fromkeys(bad))
    print(f"{sum(full.values())} comparisons with rows, {len(bad)} different or without reference; without rows anywhere: {empty or 'none'}")
    for line in bad:
        print(f"  {line}")
    sys.exit(1 if bad or empty else 0)


if __name__ == "__main__":
    main()
