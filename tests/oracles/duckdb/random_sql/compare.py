"""Whether two answers are one. Which differences are no faults stands here and in `render`, and nowhere else.

- Outputs that are `rough` may differ by 1e-9 of their size or of the largest value of their column: sums are added in another order.
  Of 1.0, -1.0 and 1e-300 the sum is 1e-300 or 0: so small values are one.
  A variance of equal values is 0 or a last digit of their squares: 1e-9 of the values that it is of. All other floats are compared to the
  last digit.
- The order of rows counts for the keys of ORDER BY, rows of equal keys come in any order. Where LIMIT or OFFSET cuts through
  equal keys, any of these rows may come.
- NaN is one value, and so is zero, whatever its sign.
- A whole number is a whole number, whatever its type: DuckDB's sums of sums are HUGEINT.
"""

import math

import pyarrow
import pyarrow.compute

from .syntax import Expr, Select, SetOp, outputs

NAN = "NaN"


def plain(table):
    """Columns of an Arrow table as lists of Python values: times in microseconds, NaN as a word, zero without a sign."""
    return [plain_column(column) for column in table.columns]


def plain_column(column):
    kind = column.type
    if pyarrow.types.is_timestamp(kind):
        column = column.cast(pyarrow.timestamp("us", kind.tz)).cast(pyarrow.int64())
    values = column.to_pylist()
    if pyarrow.types.is_floating(kind):
        return [value if value is None else NAN if value != value else value + 0.0 for value in values]
    if pyarrow.types.is_decimal(kind):
        return [None if value is None else int(value) if value == int(value) else float(value) for value in values]
    return [tuple(value) if isinstance(value, list) else value for value in values]


def key(value):
    """Orders values of one column, of either engine."""
    if value is None:
        return (3, 0)
    if value == NAN:
        return (2, 0)
    return (1, value)


def coarse(value):
    """The same for sorting floats whose last digits are not known."""
    if isinstance(value, float) and math.isfinite(value):
        return (1, float(f"{value:.5g}"))
    return key(value)


def same(a, b, rough, scale=0.0):
    if a == b or (a is None and b is None):
        return True
    if not rough or a is None or b is None or a == NAN or b == NAN or isinstance(a, (str, bool)) or isinstance(b, (str, bool)):
        return False
    if math.isinf(a) or math.isinf(b):
        return False
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=max(1e-9 * scale, 1e-200))


def roughness(query):
    """Which outputs have last digits that do not count."""
    while isinstance(query, SetOp):
        query = query.left
    return [item.expr.rough for item in query.items] if isinstance(query, Select) else [False] * outputs(query)


def spread_of(expr):
    """The size of what a standard deviation or variance may give of its values, by the generator's estimate of these; 0 of other outputs."""
    while isinstance(expr, Expr) and expr.op in ("filter", "over"):
        expr = expr.args[0]
    if not isinstance(expr, Expr) or expr.op not in ("stddev", "stddev_pop", "var"):
        return 0.0
    return 10.0 ** (expr.args[0].mag * (2 if expr.op == "var" else 1))


def spreads(query):
    """The same of each output."""
    while isinstance(query, SetOp):
        query = query.left
    return [spread_of(item.expr) for item in query.items] if isinstance(query, Select) else [0.0] * outputs(query)


def places(query):
    """Places of the sort keys among the outputs."""
    inner = query
    while isinstance(inner, SetOp):
        inner = inner.left
    names = [item.alias for item in inner.items]
    return [one.key - 1 if isinstance(one.key, int) else names.index(one.key) for one in query.order]


def difference(query, theirs, ours):
    """What tells two answers apart, in one line; None if nothing does. `theirs` is the right one."""
    rough = roughness(query)
    if len(theirs) != len(ours):
        return f"{len(theirs)} and {len(ours)} columns"
    if len(theirs[0]) != len(ours[0]):
        return f"{len(theirs[0])} rows are right, {len(ours[0])} came: {missing(theirs, ours)}"
    left, right = list(zip(*theirs)), list(zip(*ours))
    size = lambda column: max((abs(v) for v in column if isinstance(v, (int, float)) and math.isfinite(v)), default=0.0)
    scales = [max(size(column), spread) if one else 0.0 for one, column, spread in zip(rough, theirs, spreads(query))]
    if query.order:
        at = places(query)
        for number, (a, b) in enumerate(zip(left, right)):
            for place in at:
                if not same(a[place], b[place], False):
                    return f"row {number + 1} of the order: {a} is right, {b} came"
        left, right = (uncut(rows, query, at) for rows in (left, right))
    elif query.limit is not None or query.offset is not None:
        return None
    return unordered(left, right, rough, scales)


def uncut(rows, query, at):
    """Rows but those with the keys of the last, where a limit may have cut among them, and of the first behind an offset."""
    cut = set()
    if rows and query.limit is not None and len(rows) == query.limit:
        cut.add(tuple(rows[-1][place] for place in at))
    if rows and query.offset:
        cut.add(tuple(rows[0][place] for place in at))
    if not cut or sorted(set(at)) == list(range(len(rows[0]))):
        return rows
    return [row for row in rows if tuple(row[place] for place in at) not in cut]


def unordered(left, right, rough, scales):
    if not left and not right:
        return None
    if len(left) != len(right):
        return f"{len(left)} rows before those that a limit cut are right, {len(right)} came"
    exact = [place for place, one in enumerate(rough) if not one]
    digits = [place for place, one in enumerate(rough) if one]
    # Values that are alike in their first digits stand by their size: which of them was first in its answer says nothing.
    order = lambda row: (
        [key(row[place]) for place in exact],
        [coarse(row[place]) for place in digits],
        [key(row[place]) for place in digits],
    )
    left, right = sorted(left, key=order), sorted(right, key=order)
    for a, b in zip(left, right):
        for place, (one, two) in enumerate(zip(a, b)):
            if not same(one, two, rough[place], scales[place]):
                return f"{shown(a)} is right, {shown(b)} came"
    return None


def missing(theirs, ours):
    left, right = [set(map(repr, zip(*columns))) for columns in (theirs, ours)]
    return f"missing {sorted(left - right)[:3]}, not right {sorted(right - left)[:3]}"[:600]


def shown(row):
    return repr(row)[:400]
