# How often two classes come together: Jaccard index, and Pearson's correlation from its definition over columns of 0 and 1.
# param mode text full
# param weight text logs
# param representative text log_bytes
# param min_share float 0.01
# param app text NULL
# param min_confidence float 0
# param from timestamp NULL
# param to timestamp NULL
# near correlation 1
# with min_share=0
# with mode=reference weight=programs
# with weight=represented representative=bytes min_share=0
# with min_confidence=0.6
import itertools

import mosaic_programs
import numpy


def rows(con, params):
    logs = mosaic_programs.logs(con, params)
    weights = {"logs": lambda one: 1, "programs": lambda one: int(one["stands_for"] > 0), "represented": lambda one: one["stands_for"]}
    counted = [(weights[params["weight"]](one), {*one["read"], *one["write"], *one["metadata"]}) for one in logs]
    counted = [one for one in counted if one[0]]
    weight = numpy.array([n for n, _ in counted], dtype=float)
    total = weight.sum()
    column = {name: numpy.array([name in has for _, has in counted], dtype=float) for name in sorted(set().union(*(has for _, has in counted)))}
    out = []
    for a, b in itertools.combinations(column, 2):
        x, y = column[a], column[b]
        both, either = (weight * x * y).sum(), (weight * numpy.maximum(x, y)).sum()
        if both < params["min_share"] * total:
            continue
        x0, y0 = x - (weight * x).sum() / total, y - (weight * y).sum() / total
        spread = ((weight * x0 * x0).sum() * (weight * y0 * y0).sum()) ** 0.5
        in_all = (weight * x).sum() == total or (weight * y).sum() == total
        out.append({"class_a": a, "class_b": b, "both": both, "either": either, "jaccard": both / either, "share": both / total,
                    "correlation": None if in_all else (weight * x0 * y0).sum() / spread, "with_a": (weight * x).sum(), "with_b": (weight * y).sum()})
    return out
