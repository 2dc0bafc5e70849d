"""A take: statements drawn from a seed, put to both engines; what came of it goes to a log. Exit status 1 if answers differ."""

import argparse
import collections
import datetime
import math
import multiprocessing
import os
import queue
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from . import compare, engines, lakes, render, shrink
from .statements import Statements

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../../.."))
# Ratios of CPU count where either side takes as long, in seconds; above this ratio a statement is listed.
COUNTS, SLOW = 0.05, 10
# MiB that a process may hold beyond its budget.
BEYOND = 300
# Errors of iolode that its budget explains.
BUDGET = re.compile("memory", re.I)


def statement(seed, number, tables):
    """The statement of this number, and what draws its variant."""
    rng = random.Random(f"{seed}:{number}")
    return Statements(rng, tables).statement(), rng


class Worker:
    """Statements of a take, one after the other, over engines of its own."""

    def __init__(self, options, scratch, bench):
        self.options = options
        self.duckdb = engines.DuckDB(os.path.join(options.lakes, "once"))
        self.iolode = engines.Iolode(options.lakes, scratch, bench)

    def records(self, part, end):
        for number in range(part, self.options.statements, self.options.jobs):
            if time.monotonic() > end:
                return
            if self.options.only is None or number in self.options.only:
                yield self.record(number)

    def record(self, number):
        """What came of one statement."""
        query, rng = statement(self.options.seed, number, self.duckdb.profile)
        texts = [render.sql(query, dialect) for dialect in (render.IOLODE, render.DUCKDB)]
        drawn = engines.VARIANTS if self.options.all_variants else [rng.choice(engines.VARIANTS)]
        theirs = self.duckdb.ask(texts[1])
        record = {"number": number, "sql": texts[0], "duckdb_sql": texts[1], "findings": [], "variants": collections.Counter()}
        if theirs.timeout:
            return {**record, "status": "DuckDB too slow"}
        if theirs.error is None and theirs.columns is None:
            return {**record, "status": "too many rows"}
        limit = max(engines.IOLODE_LIMIT, 10 * (theirs.wall or 0))
        first = None
        for variant in [engines.PLAIN, *drawn]:
            ours = self.iolode.ask(texts[0], variant, limit)
            what = self.judge(query, theirs, ours, variant, first)
            if what[0] == "differs" and theirs.error is None and (calm := self.calm(query, texts[1], theirs)):
                theirs, record["unsteady"] = calm, True
                what = self.judge(query, theirs, ours, variant, first)
            record["variants"][f"{variant.name}: {what[0]}"] += 1
            if variant is engines.PLAIN:
                first = ours
                record.update(status=what[0], error=ours.error or theirs.error, rows=theirs.rows)
                if theirs.error is None and ours.error is None:
                    record["cpu"] = self.cpu(texts, ours, theirs, limit)
                    if self.slow(*record["cpu"][:2]) and self.options.shrink:
                        record["small"] = render.sql(shrink.smaller(query, self.still_slow, self.options.shrink), render.IOLODE)
            if self.beyond(variant, ours):
                # Not to count what earlier statements left behind: once more, in a new process.
                self.iolode.restart(variant)
                again = self.iolode.ask(texts[0], variant, limit)
                if self.beyond(variant, again):
                    record["peak"] = again.peak
            if what[0] in ("differs", "no answer in time", "panic"):
                record["findings"].append(self.finding(query, variant, what, limit))
            elif what[0] == "refused by iolode alone" and variant is not engines.PLAIN and first.error is None:
                record["findings"].append({"variant": variant.name, "what": "refused in this variant", "why": ours.error})
            if ours.timeout and variant is engines.PLAIN:
                break
        return record

    def calm(self, query, sql, theirs):
        """DuckDB's answer on one thread, if it is another one than on several: DuckDB 1.4 loses track of some statements, such as
        `count(DISTINCT x)` of a subquery with unnest, whose answer it gives anew each time."""
        calm = self.duckdb.ask(sql, threads=1)
        answered = calm.columns is not None and theirs.columns is not None
        return calm if answered and compare.difference(query, theirs.columns, calm.columns) else None

    @staticmethod
    def slow(ours, theirs):
        return max(ours, theirs) >= COUNTS and ours > SLOW * theirs

    def still_slow(self, candidate):
        theirs = self.duckdb.ask(render.sql(candidate, render.DUCKDB))
        if theirs.cpu is None:
            return False
        ours = self.iolode.ask(render.sql(candidate, render.IOLODE))
        return ours.cpu is not None and self.slow(ours.cpu, theirs.cpu)

    def beyond(self, variant, ours):
        return variant.memory and not self.options.stdio and ours.peak and ours.peak > variant.memory / 2**20 + BEYOND

    def judge(self, query, theirs, ours, variant, first):
        if ours.timeout:
            if theirs.error is not None:
                return "no answer in time, refused by DuckDB", ours.error
            # A rule that keeps a question from visiting every pair is switched off here to compare rows, not times.
            return "slow without its rule" if variant.off else "no answer in time", ours.error
        if ours.error is not None:
            if "panic" in ours.error.lower() or "internal error" in ours.error.lower():
                return "panic", ours.error
            if theirs.error is not None:
                return "refused by both", ours.error
            return ("not enough memory" if variant.memory and BUDGET.search(ours.error) else "refused by iolode alone"), ours.error
        if theirs.error is not None:
            # DuckDB has nothing to say: iolode must agree with itself.
            if first is not None and first.error is None and first.columns is not None and ours.columns is not None:
                why = compare.difference(query, first.columns, ours.columns)
                return ("differs", f"iolode alone, plain is right: {why}") if why else ("refused by DuckDB alone", None)
            return "refused by DuckDB alone", None
        if ours.columns is None:
            return "differs", f"{theirs.rows} rows are right, {ours.rows} came"
        why = compare.difference(query, theirs.columns, ours.columns)
        return ("differs", why) if why else ("agrees", None)

    def cpu(self, texts, ours, theirs, limit):
        """CPU seconds of both and of planning; the median of three where it matters."""
        pairs = [(ours.cpu, theirs.cpu)]
        if max(pairs[0]) >= COUNTS and ours.cpu > 4 * theirs.cpu and ours.cpu < 10:
            for _ in range(2):
                again = self.iolode.ask(texts[0], engines.PLAIN, limit), self.duckdb.ask(texts[1])
                if again[0].cpu and again[1].cpu:
                    pairs.append((again[0].cpu, again[1].cpu))
        return [statistics.median(one) for one in zip(*pairs)] + [ours.plan]

    def finding(self, query, variant, what, limit):
        found = {"variant": variant.name, "what": what[0], "why": what[1]}
        if self.options.shrink:
            late = what[0] == "no answer in time"
            # What is late need not be waited for as long again: seconds, where DuckDB takes a tenth of that.
            limit = 3 if late else limit
            def still(candidate):
                theirs = self.duckdb.ask(render.sql(candidate, render.DUCKDB), threads=1)
                if theirs.error is not None or theirs.columns is None or (late and theirs.wall > limit / 10):
                    return False
                ours = self.iolode.ask(render.sql(candidate, render.IOLODE), variant, limit)
                return self.judge(candidate, theirs, ours, variant, None)[0] == what[0]
            small = shrink.smaller(query, still, self.options.shrink * (3 if late else 1))
            theirs, ours = self.duckdb.ask(render.sql(small, render.DUCKDB), threads=1), self.iolode.ask(render.sql(small, render.IOLODE), variant, limit)
            found.update(small=render.sql(small, render.IOLODE), small_duckdb=render.sql(small, render.DUCKDB), small_why=self.judge(small, theirs, ours, variant, None)[1])
        return found

    def stop(self):
        self.duckdb.stop()
        self.iolode.stop()


