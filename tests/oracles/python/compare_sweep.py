"""critical_files and io_time of answer.parquet against an independent sweep over intervals.parquet: compare_sweep.py DIR REFERENCE.

REFERENCE is the folder of sweep_reference.py, whose cover was checked against all subsets.
"""

import sys

import duckdb


def main(folder, reference):
    sys.path.insert(0, reference)
    from sweep_reference import sweep

    db, wrong = duckdb.connect(), []
    intervals = {}
    for group, name, start, end in db.execute(f"select g, id, a, b from '{folder}/intervals.parquet'").fetchall():
        intervals.setdefault(group, []).append((name, start, end))
    answers = db.execute(f"select g, cover, seconds from '{folder}/answer.parquet'").fetchall()
    for group, cover, seconds in answers:
        found = [(part["id"], part["start"], part["end"]) for part in cover or []]
        expected = sweep(intervals[group])
        if found != expected or (seconds or 0) != sum(end - start for _, start, end in expected):
            wrong.append(f"{intervals[group]}: {found}, {seconds} s instead of {expected}")
    if {group for group, *_ in answers} != intervals.keys():
        wrong.append(f"{len(answers)} groups instead of {len(intervals)}")
    print("\n".join([f"{len(answers)} groups, {len(wrong)} differences", *wrong[:20]]))
    sys.exit(bool(wrong) or not answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
