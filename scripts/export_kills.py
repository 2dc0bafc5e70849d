#!/usr/bin/env python3
"""Kills exports at random moments: the target is then absent or complete.

    scripts/export_kills.py --lake LAKE [--program iolode] [--kills 200] [--seed 1] [-- MORE..]

Each try runs `iolode export --lake LAKE --to DIR MORE..` in a new process and kills it (SIGKILL) after a random part of the time that a whole one took. A target
that is there afterwards must pass `iolode lake check` and have the rows of the first, whole export. At the end an export that is not killed must
leave nothing beside its target. Prints one line; exit code 1 if anything was wrong.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lake", required=True)
    parser.add_argument("--program", default="iolode")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("more", nargs="*")
    args = parser.parse_args()
    chance = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as directory:
        to = os.path.join(directory, "out")
        command = [args.program, "export", "--lake", args.lake, "--to", to, *args.more]

        def rows():
            with open(os.path.join(to, "export.json")) as file:
                return json.load(file)["export"]["rows"]

        def run():
            # 1: logs were left out.
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode not in (0, 1) or not os.path.exists(to):
                sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")

        began = time.monotonic()
        run()
        whole, expected = time.monotonic() - began, rows()
        shutil.rmtree(to)
        absent = complete = killed = 0
        for number in range(args.kills):
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                child.wait(chance.uniform(0, 1.05 * whole))
            except subprocess.TimeoutExpired:
                child.kill()
                killed += 1
            child.wait()
            if not os.path.exists(to):
                absent += 1
                continue
            check = subprocess.run([args.program, "lake", "check", to], capture_output=True, text=True)
            if check.returncode != 0 or rows() != expected:
                print(f"kill {number}: {check.stderr} rows {rows()}, expected {expected}")
                sys.exit(1)
            complete += 1
            shutil.rmtree(to)
        run()
        left = sorted(os.listdir(directory))
        if left != ["out"]:
            print(f"beside the target lies {left}")
            sys.exit(1)
    print(f"{args.kills} exports, {killed} of them killed: {absent} without a target, {complete} complete, none in between; nothing left beside it ({whole:.1f} s each)")


main()
