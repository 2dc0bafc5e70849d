#!/usr/bin/env python3
"""The questions of benches/month and the named queries in process and on a cluster on loopback: the same rows, and the CPU seconds of both.

    scripts/cluster_answers.py --iolode target/release/iolode --lake LAKE --executors 3 --cores 1 --out benches/proofs/cluster_answers.md

Integers and text must be equal, floats to 1e-12 of the larger, probabilities to 1e-12 of 1. A cluster's CPU seconds are those of client, scheduler and executors together; each is the median of --takes.
Shuffled is what EXPLAIN ANALYZE says that all stages but the last have written, of the bytes that its scans have read. --above 256MiB asks the cluster as users do,
who give no --cluster-above. Needs Python with duckdb, which finds the parameters of the questions.
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
from cluster_compare import differ
from cluster_kills import Cluster
from cluster_soak import peak

# Seconds from which one take is enough.
SLOW = 20
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


UNITS = {"": 1, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


def stages_of(ask, sql):
    """How many stages a statement has, and the bytes that are exchanged between them as a part of those that are scanned."""
    shown, _, _ = run(*ask, "-c", "EXPLAIN ANALYZE " + sql)
    written = []
    scanned = 0
    for stage in shown.stdout.split("StageExec: ")[1:]:
        line = stage.splitlines()[0]
        amount = lambda name: [float(number) * UNITS[unit] for number, unit in re.findall(rf"\b{name}=([\d.]+) ?([KMBT]?)\b", line)]
        scanned += sum(amount("bytes_scanned"))
        written.append(sum(amount("bytes_written")))
    # The last stage comes first.
    return len(written), sum(written[1:]) / scanned if scanned else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iolode", required=True)
    parser.add_argument("--lake", required=True)
    parser.add_argument("--executors", type=int, default=3)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--takes", type=int, default=1)
    parser.add_argument("--memory", help="of an executor")
    parser.add_argument("--threads", type=int, help="of the process that asks (default: as many as the cluster has cores)")
    parser.add_argument("--above", default="0", help="--cluster-above of the client")
    parser.add_argument("--questions", action="store_true", help="without the named queries")
    parser.add_argument("--only", help="names of questions, by commas")
    parser.add_argument("--least", type=float, default=0.3, help="CPU seconds in process from which a question is in the mean")
    parser.add_argument("--out", help="where the result is added")
    args = parser.parse_args()
    lake = os.path.abspath(args.lake)
    asked = list(questions(args.iolode, lake))
    if args.questions:
        asked = [question for question in asked if not question[0].endswith("()")]
    if args.only:
        asked = [question for question in asked if question[0] in args.only.split(",")]
    cluster = Cluster(args.iolode, lake, args.executors, args.cores, ["--memory", args.memory] if args.memory else [])
    lines, ratios, clocks, stays, wrong, ran, refused = [], [], [], {}, 0, 0, 0
    try:
        for name, sql, ordered in asked:
            ask = [args.iolode, "sql", "--lake", lake, "--threads", str(args.threads or max(2, args.executors * args.cores)), "--format", "csv"]
            there = [*ask, "--cluster", cluster.file, "--cluster-above", args.above, "-v"]
            processes = [cluster.scheduler, *cluster.executors]
            times = {"here": [], "there": [], "clock here": [], "clock there": []}
            for take in range(args.takes):
                if take and times["clock there"][-1] > SLOW:
                    break
                here, cpu, wall = run(*ask, "-c", sql)
                times["here"].append(cpu)
                times["clock here"].append(wall)
                before = sum(cpu_of(process.pid) for process in processes)
                answer, cpu, wall = run(*there, "-c", sql)
                # Executors clean up after the answer; that is theirs as well.
                times["there"].append(cpu + sum(cpu_of(process.pid) for process in processes) - before)
                times["clock there"].append(wall)
            if here.returncode:
                refused += 1
                continue
            at, to, clock, elsewhere = (statistics.median(times[key]) for key in ["here", "there", "clock here", "clock there"])
            clocks.append((elsewhere / clock, name))
            why = re.search(r"ran in process: (.*)", answer.stderr)
            difference = differ(here.stdout, answer.stdout, ordered) if answer.returncode == 0 else answer.stderr.strip()
            if difference:
                wrong += 1
                print(f"{name}: {difference}", flush=True)
            if why:
                stays[name] = why.group(1)
                print(f"- {name}: {at:.2f} and {to:.2f} CPU s, {clock:.2f} and {elsewhere:.2f} s, in process: {why.group(1)}", flush=True)
            else:
                ran += 1
                stages, shuffled = stages_of(there, sql)
                exchanged = "" if shuffled is None else f"{100 * shuffled:.2f} %"
                lines.append(f"| {name} | {at:.2f} | {to:.2f} | {to / max(at, 0.01):.2f} | {clock:.2f} | {elsewhere:.2f} | {stages} | {exchanged} |")
                print(lines[-1], flush=True)
                if at >= args.least:
                    ratios.append((to / at, name))
        peaks = [peak(process.pid) for process in processes]
    finally:
        cluster.end()
    mean = math.exp(statistics.mean(math.log(ratio) for ratio, _ in ratios)) if ratios else float("nan")
    most = max(ratios, default=(float("nan"), "-"))
    slowest = max(clocks)
    head = [f"{args.executors} executors of {args.cores} cores, {args.takes} takes: {ran} of {ran + len(stays)} statements ran on the cluster, {wrong} answers differ;",
            f"{refused} named queries need parameters. CPU seconds of {len(ratios)} that take {args.least} s or more in process: geometric mean {mean:.2f}, most {most[0]:.2f} ({most[1]}).",
            f"Wall time against in process, --cluster-above {args.above}: at most {slowest[0]:.2f} ({slowest[1]}). Most resident MiB: scheduler {peaks[0]}, executors {peaks[1:]}"
            f"{f' with --memory {args.memory}' if args.memory else ''}.", ""]
    table = ["| question | CPU s in process | CPU s on the cluster | ratio | s in process | s on the cluster | stages | shuffled |", "|---|---|---|---|---|---|---|---|", *lines, ""]
    kept = [f"- {name}: {why}" for name, why in stays.items()]
    print("\n".join(head + kept))
    if args.out:
        with open(args.out, "a") as out:
            out.write("\n".join([*head, *table, *(["In process:", "", *kept, ""] if kept else [])]) + "\n")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