def work(options, scratch, bench, part, end, out):
    worker = Worker(options, scratch, bench)
    try:
        for record in worker.records(part, end):
            out.put(record)
    except EOFError as error:
        out.put({"failed": str(error)})
    finally:
        worker.stop()
        out.put(None)


def all_records(options, scratch, bench):
    """The records of all jobs as they come."""
    end = time.monotonic() + 3600 * options.hours
    if options.stdio:
        worker = Worker(options, scratch, None)
        try:
            yield from worker.records(options.part, end)
        finally:
            worker.stop()
        return
    context = multiprocessing.get_context("fork")
    out = context.Queue()
    jobs = [context.Process(target=work, args=(options, scratch, bench, part, end, out)) for part in range(options.jobs)]
    for job in jobs:
        job.start()
    left = len(jobs)
    while left:
        try:
            record = out.get(timeout=5)
        except queue.Empty:
            if not any(job.is_alive() for job in jobs):
                yield {"failed": "a job ended early"}
                return
            continue
        if record is None:
            left -= 1
        else:
            yield record
    for job in jobs:
        job.join()


def kind_of(message):
    """A message without its names, numbers and expressions."""
    message = re.sub(r"'[^']*'|`[^`]*`|\"[^\"]*\"", "..", (message or "").splitlines()[0])
    message = re.sub(r"-?\d[\d.e+]*", "N", re.sub(r"\([^ ].*", "(..", message))
    return re.sub(r"(is not implemented|argument).*", r"\1 ..", message)[:160]


