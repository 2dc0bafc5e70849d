"""What tells two answers apart. Answers must be equal: exactly, but for floats of statements that add up floats (1e-9 of their size or of their column's).
`Q.keys` says which outputs are sorted, and `Q.total` that these keys leave no ties, so that LIMIT may cut."""

import datetime
import math
import re

from .draw import ROUGH

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


# Relative tolerances of sums, and of slopes and correlations: of those over moving frames DuckDB keeps eight digits.
SUMS, SLOPES = 1e-9, 1e-6
# Standard deviations and variances of equal values are 0 or this at most.
NOTHING = 1e-15


def equal(a, b, rough, scale):
    if rough == 2 and a == 'NaN' and b is None:
        return True
    if type(a) is bool or type(b) is bool:
        return a is b
    if a == b:
        return True
    if not rough or not all(isinstance(x, (int, float)) for x in (a, b)) or not (math.isfinite(a) and math.isfinite(b)):
        return False
    return abs(a - b) <= max((SLOPES if rough == 2 else SUMS) * max(abs(a), abs(b), scale), NOTHING)


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
