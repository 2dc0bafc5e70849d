#!/usr/bin/env python3
"""Measures iolode against its peers and floors: scripts/bench.py [SCENARIO..] [--logs N] [--runs N] [-- OPTIONS OF month].

One function for each scenario; its docstring says what is compared and why that is fair. What counts is CPU seconds (user and
system of a whole process, from wait4) and their ratio: peers run in the same call on the same files, and both sides are checked
to have seen the same. A wall time alone says nothing on a shared machine. Each figure is the median of the runs after one warm-up.

Measured is what users install, the profile `dist`: peers come fully optimised too. Tables before commit 9b7ade1 are of the profile `release`.

Needs: `cargo build --profile dist`, `cargo bench --profile dist --no-run` (half an hour on two cores), scripts/venv.sh, ../shared/data, a C
compiler and libdeflate (package libdeflate-dev). Programs elsewhere: IOLODE, IOLODE_BENCH, IOLODE_PYTHON, IOLODE_SHARED_DATA. Results go
to target/bench/DATE-HOST.csv, one row a run, and .md, where HOST tells cores only; benches/RESULTS.md holds the last full tables.
"""

import argparse
import collections
import csv
import datetime
import functools
import glob
import json
import math
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
IOLODE = os.environ.get("IOLODE", f"{TARGET}/dist/iolode")
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
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            began = time.monotonic()
            child = subprocess.Popen(command, stdout=out, stderr=errors)
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.monotonic() - began
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            text = out.read().decode()
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - 1000))
            said = errors.read().decode(errors="replace").strip().splitlines()[-1:]
        # iolode ends with 1 where it passed over a log that cannot be read; a month holds some.
        if child.returncode and (child.returncode, command[0]) != (1, IOLODE):
            sys.exit(f"bench: {' '.join(command)[:200]}: exit {child.returncode}: {' '.join(said)}")
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
    build = ["cargo", "bench", "--profile", "dist", *([] if engine else ["--no-default-features"]), "--bench", "bench", "--no-run", "--message-format=json"]
    messages = subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    built = [message for message in map(json.loads, messages) if message.get("executable")]
    return built[-1]["executable"]


def inflate(bench):
    """The floor of reading logs, built from scripts/floor.c."""
    floor = bench.path("floor")
    if not os.path.exists(floor):
        subprocess.run(["cc", "-O2", "-o", floor, f"{ROOT}/scripts/floor.c", "-ldeflate"], check=True)
    return floor


def reading(bench):
    """Decoding logs to Arrow against inflating them.

    Two real production logs, copied: sample-goodost (11 KB, 98 records) and imbalanced-io (71 KB, 3,030 records). `modules` decodes
    every module but DXT into the tables of the modules, `read` fills darshan_file and darshan_log as well. The floor is a C program
    that inflates the same regions with libdeflate, the fastest inflater that we know, and does nothing with them. pydarshan reads
    the same files with DarshanReport(read_all=True) and makes data frames of POSIX and LUSTRE only, which is less than we do; it
    runs on a tenth of the copies, and what its start takes is subtracted before that is scaled. All run on one core; the files are
    in the page cache for all.
    """
    floor = inflate(bench)
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


def mosaic(bench):
    """CPU of MOSAIC's classes of a log that has been read, in the median over logs: the published tool takes 1.5 s a log, with reading.

    Mode `reference` over the synthetic month, mode `full` over the real logs that have traces or bins. Then what both modes add to the ingest of that month, and
    what they take of a lake that holds it.
    """
    month, _ = bench.synth()
    for name, folder, mode, median, target in (
        ("month", month, "reference", "median_us", "at most 100"),
        ("real logs with DXT or HEATMAP", f"{DATA}/darshan", "full", "median_traced_us", "at most 1000"),
    ):
        *_, said = bench.measure("mosaic", f"{name}: {mode}", [bench_binary(), "mosaic", folder, mode], runs=min(3, bench.options.runs))
        found = json.loads(said)
        assert found["with_classes"] > 0, said
        bench.say("mosaic", f"{name}: {mode}, microseconds of CPU a log, median", f"{found[median]:.0f}", target)
        bench.say("mosaic", f"{name}: {mode}, mean and slowest", f"{found['mean_us']:.0f}, {found['slowest_us']:.0f}")
    month, files = bench.synth()
    lake, analyzed = bench.path("lake"), bench.path("analyzed")
    ingest = lambda lake: [IOLODE, "ingest", "--lake", lake, "--create", "--threads", "1", "--darshan", month]
    fresh = lambda: (bench.forget("lake"), bench.forget("analyzed"))
    (alone, *_), (both, *_) = bench.measure_in_turn("mosaic", {
        "ingest": ingest(lake),
        "ingest with the analysis": [*ingest(analyzed), "--analyze", "mosaic"],
    }, fresh, runs=min(3, bench.options.runs))
    bench.say("mosaic", "ingest with the analysis / without, CPU", f"{both / alone:.3f}", "at most 1.10")
    fresh()
    bench.once(ingest(lake))
    later = bench.path("later")
    copy = lambda: (bench.forget("later"), shutil.copytree(lake, later))
    cpu, *_ = bench.measure("mosaic", "analyze", [IOLODE, "analyze", "mosaic", "--lake", later, "--threads", "1"], copy, runs=min(3, bench.options.runs))
    bench.say("mosaic", "analysis of a lake later, both modes, microseconds of CPU a log", f"{1e6 * cpu / files:.0f}")


