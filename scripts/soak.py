#!/usr/bin/env python3
"""Ingests, compactions, vacuums and readers of one lake side by side: no reader may see a wrong count.

    scripts/soak.py --iolode target/release/iolode --minutes 30 --log FILE

One process after the other takes a part of a month in, and when all parts are there forgets them and begins anew; beside it one compacts,
one vacuums (what was the newest version within the last minute stays), and two ask. Each answer counts the rows of three tables in one statement, and these must be
what the lake holds after some number of parts. At the end `iolode lake check` must find nothing.
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
import threading
import time

PARTS = 24
ASKED = ("select (select count(*) from darshan_log) as logs, (select count(*) from darshan_file) as files, "
         "(select count(distinct log_id) from darshan_module) as read")


class Soak:
    def __init__(self, options, scratch):
        self.iolode, self.scratch = os.path.abspath(options.iolode), scratch
        self.end = time.monotonic() + 60 * options.minutes
        self.counts, self.wrong, self.lock = collections.Counter(), [], threading.Lock()
        self.right = set()

    def run(self, *arguments, lake="lake"):
        words = [self.scratch + "/" + lake if word == "LAKE" else word for word in arguments]
        done = subprocess.run([self.iolode, *words], capture_output=True, text=True, cwd=self.scratch)
        return done.returncode, done.stdout + done.stderr, done.stdout

    def must(self, *arguments, lake="lake"):
        code, said, out = self.run(*arguments, lake=lake)
        if code:
            sys.exit(f"{arguments}: {said}")
        return out

    def make(self):
        self.must("synth", "--jobs", "240", "--out", "month")
        logs = sorted(os.path.join(at, name) for at, _, names in os.walk(self.scratch + "/month") for name in names if name.endswith(".darshan"))
        random.Random(1).shuffle(logs)
        for number, log in enumerate(logs):
            os.makedirs(f"{self.scratch}/part{number % PARTS}", exist_ok=True)
            shutil.copy(log, f"{self.scratch}/part{number % PARTS}")
        for lake in "lake", "alone":
            self.must("lake", "create", "LAKE", "--range-bytes", "400K", lake=lake)
        # What is right comes from a lake that one process alone makes.
        self.right.add(self.answer("alone"))
        for part in range(PARTS):
            self.must("ingest", "--lake", "LAKE", "--darshan", f"part{part}", lake="alone")
            self.right.add(self.answer("alone"))

    def answer(self, lake):
        return self.must("sql", "--lake", "LAKE", "--format", "csv", "-c", ASKED, lake=lake).splitlines()[1]

    def note(self, what, code, said):
        with self.lock:
            self.counts[what] += 1
            # Whoever lost too many races says so, and nothing is lost.
            if code and "run it again" in said:
                self.counts[what + ", lost to others"] += 1
            elif code:
                self.wrong.append(f"{what}: {said.strip()}")

    def until_the_end(self, turn):
        while time.monotonic() < self.end:
            turn()

    def ingest(self):
        for part in range(PARTS):
            if time.monotonic() > self.end:
                return
            code, said, _ = self.run("ingest", "--lake", "LAKE", "--darshan", f"part{part}")
            self.note("ingest", code, said)
        code, said, _ = self.run("lake", "forget", "LAKE", "--darshan")
        self.note("forget", code, said)

    def compact(self):
        code, said, _ = self.run("lake", "compact", "LAKE", "--threads", "1")
        self.note("compact", code, said)

    def vacuum(self):
        code, said, _ = self.run("lake", "vacuum", "LAKE", "--keep", "1m", "--min-age", "0s")
        self.note("vacuum", code, said)

    def read(self):
        code, said, out = self.run("sql", "--lake", "LAKE", "--format", "csv", "-c", ASKED)
        self.note("read", code, said)
        if code == 0 and out.splitlines()[1] not in self.right:
            with self.lock:
                self.wrong.append(f"read: {out.splitlines()[1]} is the answer of no number of parts")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iolode", default="target/release/iolode")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--log", help="what came of it is appended")
    options = parser.parse_args()
    log = open(options.log, "a") if options.log else sys.stdout
    with tempfile.TemporaryDirectory() as scratch:
        soak = Soak(options, scratch)
        soak.make()
        soak.end = time.monotonic() + 60 * options.minutes
        turns = [soak.ingest, soak.compact, soak.vacuum, soak.read, soak.read]
        threads = [threading.Thread(target=soak.until_the_end, args=(turn,)) for turn in turns]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        code, said, _ = soak.run("lake", "check", "LAKE")
        soak.note("check at the end", code, said)
        versions = len(os.listdir(scratch + "/lake/_iolode/manifest"))
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    print(f"\n## {datetime.date.today()}: commit {commit}, {options.minutes:g} minutes, {versions} versions at the end, {len(soak.wrong)} findings\n", file=log)
    for what, count in sorted(soak.counts.items()):
        print(f"- {what}: {count}", file=log)
    for one in soak.wrong:
        print(f"\n### {one}", file=log)
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
