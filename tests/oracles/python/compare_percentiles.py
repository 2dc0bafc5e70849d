"""The percentiles of answer.parquet against DuckDB's quantile_cont over values.parquet: compare_percentiles.py DIR.

DuckDB rounds the position q x (n - 1) before it interpolates, so a value may differ by the last digits of its neighbours.
"""

import sys

import duckdb


def main(folder):
    db, wrong, values = duckdb.connect(), [], 0
    groups = db.execute(f"select g, hundred, seven from '{folder}/answer.parquet' order by g").fetchall()
    for group, *answers in groups:
        for answer, parts in zip(answers, (100, 7)):
            cuts = [at / parts for at in range(parts + 1)]
            expected, low, high = db.execute(f"select quantile_cont(x, {cuts}), min(x), max(x) from '{folder}/values.parquet' where g = {group}").fetchone()
            values += len(expected)
            if len(answer) != len(expected) or (answer[0], answer[-1]) != (low, high):
                wrong.append(f"group {group}: {len(answer)} values from {answer[0]} to {answer[-1]}")
            for at, (a, b) in enumerate(zip(answer, expected)):
                if abs(a - b) > 1e-12 * max(abs(a), abs(b)):
                    wrong.append(f"group {group}, {at} of {parts}: {a!r} instead of {b!r}")
    print("\n".join([f"{len(groups)} groups, {values} values, {len(wrong)} differences", *wrong[:20]]))
    sys.exit(bool(wrong) or not values)


if __name__ == "__main__":
    main(sys.argv[1])