def ingest(bench):
    """A synthetic month into a new lake, against reading the same files.

    `read` decodes all modules and darshan_file and darshan_log and drops them; an ingest also finds, hashes, sorts, compresses,
    writes, syncs and publishes. The wall times with one and with two threads say whether a second core helps; they are taken in
    turn on the same files, and mean something only where the machine was idle. A thousand logs of the month, every so many in the
    order of their names, are also inflated by the floor and read by pydarshan as in `reading`.
    """
    month, files = bench.synth()
    lake = bench.path("lake")
    command = lambda threads: [IOLODE, "ingest", "--lake", lake, "--create", "--darshan", month, "--threads", str(threads)]
    fresh = lambda: bench.forget("lake")
    (read, *_), (one, wall_one, peak_one, _), (two, wall_two, peak_two, _) = bench.measure_in_turn("ingest", {
        "read": [bench_binary(), "read", month],
        "one thread": command(1),
        "two threads": command(2),
    }, fresh, runs=min(3, bench.options.runs))
    asked = lambda sql: json.loads(subprocess.run([IOLODE, "sql", "--lake", lake, "--format", "json", "-c", sql], check=True, capture_output=True).stdout)
    bench.say("ingest", "files, and logs in the lake", f"{files}, {asked('select count(*) as n from darshan_log')[0]['n']}")
    bench.say("ingest", "one thread / read, CPU", f"{one / read:.2f}", "at most 3")
    bench.say("ingest", "wall of one thread / of two", f"{wall_one / wall_two:.2f}", "at least 1.7")
    bench.say("ingest", "peak memory, one and two threads", f"{peak_one:.0f} and {peak_two:.0f} MiB", "under 600 MiB")
    bench.say("ingest", "logs a CPU second", f"{files / one:.0f}")
    some = bench.path("some")
    os.mkdir(some)
    paths = sorted(input["path"] for input in asked("select path from lake_input where source = 'darshan' and status = 'ok'"))
    paths = paths[::max(1, len(paths) // 1000)]
    links = [os.path.join(some, f"{at}.darshan") for at in range(len(paths))]
    for path, link in zip(paths, links):
        shutil.copyfile(os.path.join(month, path), link)
    few = links[::10]
    (bottom, _, _, inflated), (modules, _, _, decoded), (read, *_), (start, *_), (theirs, *_) = bench.measure_in_turn("ingest", {
        f"{len(links)} logs: floor": [inflate(bench), *links],
        f"{len(links)} logs: modules": [bench_binary(), "modules", some],
        f"{len(links)} logs: read": [bench_binary(), "read", some],
        "pydarshan, start alone": [PYTHON, "-c", PYDARSHAN],
        f"pydarshan, {len(few)} logs": [PYTHON, "-c", PYDARSHAN, *few],
    })
    assert json.loads(inflated)["logs"] == json.loads(decoded)["logs"] == len(links), (inflated, decoded)
    of_theirs = len(few) / (theirs - start)
    bench.say("ingest", f"{len(links)} of the logs: modules / inflating them with libdeflate", f"{modules / bottom:.2f}")
    bench.say("ingest", "logs a CPU second: inflated, modules, read, pydarshan", f"{len(links) / bottom:.0f}, {len(links) / modules:.0f}, {len(links) / read:.0f}, {of_theirs:.1f}")
    bench.say("ingest", "the whole ingest / pydarshan, logs a CPU second", f"{files / one / of_theirs:.0f}")


def memory(bench):
    """Peak memory of an ingest of five times as many logs against that of an ingest of as many as asked for, with two threads.

    With the memory that an ingest has if nobody says otherwise, and with a quarter of it, which the notes of the larger one alone take a third of.
    """
    fresh = lambda: bench.forget("lake")
    small, files = bench.synth()
    large, more = bench.synth(5)
    for budget in ("512M", "128M"):
        command = lambda month: [IOLODE, "ingest", "--lake", bench.path("lake"), "--create", "--threads", "2", "--memory", budget, "--darshan", month]
        _, _, peak, _ = bench.measure("memory", f"{files} files, {budget}", command(small), fresh, runs=1)
        cpu, _, peak_more, _ = bench.measure("memory", f"{more} files, {budget}", command(large), fresh, runs=1)
        bench.say("memory", f"peak of {more} files with {budget}", f"{peak_more:.0f} MiB", "under 600 MiB")
        bench.say("memory", f"peak of {more} files / of {files} with {budget}", f"{peak_more / peak:.2f}", "at most 1.1")
        bench.say("memory", f"logs a CPU second, {more} files with {budget}", f"{more / cpu:.0f}")
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
        from file_traffic_on_osts("from" => '{known["a"]}', "to" => '{known["b"]}', fs => 'scratch')"""
    (cpu, wall, peak, text), (scan, *_) = bench.measure_in_turn("attribution", {
        "file_traffic_on_osts": ask(question),
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
    "custom_stripe": {"darshan_file": "log_id,fs,stripe_size,stripe_count"},
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


# Asked of the same logs in lakes of different shapes. Integers and text: their sums are the same in any order.
SHAPED = {
    "count": "select count(*) from darshan_file",
    "sums": "select app, count(*), sum(bytes_read), sum(bytes_written) from darshan_log group by app order by app",
    "join": "select l.app, count(*), sum(f.bytes_written) from darshan_log l join darshan_file f on l.job_id = f.job_id and l.log_id = f.log_id group by l.app order by l.app",
    "scan": "select sum(posix_opens), sum(posix_reads), sum(posix_writes), sum(posix_bytes_read), sum(posix_bytes_written) from darshan_posix",
    "one job": "select count(*) from darshan_file where job_id = (select max(job_id) from darshan_log)",
}


def daily(bench):
    """1,000 ingests of a few logs each against one ingest of all: the same questions, before and after `iolode lake compact`.

    The logs come in the order of their days, which is about that of their job ids, as from a cron job. Both sides hold the same logs
    and must answer the same. A question is a whole process less one that asks `select 1` of the same lake; planning is EXPLAIN of the
    join, less the same. Ingests are whole processes: the last hundred against the first says whether a day costs more in a lake
    of many.
    """
    month, _ = bench.synth()
    logs = glob.glob(f"{month}/*/*/*/*.darshan")
    logs.sort(key=lambda path: ([int(part) for part in path.split("/")[-4:-1]], path))
    days = [logs[len(logs) * day // 1000:len(logs) * (day + 1) // 1000] for day in range(1000)]
    once, lake, compacted = bench.path("once-lake"), bench.path("daily-lake"), bench.path("compacted-lake")
    take = lambda lake, paths: bench.once([IOLODE, "ingest", "--lake", lake, "--create", "--darshan", *paths])
    whole, *_ = take(once, [month])
    each = [take(lake, day)[0] for day in days if day]
    bench.say("daily", "logs, ingests", f"{len(logs)}, {len(each)}")
    bench.say("daily", "CPU of all ingests, of one of all", f"{sum(each):.1f} s, {whole:.1f} s")
    bench.say("daily", "the last hundred ingests / the first hundred, CPU", f"{sum(each[-100:]) / sum(each[:100]):.2f}")
    shutil.copytree(lake, compacted)
    subprocess.run([IOLODE, "lake", "compact", compacted, "--dry-run"], check=True)
    cpu, wall, peak, _ = bench.once([IOLODE, "lake", "compact", compacted])
    bench.say("daily", "compaction: CPU, wall, memory", f"{cpu:.1f} s, {wall:.1f} s, {peak:.0f} MiB")
    cpu, *_ = bench.once([IOLODE, "lake", "compact", compacted])
    bench.say("daily", "compaction once more, with nothing to do", f"{cpu:.2f} s CPU")
    lakes = {"once": once, "daily": lake, "compacted": compacted}
    def ask(what, sql):
        return bench.measure_in_turn("daily", {f"{what}, {name}": [IOLODE, "sql", "--lake", path, "--threads", "1", "--format", "csv", "-c", sql] for name, path in lakes.items()})
    starts = [cpu for cpu, *_ in ask("start", "select 1")]
    files = [text.splitlines()[-1] for *_, text in ask("files", "select count(*) from lake_file")]
    bench.say("daily", "files: once, daily, compacted", ", ".join(files))
    sums = [0.0, 0.0, 0.0]
    for what, sql in SHAPED.items():
        answers = ask(what, sql)
        assert len({text for *_, text in answers}) == 1, (what, [text for *_, text in answers])
        sums = [so_far + cpu - start for so_far, (cpu, *_), start in zip(sums, answers, starts)]
    plans = [cpu - start for (cpu, *_), start in zip(ask("plan", "explain " + SHAPED["join"]), starts)]
    bench.say("daily", "all questions, daily / once", f"{sums[1] / sums[0]:.2f}")
    bench.say("daily", "all questions, compacted / once", f"{sums[2] / sums[0]:.2f}", "at most 1.2")
    bench.say("daily", "planning: once, daily, compacted", ", ".join(f"{1000 * plan:.1f} ms" for plan in plans), "at most 1.2 times once")


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


class Asked:
    """A process that answers questions about one lake, `bench ask`: what each takes, without start and opening."""

    def __init__(self, lake, threads=2, memory=None):
        command = [bench_binary(engine=True), "ask", lake, str(threads), *([str(memory)] if memory else [])]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **question):
        self.child.stdin.write(json.dumps(question) + "\n")
        self.child.stdin.flush()
        answer = json.loads(self.child.stdout.readline())
        if "error" in answer:
            sys.exit(f"bench: {question}: {answer['error']}")
        return answer

    def median(self, what, runs, **question):
        """The median of one figure, after a run that is not counted; and the last answer."""
        answers = [self.ask(**question) for _ in range(runs + 1)]
        return statistics.median(answer[what] for answer in answers[1:]), answers[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()


def whole_questions():
    """Those of benches/month that read all rows of what they ask: name, floor, SQL."""
    for path in sorted(glob.glob(f"{ROOT}/benches/month/*.sql")):
        with open(path) as file:
            text = file.read()
        floor = re.search(r"^-- floor: ?(.*)$", text, flags=re.M)[1].split()
        sql = re.split(r"^-- for .*\n", re.sub(r"\A(--.*\n)+", "", text), flags=re.M)[0]
        if floor and "$" not in sql:
            yield os.path.basename(path).removesuffix(".sql"), floor, sql


def size(bench):
    """Parquet of all tables of Darshan against the logs that they were made of, both without DXT: the real logs, a scaled month, and those
    logs of the month whose compressed bytes for each record of POSIX are within a fifth of the real ones.

    How well a log compresses decides. Over all logs a record of the month takes more than a real one, for more of its files are written and
    fewer only read; log by log, of equal size and kind, they are within a fifth of one another (synth/paper.rs tests that).
    """
    each, month = {}, bench.path("logs-size")
    made = [IOLODE, "synth", "--scale", str(bench.options.logs / 1e6), "--out", month]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def known(lake, sql):
        return json.loads(subprocess.run([IOLODE, "sql", "--lake", lake, "--format", "json", "-c", sql], check=True, capture_output=True).stdout)

    def like_real(lake):
        """The logs of it that are the only ones of their job and take as many bytes for each record as real ones, to a fifth, in a folder."""
        folder = bench.path("logs-like-real")
        os.makedirs(folder)
        rows = known(lake, f"""select i.path from lake_input i
            join (select job_id, sum(bytes) as bytes from darshan_module where module = 'POSIX' group by job_id) m on m.job_id = i.job_id
            join (select job_id, count(*) as records, count(distinct log_id) as logs from darshan_posix group by job_id) r on r.job_id = i.job_id
            where r.logs = 1 and m.bytes between {0.8 * each['real']} * r.records and {1.2 * each['real']} * r.records
              and i.job_id in (select job_id from lake_input group by job_id having count(*) = 1)""")
        for row in rows:
            os.link(row["path"], os.path.join(folder, os.path.basename(row["path"])))
        return folder

    lake = None
    for name in ("real", "synthetic", "synthetic, as dense as real"):
        logs = {"real": DATA, "synthetic": month}.get(name) or like_real(lake)
        lake = bench.path(f"lake-size-{name.split(',')[-1].strip().replace(' ', '-')}")
        subprocess.run([IOLODE, "ingest", "--lake", lake, "--create", "--darshan", logs], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        sizes = known(lake, """select (select sum(bytes) from lake_input where source = 'darshan' and status in ('ok', 'partial')) - coalesce((select sum(bytes) from darshan_module where module like 'DXT%'), 0) as logs,
            (select sum(bytes) from lake_file where table_name like 'darshan%') as parquet,
            (select count(*) from darshan_log) as count, (select sum(bytes) from darshan_module where module = 'POSIX') as posix, (select count(*) from darshan_posix) as records""")[0]
        each[name] = sizes["posix"] / sizes["records"]
        bench.say("size", f"{name}: logs, their bytes without DXT, Parquet", f"{sizes['count']}, {sizes['logs'] / 2**20:.1f} MiB, {sizes['parquet'] / 2**20:.1f} MiB")
        bench.say("size", f"{name}: Parquet / logs", f"{sizes['parquet'] / sizes['logs']:.2f}", "at most 1.5")
        if name != "real":
            wanted = "0.8 to 1.2" if "dense" in name else ""
            bench.say("size", f"bytes of a POSIX record, {name} / real", f"{each[name]:.1f} / {each['real']:.1f} = {each[name] / each['real']:.2f}", wanted)


def growth(bench):
    """The same questions over lakes of scale 0.01, 0.03 and 0.1 (or a tenth, three tenths and all of --scale), with 1, 3 and 10 days of LMT,
    and what planning takes.

    The exponent is the slope of the logarithm of CPU seconds over that of the bytes which the columns that a question must read have in the
    files. Over their rows it stands beside, for more jobs at a time make samples of LMT that compress less: ten times as many days of them
    are more than ten times as many bytes. So does that of reading the columns alone. What planning takes is measured at each scale, and
    over a lake of 10,000 ranges, each of one job: two tables joined, one job looked up; and so is a whole process that asks that.
    """
    scales = [bench.options.scale * part for part in (0.1, 0.3, 1)]

    def one_job(lake):
        """A question about the last job of a lake: two tables joined."""
        last = subprocess.run([IOLODE, "sql", "--lake", lake, "--format", "json", "-c", "select max(job_id) as job from darshan_log"], check=True, capture_output=True)
        return f"""select l.app, sum(f.bytes_read) from darshan_log l join darshan_file f on l.job_id = f.job_id and l.log_id = f.log_id
            where l.job_id = {json.loads(last.stdout)[0]['job']} group by l.app"""

    found, planning = {}, {}
    for scale, days in zip(scales, (1, 3, 10)):
        lake = os.path.join(bench.options.lakes or bench.scratch, f"lake-{scale:g}")
        if not os.path.exists(lake):
            made = [IOLODE, "synth", "--lake", lake, "--scale", f"{scale:g}", "--days", str(days)]
            subprocess.run(made, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with Asked(lake) as worker:
            for name, floor, sql in whole_questions():
                columns, read = worker.median("cpu_s", bench.options.runs, columns=floor)
                cpu, _ = worker.median("cpu_s", bench.options.runs, sql=sql)
                rows = read["rows"]
                found.setdefault(name, []).append((read["stored"], rows, cpu, columns))
                bench.rows.append(["growth", f"{name} over {rows} rows", 1, f"{cpu:.4f}", "", ""])
            planning[f"scale {scale:g}"] = worker.median("plan_s", 20, sql=one_job(lake))[0]
    lake, logs = bench.path("lake-ranges"), bench.path("logs-ranges")
    subprocess.run([IOLODE, "synth", "--darshan-only", "--jobs", "10000", "--out", logs], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([IOLODE, "lake", "create", lake, "--range-bytes", "1"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([IOLODE, "ingest", "--lake", lake, "--darshan", logs], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with Asked(lake) as worker:
        ranges = worker.ask(sql="select distinct range from lake_file where range is not null")["rows"]
        planning[f"{ranges} ranges"] = worker.median("plan_s", 20, sql=one_job(lake))[0]
    of_few = os.path.join(bench.options.lakes or bench.scratch, f"lake-{scales[0]:g}")
    few, start = [bench.measure("growth", f"start, {what}", [IOLODE, "sql", "--lake", where, "-c", one_job(where)])[0]
                  for what, where in ((f"scale {scales[0]:g}", of_few), (f"{ranges} ranges", lake))]
    shutil.rmtree(lake)
    shutil.rmtree(logs)
    for name, points in found.items():
        stored, rows, cpu, columns = [[math.log(point[at]) for point in points] for at in range(4)]
        slopes = [statistics.linear_regression(*of).slope for of in ((stored, cpu), (rows, cpu), (stored, columns))]
        over = ", ".join(f"{point[0] / 2**20:.1f} MiB" for point in points)
        took = ", ".join(f"{1000 * point[2]:.1f}" for point in points)
        bench.say("growth", f"{name}: exponent over the bytes of its columns, over their rows, of reading them; ms at {over}",
                  f"{slopes[0]:.2f}, {slopes[1]:.2f}, {slopes[2]:.2f}; {took}", "at most 1.05, the first")
    for what, took in planning.items():
        bench.say("growth", f"planning, {what}", f"{1000 * took:.1f} ms", "flat")
    bench.say("growth", f"one job looked up, whole process: scale {scales[0]:g}, {ranges} ranges", f"{1000 * few:.0f}, {1000 * start:.0f} ms", "flat")


# What does not fit into the memory that `spill` gives: a sort of all rows, a group for each row, both sides of a join.
SPILLING = {
    "sort": "select max(n), max(path) from (select row_number() over (order by bytes_written, record_id, log_id) as n, path from darshan_file)",
    "groups": "select count(*), max(c) from (select path, log_id, count(*) as c from darshan_file group by path, log_id)",
    "join": "select count(*), sum(a.bytes_read) from darshan_file a join darshan_posix b on a.record_id = b.record_id and a.log_id = b.log_id",
    "join on job_id": "select count(*), sum(a.bytes_read) from darshan_file a join darshan_posix b on a.job_id = b.job_id and a.log_id = b.log_id and a.record_id = b.record_id",
}


def spill(bench):
    """A sort, a grouping and joins with less memory than they take, against as much as they want: same answers, and the peaks.

    The budget is what operators may hold; what readers decode at a time comes on top, so the peak of a process that scans the same
    columns without a budget stands beside.
    """
    lake = bench.options.lake or bench.path("lake-spill")
    if not bench.options.lake:
        subprocess.run([IOLODE, "synth", "--lake", lake, "--scale", str(bench.options.scale)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with Asked(lake) as worker:
        scan = worker.ask(sql="select max(path), max(record_id), max(log_id), max(bytes_read), max(bytes_written) from darshan_file")
    bench.say("spill", "peak of a scan of the columns", f"{scan['peak_mib']:.0f} MiB")
    for name, sql in SPILLING.items():
        answers = {}
        for memory in (None, 256, 64):
            rows_to = bench.path(f"spill-{memory}.arrow")
            with Asked(lake, memory=memory and memory << 20) as worker:
                answers[memory] = worker.ask(sql=sql, rows_to=rows_to)
            with open(rows_to, "rb") as file:
                answers[memory]["said"] = file.read()
        assert len({answer["said"] for answer in answers.values()}) == 1, f"{name}: another answer with less memory"
        peaks, cpu = ([answer[key] for answer in answers.values()] for key in ("peak_mib", "cpu_s"))
        bench.say("spill", f"{name}: peak without a budget, with 256 and 64 MiB", f"{peaks[0]:.0f}, {peaks[1]:.0f}, {peaks[2]:.0f} MiB", "bounded")
        bench.say("spill", f"{name}: CPU with 256 and 64 MiB / without a budget", f"{cpu[1] / cpu[0]:.1f}, {cpu[2] / cpu[0]:.1f}")


def scaled_lake(bench):
    """The lake of a scaled month, that of --lake if it is given."""
    lake = bench.options.lake or bench.path("lake-month")
    if not os.path.exists(lake):
        subprocess.run([IOLODE, "synth", "--lake", lake, "--scale", str(bench.options.scale)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return lake


# A copy of each table by DuckDB, with the compression of a lake and as many threads as iolode has.
COPY = """
import json, sys, duckdb
tables, to, threads, where = json.load(open(sys.argv[1])), *sys.argv[2:5]
db = duckdb.connect(config={"threads": threads, "preserve_insertion_order": True})
db.execute("SET enable_progress_bar = false")
rows = {}
for table, files in tables.items():
    sql = f"COPY (SELECT * FROM read_parquet({files!r}) WHERE {where}) TO '{to}/{table}.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)"
    rows[table] = db.execute(sql).fetchone()[0]
print(json.dumps(rows))
"""


def exports(bench):
    """`iolode export` of a whole month, against DuckDB, which copies the same Parquet files with the same compression.

    Both have two threads and write zstd of level 1, and must have written the same number of rows. DuckDB writes one file a table, plain; an
    export has the ranges, sizes, order, bloom filters and lists of a lake. Then the same under pseudonyms, sorted anew; and one hundredth of
    the jobs, every hundredth of them and the first in a row, without samples of LMT, of which few jobs have many. Both may have half of the machine's memory; the peaks are those of one more run of each with --memory 256MiB.
    """
    lake, to = scaled_lake(bench), bench.path("exported")
    rows = subprocess.run([IOLODE, "sql", "--lake", lake, "--format", "json", "-c", "select table_name, path from lake_file order by all"], check=True, capture_output=True).stdout
    tables = {}
    for row in json.loads(rows):
        tables.setdefault(row["table_name"], []).append(os.path.join(os.path.abspath(lake), row["path"]))
    of_jobs = {table: files for table, files in tables.items() if not table.startswith("lmt")}
    for name, some in (("tables", tables), ("of_jobs", of_jobs)):
        with open(bench.path(f"{name}.json"), "w") as file:
            json.dump(some, file)
    key = bench.path("key")
    subprocess.run([IOLODE, "export", "--new-key", key], check=True, stderr=subprocess.DEVNULL)

    def before():
        shutil.rmtree(to, ignore_errors=True)
        os.mkdir(to)

    export = [IOLODE, "export", "--lake", lake, "--threads", "2", "--to", f"{to}/lake"]
    ask = [IOLODE, "sql", "--lake", lake, "--format", "csv", "-c"]
    jobs = subprocess.run([*ask, "select distinct job_id from darshan_log order by job_id"], check=True, capture_output=True, text=True).stdout.split()[1:]
    without_lmt, export = [*export, "--lmt", "none"], [*export, "--lmt", "period"]
    pseudonyms = ["--anonymize", "--key", key]
    (duckdb, _, _, copied), (plain, *_), (anonymous, *_), (jobs_alone, *_), (every, *_), (duckdb_every, *_), (in_a_row, *_) = bench.measure_in_turn("exports", {
        "DuckDB copies": [PYTHON, "-c", COPY, bench.path("tables.json"), to, "2", "true"],
        "export": export,
        "export --anonymize": [*export, *pseudonyms],
        "export without LMT": without_lmt,
        "export of every hundredth job": [*without_lmt, "--where", "job_id % 100 = 0"],
        "DuckDB copies every hundredth job": [PYTHON, "-c", COPY, bench.path("of_jobs.json"), to, "2", "job_id % 100 = 0"],
        "export of 1 % of the jobs in a row": [*without_lmt, "--where", f"job_id < {jobs[len(jobs) // 100]}"],
    }, before, runs=min(bench.options.runs, 3))
    peaks = []
    for more in (pseudonyms, []):
        before()
        peaks.append(bench.once([*export, *more, "--memory", "256MiB"])[2])
    with open(f"{to}/lake/export.json") as file:
        exported = json.load(file)["export"]["rows"]
    copied = {table: rows for table, rows in json.loads(copied.splitlines()[-1]).items() if rows}
    # Slurm records of jobs without a log, and samples outside the time of all logs, belong to no export.
    same = {table: rows for table, rows in copied.items() if table.startswith("darshan")}
    assert same == {table: rows for table, rows in exported.items() if table.startswith("darshan")}
    bench.say("exports", "rows of the lake, of the export", f"{sum(copied.values())}, {sum(exported.values())}")
    bench.say("exports", "CPU of DuckDB, export, with pseudonyms", f"{duckdb:.1f}, {plain:.1f}, {anonymous:.1f} s")
    bench.say("exports", "export / DuckDB", f"{plain / duckdb:.2f}", "at most 1.5")
    bench.say("exports", "export with pseudonyms / DuckDB, / export", f"{anonymous / duckdb:.2f}, {anonymous / plain:.2f}", "at most 2")
    bench.say("exports", "1 % of the jobs / all, without LMT: every hundredth, in a row", f"{every / jobs_alone:.3f}, {in_a_row / jobs_alone:.3f}", "at most 0.08")
    bench.say("exports", "every hundredth job: export / DuckDB", f"{every / duckdb_every:.2f}")
    bench.say("exports", "peak with --memory 256MiB: export, with pseudonyms", f"{peaks[1]:.0f}, {peaks[0]:.0f} MiB", "at most 406 MiB")


def reports(bench):
    """`iolode report` of a month, against the statements of its sections put one after another to one process of `iolode sql`.

    The statements are those that the report itself names; both sides have two threads and --memory 2GiB. What the page has beside its sections,
    its head, findings and charts, is what the ratio counts.
    """
    lake, out = scaled_lake(bench), bench.path("report")
    ask = ["--lake", lake, "--threads", "2", "--memory", "2GiB"]
    for name in ("iominer", "weekly"):
        period = [] if name == "iominer" else bench.options.period
        shown = subprocess.run([IOLODE, "report", name, *ask, *period, "--format", "json"], capture_output=True)
        sections = [block["sql"] for block in json.loads(shown.stdout)["blocks"] if block.get("sql")]
        with open(bench.path(f"{name}.sql"), "w") as file:
            file.write(";\n".join(sections) + ";\n")
        (queries, *_), (report, _, peak, _) = bench.measure_in_turn("reports", {
            f"{name}: statements": [IOLODE, "sql", *ask, "--format", "csv", "-f", bench.path(f"{name}.sql")],
            name: [IOLODE, "report", name, *ask, *period, "--out", f"{out}-{name}.html"],
        }, runs=min(bench.options.runs, 3))
        bench.say("reports", f"{name}: statements, CPU of them and of the report", f"{len(sections)}, {queries:.1f} s, {report:.1f} s")
        bench.say("reports", f"{name}: report / statements", f"{report / queries:.2f}", "at most 1.2")
        bench.say("reports", f"{name}: peak with --memory 2GiB", f"{peak:.0f} MiB", "at most 2248 MiB")
        bench.say("reports", f"{name}: page", f"{os.path.getsize(f'{out}-{name}.html') / 1e6:.2f} MB", "at most 4 MB")


def scanned(lake, sql):
    """The columns of each table that the scans of a statement's plan read, as `bench columns` takes them."""
    ask = [IOLODE, "sql", "--lake", lake, "--format", "json", "-c"]
    rows = lambda sql: json.loads(subprocess.run([*ask, sql], check=True, capture_output=True, text=True).stdout)
    known = collections.defaultdict(set)
    for row in rows("SELECT table_name, column_name FROM information_schema.columns"):
        known[row["table_name"]].add(row["column_name"])
    plan = rows(f"EXPLAIN {sql}")[-1]["plan"]
    read = collections.defaultdict(set)
    for line in plan.splitlines():
        scan = re.search(r"DataSourceExec: file_groups=\{\d+ groups?: \[\[[^],]*/(\w+)/[^/,]*.*?projection=\[(.*?)\](?:, [a-z_]+=|$)", line)
        if scan:
            read[scan[1]] |= known[scan[1]] & set(re.findall(r"\w+", scan[2]))
    return [f"{table}={','.join(sorted(columns))}" for table, columns in sorted(read.items())]


def pages(bench):
    """`diagnose` of jobs of a month and of one log each, start of the program excluded; `advice()` of all its logs against reading the columns that its plan scans, on one core.

    The jobs are those with the most files, logs and process hours, three each, and some of all others; the logs those at some quantiles of size.
    """
    lake = scaled_lake(bench)
    ask = [IOLODE, "sql", "--lake", lake, "--threads", "2", "--format", "csv", "-c"]
    orders = ["sum(files)", "count(*)", "sum(nprocs * run_time)", "job_id % 997"]
    jobs = [f"(SELECT job_id FROM darshan_log GROUP BY job_id ORDER BY {order} DESC, job_id LIMIT 3)" for order in orders]
    jobs = subprocess.run([*ask, " UNION ".join(jobs)], check=True, capture_output=True, text=True).stdout.split()[1:]
    month, _ = bench.synth()
    logs = sorted(glob.glob(f"{month}/**/*.darshan", recursive=True), key=os.path.getsize)
    logs = [logs[len(logs) * share // 1000] for share in (100, 500, 900, 990, 999)]
    start, *rest = bench.measure_in_turn("pages", {
        "start": [IOLODE, "sql", "--lake", lake, "-c", "SELECT 1"],
        **{f"job {job}": [IOLODE, "diagnose", "--lake", lake, "--job", job] for job in jobs},
        **{f"log of {os.path.getsize(log)} bytes": [IOLODE, "diagnose", log] for log in logs},
    }, runs=min(bench.options.runs, 3))
    of_jobs, of_logs = ([figures[0] - start[0] for figures in part] for part in (rest[:len(jobs)], rest[len(jobs):]))
    show = lambda values: f"{statistics.median(values):.2f}, {max(values):.2f} s"
    bench.say("pages", f"diagnose of {len(jobs)} jobs: CPU, median and most", show(of_jobs), "at most 0.5 s")
    bench.say("pages", f"diagnose of {len(logs)} logs, each alone: CPU, median and most", show(of_logs), "at most 0.1 s")
    (read, *_), (advice, _, peak, _) = bench.measure_in_turn("pages", {
        "columns of advice": [bench_binary(), "columns", lake, *scanned(lake, "SELECT * FROM advice()")],
        "advice": [*ask, "SELECT * FROM advice()"],
    }, runs=min(bench.options.runs, 3))
    bench.say("pages", "advice of all logs: CPU, peak", f"{advice:.1f} s, {peak:.0f} MiB")
    bench.say("pages", "advice / reading its columns", f"{advice / read:.2f}", "at most 2")


SCENARIOS = [reading, mosaic, ingest, memory, again, commit, startup, dumps, attribution, sweep, questions, daily, month, growth, spill, size, exports, reports, pages]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", nargs="*", choices=[[], *(s.__name__ for s in SCENARIOS)], help="all, if none is given")
    parser.add_argument("--logs", type=int, default=20_000, help="size of the synthetic month")
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each command")
    parser.add_argument("--scratch", help="where the files of a run lie; a temporary directory if not given")
    parser.add_argument("--scale", type=float, default=0.1, help="month, growth, spill, exports, reports, pages: size of the lake, as `iolode synth --scale` has it")
    parser.add_argument("--lakes", help="growth: where lakes lake-SCALE are, or are made")
    parser.add_argument("--lake", help="month, spill, exports, reports, pages: an existing lake, instead of one that is made for this")
    parser.add_argument("--period", type=lambda period: ["--period", period], default=[], help="reports: that of weekly, as `iolode report` has it; all if not given")
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
    name = f"{ROOT}/target/bench/{datetime.date.today()}-{os.cpu_count()}core"
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
