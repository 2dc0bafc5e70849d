#!/usr/bin/env python3
"""Measures iolode against its peers and floors: scripts/bench.py [SCENARIO..] [--logs N] [--runs N] [-- OPTIONS OF month].

One function for each scenario; its docstring says what is compared and why that is fair. What counts is CPU seconds (user and
system of a whole process, from wait4) and their ratio: peers run in the same call on the same files, and both sides are checked
to have seen the same. A wall time alone says nothing on a shared machine. Each figure is the median of the runs after one warm-up.

Needs: `cargo build --release`, `cargo bench --no-run`, scripts/venv.sh, ../shared/data, a C compiler and libdeflate (package
libdeflate-dev). Programs elsewhere: IOLODE, IOLODE_BENCH, IOLODE_PYTHON, IOLODE_SHARED_DATA. Results go to
benches/runs/DATE-HOST.csv, one row a run, and .md, where HOST tells cores only.
"""

import argparse
import csv
import datetime
import functools
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.environ.get("CARGO_TARGET_DIR", f"{ROOT}/target")
IOLODE = os.environ.get("IOLODE", f"{TARGET}/release/iolode")
PYTHON = os.environ.get("IOLODE_PYTHON", f"{TARGET}/venv/bin/python")
DATA = os.environ.get("IOLODE_SHARED_DATA", f"{ROOT}/../shared/data")
# What users of pydarshan write to get at the counters: everything read, two modules as data frames.
PYDARSHAN = """
import sys, darshan
records = 0
for path in sys.argv[1:]:
    report = darshan.DarshanReport(path, read_all=True)
    for module in ("POSIX", "LUSTRE"):
        if module in report.records:
            frames = report.records[module].to_df()
            records += len(frames["counters" if module == "POSIX" else "components"])
print(records)
"""