class Summary:
    def __init__(self):
        self.statuses, self.variants = collections.Counter(), collections.Counter()
        self.refused = {}
        self.ratios, self.slow, self.peaks, self.unsteady, self.findings, self.with_rows, self.failed = [], [], [], [], 0, 0, []

    def take(self, record, log):
        if "failed" in record:
            self.failed.append(record["failed"])
            return
        self.statuses[record["status"]] += 1
        self.variants.update(record["variants"])
        if record["status"].endswith("alone"):
            about = record["status"], kind_of(record["error"])
            self.refused.setdefault(about, []).append((record["number"], record["sql"], record["error"]))
        self.with_rows += record["status"] in ("agrees", "differs") and record["rows"] > 0
        if "cpu" in record:
            ours, theirs, plan = record["cpu"]
            if max(ours, theirs) >= COUNTS:
                self.ratios.append(ours / max(theirs, 1e-4))
                if self.ratios[-1] > SLOW:
                    self.slow.append((self.ratios[-1], ours, theirs, plan, record["number"], record["sql"], record.get("small")))
        if "unsteady" in record:
            self.unsteady.append(record["number"])
        if "peak" in record:
            self.peaks.append((record["peak"], record["number"], record["sql"]))
        for finding in record["findings"]:
            self.findings += 1
            log(f"\n### {finding['what']}: statement {record['number']}, {finding['variant']}\n\n{finding['why']}\n\n    {record['sql']}\n\nDuckDB:\n\n    {record['duckdb_sql']}")
            if "small" in finding:
                log(f"\nSmaller, {finding['small_why']}:\n\n    {finding['small']}\n\nDuckDB:\n\n    {finding['small_duckdb']}")

    def write(self, log):
        total = sum(self.statuses.values())
        log(f"\n### Summary: {total} statements, {self.findings} findings\n")
        for status, count in self.statuses.most_common():
            log(f"- {status}: {count}")
        log(f"- answered by both with at least a row: {self.with_rows} ({100 * self.with_rows / max(total, 1):.0f} %)")
        if self.unsteady:
            log(f"- compared with DuckDB on one thread, for it differs from itself on several: {', '.join(map(str, self.unsteady))}")
        if self.ratios:
            mean = math.exp(statistics.fmean(map(math.log, self.ratios)))
            log(f"- CPU, iolode / DuckDB, of {len(self.ratios)} statements with {1000 * COUNTS:.0f} ms on either side: geometric mean {mean:.2f}, most {max(self.ratios):.1f}, "
                f"above {SLOW}: {len(self.slow)}")
        log(f"- above their memory by {BEYOND} MiB: {len(self.peaks)}")
        log("\nVariants: " + "; ".join(f"{name} {count}" for name, count in sorted(self.variants.items())))
        for (status, message), found in sorted(self.refused.items(), key=lambda item: (item[0][0], -len(item[1]))):
            number, sql, error = min(found, key=lambda one: len(one[1]))
            log(f"\n{status}, {len(found)} times: {message}\n\n    -- {number}: {(error or '').splitlines()[0][:300] if error else ''}\n    {sql}")
        for ratio, ours, theirs, plan, number, sql, small in sorted(self.slow, key=lambda one: -one[0]):
            log(f"\n{ratio:.1f} x DuckDB, {1000 * ours:.0f} ms ({1000 * plan:.0f} planning) and {1000 * theirs:.0f} ms:\n\n    -- {number}\n    {sql}")
            if small:
                log(f"\nSmaller:\n\n    {small}")
        for peak, number, sql in self.peaks:
            log(f"\n{peak:.0f} MiB held:\n\n    -- {number}\n    {sql}")
        for why in self.failed:
            log(f"\nThe take failed: {why}")


