"""A month of a machine, asked of iolode and of its peers: `scripts/bench.py month` runs this in the environment of the peers.

Every question of benches/month is put to iolode, DuckDB, Polars and Spark over the same Parquet files, those of the newest
version of one lake. Each engine is a process of its own that is started, bound to its cores and opened before anything is
measured; the clock runs from the question until all its rows are in memory as Arrow. Warm: the engines in turn, each after the
other, as often as there are runs, after one round that is not counted. Cold: the same with a new process for each answer, which
has been asked for no more than a constant, and with no page of the lake in this machine's page cache; Spark alone keeps its
process, as it would show little else than its Java machine warming up.

What counts is the CPU seconds of a process, user and system. All engines must give the same rows: floats to 1e-9 of their size,
the order only where the question fixes it. The floor of a question is what reading and decoding the columns takes that every
answer must read, on one thread; questions that can skip most of the rows have none.
"""

import argparse
import csv
import datetime
import functools
import glob
import json
import math
import os
import re
import selectors
import shutil
import statistics
import string
import subprocess
import sys
import tempfile
import tomllib

import duckdb
import pyarrow
import pyarrow.ipc

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENGINES = ["iolode", "duckdb", "polars", "spark"]
CLASSES = ["scan", "group", "job", "point", "lmt", "named"]
# Questions that nobody has tuned for: benches/questions/untuned.
UNTUNED = "untuned"
MODES = ["warm-2", "warm-1", "cold-2"]
# Seconds after which an engine has no answer.
PATIENCE = 300
# Seconds from which one answer is enough.
SLOW = 20


class Question:
    """One file of benches/month: comments `key: value` first, then SQL, then SQL of engines that need their own."""

    def __init__(self, path):
        self.name = os.path.basename(path).removesuffix(".sql")
        with open(path) as file:
            lines = file.read().splitlines()
        self.about = lines[0].removeprefix("-- ")
        said = dict(re.fullmatch(r"-- (\w+): ?(.*)", line).groups() for line in lines[1:4])
        self.kind, self.floor, self.ordered = said["class"], said["floor"].split(), said["ordered"] == "yes"
        assert self.kind in [*CLASSES, UNTUNED], f"{path}: no such class: {self.kind}"
        parts = re.split(r"^-- for (.*)\n", "\n".join(lines[4:]) + "\n", flags=re.M)
        self.sql = dict.fromkeys(ENGINES, parts[0])
        for engines, sql in zip(parts[1::2], parts[2::2]):
            self.sql.update(dict.fromkeys(engines.split(", "), sql))

    def asked(self, engine, parameters, rows_to=None):
        if engine == "polars":
            return {"name": self.name, "parameters": parameters, "rows_to": rows_to}
        return {"sql": string.Template(self.sql[engine]).substitute(parameters), "rows_to": rows_to}


class Worker:
    """The process of one engine; one that does not answer in time is ended, and started anew for the next question."""

    def __init__(self, command, cores, errors):
        self.command, self.cores, self.errors, self.child = command, cores, errors, None

    def ask(self, question):
        if self.child is None:
            self.child = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0, preexec_fn=lambda: os.sched_setaffinity(0, self.cores))
            self.buffer = b""
        try:
            self.child.stdin.write(json.dumps(question).encode() + b"\n")
            answer = self.line()
        except BrokenPipeError:
            answer = None
        if answer is None:
            self.stop()
            return {"error": f"no answer within {PATIENCE} s, or its process ended"}
        return json.loads(answer)

    def line(self):
        """The next line, None if there is none in time."""
        with selectors.DefaultSelector() as ready:
            ready.register(self.child.stdout, selectors.EVENT_READ)
            while b"\n" not in self.buffer:
                if not ready.select(PATIENCE):
                    return None
                read = os.read(self.child.stdout.fileno(), 1 << 16)
                if not read:
                    return None
                self.buffer += read
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def stop(self):
        if self.child is not None:
            self.child.stdin.close()
            try:
                self.child.wait(5)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
            self.child.stdout.close()
            self.child = None