class Bench:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.rows, self.lines = [], []

    def once(self, command):
        """CPU seconds, wall seconds, peak MiB and output of one process."""
        with tempfile.TemporaryFile() as out:
            began = time.monotonic()
            child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.monotonic() - began
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            text = out.read().decode()
        # iolode ends with 1 where it passed over a log that cannot be read; a month holds some.
        if child.returncode and (child.returncode, command[0]) != (1, IOLODE):
            sys.exit(f"bench: {' '.join(command)[:200]}: exit {child.returncode}")
        return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, text

    def measure(self, scenario, what, command, before=None, runs=None):
        """Medians over the runs of one command, after a warm-up; `before` puts things back to where they were."""
        return self.measure_in_turn(scenario, {what: command}, before, runs)[0]

    def measure_in_turn(self, scenario, commands, before=None, runs=None):
        """The same of several commands, of each one run after the other: what slows the machine for a while slows them all."""
        found, texts = {what: [] for what in commands}, {}
        for run in range((runs or self.options.runs) + 1):
            for what, command in commands.items():
                if before:
                    before()
                cpu, wall, peak, texts[what] = self.once(command)
                if run:
                    found[what].append((cpu, wall, peak))
                    self.rows.append([scenario, what, run, f"{cpu:.4f}", f"{wall:.4f}", f"{peak:.1f}"])
        results = []
        for what, runs in found.items():
            medians = [statistics.median(column) for column in zip(*runs)]
            print(f"{scenario}: {what}: {medians[0]:.3f} s CPU, {medians[1]:.3f} s wall, {medians[2]:.0f} MiB", flush=True)
            results.append((*medians, texts[what]))
        return results

    def say(self, scenario, figure, value, target=""):
        self.lines.append((scenario, figure, value, target))
        print(f"{scenario}: {figure}: {value} {f'(wanted: {target})' if target else ''}", flush=True)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def synth(self, times=1):
        """A synthetic month of about so many logs as asked for, or so many times that; its directory and the number of its logs."""
        out = self.path(f"month{times}")
        if not os.path.exists(out):
            jobs = round(times * self.options.logs / 1.15)
            subprocess.run([IOLODE, "synth", "--darshan-only", "--jobs", str(jobs), "--out", out], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return out, sum(len(files) for _, _, files in os.walk(out))

    def forget(self, name):
        shutil.rmtree(self.path(name), ignore_errors=True)


@functools.cache
def bench_binary(engine=False):
    """benches/bench.rs, built from what is there, with the engine if it is to ask: an older build would be measured without a word."""
    if "IOLODE_BENCH" in os.environ:
        return os.environ["IOLODE_BENCH"]
    build = ["cargo", "bench", *([] if engine else ["--no-default-features"]), "--bench", "bench", "--no-run", "--message-format=json"]
    messages = subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    built = [message for message in map(json.loads, messages) if message.get("executable")]
    return built[-1]["executable"]


def reading(bench):
    """Decoding logs to Arrow against inflating them.

    Two real production logs, copied: sample-goodost (11 KB, 98 records) and imbalanced-io (71 KB, 3,030 records). `modules` decodes
    every module but DXT into the tables of the modules, `read` fills darshan_file and darshan_log as well. The floor is a C program
    that inflates the same regions with libdeflate, the fastest inflater that we know, and does nothing with them. pydarshan reads
    the same files with DarshanReport(read_all=True) and makes data frames of POSIX and LUSTRE only, which is less than we do; it
    runs on a tenth of the copies, and what its start takes is subtracted before that is scaled. All run on one core; the files are
    in the page cache for all.
    """
    floor = bench.path("floor")
    subprocess.run(["cc", "-O2", "-o", floor, f"{ROOT}/scripts/floor.c", "-ldeflate"], check=True)
    start, *_ = bench.measure("reading", "pydarshan, start alone", [PYTHON, "-c", PYDARSHAN])
    for name, copies in (("sample-goodost", 2000), ("imbalanced-io", 200)):
        folder = bench.path(name)
        os.mkdir(folder)
        paths = [os.path.join(folder, f"{at}.darshan") for at in range(copies)]
        for path in paths:
            shutil.copyfile(f"{DATA}/darshan/{name}.darshan", path)
        (bottom, _, _, text), (modules, _, _, ours), (read, _, _, both) = bench.measure_in_turn("reading", {
            f"{name}: floor": [floor, *paths],
            f"{name}: modules": [bench_binary(), "modules", folder],
            f"{name}: read": [bench_binary(), "read", folder],
        })
        few = paths[:copies // 10]
        theirs, _, _, records = bench.measure("reading", f"{name}: pydarshan, {len(few)} logs", [PYTHON, "-c", PYDARSHAN, *few], runs=3)
        assert {json.loads(side)["logs"] for side in (text, ours, both)} == {copies}, (text, ours, both)
        assert int(records) > 0
        theirs = (theirs - start) * copies / len(few)
        bench.say("reading", f"{name}: modules / floor", f"{modules / bottom:.2f}", "at most 2.5")
        bench.say("reading", f"{name}: read (with darshan_file and darshan_log) / floor", f"{read / bottom:.2f}")
        bench.say("reading", f"{name}: pydarshan / modules", f"{theirs / modules:.0f}", "at least 25")
        bench.say("reading", f"{name}: pydarshan / read (with darshan_file and darshan_log)", f"{theirs / read:.0f}")
        bench.say("reading", f"{name}: logs a CPU second, read", f"{copies / read:.0f}")


def ingest(bench):
    """A synthetic month into a new lake, against reading the same files.

    `read` decodes all modules and darshan_file and darshan_log and drops them; an ingest also finds, hashes, sorts, compresses,
    writes, syncs and publishes. The wall times with one and with two threads say whether a second core helps; they are taken in
    turn on the same files, and mean something only where the machine was idle.
    """
    month, files = bench.synth()
    lake = bench.path("lake")
    command = lambda threads: [IOLODE, "ingest", "--lake", lake, "--create", "--darshan", month, "--threads", str(threads)]
    fresh = lambda: bench.forget("lake")
    (read, *_), (one, wall_one, peak_one, _), (two, wall_two, peak_two, _) = bench.measure_in_turn("ingest", {
        "read": [bench_binary(), "read", month],
        "one thread": command(1),
        "two threads": command(2),
    }, fresh, runs=3)
    known = json.loads(subprocess.run([IOLODE, "sql", "--lake", lake, "--format", "json", "-c", "select count(*) as n from darshan_log"], check=True, capture_output=True).stdout)
    bench.say("ingest", "files, and logs in the lake", f"{files}, {known[0]['n']}")
    bench.say("ingest", "one thread / read, CPU", f"{one / read:.2f}", "at most 3")
    bench.say("ingest", "wall of one thread / of two", f"{wall_one / wall_two:.2f}", "at least 1.7")
    bench.say("ingest", "peak memory, one and two threads", f"{peak_one:.0f} and {peak_two:.0f} MiB", "under 600 MiB")
    bench.say("ingest", "logs a CPU second", f"{files / one:.0f}")


def memory(bench):
    """Peak memory of an ingest of five times as many logs against that of an ingest of as many as asked for, with two threads."""
    command = lambda month: [IOLODE, "ingest", "--lake", bench.path("lake"), "--create", "--threads", "2", "--darshan", month]
    fresh = lambda: bench.forget("lake")
    small, files = bench.synth()
    large, more = bench.synth(5)
    _, _, peak, _ = bench.measure("memory", f"{files} files", command(small), fresh, runs=1)
    cpu, _, peak_more, _ = bench.measure("memory", f"{more} files", command(large), fresh, runs=1)
    bench.say("memory", f"peak of {more} files", f"{peak_more:.0f} MiB", "under 600 MiB")
    bench.say("memory", f"peak of {more} files / of {files}", f"{peak_more / peak:.2f}", "at most 1.1")
    bench.say("memory", f"logs a CPU second, {more} files", f"{more / cpu:.0f}")
    shutil.rmtree(large)


def again(bench):
    """The same tree once more, against the first time: nothing is new, and the lake finds that out by listing."""
    month, _ = bench.synth()
    lake = bench.path("lake")
    command = [IOLODE, "ingest", "--lake", lake, "--create", "--darshan", month]
    first, wall, *_ = bench.measure("again", "first", command, lambda: bench.forget("lake"), runs=1)
    second, wall_again, *_ = bench.measure("again", "again", command)
    bench.say("again", "second / first, CPU", f"{100 * second / first:.2f} %", "under 2 %")
    bench.say("again", "second / first, wall", f"{100 * wall_again / wall:.2f} %")


def commit(bench):
    """One more log into a lake that knows a million inputs. The lake is made by `bench inputs`, its inputs have no rows."""
    lake = bench.path("million")
    subprocess.run([bench_binary(), "inputs", lake, "1000000"], check=True, stdout=subprocess.DEVNULL)
    logs = iter(sorted(glob.glob(f"{DATA}/darshan/snyder_*.darshan")))
    def before():
        shutil.copyfile(next(logs), bench.path("next.darshan"))
    cpu, wall, peak, _ = bench.measure("commit", "one log, a million inputs known", [IOLODE, "ingest", "--lake", lake, "--darshan", bench.path("next.darshan")], before)
    bench.say("commit", "wall, and CPU, of the whole command", f"{wall:.2f} s, {cpu:.2f} s, {peak:.0f} MiB", "under a second")


def startup(bench):
    """What a question costs that needs nothing, and one that counts the rows of a lake: the whole process."""
    month, _ = bench.synth()
    lake = bench.path("lake")
    if not os.path.exists(lake):
        subprocess.run([IOLODE, "ingest", "--lake", lake, "--create", "--darshan", month], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    nothing, *_ = bench.measure("startup", "select 1", [IOLODE, "sql", "-c", "select 1"])
    count, *_ = bench.measure("startup", "count", [IOLODE, "sql", "--lake", lake, "-c", "select count(*) from darshan_file"])
    bench.say("startup", "select 1, CPU", f"{1000 * nothing:.0f} ms", "under 100 ms")
    bench.say("startup", "count over the lake, CPU", f"{1000 * count:.0f} ms", "under 100 ms")


def dumps(bench):
    """Slurm's and LMT's dumps: a million lines of sacct, and a day of 248 OSTs in a mysqldump.

    `sacct` decodes the lines to Arrow, all columns, trackable resources as maps and lists of nodes expanded. DuckDB reads the same
    file with the same columns typed (times, counts; what it has no type for stays text) and counts the values of each, on one
    thread. The floor of the mysqldump is reading it block by block and finding the end of each row with memchr. An ingest also
    sorts, puts aside, merges, forms intervals, compresses and publishes.
    """
    accounting = bench.path("sacct.psv")
    subprocess.run([bench_binary(), "sacct-dump", accounting, "1000000"], check=True, stdout=subprocess.DEVNULL)
    typed = {"UID": "BIGINT", "Submit": "TIMESTAMP", "Eligible": "TIMESTAMP", "Start": "TIMESTAMP", "End": "TIMESTAMP", "ElapsedRaw": "BIGINT",
             "TimelimitRaw": "BIGINT", "NNodes": "BIGINT", "NCPUS": "BIGINT", "NTasks": "BIGINT"}
    with open(accounting) as file:
        columns = {name: typed.get(name, "VARCHAR") for name in file.readline().strip().split("|")}
    theirs = f"""
import duckdb
duckdb.sql("set threads = 1")
print(duckdb.sql("select count(*), count(columns(*)) from read_csv('{accounting}', delim='|', header=true, quote='', escape='', nullstr=['', 'Unknown'], columns={columns})").fetchone()[0])
"""
    (ours, _, peak, text), (peer, _, _, lines) = bench.measure_in_turn("dumps", {
        "sacct": [bench_binary(), "sacct", accounting],
        "sacct, duckdb": [PYTHON, "-c", theirs],
    })
    start, *_ = bench.measure("dumps", "duckdb, start alone", [PYTHON, "-c", "import duckdb; duckdb.sql('select 1').fetchone()"])
    assert json.loads(text) == {"rows": 1_000_000, "status": "ok"} and int(lines) == 1_000_000, (text, lines)
    bench.say("dumps", "a million lines of sacct / DuckDB's CSV reader", f"{ours / (peer - start):.2f}", "at most 2")
    samples = bench.path("filesystem_synth.sql")
    subprocess.run([bench_binary(), "lmt-dump", samples, "4285440"], check=True, stdout=subprocess.DEVNULL)
    (floor, *_), (read, _, peak_read, text) = bench.measure_in_turn("dumps", {
        "mysqldump, floor": [bench_binary(), "lmt-floor", samples],
        "mysqldump": [bench_binary(), "lmt", samples],
    })
    assert json.loads(text)["rows"] == 4_285_440, text
    bench.say("dumps", "a day of 248 OSTs, mysqldump / finding its rows", f"{read / floor:.2f}", "at most 3")
    lake = bench.path("lake")
    fresh = lambda: bench.forget("lake")
    for what, flag, path, rows in (("sacct", "--slurm", accounting, "slurm"), ("mysqldump", "--lmt", samples, "lmt")):
        cpu, wall, peak, _ = bench.measure("dumps", f"{what}, ingest", [IOLODE, "ingest", "--lake", lake, "--create", flag, path], fresh, runs=3)
        bench.say("dumps", f"{what}, ingest: CPU, wall", f"{cpu:.2f} s, {wall:.2f} s")
        bench.say("dumps", f"{what}, ingest: peak memory", f"{peak:.0f} MiB", "under 600 MiB")


def attribution(bench):
    """What each file moved on each OST in each interval of a day, beside what 248 OSTs saw: the whole process of one question.

    A synthetic month with one day of LMT at 5 s for its two file systems; the files are those with an OST list that were read or
    written that day. Beside it stands a count over the same day of lmt_ost, which has to read the same columns.
    """
    month, lake = bench.path("attributed"), bench.path("attributed-lake")
    subprocess.run([IOLODE, "synth", "--jobs", "4000", "--lmt-days", "1", "--out", month], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([IOLODE, "lake", "create", lake, "--site", f"{month}/site.toml"], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([IOLODE, "ingest", "--lake", lake, "--darshan", month, "--slurm", f"{month}/slurm", "--lmt", f"{month}/lmt"], stderr=subprocess.DEVNULL)
    ask = lambda sql: [IOLODE, "sql", "--lake", lake, "--format", "json", "-c", sql]
    known = json.loads(subprocess.run(ask("select min(time) as a, max(time) as b, count(*) as n, count(distinct ost) as osts from lmt_ost where fs = 'scratch'"), check=True, capture_output=True).stdout)[0]
    question = f"""select count(distinct concat(log_id, '/', record_id)) as files, count(*) as n, count(distinct ost) as osts, max(abs(own_file + same_job + other_known + unexplained - seen)) as worst
        from file_ost_interval("from" => '{known["a"]}', "to" => '{known["b"]}', fs => 'scratch')"""
    (cpu, wall, peak, text), (scan, *_) = bench.measure_in_turn("attribution", {
        "file_ost_interval": ask(question),
        "scan": ask("select sum(bytes_read), sum(bytes_written), sum(interval_s), max(start_time), max(ost) from lmt_ost where fs = 'scratch'"),
    }, runs=3)
    answer = json.loads(text)[0]
    bench.say("attribution", "files, OSTs, rows of lmt_ost, rows of the answer", f"{answer['files']}, {answer['osts']}, {known['n']}, {answer['n']}")
    bench.say("attribution", "CPU, wall, memory", f"{cpu:.2f} s, {wall:.2f} s, {peak:.0f} MiB", "a few CPU seconds for 1,000 files")
    bench.say("attribution", "CPU / scan of the same columns", f"{cpu / scan:.1f}")
    shutil.rmtree(month)


def month_lake(bench):
    """A lake of the synthetic month, its number of logs, and how a question is put to it on one core."""
    lake = bench.path("month-lake")
    month, logs = bench.synth()
    if not os.path.exists(lake):
        subprocess.run([IOLODE, "ingest", "--lake", lake, "--create", "--darshan", month], stderr=subprocess.DEVNULL)
    return lake, logs, lambda sql: [IOLODE, "sql", "--lake", lake, "--format", "csv", "-c", sql]


def sweep(bench):
    """critical_files over 10 million intervals in 100,000 groups, against sorting them.

    The intervals lie in one Parquet file, in random order of start within a group and of group within the file. Sorting is ORDER BY
    group and start of the same engine, whose rows are then counted by a window function that needs them in that order; reading the
    columns alone is subtracted from both.
    """
    file = bench.path("intervals.parquet")
    make = f"""copy (select (g * 7919) % 100000 as grp, g as id, cast(s as double) as a, cast(s + l as double) as b from
        (select value as g, (value * 48271) % 2147483 / 1000.0 as s, (value * 16807) % 1299709 / 10000.0 as l from generate_series(1, 10000000))) to '{file}'"""
    ask = lambda sql: [IOLODE, "sql", "--format", "csv", "-c", sql]
    subprocess.run(ask(make), check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    table = "intervals"
    ask = lambda sql: [IOLODE, "sql", "--format", "csv", "-c", f"create external table intervals stored as parquet location '{file}'; {sql}"]
    (scan, *_), (sort, *_), (ours, _, peak, text), (time, *_) = bench.measure_in_turn("sweep", {
        "read": ask(f"select sum(grp), sum(id), sum(a), sum(b) from {table}"),
        "sort": ask(f"select max(n), max(id), max(b) from (select id, b, row_number() over (partition by grp order by a, b) as n from {table})"),
        "critical_files": ask(f"select count(*) as groups, sum(array_length(c)) as files from (select grp, critical_files(id, a, b) as c from {table} group by grp)"),
        "io_time": ask(f"select count(*), max(t) from (select grp, io_time(a, b) as t from {table} group by grp)"),
    }, runs=3)
    bench.say("sweep", "groups, critical files", text.splitlines()[-1])
    bench.say("sweep", "critical_files / sorting", f"{(ours - scan) / (sort - scan):.2f}", "at most 2")
    bench.say("sweep", "io_time / sorting", f"{(time - scan) / (sort - scan):.2f}")
    bench.say("sweep", "critical_files, peak memory", f"{peak:.0f} MiB")


# The columns that a question needs, which its floor reads and decodes.
QUESTIONS = {
    "custom_stripe": {"darshan_file": "job_id,log_id,fs,stripe_size,stripe_count,is_stream"},
    "top_write": {"darshan_log": "app,uid,bytes_written"},
    "read_ratio": {"darshan_log": "bytes_read,total_bytes"},
}


def questions(bench):
    """Named queries against reading and decoding the columns that they need, and perf_factors with what its operators take.

    The floor reads the same Parquet files, column by column, with the parquet crate on one thread, and does nothing with them. What a
    process takes that asks `select 1` of the lake is subtracted from the queries, what one takes that reads no column from the floor.
    """
    lake, logs, ask = month_lake(bench)
    start, *_ = bench.measure("questions", "start alone", ask("select 1"))
    for name, tables in QUESTIONS.items():
        columns = [f"{table}={columns}" for table, columns in tables.items()]
        (floor, *_), (ours, wall, peak, _) = bench.measure_in_turn("questions", {
            f"{name}: floor": [bench_binary(), "columns", lake, *columns],
            f"{name}": ask(f"select * from {name}()"),
        })
        bench.say("questions", f"{name} over {logs} logs / reading its columns", f"{(ours - start) / floor:.2f}", "at most 1.3")
    for direction in ("read", "write"):
        cpu, wall, peak, text = bench.measure("questions", f"perf_factors {direction}", ask(f"select count(*) from perf_factors(direction => '{direction}')"), runs=3)
        bench.say("questions", f"perf_factors({direction}) over {logs} logs: rows, CPU, wall, memory", f"{text.splitlines()[-1]}, {cpu:.1f} s, {wall:.1f} s, {peak:.0f} MiB")
    profile = subprocess.run(ask("explain analyze select count(*) from perf_factors(direction => 'write')"), check=True, capture_output=True, text=True).stdout
    for took, operator in operators(profile)[:12]:
        bench.say("questions", f"perf_factors(write), {operator}", f"{took:.2f} s")


def operators(profile):
    """Seconds of computing by operator of an EXPLAIN ANALYZE, largest first: those of one kind added up."""
    units = {"ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    found = {}
    for line in profile.splitlines():
        name = re.match(r'[\s",]*(?:Plan with Metrics",")?\s*([A-Za-z]+Exec|DataSourceExec)', line)
        took = re.search(r"elapsed_compute=([\d.]+)(ns|µs|us|ms|s)\b", line)
        if name and took:
            found[name[1]] = found.get(name[1], 0.0) + float(took[1]) * units[took[2]]
    return sorted(((took, name) for name, took in found.items()), reverse=True)


def month(bench):
    """The questions of benches/month put to iolode, DuckDB, Polars and Spark over the same lake: scripts/bench_month.py.

    The lake is a month of a machine of which --scale is the size, 1 being Cori, or an existing one with --lake. The peers come from PyPI
    into an environment of their own, target/bench-venv; what is measured there, and why that is fair, stands in that script, and
    `scripts/bench.py month -- --help` lists its options. Its results are files of their own.
    """
    venv = os.environ.get("IOLODE_BENCH_VENV", f"{TARGET}/bench-venv")
    if not os.path.exists(f"{venv}/bin/python"):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([f"{venv}/bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", f"{ROOT}/benches/month/requirements.txt"], check=True)
    lake = bench.options.lake or bench.path("scaled-lake")
    if not bench.options.lake:
        subprocess.run([IOLODE, "synth", "--lake", lake, "--scale", str(bench.options.scale)], check=True, stdout=subprocess.DEVNULL)
    asked = [f"{venv}/bin/python", f"{ROOT}/scripts/bench_month.py", "--lake", lake, "--iolode", IOLODE, "--bench", bench_binary(engine=True),
             "--runs", str(bench.options.runs), "--scratch", bench.scratch, *bench.options.month]
    if subprocess.run(asked).returncode:
        sys.exit("bench: month: an engine gave no answer, or another one; see above")


SCENARIOS = [reading, ingest, memory, again, commit, startup, dumps, attribution, sweep, questions, month]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", nargs="*", choices=[[], *(s.__name__ for s in SCENARIOS)], help="all, if none is given")
    parser.add_argument("--logs", type=int, default=20_000, help="size of the synthetic month")
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each command")
    parser.add_argument("--scratch", help="where the files of a run lie; a temporary directory if not given")
    parser.add_argument("--scale", type=float, default=0.1, help="month: size of the lake, as `iolode synth --scale` has it")
    parser.add_argument("--lake", help="month: an existing lake, instead of one that is made for this")
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:cut])
    options.month = sys.argv[cut + 1:]
    commit_id = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        bench = Bench(options, scratch)
        for scenario in SCENARIOS:
            if not options.scenario or scenario.__name__ in options.scenario:
                scenario(bench)
    if not bench.lines:
        return
    name = f"{ROOT}/benches/runs/{datetime.date.today()}-{os.cpu_count()}core"
    os.makedirs(os.path.dirname(name), exist_ok=True)
    fresh = not os.path.exists(f"{name}.csv")
    with open(f"{name}.csv", "a", newline="") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(["commit", "logs", "scenario", "what", "run", "cpu_s", "wall_s", "peak_mib"])
        writer.writerows([commit_id, options.logs, *row] for row in bench.rows)
    with open(f"{name}.md", "a") as file:
        print(f"\nCommit {commit_id}, month of {options.logs} logs, load of the machine {os.getloadavg()[1]:.1f} over the last five minutes\n", file=file)
        print("| scenario | figure | value | wanted |\n|---|---|---|---|", file=file)
        for line in bench.lines:
            print(f"| {' | '.join(line)} |", file=file)


if __name__ == "__main__":
    main()
