"""A peer as a process that answers questions about a lake's Parquet files: month_peers.py ENGINE TABLES.json THREADS.

TABLES.json maps each table to the paths of its files. Questions come as lines of JSON on stdin, as `bench ask` takes them:
{"sql": "..", "rows_to": FILE or null}; Polars takes {"name": "..", "parameters": {..}} and calls the function of that name in
benches/month/frames.py. An answer is a line of JSON: {"rows": N, "cpu_s": S, "wall_s": S}, or {"error": ".."}. All rows are in
memory as Arrow before the clock stops; writing them as an Arrow file comes after that.
"""

import importlib.util
import json
import os
import resource
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class DuckDB:
    """It keeps what it has read of footers, as an engine that stays open does; without that a look-up takes eight times as much."""

    def __init__(self, tables, threads):
        import duckdb
        self.connection = duckdb.connect(config={"threads": threads})
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute("SET parquet_metadata_cache = true")
        for table, paths in tables.items():
            self.connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet({paths})")

    def answer(self, asked):
        return self.connection.sql(asked["sql"]).to_arrow_table()

    def arrow(self, rows):
        return rows

    cpu = staticmethod(lambda: own_cpu())


class Polars:
    """The number of threads is taken from POLARS_MAX_THREADS, which must stand before the import."""

    def __init__(self, tables, threads):
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars
        found = importlib.util.spec_from_file_location("frames", f"{ROOT}/benches/month/frames.py")
        self.frames = importlib.util.module_from_spec(found)
        found.loader.exec_module(self.frames)
        self.lake = type("Lake", (), {table: polars.scan_parquet(paths) for table, paths in tables.items()})

    def answer(self, asked):
        parameters = type("Parameters", (), asked["parameters"])
        engine = "in-memory" if asked["name"] in self.frames.IN_MEMORY else "streaming"
        return getattr(self.frames, asked["name"])(self.lake, parameters).collect(engine=engine)

    def arrow(self, rows):
        return rows.to_arrow()

    cpu = staticmethod(lambda: own_cpu())


class Spark:
    """CPU seconds are those of Python and of the Java machine, the latter in ticks of 10 ms."""

    def __init__(self, tables, threads):
        from pyspark.sql import SparkSession
        settings = {
            "spark.driver.memory": "8g", "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": 4 * threads,
            "spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true", "spark.driver.maxResultSize": "4g",
        }
        builder = SparkSession.builder.master(f"local[{threads}]")
        for setting, value in settings.items():
            builder = builder.config(setting, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("OFF")
        self.java = self.session.sparkContext._gateway.proc.pid
        for table, paths in tables.items():
            self.session.read.parquet(*paths).createOrReplaceTempView(table)

    def answer(self, asked):
        return self.session.sql(asked["sql"]).toArrow()

    def arrow(self, rows):
        return rows

    def cpu(self):
        with open(f"/proc/{self.java}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return own_cpu() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def ask(peer, asked):
    cpu, wall = peer.cpu(), time.monotonic()
    rows = peer.answer(asked)
    cpu, wall = peer.cpu() - cpu, time.monotonic() - wall
    if asked.get("rows_to"):
        import pyarrow.ipc
        table = peer.arrow(rows)
        with pyarrow.ipc.new_file(asked["rows_to"], table.schema) as file:
            file.write_table(table)
    return {"rows": len(rows), "cpu_s": cpu, "wall_s": wall}


def main():
    engine, tables, threads = sys.argv[1:]
    with open(tables) as file:
        peer = {"duckdb": DuckDB, "polars": Polars, "spark": Spark}[engine](json.load(file), int(threads))
    # What a library prints to stdout must not stand among the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answer = ask(peer, json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:1000]}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
