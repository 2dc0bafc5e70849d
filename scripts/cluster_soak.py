#!/usr/bin/env python3
"""Clients, ingests and kills on a cluster on loopback for some minutes: every answer is compared with that of one process over the same version of the lake.

    scripts/cluster_soak.py --iolode target/release/iolode --logs LOGS --minutes 30 --clients 8 --executors 3 --seed 1 --out benches/proofs/soak.md

Each minute a part of the Darshan logs below LOGS is ingested through the cluster, and about once a minute an executor is killed and replaced. Memory of the scheduler
and of executors that live is read from /proc each 10 s.
"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

from cluster_compare import differ
from cluster_kills import SQL, Cluster

QUESTIONS = [
    SQL,
    "SELECT app, count(*) AS n, sum(bytes_read) AS r FROM darshan_log GROUP BY app ORDER BY n DESC, app",
    "SELECT count(*) AS n, count(DISTINCT path) AS p, sum(bytes_written) AS w FROM darshan_file",
    "SELECT f.fs, count(*) AS n FROM darshan_file f JOIN darshan_log l USING (job_id, log_id) WHERE l.nprocs > 8 GROUP BY f.fs ORDER BY f.fs",
    "SELECT job_id, log_id, path, bytes_read FROM darshan_file ORDER BY bytes_read DESC, job_id, log_id, path, record_id LIMIT 50",
    "SELECT * FROM top_write() ORDER BY ALL",
    "SELECT * FROM perf_factors(direction => 'read') ORDER BY ALL",
    "SELECT percentiles(bytes_read, 9) AS p FROM darshan_file",
]


def rss(pid):
    """Resident bytes of a process; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))
    except (OSError, StopIteration):
        return 0


def peak(pid):
    """Most resident MiB of a process by now."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) >> 10 for line in status if line.startswith("VmHWM"))


class Soak:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.chance = random.Random(args.seed)
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.failures = collections.Counter()
        self.expected = {}
        self.slowest = 0
        self.end = time.time() + 60 * args.minutes
        self.lake = os.path.join(work, "lake")
        logs = sorted(os.path.join(at, name) for at, _, names in os.walk(args.logs) for name in names
                      if name.endswith(".darshan"))
        self.chance.shuffle(logs)
        self.parts = [logs[at::args.minutes + 1] for at in range(args.minutes + 1)]
        self.run("lake", "create", self.lake, "--range-bytes", "1MiB")
        self.ingest(0, [])
        self.cluster = Cluster(args.iolode, self.lake, args.executors)

    def run(self, *arguments):
        return subprocess.run([self.args.iolode, *arguments], capture_output=True, text=True)

    def version(self):
        shown = self.run("sql", "--lake", self.lake, "--format", "csv", "-c", "SELECT max(version) AS v FROM lake_version")
        return shown.stdout.split()[1]

    def ingest(self, minute, more):
        directory = os.path.join(self.work, f"part{minute}")
        os.mkdir(directory)
        for number, log in enumerate(self.parts[minute]):
            os.symlink(os.path.abspath(log), os.path.join(directory, f"{number}.darshan"))
        return self.run("ingest", "--lake", self.lake, "--darshan", directory, *more)

    def note(self, what, said=""):
        with self.lock:
            self.counts[what] += 1
            if said:
                lines = said.strip().splitlines()
                self.failures[f"{len(lines)} line: {lines[-1][:160]}"] += 1

    def client(self, seed):
        chance = random.Random(seed)
        while time.time() < self.end:
            version, sql = self.version(), chance.choice(QUESTIONS)
            ask = ["sql", "--lake", self.lake, "--version", version, "--format", "csv", "-c", sql]
            key = (version, sql)
            if key not in self.expected:
                self.expected[key] = self.run(*ask).stdout
            begin = time.time()
            there = self.run(*ask, "--cluster", self.cluster.file, "--cluster-above", "0", "-v")
            self.slowest = max(self.slowest, time.time() - begin)
            if there.returncode:
                self.note("failed", there.stderr)
            elif there.stdout != self.expected[key] and (how := differ(self.expected[key], there.stdout, True)):
                self.note("wrong", f"{version}: {sql}: {how}")
            else:
                self.note("right on the cluster" if "ran on the cluster" in there.stderr else "right in process")

    def ingests(self):
        for minute in range(1, self.args.minutes + 1):
            begin = time.time()
            done = self.ingest(minute, ["--cluster", self.cluster.file])
            self.note("ingests" if done.returncode in (0, 1) else "ingests that failed",
                      done.stderr if done.returncode not in (0, 1) else "")
            time.sleep(max(0, min(60 - (time.time() - begin), self.end - time.time())))

    def kills(self):
        while time.time() < self.end - 30:
            time.sleep(self.chance.uniform(20, 90))
            at = self.chance.randrange(1, self.args.executors)
            self.cluster.executors[at].kill()
            self.cluster.executors[at].wait()
            self.cluster.executors[at] = self.cluster.executor()
            self.note("kills")

    def go(self):
        threads = [threading.Thread(target=self.client, args=(self.args.seed * 1000 + n,)) for n in range(self.args.clients)]
        threads += [threading.Thread(target=self.ingests), threading.Thread(target=self.kills)]
        for thread in threads:
            thread.start()
        # Executor 0 is never killed.
        sizes = {"scheduler": [], "executor": []}
        while time.time() < self.end:
            time.sleep(10)
            sizes["scheduler"].append(rss(self.cluster.scheduler.pid))
            sizes["executor"].append(rss(self.cluster.executors[0].pid))
        for thread in threads:
            thread.join()
        return sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iolode", required=True)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--executors", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="where the result is written")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="iolode-soak-") as work:
        soak = Soak(args, work)
        try:
            sizes = soak.go()
            checked = soak.run("lake", "check", soak.lake)
            status = soak.run("cluster", "status", "--connect-file", soak.cluster.file, "--json")
            left = json.loads(status.stdout)["queries"]
        finally:
            soak.cluster.end()
        mib = lambda values: " ".join(f"{value >> 20}" for value in values[:: max(1, len(values) // 10)])
        lines = [f"{args.minutes} minutes, {args.clients} clients, {args.executors} executors of one core, seed {args.seed}:", "",
                 *[f"- {what}: {count}" for what, count in sorted(soak.counts.items())],
                 f"- slowest answer: {soak.slowest:.1f} s",
                 f"- queries left at the end: {left}",
                 f"- `lake check`: {(checked.stdout + checked.stderr).strip() or checked.returncode}",
                 f"- resident MiB of the scheduler over time: {mib(sizes['scheduler'])}",
                 f"- resident MiB of the executor that was never killed: {mib(sizes['executor'])}",
                 *[f"- {count} x {said}" for said, count in soak.failures.most_common(10)]]
        print("\n".join(lines))
        if args.out:
            with open(args.out, "a") as out:
                out.write("\n".join(lines) + "\n\n")
        sys.exit(soak.counts["wrong"] > 0 or checked.returncode != 0)


if __name__ == "__main__":
    main()
