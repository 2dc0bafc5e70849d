#!/usr/bin/env python3
"""Kills or stops executors of a cluster on loopback while it answers a statement of three stages, and compares every answer with that of one process.

    scripts/cluster_kills.py --iolode target/release/iolode --lake LAKE --executors 3 --kills 50 --seed 1 --out benches/proofs/executor_kills.md
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Joins without job_id, so that rows are exchanged, and an order, so that a last stage merges.
SQL = """
SELECT l.app, count(DISTINCT f.path) AS files, sum(f.bytes_read) AS bytes_read, count(*) AS rows
FROM darshan_file f JOIN darshan_log l ON l.log_id = f.log_id
  JOIN (SELECT path, count(*) AS logs FROM darshan_file GROUP BY path) p ON p.path = f.path
GROUP BY l.app ORDER BY rows DESC, l.app"""


class Cluster:
    """Processes of the program, ended by their pid."""

    def __init__(self, iolode, lake, executors, cores=1, options=()):
        self.iolode, self.lake, self.cores, self.options = iolode, lake, str(cores), options
        self.work = tempfile.mkdtemp(prefix="iolode-kills-")
        self.file = os.path.join(self.work, "cluster.toml")
        self.log = open(os.path.join(self.work, "log"), "w")
        self.scheduler = self.start("scheduler", "--connect-file", self.file, "--bind", "127.0.0.1:0")
        while not os.path.exists(self.file):
            time.sleep(0.05)
        self.executors = [self.executor() for _ in range(executors)]
        self.wait()

    def start(self, *arguments):
        command = [self.iolode, "cluster", *arguments]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def executor(self):
        return self.start("executor", "--connect-file", self.file, "--lake", self.lake, "--bind", "127.0.0.1:0",
                          "--cores", self.cores, "--work-dir", self.work, *self.options)

    def wait(self):
        """Until all executors are there."""
        for _ in range(600):
            command = [self.iolode, "cluster", "status", "--connect-file", self.file, "--json"]
            shown = subprocess.run(command, capture_output=True, text=True)
            if shown.returncode == 0 and len(json.loads(shown.stdout)["executors"]) == len(self.executors):
                return
            time.sleep(0.1)
        sys.exit("the executors did not come")

    def ask(self, *more):
        command = [self.iolode, "sql", "--lake", self.lake, "--format", "csv", "-c", SQL, *more]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ask_here(self):
        return self.ask("--cluster", self.file, "--cluster-above", "0", "-v")

    def end(self):
        for process in [*self.executors, self.scheduler]:
            process.kill()
            process.wait()
        shutil.rmtree(self.work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iolode", required=True)
    parser.add_argument("--lake", required=True)
    parser.add_argument("--executors", type=int, default=3)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--signal", choices=["KILL", "STOP"], default="KILL")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="where a line with the counts is added")
    args = parser.parse_args()
    chance = random.Random(args.seed)
    cluster = Cluster(args.iolode, args.lake, args.executors)
    try:
        expected = cluster.ask().communicate()[0]
        times = []
        for _ in range(3):
            begin = time.time()
            answer, said = cluster.ask_here().communicate()
            times.append(time.time() - begin)
            if answer != expected or "ran on the cluster" not in said:
                sys.exit(f"without a kill: {said}")
        normal = sorted(times)[1]
        # A statement may take twice its normal time and 60 s more.
        limit = 60 + 2 * normal
        counts = dict.fromkeys(["right", "wrong", "failed", "late"], 0)
        slowest = 0
        for number in range(args.kills):
            begin = time.time()
            asked = cluster.ask_here()
            moment = chance.uniform(0.05, normal * 1.05)
            time.sleep(moment)
            at = chance.randrange(args.executors)
            cluster.executors[at].send_signal(getattr(signal, "SIG" + args.signal))
            try:
                answer, said = asked.communicate(timeout=limit)
                verdict = "failed" if asked.returncode else "right" if answer == expected else "wrong"
            except subprocess.TimeoutExpired:
                asked.kill()
                said, verdict = asked.communicate()[1], "late"
            took = time.time() - begin
            counts[verdict] += 1
            slowest = max(slowest, took)
            if verdict != "right":
                print(f"{number}, after {moment:.2f} s: {verdict}: {said.strip()[:300]}", flush=True)
            cluster.executors[at].kill()
            cluster.executors[at].wait()
            cluster.executors[at] = cluster.executor()
            cluster.wait()
        line = (f"| {args.signal} | {args.executors} | {args.seed} | {args.kills} | {counts['right']} | {counts['wrong']} "
                f"| {counts['failed']} | {counts['late']} | {normal:.2f} | {slowest:.1f} |")
        print(line)
        if args.out:
            with open(args.out, "a") as out:
                out.write(line + "\n")
    finally:
        cluster.end()
    sys.exit(counts["right"] != args.kills)


if __name__ == "__main__":
    main()