class Month:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.questions = sorted(map(Question, glob.glob(f"{ROOT}/benches/month/*.sql")), key=lambda question: (CLASSES.index(question.kind), question.name))
        if unknown := set(options.only or []) - {question.name for question in self.questions}:
            sys.exit(f"bench month: no such question: {', '.join(sorted(unknown))}")
        self.questions = [question for question in self.questions if not options.only or question.name in options.only]
        self.cores = sorted(os.sched_getaffinity(0))
        self.errors = open(os.path.join(scratch, "errors"), "w")
        self.tables = self.files_of_lake()
        self.parameters = self.found_parameters()
        self.found = {}
        self.wrong = []

    def files_of_lake(self):
        """The files of each table in the newest version; others may lie in its folders."""
        sql = "select table_name, path from lake_file order by table_name, path"
        rows = subprocess.run([self.options.iolode, "sql", "--lake", self.options.lake, "--format", "json", "-c", sql], check=True, capture_output=True).stdout
        tables = {}
        for row in json.loads(rows):
            tables.setdefault(row["table_name"], []).append(os.path.join(os.path.abspath(self.options.lake), row["path"]))
        with open(os.path.join(self.scratch, "tables.json"), "w") as file:
            json.dump(tables, file)
        return tables

    def found_parameters(self):
        with open(f"{ROOT}/benches/month/parameters.toml", "rb") as file:
            asked = tomllib.load(file)
        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'UTC'")
        for table, paths in self.tables.items():
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet({paths})")
        found = {}
        for name, sql in asked.items():
            found[name] = connection.execute(string.Template(sql).substitute(found)).fetchone()[0]
        self.logs = connection.execute("SELECT count(*) FROM darshan_log").fetchone()[0]
        return found

    def worker(self, engine, threads):
        command = [sys.executable, f"{ROOT}/scripts/month_peers.py", engine, os.path.join(self.scratch, "tables.json"), str(threads)]
        if engine == "iolode":
            command = [self.options.bench, "ask", self.options.lake, str(threads)]
        worker = Worker(command, self.cores[:threads], self.errors)
        answer = worker.ask({"sql": "SELECT 1 AS one", "name": "constant", "parameters": {}})
        if "error" in answer:
            sys.exit(f"bench month: {engine} does not start: {answer['error']}; see {self.errors.name}")
        return worker

    def forget_pages(self):
        """No page of the lake is in the page cache afterwards."""
        for folder, _, names in os.walk(self.options.lake):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for path in {path for paths in self.tables.values() for path in paths}:
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def note(self, question, engine, mode, answers):
        """Medians of the answers of one engine; None where it has none."""
        errors = [answer["error"] for answer in answers if "error" in answer]
        if errors:
            self.wrong.append(f"{question.name}: {engine}, {mode}: {errors[0].splitlines()[0][:300]}")
            print(f"  {self.wrong[-1]}", flush=True)
            return
        medians = [statistics.median(answer[what] for answer in answers) for what in ("cpu_s", "wall_s")]
        self.found[question.name, engine, mode] = (*medians, answers[-1]["rows"])

    def measure(self, question, mode, asks):
        """The engines in turn, as often as there are runs, after a round that does not count; one that is slow is asked once."""
        answers = {engine: [] for engine in asks}
        for run in range(self.options.runs + 1):
            for engine, ask in asks.items():
                last = answers[engine][-1] if answers[engine] else {"wall_s": 0}
                if "error" not in last and last["wall_s"] < SLOW:
                    answers[engine].append(ask(run))
        for engine, all_runs in answers.items():
            self.note(question, engine, mode, all_runs[1:] or all_runs)
        self.say(question, mode)

    def warm(self, threads):
        mode = f"warm-{threads}"
        workers = {engine: self.worker(engine, threads) for engine in self.options.engines}
        for question in self.questions:
            def ask(engine, run):
                rows_to = None if run else os.path.join(self.scratch, f"{engine}.arrow")
                return workers[engine].ask(question.asked(engine, self.parameters, rows_to))
            asks = {engine: functools.partial(ask, engine) for engine in workers}
            if question.floor and "iolode" in workers:
                asks["floor"] = lambda run: workers["iolode"].ask({"columns": question.floor})
            self.measure(question, mode, asks)
            self.compare(question, [engine for engine in workers if (question.name, engine, mode) in self.found])
        for worker in workers.values():
            worker.stop()

    def cold(self, threads):
        kept = self.worker("spark", threads) if "spark" in self.options.engines else None
        for question in self.questions:
            def ask(engine, _):
                worker = kept if engine == "spark" else self.worker(engine, threads)
                self.forget_pages()
                answer = worker.ask(question.asked(engine, self.parameters))
                if worker is not kept:
                    worker.stop()
                return answer
            self.measure(question, f"cold-{threads}", {engine: functools.partial(ask, engine) for engine in self.options.engines})
        if kept:
            kept.stop()

    def say(self, question, mode):
        figures = [(engine, self.found.get((question.name, engine, mode))) for engine in [*self.options.engines, "floor"]]
        shown = ", ".join(f"{engine} {1000 * one[0]:.1f} ms CPU, {1000 * one[1]:.1f} wall" for engine, one in figures if one)
        print(f"{mode}: {question.name}: {shown}", flush=True)

    def compare(self, question, engines):
        """Whether all engines gave the same rows, by those of the first."""
        tables = {engine: plain_rows(os.path.join(self.scratch, f"{engine}.arrow")) for engine in engines}
        for engine in engines[1:]:
            if why := difference(tables[engines[0]], tables[engine], question.ordered):
                self.wrong.append(f"{question.name}: {engines[0]} and {engine} differ: {why}")
                print(f"  {self.wrong[-1]}", flush=True)


