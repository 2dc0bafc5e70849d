"""Both engines as processes, and the variants of iolode."""

import glob
import json
import multiprocessing
import os
import selectors
import subprocess
import sys

import pyarrow.ipc

from . import duckdb_peer
from .compare import plain

# Seconds that DuckDB has for a statement; a slower one is passed over. iolode has ten times what DuckDB took, and at least the latter.
DUCKDB_LIMIT, IOLODE_LIMIT = 5, 30
# Rows of an answer that is compared; a larger one is passed over.
ROWS = 50_000
MEMORY = 64 << 20
# The rules of iolode that can be switched off: `SET iolode.<rule> = 'off'`.
RULES = [
    "aggregate_build_side", "scan_filter", "copartitioned_join", "dynamic_filter", "constant_keys", "semi_join", "outer_to_anti", "push_down_semi_join", "extremes", "intersect", "null_safe_keys", "partial_topk", "group_runs",
    "radix_distinct", "partition_values", "compact_batches",
]


class Variant:
    def __init__(self, name, lake="once", threads=2, memory=None, off=None, set=None):
        self.name, self.lake, self.threads, self.memory, self.off = name, lake, threads, memory, off
        self.set = {f"iolode.{off}": "off"} if off else set or {}


PLAIN = Variant("plain")
# As over a large lake: no side of a join is small enough to be read by every thread.
PARTITIONED = {f"datafusion.optimizer.hash_join_single_partition_threshold{rows}": "0" for rows in ("", "_rows")}
VARIANTS = [
    Variant("1 thread", threads=1), Variant("8 threads", threads=8), Variant("64 MiB", memory=MEMORY), Variant("compacted", lake="compacted"),
    Variant("ten ingests", lake="ten"), Variant("ten ingests, 8 threads", lake="ten", threads=8),
    Variant("partitioned joins", set=PARTITIONED), Variant("partitioned joins, 8 threads", threads=8, set=PARTITIONED), *(Variant(f"{rule} off", off=rule) for rule in RULES),
]


class Answer:
    """Rows as columns of plain values, or an error; what it took."""

    def __init__(self, said, columns=None):
        self.error, self.timeout = said.get("error"), said.get("timeout", False)
        self.cpu, self.wall, self.plan, self.peak = (said.get(key) for key in ("cpu_s", "wall_s", "plan_s", "peak_mib"))
        self.rows, self.columns = said.get("rows"), columns


class DuckDB:
    def __init__(self, lake, threads=2):
        self.lake, self.threads, self.child = lake, threads, None
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.child = context.Process(target=duckdb_peer.serve, args=(other, self.lake, self.threads), daemon=True)
        self.child.start()
        other.close()
        self.profile = self.pipe.recv()

    def ask(self, sql, rows=ROWS, threads=None):
        """The answer; its columns are None where there are more rows than that."""
        try:
            self.pipe.send((sql, DUCKDB_LIMIT, rows, threads or self.threads))
            said = self.pipe.recv() if self.pipe.poll(4 * DUCKDB_LIMIT) else None
        except (EOFError, BrokenPipeError, ConnectionResetError):
            said = None
        if said is None:
            self.restart()
            return Answer({"error": "DuckDB's process ended, or did not stop in time", "timeout": True})
        if said.get("error", "").startswith(("InternalException", "FatalException")):
            # After an internal error DuckDB refuses every further statement: "database has been invalidated".
            self.restart()
        table = said.pop("table", None)
        return Answer(said, plain(pyarrow.ipc.open_file(table).read_all()) if table is not None else None)

    def restart(self):
        self.pipe.close()
        self.child.kill()
        self.child.join()
        self.start()

    def stop(self):
        self.pipe.close()
        self.child.join(5)
        if self.child.is_alive():
            self.child.kill()


class Process:
    """The program that answers lines of JSON; ended and started anew when it does not answer in time."""

    def __init__(self, command, errors):
        self.command, self.errors, self.child = command, errors, None

    def ask(self, question):
        if self.child is None:
            self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0)
            self.buffer = b""
        try:
            self.child.stdin.write(json.dumps(question).encode() + b"\n")
            line = self.line(question["limit_s"] + 10)
        except BrokenPipeError:
            line = b""
        if not line:
            died = line == b""
            self.stop()
            return {"error": "its process ended" if died else "no answer in time", "timeout": True, "died": died}
        answer = json.loads(line)
        if answer.get("timeout"):
            self.stop()
        return answer

    def line(self, limit):
        with selectors.DefaultSelector() as ready:
            ready.register(self.child.stdout, selectors.EVENT_READ)
            while b"\n" not in self.buffer:
                if not ready.select(limit):
                    return None
                read = os.read(self.child.stdout.fileno(), 1 << 16)
                if not read:
                    return b""
                self.buffer += read
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def stop(self):
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            self.child.stdin.close()
            self.child.stdout.close()
            self.child = None


class OverStdio:
    """Whoever started this program answers: questions go to stdout, answers come on stdin."""

    def ask(self, question):
        print(json.dumps(question), flush=True)
        line = sys.stdin.readline()
        if not line:
            raise EOFError("nobody answers any more")
        return json.loads(line)

    def stop(self):
        pass


class Iolode:
    """Sessions with a memory budget have a process of their own, so that its peak is theirs."""

    def __init__(self, lakes, scratch, bench=None):
        self.lakes, self.file = lakes, os.path.join(scratch, f"{os.getpid()}.arrow")
        if bench is None:
            self.processes = dict.fromkeys((False, True), OverStdio())
        else:
            self.errors = open(os.path.join(scratch, f"{os.getpid()}.errors"), "a")
            command = [bench, "ask", os.path.join(lakes, "once"), "2"]
            self.processes = {budget: Process(command, self.errors) for budget in (False, True)}

    def ask(self, sql, variant=PLAIN, limit=IOLODE_LIMIT):
        engine = {"lake": os.path.join(self.lakes, variant.lake), "threads": variant.threads, "memory": variant.memory, "set": variant.set}
        question = {"sql": sql, "rows_to": self.file, "engine": engine, "limit_s": limit, "own_peak": True}
        said = self.processes[variant.memory is not None].ask(question)
        if "error" in said:
            return Answer(said)
        with pyarrow.ipc.open_file(self.file) as file:
            table = file.read_all()
        return Answer(said, plain(table) if table.num_rows <= 2 * ROWS else None)

    def restart(self, variant):
        self.processes[variant.memory is not None].stop()

    def stop(self):
        for process in self.processes.values():
            process.stop()
        if os.path.exists(self.file):
            os.remove(self.file)


def bench_binary(root):
    """The newest build of benches/bench.rs."""
    found = [path for path in glob.glob(os.path.join(root, "target/release/deps/bench-*")) if os.access(path, os.X_OK) and not path.endswith(".d")]
    return max(found, key=os.path.getmtime, default=None)
