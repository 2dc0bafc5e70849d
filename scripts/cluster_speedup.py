#!/usr/bin/env python3
"""Wall times of questions on a cluster on loopback by the number of its executors, and what a model of them says of more.

    scripts/cluster_speedup.py --iolode target/release/iolode --lake LAKE --executors 1,2,4,8 --cores 2 --takes 5 --out benches/proofs/speed_up.md

The machine needs a core for each of the executors'. A question takes T(n) = a + b * ceil(R / n) / R seconds on n executors: R ranges of job ids are read by their owners, the rest,
start, planning, the latency of stages and the merging of their rows, does not shrink. a and b are the least squares over what was measured. What follows for more executors assumes that they read as fast
together as one alone, each its own OSTs; that ranges are of equal size; and that a does not grow with n. --times says the same of a lake so many times as large, of as many ranges more. Needs
Python with duckdb, which finds the parameters of the questions.
"""

import argparse
import math
import os
import statistics
import sys

from cluster_answers import questions, run
from cluster_compare import differ
from cluster_kills import Cluster

# Those that read much and exchange little, and the paper's question of figure 4.
ASKED = ["scan_totals", "scan_extremes", "scan_path_like", "group_fs", "group_hour", "group_folder", "job_largest_file", "job_top", "join_file_log", "join_file_slurm",
         "join_posix_file", "named_sharing", "lmt_hours", "named_custom_stripe"]


def mean(values):
    return math.exp(statistics.mean(map(math.log, values)))


def fit(times, ranges):
    """a and b of the model, both of at least 0, for wall times by number of executors."""
    x = [math.ceil(ranges / n) / ranges for n in times]
    y = list(times.values())
    centre = statistics.mean(x)
    spread = sum((of - centre) ** 2 for of in x)
    b = max(0, sum((of - centre) * value for of, value in zip(x, y)) / spread)
    a = max(0, statistics.mean(y) - b * centre)
    return a, b


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iolode", required=True)
    parser.add_argument("--lake", required=True)
    parser.add_argument("--executors", default="1,2", help="numbers of executors, by commas")
    parser.add_argument("--cores", type=int, default=1, help="of each executor")
    parser.add_argument("--takes", type=int, default=5)
    parser.add_argument("--times", type=int, default=10, help="the model of a lake so many times as large")
    parser.add_argument("--out", help="where the result is added")
    args = parser.parse_args()
    lake = os.path.abspath(args.lake)
    counts = [int(count) for count in args.executors.split(",")]
    if len(counts) < 2:
        sys.exit("--executors: expected two numbers or more, by commas")
    asked = [question for question in questions(args.iolode, lake) if question[0] in ASKED]
    shown, _, _ = run(args.iolode, "sql", "--lake", lake, "--format", "csv", "-c", "SELECT count(*) FROM lake_file WHERE table_name = 'darshan_file'")
    ranges = int(shown.stdout.split()[1])
    times, expected = {name: {} for name, _, _ in asked}, {}
    for count in counts:
        cluster = Cluster(args.iolode, lake, count, args.cores)
        try:
            for name, sql, ordered in asked:
                ask = [args.iolode, "sql", "--lake", lake, "--threads", "2", "--format", "csv", "--cluster", cluster.file, "--cluster-above", "0", "-v", "-c", sql]
                takes = []
                # The first one reads footers.
                for _ in range(args.takes + 1):
                    answer, _, wall = run(*ask)
                    takes.append(wall)
                    if answer.returncode or "ran on the cluster" not in answer.stderr:
                        sys.exit(f"{name}: {answer.stderr.strip()}")
                    difference = differ(expected.setdefault(name, answer.stdout), answer.stdout, ordered)
                    if difference:
                        sys.exit(f"{name} on {count} executors: {difference}")
                times[name][count] = statistics.median(takes[1:])
                print(f"{name} on {count}: {times[name][count]:.2f} s", flush=True)
        finally:
            cluster.end()
    first, last = counts[0], counts[-1]
    lines, modelled = [], []
    for name, of in times.items():
        a, b = fit(of, ranges)
        at = lambda n, larger=1: a + larger * b * math.ceil(larger * ranges / n) / (larger * ranges)
        more = (at(1) / at(32), at(1, args.times) / at(32, args.times))
        modelled.append(more)
        walls = " | ".join(f"{of[count]:.2f}" for count in counts)
        lines.append(f"| {name} | {walls} | {of[first] / of[last]:.2f} | {a:.2f} | {b:.2f} | {more[0]:.1f} | {more[1]:.1f} |")
    speed = mean([of[first] / of[last] for of in times.values()])
    small, large = (mean([of[at] for of in modelled]) for at in (0, 1))
    head = " | ".join(f"s on {count}" for count in counts)
    out = [f"Executors of {args.cores} core{'s' * (args.cores > 1)}, {ranges} ranges, medians of {args.takes}. Geometric mean from {first} to {last}: {speed:.2f}. By the model on 32 executors: {small:.1f}, "
           f"over a lake {args.times} times as large {large:.1f}.", "",
           f"| question | {head} | {first} to {last} | a, s | b, s | 1 to 32 | the same, {args.times} times the lake |", "|---" * (len(counts) + 6) + "|", *lines]
    print("\n".join(out))
    if args.out:
        with open(args.out, "a") as file:
            file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
