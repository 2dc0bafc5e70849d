#!/usr/bin/env python3
"""The questions of benches/month put to two builds by turns: what one costs against the other, in CPU seconds.

    scripts/compare_builds.py --old BENCH LAKE IOLODE --new BENCH LAKE IOLODE [--set iolode.x=off] [--runs 9]

BENCH is benches/bench.rs as built, IOLODE the program of the same build; each build has a lake of its own, for the format may differ: the same month, made by either. `--set` goes to the new
build alone, so that with one build twice it says what a rule costs. Prints geometric means of the ratios new / old by class, of the medians of all runs, for
the CPU of the whole question and of planning, and the questions that differ by more than 10 %.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench_month import CLASSES, Month


class Build:
    """One build with its lake, and the questions for it: ids of logs are those of this lake."""

    def __init__(self, given, iolode, options, scratch, set_):
        bench, lake = given
        folder = tempfile.mkdtemp(dir=scratch)
        self.month = Month(argparse.Namespace(only=options.only, iolode=iolode, lake=lake, bench=bench, runs=options.runs), folder)
        self.worker = self.month.worker("iolode", 2)
        self.engine = {"lake": os.path.abspath(lake), "threads": 2, "set": set_}

    def ask(self, question):
        answer = self.worker.ask({**question.asked("iolode", self.month.parameters), "engine": self.engine})
        if "error" in answer:
            sys.exit(f"{question.name}: {answer['error']}")
        return answer["cpu_s"], answer["plan_s"]


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", nargs=3, metavar=("BENCH", "LAKE", "IOLODE"), required=True)
    parser.add_argument("--new", nargs=3, metavar=("BENCH", "LAKE", "IOLODE"), required=True)
    parser.add_argument("--set", nargs="*", default=[], metavar="OPTION=VALUE", help="options of the new build")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        new_set = dict(one.split("=", 1) for one in options.set)
        old, new = (Build(given[:2], given[2], options, scratch, set_) for given, set_ in ((options.old, {}), (options.new, new_set)))
        ratios = {}
        for question in old.month.questions:
            runs = [(old.ask(question), new.ask(question)) for _ in range(options.runs + 1)][1:]
            before, after = ([statistics.median(run[build][what] for run in runs) for what in (0, 1)] for build in (0, 1))
            ratios[question.name] = question.kind, after[0] / before[0], after[1] / before[1]
            if abs(math.log(after[0] / before[0])) > math.log(1.1):
                print(f"{question.name:30} {1000 * before[0]:8.2f} {1000 * after[0]:8.2f} ms  x{after[0] / before[0]:.3f}   "
                      f"plan {1000 * before[1]:.2f} {1000 * after[1]:.2f} x{after[1] / before[1]:.3f}", flush=True)
        for kind in ["all", *CLASSES]:
            of_kind = [one for one in ratios.values() if kind in ("all", one[0])]
            if of_kind:
                print(f"{kind} {len(of_kind)} cpu x{mean([one[1] for one in of_kind]):.3f} plan x{mean([one[2] for one in of_kind]):.3f}")
        old.worker.stop()
        new.worker.stop()


if __name__ == "__main__":
    main()
