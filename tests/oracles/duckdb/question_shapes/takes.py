"""A take of statements in both engines. One text goes to both, but for ` /i `, integer division, and a few names of functions.

    scripts/oracle.py --shapes --lakes DIR --seed 1 --statements 2000 [--from N] [--only N,..] [--show] [--minutes M]

Exit status 1 if answers differ, or if iolode panics, is too slow, or refuses in one variant what it answers in another.
"""

import argparse
import collections
import math
import os
import re
import sys
import tempfile
import time

from random_sql import engines

from .compare import differs
from .draw import SHAPES, Draw
from .shapes import NAMES, WEIGHTS

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
# Seconds that iolode has for a statement at least; otherwise ten times what DuckDB took.
LIMIT = 15
# A statement is listed as slow above this many times DuckDB's time, and above this many seconds.
SLOW, COUNTS = 10, 0.05
BROKEN = re.compile("panic|internal error|its process", re.I)
FINDINGS = ("differs", "too slow or broken", "refused in the variant alone")


def statement(seed, number):
    g = Draw(f"{seed} {number}")
    name = g.choices(NAMES, WEIGHTS)[0]
    q = SHAPES[name][0](g)
    q.shape = name
    return q, g


def dialects(sql):
    """(iolode's text, DuckDB's)."""
    ours = sql.replace(" /i ", " / ").replace("FIRST(", "first_value(").replace("LAST(", "last_value(")
    return ours, sql.replace(" /i ", " // ").replace("FIRST(", "first(").replace("LAST(", "last(")


class Take:
    def __init__(self, options, say):
        self.say = say
        self.duckdb = engines.DuckDB(f"{options.lakes}/once", 2)
        bench = None if options.stdio else options.bench or engines.bench_binary(ROOT)
        self.iolode = engines.Iolode(options.lakes, tempfile.mkdtemp(), bench)
        self.counts, self.refused, self.by_shape = collections.Counter(), collections.defaultdict(list), collections.defaultdict(collections.Counter)

    def ask(self, number, q, g):
        """Puts one statement to both, in iolode in a variant drawn by it, and counts what came of it."""
        ours, theirs = dialects(q.sql)
        variant = engines.PLAIN if g.random() < 0.4 else g.choice(engines.VARIANTS)
        told = self.duckdb.ask(theirs)
        if told.timeout:
            return self.count(q, "too slow in DuckDB")
        answer = self.iolode.ask(ours, variant, max(LIMIT, 10 * (told.wall or 0)))
        what, why = self.judge(q, told, answer)
        if what == "refused by iolode alone" and variant is not engines.PLAIN and not self.iolode.ask(ours).error:
            what = "refused in the variant alone"
        if what in FINDINGS:
            self.say(f"\n== {number} {q.shape} [{variant.name}] {what.upper()}: {why}\n  iolode: {ours}\n  DuckDB: {theirs if theirs != ours else 'the same'}")
        elif what.startswith("refused"):
            form = re.sub(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\d+", "~", why.split("LINE")[0])[:110].strip()
            self.refused[what, form].append((len(ours), number, ours, why[:300]))
        elif what == "agrees" and self.is_slow(told, answer, variant) and self.is_slow(told, again := self.iolode.ask(ours, variant), variant):
            self.say(f"\n== {number} {q.shape} [{variant.name}] SLOW {again.wall:.3f} s, DuckDB {told.wall:.3f} s, {answer.rows} rows: {ours}")
        self.count(q, what)

    @staticmethod
    def judge(q, told, answer):
        """(what came of it, why)"""
        if answer.timeout or (answer.error and BROKEN.search(answer.error)):
            return "too slow or broken", f"{answer.error} (DuckDB {told.error or told.wall})"
        if told.error or answer.error:
            return ("refused by DuckDB alone", told.error) if not answer.error else ("refused by both" if told.error else "refused by iolode alone", answer.error)
        if told.columns is None or answer.columns is None:
            return "too many rows", None
        why = differs(q, told.columns, answer.columns)
        return ("differs", why) if why else ("agrees", None)

    @staticmethod
    def is_slow(told, answer, variant):
        return answer.wall and told.wall and answer.wall > SLOW * told.wall and answer.wall > COUNTS and variant.memory is None

    def count(self, q, what):
        self.counts[what] += 1
        self.by_shape[q.shape][what] += 1

    def summary(self):
        self.say("\n", dict(self.counts))
        for (what, _), found in sorted(self.refused.items(), key=lambda one: (one[0][0], -len(one[1]))):
            _, number, sql, why = min(found)
            self.say(f"\n-- {len(found)} {what}: {why}\n   {number}: {sql if what == 'refused by iolode alone' else sql[:300]}")
        for name in sorted(self.by_shape):
            self.say(f"   {name}: {dict(self.by_shape[name])}")

    def stop(self):
        self.iolode.stop()
        self.duckdb.stop()


def parsed():
    parser = argparse.ArgumentParser(prog="oracle.py --shapes", description="Questions as people and dashboards ask them: iolode's answers against DuckDB's")
    parser.add_argument("--lakes", required=True, metavar="DIR", help="a folder with the lakes once/, ten/ and compacted/, as of random SQL")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--statements", type=int, default=200, metavar="N")
    parser.add_argument("--from", type=int, default=0, metavar="N", dest="first", help="the number of the first statement")
    parser.add_argument("--only", type=lambda text: [int(one) for one in text.split(",")], metavar="N,..", help="the statements of these numbers alone")
    parser.add_argument("--shape", choices=NAMES, metavar="NAME", help="statements of this shape alone")
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="M", help="a take ends after that long, however many statements are left")
    parser.add_argument("--show", action="store_true", help="print the statements and ask nobody")
    parser.add_argument("--bench", help="benches/bench.rs, built; the newest in target/release/deps if not given")
    parser.add_argument("--stdio", action="store_true", help="questions for iolode go to stdout and answers come on stdin, as in tests/it/random_sql.rs")
    return parser.parse_args()


def main():
    options = parsed()
    options.lakes = os.path.abspath(options.lakes)
    drawn = ((number, *statement(options.seed, number)) for number in options.only or range(options.first, options.first + options.statements))
    drawn = (one for one in drawn if options.shape in (None, one[1].shape))
    if options.show:
        for number, q, _ in drawn:
            print(f"{number} {q.shape}: {q.sql}")
        return 0
    end = time.monotonic() + 60 * options.minutes
    take = Take(options, lambda *what: print(*what, flush=True, file=sys.stderr if options.stdio else sys.stdout))
    for one in drawn:
        if time.monotonic() > end:
            break
        take.ask(*one)
    take.summary()
    take.stop()
    return 1 if any(take.counts[what] for what in FINDINGS) else 0