def plain_rows(path):
    """Names of the columns, and their values as Python's: times as microseconds, whole numbers of any type as int."""
    with pyarrow.ipc.open_file(path) as file:
        table = file.read_all()
    columns = []
    for column in table.columns:
        kind = column.type
        if pyarrow.types.is_timestamp(kind):
            column = column.cast(pyarrow.timestamp("us", kind.tz)).cast(pyarrow.int64())
        values = column.to_pylist()
        if pyarrow.types.is_decimal(kind):
            values = [None if value is None else int(value) if value == int(value) else float(value) for value in values]
        columns.append(values)
    return table.column_names, columns


def difference(ours, theirs, ordered):
    """What tells two answers apart; None if nothing does."""
    (names, left), (other, right) = ours, theirs
    if names != other:
        return f"columns {names} and {other}"
    if left and len(left[0]) != len(right[0]):
        return f"{len(left[0])} and {len(right[0])} rows"
    floats = [any(isinstance(value, float) for value in (*a, *b)) for a, b in zip(left, right)]
    if not ordered:
        left, right = in_order(left, floats), in_order(right, floats)
    for name, real, a, b in zip(names, floats, left, right):
        for at, (one, two) in enumerate(zip(a, b)):
            same = one == two or (real and one is not None and two is not None and math.isclose(one, two, rel_tol=1e-9))
            if not same:
                return f"{name} is {one!r} and {two!r} (row {at + 1})"
    return None


def in_order(columns, floats):
    """Columns with their rows sorted by what is no float first: floats that differ in their last digits then seldom change an order."""
    key = [at for at, real in enumerate(floats) if not real] + [at for at, real in enumerate(floats) if real]
    rows = sorted(zip(*columns), key=lambda row: [(row[at] is not None, row[at]) for at in key])
    return [list(column) for column in zip(*rows)] or columns


def geometric_mean(ratios):
    ratios = [ratio for ratio in ratios if ratio]
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None


# Name of a ratio, above and below the line, mode, and which figure: 0 CPU, 1 wall.
RATIOS = [
    ("iolode/duckdb", "iolode", "duckdb", "warm-2", 0), ("iolode/polars", "iolode", "polars", "warm-2", 0), ("iolode/best", "iolode", "best", "warm-2", 0),
    ("spark/iolode", "spark", "iolode", "warm-2", 0), ("iolode/floor", "iolode", "floor", "warm-2", 0), ("wall", "iolode", "duckdb", "warm-2", 1),
    ("one core", "iolode", "duckdb", "warm-1", 0), ("one core, polars", "iolode", "polars", "warm-1", 0), ("cold", "iolode", "duckdb", "cold-2", 0),
    ("cold, polars", "iolode", "polars", "cold-2", 0), ("cold wall", "iolode", "duckdb", "cold-2", 1),
]


def results(month):
    """A dict of figures for each question, and one of geometric means for each class and over all."""
    rows = []
    for question in month.questions:
        value = lambda engine, mode, which: (month.found.get((question.name, engine, mode)) or (None, None))[which]
        def figure(engine, mode, which):
            if engine != "best":
                return value(engine, mode, which)
            return min((one for one in (value("duckdb", mode, which), value("polars", mode, which)) if one), default=None)
        answered = next((month.found[key] for key in month.found if key[0] == question.name and key[1] != "floor"), (0, 0, None))
        row = {"query": question.name, "class": question.kind, "rows": answered[2]}
        for mode in month.options.modes:
            for engine in [*month.options.engines, *(["floor"] if mode == "warm-2" else [])]:
                for which, unit in enumerate(("cpu_ms", "wall_ms")):
                    one = value(engine, mode, which)
                    row[f"{engine} {mode} {unit}"] = None if one is None else 1000 * one
        for name, above, below, mode, which in RATIOS:
            a, b = figure(above, mode, which), figure(below, mode, which)
            row[name] = a / b if a and b else None
        rows.append(row)
    names = [ratio[0] for ratio in RATIOS]
    means = []
    for kind in [*CLASSES, "all"]:
        of = [row for row in rows if kind in (row["class"], "all")]
        if of:
            means.append({"query": "geometric mean", "class": kind, "rows": len(of), **{name: geometric_mean(row[name] for row in of) for name in names}})
    return rows, means


