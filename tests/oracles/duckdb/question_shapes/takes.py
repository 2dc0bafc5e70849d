"""A take of statements in both engines. One text goes to both, but for ` /i `, integer division, and a few names of functions.

Answers must be equal: exactly, but for floats of statements that add up floats (1e-9 of their size or of their column's). `Q.keys` says which outputs are
sorted, and `Q.total` that these keys leave no ties, so that LIMIT may cut.

    scripts/oracle.py --shapes --lakes DIR --seed 1 --statements 2000 [--from N] [--only N,..] [--show] [--minutes M]
"""

import argparse
import collections
import datetime
import math
import os
import re
import tempfile
import time

from random_sql import engines

from .draw import ROUGH, SHAPES, Draw
from .shapes import NAMES, WEIGHTS

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))


def statement(seed, number):
    g = Draw(f"{seed} {number}")
    name = g.choices(NAMES, WEIGHTS)[0]
    q = SHAPES[name][0](g)
    q.shape = name
    return q, g


def dialects(sql):
    """(iolode's text, DuckDB's)."""
    return sql.replace(" /i ", " / ").replace("FIRST(", "first_value(").replace("LAST(", "last_value("), sql.replace(" /i ", " // ").replace("FIRST(", "first(").replace("LAST(", "last(")


EPOCH = datetime.datetime(1970, 1, 1)


def norm(v):
    if isinstance(v, datetime.datetime):
        return (v.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(v, datetime.date):
        return (datetime.datetime(v.year, v.month, v.day) - EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(v, (list, tuple)) and not hasattr(v, "_fields"):
        return tuple(norm(x) for x in v)
    return v


def rank(v, digits=None):
    if v is None:
        return (9, 0)
    if v == "NaN":
        return (8, 0)
    if isinstance(v, bool):
        return (1, int(v))
    if isinstance(v, (int, float)):
        return (2, float(f"{v:.{digits}g}") if digits and math.isfinite(v) else v)
    if isinstance(v, str):
        return (3, v)
    return (4, repr(v))


def equal(a, b, rough, scale):
    if rough == 2 and a == 'NaN' and b is None:
        return True
    if type(a) is bool or type(b) is bool:
        return a is b
    if a == b:
        return True
    if not rough or not all(isinstance(x, (int, float)) for x in (a, b)) or not (math.isfinite(a) and math.isfinite(b)):
        return False
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), scale)


