#!/usr/bin/env python3
"""The questions of benches/month and the named queries in process and on a cluster on loopback: the same rows, and the CPU seconds of both.

    scripts/cluster_answers.py --iolode target/release/iolode --lake LAKE --executors 3 --cores 1 --out benches/proofs/cluster_answers.md

Integers and text must be equal, floats to 1e-12. A cluster's CPU seconds are those of client, scheduler and executors together; each is the median of --takes.
Needs Python with duckdb, which finds the parameters of the questions.
"""

import argparse
import csv
import io
import math
import os
import re
import resource
import statistics
import string
import subprocess
import sys
import time
import tomllib

import duckdb

from bench_month import ROOT, Question
from cluster_kills import Cluster

TICK = os.sysconf("SC_CLK_TCK")


def cpu_of(pid):
    """CPU seconds of a process."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def run(*command):
    """What a command printed, its CPU seconds and its wall time."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done, cpu, time.time() - begin


def parameters(iolode, lake):
    tables = {}
    done, _, _ = run(iolode, "sql", "--lake", lake, "--format", "csv", "-c", "SELECT table_name, path FROM lake_file")
    for table, path in list(csv.reader(io.StringIO(done.stdout)))[1:]:
        tables.setdefault(table, []).append(os.path.join(lake, path))
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for table, paths in tables.items():
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet({paths})")
    with open(f"{ROOT}/benches/month/parameters.toml", "rb") as file:
        asked = tomllib.load(file)
    found = {}
    for name, sql in asked.items():
        found[name] = connection.execute(string.Template(sql).substitute(found)).fetchone()[0]
    return found


def questions(iolode, lake):
    """Name, SQL, and whether its rows have an order."""
    found = parameters(iolode, lake)
    directory = f"{ROOT}/benches/month"
    for name in sorted(os.listdir(directory)):
        if name.endswith(".sql"):
            question = Question(os.path.join(directory, name))
            yield question.name, string.Template(question.sql["iolode"]).substitute(found), question.ordered
    done, _, _ = run(iolode, "query")
    for name in re.findall(r"^  ([a-z_0-9]+)  ", done.stdout, flags=re.M):
        yield f"{name}()", f"SELECT * FROM {name}()", False


def rows_of(text, ordered):
    rows = list(csv.reader(io.StringIO(text)))
    return rows[:1], rows[1:] if ordered else sorted(rows[1:])


NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][-+]?\d+)?")


def same(one, two):
    """Whether two values are equal, or the floats in them, be they alone or in a list, to 1e-12."""
    if one == two:
        return True
    left, right = NUMBER.findall(one), NUMBER.findall(two)
    is_float = lambda number: not number.lstrip("-").isdigit()
    return (NUMBER.split(one) == NUMBER.split(two) and len(left) == len(right)
            and all(a == b or (is_float(a) or is_float(b)) and math.isclose(float(a), float(b), rel_tol=1e-12, abs_tol=1e-300)
                    for a, b in zip(left, right)))


def differ(one, two, ordered):
    (names, left), (others, right) = rows_of(one, ordered), rows_of(two, ordered)
    if names != others or len(left) != len(right):
        return f"{len(left)} and {len(right)} rows"
    for at, (a, b) in enumerate(zip(left, right)):
        if not all(map(same, a, b)):
            return f"row {at + 1}: {a} and {b}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iolode", required=True)
    parser.add_argument("--lake", required=True)
    parser.add_argument("--executors", type=int, default=3)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--takes", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.3, help="CPU seconds in process from which a question is in the mean")
    parser.add_argument("--out", help="where the result is added")
    args = parser.parse_args()
    lake = os.path.abspath(args.lake)
    asked = list(questions(args.iolode, lake))
    cluster = Cluster(args.iolode, lake, args.executors, args.cores)
    lines, ratios, stays, wrong, ran, refused = [], [], {}, 0, 0, 0
    try:
        for name, sql, ordered in asked:
            ask = [args.iolode, "sql", "--lake", lake, "--threads", str(max(2, args.executors * args.cores)), "--format", "csv", "-c", sql]
            there = [*ask, "--cluster", cluster.file, "--cluster-above", "0", "-v"]
            processes = [cluster.scheduler, *cluster.executors]
            times = {"here": [], "there": [], "clock here": [], "clock there": []}
            for _ in range(args.takes):
                here, cpu, wall = run(*ask)
                times["here"].append(cpu)
                times["clock here"].append(wall)
                before = sum(cpu_of(process.pid) for process in processes)
                answer, cpu, wall = run(*there)
                # Executors clean up after the answer; that is theirs as well.
                times["there"].append(cpu + sum(cpu_of(process.pid) for process in processes) - before)
                times["clock there"].append(wall)
            if here.returncode:
                refused += 1
                continue
            at, to, clock, elsewhere = (statistics.median(times[key]) for key in ["here", "there", "clock here", "clock there"])
            why = re.search(r"ran in process: (.*)", answer.stderr)
            difference = differ(here.stdout, answer.stdout, ordered) if answer.returncode == 0 else answer.stderr.strip()
            if difference:
                wrong += 1
                print(f"{name}: {difference}", flush=True)
            if why:
                stays[name] = why.group(1)
            else:
                ran += 1
                lines.append(f"| {name} | {at:.2f} | {to:.2f} | {to / max(at, 0.01):.2f} | {clock:.2f} | {elsewhere:.2f} |")
                if at >= args.least:
                    ratios.append((to / at, name))
    finally:
        cluster.end()
    mean = math.exp(statistics.mean(math.log(ratio) for ratio, _ in ratios)) if ratios else float("nan")
    most = max(ratios, default=(float("nan"), "-"))
    head = [f"{args.executors} executors of {args.cores} cores, {args.takes} takes: {ran} of {ran + len(stays)} statements ran on the cluster, {wrong} answers differ;",
            f"{refused} named queries need parameters. CPU seconds of {len(ratios)} that take {args.least} s or more in process: geometric mean {mean:.2f}, most {most[0]:.2f} ({most[1]}).", ""]
    table = ["| question | CPU s in process | CPU s on the cluster | ratio | s in process | s on the cluster |", "|---|---|---|---|---|---|", *lines, ""]
    kept = [f"- {name}: {why}" for name, why in stays.items()]
    print("\n".join(head + kept))
    if args.out:
        with open(args.out, "a") as out:
            out.write("\n".join([*head, *table, *(["In process:", "", *kept, ""] if kept else [])]) + "\n")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