def write_results(month, name, commit):
    rows, means = results(month)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    fresh = not os.path.exists(f"{name}.csv")
    shown = lambda value: f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
    figures = [f"{engine} {mode} {unit}" for mode in MODES for engine in [*ENGINES, "floor"] for unit in ("cpu_ms", "wall_ms")]
    columns = ["commit", "query", "class", "rows", *figures, *(name for name, *_ in RATIOS)]
    with open(f"{name}.csv", "a", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        if fresh:
            writer.writeheader()
        for row in [*rows, *means]:
            writer.writerow({"commit": commit, **{key: shown(value) for key, value in row.items()}})
    engines = month.options.engines
    versions = ", ".join(f"{engine} {version}" for engine, version in month.options.versions.items())
    size = sum(os.path.getsize(path) for paths in month.tables.values() for path in paths)
    with open(f"{name}.md", "a") as file:
        print(f"\nCommit {commit}, lake of {month.logs} logs and {size / 2**30:.2f} GiB of Parquet, {month.options.runs} runs, {versions}; "
              f"load of the machine {os.getloadavg()[1]:.1f} over the last five minutes.", file=file)
        print("Engines: CPU milliseconds, warm, two cores. Ratios: of CPU but where it says wall; `best` is the better of DuckDB and Polars; "
              "`wall`, `one core`, `cold`, `cold wall`: iolode/duckdb.\n", file=file)
        head = ["query", "class", "rows", *engines, *(name for name, *_ in RATIOS)]
        print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", file=file)
        for row in [*rows, *means]:
            figures = [None if (one := row.get(f"{engine} warm-2 cpu_ms")) is None else f"{one:.1f}" for engine in engines]
            ratios = [None if row[ratio] is None else f"{row[ratio]:.2f}" for ratio, *_ in RATIOS]
            print(f"| {' | '.join(map(shown, [row['query'], row['class'], row['rows'], *figures, *ratios]))} |", file=file)
        for line in month.wrong:
            print(f"\nNot right: {line}", file=file)
    for row in means:
        print(f"geometric mean, {row['class']}: {', '.join(f'{key} {row[key]:.2f}' for key, *_ in RATIOS if row[key])}")
    return bool(month.wrong)


def available(engines):
    """The engines that can run here, with their versions."""
    versions = {}
    for engine in engines:
        if engine == "iolode":
            continue
        if engine == "spark" and not shutil.which("java"):
            print("bench month: no Java here, so Spark is left out", flush=True)
            continue
        module = "pyspark" if engine == "spark" else engine
        try:
            versions[engine] = __import__(module).__version__
        except ImportError:
            print(f"bench month: {module} is not installed, so {engine} is left out", flush=True)
    return [engine for engine in engines if engine == "iolode" or engine in versions], versions


def main():
    parser = argparse.ArgumentParser(prog="bench.py month", description=__doc__.splitlines()[0])
    parser.add_argument("--lake", required=True, help="the lake that is asked")
    parser.add_argument("--iolode", required=True, help="the program")
    parser.add_argument("--bench", required=True, help="benches/bench.rs, built with the engine")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each question")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these questions alone")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES, help="warm or cold, and the number of cores")
    parser.add_argument("--out", help="results go to OUT.csv, as a table to the .md beside it")
    parser.add_argument("--scratch", help="where intermediate files lie")
    options = parser.parse_args()
    options.engines, options.versions = available([engine for engine in options.engines if not (options.no_spark and engine == "spark")])
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        month = Month(options, scratch)
        print(f"bench month: {len(month.questions)} questions, {month.parameters}", flush=True)
        for mode in options.modes:
            what, threads = mode.split("-")
            (month.warm if what == "warm" else month.cold)(int(threads))
        name = options.out or f"{ROOT}/target/bench/{datetime.date.today()}-{len(month.cores)}core-month"
        sys.exit(write_results(month, name, commit))


if __name__ == "__main__":
    main()