def differs(q, theirs, ours):
    """In one line what tells the answers apart, or None."""
    if len(theirs) != len(ours):
        return f"{len(theirs)} and {len(ours)} columns"
    left, right = ([tuple(norm(v) for v in row) for row in zip(*cols)] for cols in (theirs, ours))
    if len(left) != len(right):
        a, b = set(map(repr, left)), set(map(repr, right))
        return f"{len(left)} rows in DuckDB, {len(right)} in iolode; only DuckDB {sorted(a - b)[:2]}, only iolode {sorted(b - a)[:2]}"[:500]
    rough = 2 if re.search('corr|regr_', q.sql) else 1 if ROUGH.search(q.sql) else 0
    scales = [max((abs(r[c]) for r in left if isinstance(r[c], (int, float)) and math.isfinite(r[c])), default=0.0) for c in range(len(theirs))]
    for n, (a, b) in enumerate(zip(left, right)):
        for k in q.keys:
            if not equal(a[k], b[k], rough, scales[k]):
                return f"row {n + 1} of the order: DuckDB {a}, iolode {b}"[:500]
    if not (q.total and q.keys):
        by = lambda row: ([rank(v, 5) if isinstance(v, float) else rank(v) for v in row], [rank(v) for v in row])
        left, right = sorted(left, key=by), sorted(right, key=by)
    for a, b in zip(left, right):
        for c, (x, y) in enumerate(zip(a, b)):
            if not equal(x, y, rough, scales[c]):
                return f"column {c + 1}: DuckDB {a}, iolode {b}"[:500]
    return None


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, kind, default in (("--seed", str, "1"), ("--statements", int, 200), ("--from", int, 0), ("--minutes", float, 1e9), ("--only", str, ""), ("--lakes", str, None), ("--bench", str, None), ("--shape", str, "")):
        ap.add_argument(name, type=kind, default=default)
    ap.add_argument("--show", action="store_true", help="print the statements and ask nobody")
    ap.add_argument("--duckdb-only", action="store_true", help="only what DuckDB refuses")
    o = ap.parse_args()
    numbers = [int(n) for n in o.only.split(",")] if o.only else range(getattr(o, "from"), getattr(o, "from") + o.statements)
    if o.show:
        for n in numbers:
            q, _ = statement(o.seed, n)
            if not o.shape or o.shape == q.shape:
                print(f"{n} {q.shape}: {q.sql}")
        return
    o.lakes = os.path.abspath(o.lakes)
    o.bench = o.bench or engines.bench_binary(ROOT)
    duck = engines.DuckDB(f"{o.lakes}/once", 2)
    ours = engines.Iolode(o.lakes, tempfile.mkdtemp(), o.bench)
    counts, refused, until, by_shape = collections.Counter(), collections.defaultdict(list), time.time() + 60 * o.minutes, collections.defaultdict(collections.Counter)
    say = lambda *what: print(*what, flush=True)
    for n in numbers:
        if time.time() > until:
            break
        q, g = statement(o.seed, n)
        if o.shape and o.shape != q.shape:
            continue
        mine, his = dialects(q.sql)
        variant = engines.PLAIN if g.random() < 0.4 else g.choice(engines.VARIANTS)
        a = duck.ask(his)
        if a.timeout:
            counts["too slow in DuckDB"] += 1
            continue
        b = None if o.duckdb_only else ours.ask(mine, variant, max(15, 10 * (a.wall or 0)))
        if b is None:
            what = "refused by DuckDB" if a.error else "answered"
        elif b.timeout or (b.error and re.search("panic|internal error|its process", b.error, re.I)):
            what = "iolode too slow or broken"
            say(f"\n== {n} {q.shape} [{variant.name}] BROKEN {b.error} (DuckDB {a.error or a.wall}): {mine}")
        elif a.error or b.error:
            what = "refused by both" if a.error and b.error else "refused by DuckDB alone" if a.error else "refused by iolode alone"
            if not a.error and variant is not engines.PLAIN and not ours.ask(mine).error:
                say(f"\n== {n} {q.shape} [{variant.name}] REFUSED IN THE VARIANT ALONE: {b.error[:200]}: {mine}")
        elif a.columns is None or b.columns is None:
            what = "too many rows"
        else:
            why = differs(q, a.columns, b.columns)
            what = "differs" if why else "agrees"
            if why:
                plain = variant is engines.PLAIN or (p := ours.ask(mine)).error or differs(q, a.columns, p.columns)
                say(f"\n== {n} {q.shape} [{variant.name}{'' if plain else ' ALONE'}] DIFFERS {why}\n  iolode: {mine}\n  DuckDB: {his if his != mine else 'the same'}")
            slow = b.wall and a.wall and b.wall > 10 * a.wall and b.wall > 0.05 and variant.memory is None
            if slow:
                again = ours.ask(mine, variant)
                if again.wall and again.wall > 10 * a.wall and again.wall > 0.05:
                    say(f"\n== {n} {q.shape} [{variant.name}] SLOW {again.wall:.3f} s, DuckDB {a.wall:.3f} s, {b.rows} rows: {mine}")
        if what.startswith("refused"):
            error = (a.error if b is None or "DuckDB alone" in what else b.error) or ""
            form = re.sub(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\d+", "~", error.split("LINE")[0])[:110].strip()
            refused[what, form].append((len(mine), n, mine, error[:300]))
        counts[what] += 1
        by_shape[q.shape][what] += 1
    say("\n", dict(counts))
    for (what, form), all_of in sorted(refused.items(), key=lambda one: (one[0][0], -len(one[1]))):
        _, n, sql, error = min(all_of)
        say(f"\n-- {len(all_of)} {what}: {error if what != 'refused by DuckDB alone' else form}\n   {n}: {sql if what == 'refused by iolode alone' or o.duckdb_only else sql[:300]}")
    for name in sorted(by_shape):
        say(f"   {name}: {dict(by_shape[name])}")
    ours.stop()
    duck.stop()
