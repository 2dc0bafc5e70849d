"""Whether two answers in CSV are the same: integers and text exactly, floats to 1e-12 of the larger, for a cluster may add them up in another order."""

import csv
import io
import math
import re


def rows_of(text, ordered):
    rows = list(csv.reader(io.StringIO(text)))
    return rows[:1], rows[1:] if ordered else sorted(rows[1:])


NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][-+]?\d+)?")


# Columns of probabilities. Those near 0 are tails of a distribution: q of 1e-111 changes by 500 times as much as z of 22 does.
PROBABILITIES = {"q"}


def same(name, one, two):
    """Whether two values of a column are equal, or the floats in them, be they alone or in a list, to 1e-12 of the larger; probabilities to 1e-12 of 1."""
    if one == two:
        return True
    left, right = NUMBER.findall(one), NUMBER.findall(two)
    is_float = lambda number: not number.lstrip("-").isdigit()
    least = 1e-12 if name in PROBABILITIES else 1e-300
    return (NUMBER.split(one) == NUMBER.split(two) and len(left) == len(right)
            and all(a == b or (is_float(a) or is_float(b)) and math.isclose(float(a), float(b), rel_tol=1e-12, abs_tol=least)
                    for a, b in zip(left, right)))


def differ(one, two, ordered):
    (names, left), (others, right) = rows_of(one, ordered), rows_of(two, ordered)
    if names != others or len(left) != len(right):
        return f"{len(left)} and {len(right)} rows"
    for at, (a, b) in enumerate(zip(left, right)):
        if not all(map(same, names[0], a, b)):
            return f"row {at + 1}: {a} and {b}"
    return None
