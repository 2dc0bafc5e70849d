#!/usr/bin/env python3
"""What each rule with a switch moves: the questions of benches/month and benches/questions/untuned with all rules, and with each off alone.

    scripts/bench_rules.py --bench BENCH --iolode IOLODE --lake LAKE [--threads 2] [--runs 5] [--takes 3] [--only-rules RULE ..]

BENCH is benches/bench.rs as built, IOLODE the program of the same build. One process answers each question by turns: with all rules, then with each rule off, as often as there
are runs, after a round that is not counted. A ratio is the median CPU time with the rule off over that with all rules; above 1 the rule helps. By class: the geometric mean, and
of the takes the median. Prints Markdown: a row a rule, and the questions that a rule moves by 1.15 or more in the median of the takes.
"""

import argparse
import collections
import glob
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench_month import CLASSES, ROOT, UNTUNED, Month, Question

ALL = "all rules"


def switches(iolode, lake):
    sql = "select name from information_schema.df_settings where name like 'iolode.%' and value = 'on' order by name"
    done = subprocess.run([iolode, "sql", "--lake", lake, "--format", "json", "-c", sql], check=True, capture_output=True)
    return [row["name"] for row in json.loads(done.stdout)]


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def take(month, questions, worker, sets, threads, runs, rng):
    """Of each question the ratio of each rule."""
    ratios = {}
    for question in questions:
        seconds = collections.defaultdict(list)
        for run in range(runs + 1):
            for name in rng.sample(list(sets), len(sets)):
                engine = {"lake": os.path.abspath(month.options.lake), "threads": threads, "set": sets[name]}
                answer = worker.ask({**question.asked("iolode", month.parameters), "engine": engine})
                if "error" in answer:
                    sys.exit(f"{question.name}, {name} off: {answer['error']}")
                if run:
                    seconds[name].append(answer["cpu_s"])
        medians = {name: statistics.median(taken) for name, taken in seconds.items()}
        ratios[question.name] = {name: medians[name] / medians[ALL] for name in sets if name != ALL}
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True)
    parser.add_argument("--iolode", required=True)
    parser.add_argument("--lake", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--takes", type=int, default=3)
    parser.add_argument("--only-rules", nargs="+", metavar="RULE")
    options = parser.parse_args()
    options.only = None
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as scratch:
        month = Month(options, scratch)
        untuned = [Question(path) for path in sorted(glob.glob(f"{ROOT}/benches/questions/untuned/*.sql"))]
        questions = month.questions + untuned
        rules = [name for name in switches(options.iolode, options.lake) if not options.only_rules or name.split(".")[1] in options.only_rules]
        sets = {ALL: {}, **{name: {name: "off"} for name in rules}}
        worker = month.worker("iolode", options.threads)
        takes = [take(month, questions, worker, sets, options.threads, options.runs, rng) for _ in range(options.takes)]
        worker.stop()
    classes = [kind for kind in [*CLASSES, UNTUNED] if any(question.kind == kind for question in questions)]
    print(f"| rule off, {options.threads} threads | all | {' | '.join(classes)} | questions moved by 1.15 or more |\n|{'---|' * (len(classes) + 3)}")
    for rule in rules:
        cells = []
        for kind in [None, *classes]:
            of_kind = [question.name for question in questions if kind in (None, question.kind)]
            cells.append(f"{statistics.median(mean([one[name][rule] for name in of_kind]) for one in takes):.3f}")
        moved = {question.name: statistics.median(one[question.name][rule] for one in takes) for question in questions}
        named = [f"{name} {ratio:.2f}" for name, ratio in sorted(moved.items(), key=lambda one: -abs(math.log(one[1]))) if abs(math.log(ratio)) >= math.log(1.15)]
        print(f"| {rule.removeprefix('iolode.')} | {' | '.join(cells)} | {', '.join(named)} |")


if __name__ == "__main__":
    main()
