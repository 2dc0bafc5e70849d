#!/usr/bin/env python3
"""Kills executors of a cluster on loopback while it ingests, and compares the lake with one that a single process has made.

    scripts/cluster_ingest_kills.py --iolode target/release/iolode --logs LOGS --executors 3 --kills 100 --seed 1 --out benches/proofs/executor_kills.md

The Darshan logs below LOGS are dealt into as many parts as there are kills, and an executor is killed at a random moment of the ingest of each.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

from cluster_kills import Cluster

ROWS = "SELECT log_id, job_id, bytes_read, bytes_written FROM darshan_log ORDER BY ALL"
FILES = "SELECT count(*), sum(bytes_read), sum(bytes_written) FROM darshan_file"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iolode", required=True)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--executors", type=int, default=3)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="where a line with the counts is added")
    args = parser.parse_args()
    chance = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="iolode-ingest-kills-") as work:
        logs = sorted(os.path.join(at, name) for at, _, names in os.walk(args.logs) for name in names
                      if name.endswith(".darshan"))
        chance.shuffle(logs)
        parts = [os.path.join(work, f"part{n}") for n in range(args.kills)]
        for part in parts:
            os.mkdir(part)
        for number, log in enumerate(logs):
            os.symlink(os.path.abspath(log), os.path.join(parts[number % len(parts)], f"{number}.darshan"))
        here, there = os.path.join(work, "here"), os.path.join(work, "there")
        for lake in [here, there]:
            run(args.iolode, "lake", "create", lake, "--range-bytes", "1MiB")
        begin = time.time()
        alone = run(args.iolode, "ingest", "--lake", here, *[word for part in parts for word in ("--darshan", part)])
        normal = (time.time() - begin) / len(parts)
        if alone.returncode not in (0, 1):
            sys.exit(alone.stderr)
        cluster = Cluster(args.iolode, there, args.executors)
        failed = unclean = 0
        slowest = 0
        try:
            for number, part in enumerate(parts):
                begin = time.time()
                command = [args.iolode, "ingest", "--lake", there, "--cluster", cluster.file, "--darshan", part]
                ingest = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                time.sleep(chance.uniform(0.02, max(1.0, 1.5 * normal)))
                at = chance.randrange(args.executors)
                cluster.executors[at].kill()
                said = ingest.communicate(timeout=120)[1]
                slowest = max(slowest, time.time() - begin)
                if ingest.returncode not in (0, 1):
                    failed += 1
                    print(f"{number}: {said.strip()[-300:]}", flush=True)
                    # Nothing was committed: again, as a user would.
                    run(*command)
                cluster.executors[at].wait()
                cluster.executors[at] = cluster.executor()
                cluster.wait()
                if number % 10 == 9 or number + 1 == len(parts):
                    checked = run(args.iolode, "lake", "check", there)
                    if checked.returncode:
                        unclean += 1
                        print(f"{number}: {checked.stdout.strip()[-300:]}", flush=True)
        finally:
            cluster.end()
        rows = [run(args.iolode, "sql", "--lake", lake, "--format", "csv", "-c", ROWS, "-c", FILES).stdout for lake in [here, there]]
        same = rows[0] == rows[1] and rows[0].count("\n") > len(logs) // 2
        line = (f"| {args.executors} | {args.seed} | {args.kills} | {len(logs)} | {rows[1].count(chr(10)) - 3} | {'yes' if same else 'no'} "
                f"| {failed} | {unclean} | {slowest:.1f} |")
        print(line)
        if args.out:
            with open(args.out, "a") as out:
                out.write(line + "\n")
    sys.exit(not same or failed > 0 or unclean > 0)


if __name__ == "__main__":
    main()
