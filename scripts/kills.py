#!/usr/bin/env python3
"""Kills iolode at random times while it changes a lake, and looks at what is left.

    scripts/kills.py --iolode target/release/iolode --rounds 1000 --seed 1 --log FILE

Each round copies one lake, starts one of the operations on it, in half of the rounds a second writer beside it, and kills the first after a random
part of the time that it takes undisturbed (SIGKILL). Then the lake must be whole (`iolode lake check`); the operation is run again if its
version is not there; and every table must hold, row for row, what it holds in a lake in which nobody was killed. After a vacuum that keeps nothing
old it must still do so, and no file may be left that no version names.

Needs the Python packages of tests/oracles/python/requirements.txt.
"""

import argparse
import collections
import datetime
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import duckdb

# What is killed, and what may run beside it: both orders of the two give the same rows.
OPERATIONS = {
    "ingest": ["ingest", "--lake", "LAKE", "--darshan", "NEW"],
    "compact": ["lake", "compact", "LAKE"],
    "vacuum": ["lake", "vacuum", "LAKE", "--keep", "0s", "--min-age", "0s"],
    "forget": ["lake", "forget", "LAKE", "--slurm"],
    "forget before": ["lake", "forget", "LAKE", "--before", "DATE"],
    "function": ["sql", "--lake", "LAKE", "-c", "create or replace function f(x bigint) returns bigint return x + 1"],
    "restore": ["lake", "restore", "LAKE", "--version", "2"],
}
BESIDE = {
    "ingest": "ingest more", "compact": "ingest more", "vacuum": "ingest more", "forget": "ingest more",
    "forget before": "function", "function": "ingest more", "restore": "function",
}
OPERATIONS["ingest more"] = ["ingest", "--lake", "LAKE", "--darshan", "MORE"]