def parsed():
    parser = argparse.ArgumentParser(prog="oracle.py", description="Random SQL: iolode's answers against DuckDB's over the same lake")
    parser.add_argument("--lakes", required=True, metavar="DIR", help="a folder with the lakes once/, ten/ and compacted/")
    parser.add_argument("--make", nargs="+", metavar="SIZE", help="make these lakes first: --make scale 0.02, or --make jobs 300; nothing else is done")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=2000, metavar="N")
    parser.add_argument("--hours", type=float, default=2, metavar="H", help="a take ends after that long, however many statements are left")
    parser.add_argument("--log", metavar="FILE", help="what came of it is appended; stdout if not given")
    parser.add_argument("--all-variants", action="store_true", help="each statement runs in every variant")
    parser.add_argument("--jobs", type=int, default=2, help="statements at a time")
    parser.add_argument("--only", type=lambda text: {int(one) for one in text.split(",")}, metavar="N,..", help="the statements of these numbers alone")
    parser.add_argument("--show", action="store_true", help="print the statements and ask nobody")
    parser.add_argument("--shrink", type=float, default=20, metavar="S", help="seconds for making a statement that differs smaller; 0: none")
    parser.add_argument("--iolode", default=os.path.join(ROOT, "target/release/iolode"), help="the program, for --make")
    parser.add_argument("--bench", help="benches/bench.rs, built; the newest in target/release/deps if not given")
    parser.add_argument("--stdio", action="store_true", help="questions for iolode go to stdout and answers come on stdin, as in tests/it/random_sql.rs")
    parser.add_argument("--part", type=int, default=0, help="with --stdio: which of the jobs this one is")
    return parser.parse_args()


def main():
    options = parsed()
    options.lakes = os.path.abspath(options.lakes)
    if options.make:
        kind, size = options.make
        lakes.make(options.iolode, options.lakes, (f"--{kind}", size), 7)
        return 0
    if options.show:
        return show(options)
    bench = None if options.stdio else options.bench or engines.bench_binary(ROOT)
    if bench is None and not options.stdio:
        sys.exit("oracle: no bench; run `cargo build --release --bench bench` first")
    file = open(options.log, "a") if options.log else sys.stderr if options.stdio else sys.stdout
    log = lambda line: print(line, file=file, flush=True)
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    began, summary = time.monotonic(), Summary()
    log(f"\n## Take of {datetime.date.today()}: commit {commit}, seed {options.seed}, {options.statements} statements, "
        f"{'every variant' if options.all_variants else 'one variant each'}, {options.jobs} at a time")
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=shared) as scratch:
        for record in all_records(options, scratch, bench):
            summary.take(record, log)
    summary.write(log)
    log(f"\n{time.monotonic() - began:.0f} s")
    return 1 if summary.findings or summary.failed else 0


def show(options):
    duckdb = engines.DuckDB(os.path.join(options.lakes, "once"))
    for number in sorted(options.only or range(options.statements)):
        query, _ = statement(options.seed, number, duckdb.profile)
        print(f"-- {number}\n{render.sql(query, render.IOLODE)};\n-- DuckDB\n{render.sql(query, render.DUCKDB)};")
    duckdb.stop()
    return 0