class Trial:
    def __init__(self, options, scratch):
        self.iolode = os.path.abspath(options.iolode)
        self.base = os.path.join(scratch, "base")
        self.lake = os.path.join(scratch, "lake")
        self.month = os.path.join(scratch, "month")
        self.seconds, self.right = {}, {}

    def run(self, *arguments, lake=None):
        done = self.start(*arguments, lake=lake)
        out, err = done.communicate(timeout=600)
        return done.returncode, out + err

    def start(self, *arguments, lake=None):
        words = {"LAKE": lake or self.lake, "NEW": self.month + "/new", "MORE": self.month + "/more", "DATE": self.date}
        command = [self.iolode] + [words.get(word, word) for word in arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    date = "1970-01-01"

    def make(self):
        """A lake of some versions, with files that are replaced, and logs beside it that are not in it yet."""
        whole = self.month + "/whole"
        self.must("synth", "--jobs", "60", "--out", whole)
        logs = sorted(os.path.join(at, name) for at, _, names in os.walk(whole) for name in names if name.endswith(".darshan"))
        for number, log in enumerate(logs):
            part = ["first", "second", "new", "more"][number % 4]
            os.makedirs(f"{self.month}/{part}", exist_ok=True)
            shutil.copy(log, f"{self.month}/{part}")
        self.must("lake", "create", self.base, "--site", whole + "/site.toml", "--range-bytes", "200K")
        for part in ["--darshan", self.month + "/first"], ["--darshan", self.month + "/second", "--slurm", whole + "/slurm"]:
            self.must("ingest", "--lake", self.base, *part)
        middle = self.must("sql", "--lake", self.base, "--format", "csv", "-c",
                           "select start_time from darshan_log order by start_time limit 1 offset 15").split()[1]
        self.date = middle[:10]

    def must(self, *arguments):
        code, said = self.run(*arguments, lake=self.base)
        if code:
            sys.exit(f"{arguments}: {said}")
        return said

    def fresh(self):
        shutil.rmtree(self.lake, ignore_errors=True)
        shutil.copytree(self.base, self.lake)

    def rows(self):
        """Of each table the number of rows and the sum of their hashes."""
        code, said = self.run("lake", "files", "LAKE", "--format", "csv")
        if code:
            return said
        tables = sorted({line.split(",")[0] for line in said.splitlines()[1:]})
        found = {}
        with duckdb.connect() as db:
            db.execute("SET threads = 1")
            for table in tables:
                files = self.run("lake", "files", "LAKE", "--table", table, "--paths")[1].splitlines()
                found[table] = db.execute("SELECT count(*), sum(hash(t)::hugeint) FROM read_parquet(?, union_by_name => true) t", [files]).fetchone()
        return found

    def measure(self):
        """How long each operation takes, and what the lake holds after each pair that the rounds try."""
        for name in OPERATIONS:
            self.fresh()
            began = time.monotonic()
            code, said = self.run(*OPERATIONS[name])
            if code:
                sys.exit(f"{name}: {said}")
            self.seconds[name] = time.monotonic() - began
            self.right[name, None] = self.rows()
            if name in BESIDE:
                code, said = self.run(*OPERATIONS[BESIDE[name]])
                if code:
                    sys.exit(f"{BESIDE[name]}: {said}")
                self.right[name, BESIDE[name]] = self.rows()

    def newest(self):
        folder = self.lake + "/_iolode/manifest"
        return max(int(name.split(".")[0]) for name in os.listdir(folder) if name.endswith(".json"))

    def round(self, rng):
        """One kill; what was wrong afterwards."""
        name = rng.choice([one for one in OPERATIONS if one in BESIDE])
        beside = BESIDE[name] if rng.random() < 0.5 else None
        self.fresh()
        before = self.newest()
        other = self.start(*OPERATIONS[beside]) if beside else None
        killed = self.start(*OPERATIONS[name])
        time.sleep(rng.random() * self.seconds[name] * (2 if beside else 1.1))
        killed.kill()
        out, err = killed.communicate()
        done = killed.returncode == 0
        wrong = []
        if other:
            said = "".join(other.communicate(timeout=600))
            if other.returncode:
                wrong.append(f"the second writer failed: {said}")
        code, said = self.run("lake", "check", "LAKE")
        if code:
            wrong.append(f"check after the kill: {said}")
        # The one that was killed holds no file any more.
        shutil.rmtree(self.lake + "/_iolode/lease", ignore_errors=True)
        code, again = self.run(*OPERATIONS[name])
        if code and not ("nothing" in again and self.newest() > before):
            wrong.append(f"run again: {again}")
        if self.rows() != self.right[name, beside]:
            wrong.append("other rows than in a lake in which nobody was killed")
        code, said = self.run(*OPERATIONS["vacuum"])
        if code:
            wrong.append(f"vacuum: {said}")
        code, said = self.run("lake", "check", "LAKE")
        if code or "belong to no version" in said:
            wrong.append(f"check after the vacuum: {said}")
        if self.rows() != self.right[name, beside]:
            wrong.append("the vacuum took rows")
        return name, beside, done, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iolode", default="target/release/iolode")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=110, help="ends after that long")
    parser.add_argument("--log", help="what came of it is appended")
    options = parser.parse_args()
    rng, counts, began, failed = random.Random(options.seed), collections.Counter(), time.monotonic(), 0
    log = open(options.log, "a") if options.log else sys.stdout
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
        trial = Trial(options, scratch)
        trial.make()
        trial.measure()
        for number in range(options.rounds):
            if time.monotonic() - began > 60 * options.minutes:
                break
            name, beside, done, wrong = trial.round(rng)
            counts[name, beside or "alone", "done before" if done else "killed"] += 1
            for one in wrong:
                failed += 1
                print(f"\n### round {number}: {name}, {beside or 'alone'}: {one.strip()}", file=log, flush=True)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    total = sum(counts.values())
    killed = sum(count for (*_, what), count in counts.items() if what == "killed")
    print(f"\n## {datetime.date.today()}: commit {commit}, seed {options.seed}: {total} rounds, {killed} of them killed in time, {failed} findings, "
          f"{time.monotonic() - began:.0f} s\n", file=log)
    for (name, beside, what), count in sorted(counts.items()):
        print(f"- {name}, {beside}: {count} {what}", file=log)
    log.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
