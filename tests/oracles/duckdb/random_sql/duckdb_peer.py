"""DuckDB as a process: a lake's files as views, one statement at a time, each with its CPU seconds and a time limit."""

import resource
import threading
import time


def own_cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def connect(lake, threads):
    """A connection with a view for each table of the lake, and the profile of these tables."""
    import duckdb

    import lake_files
    connection = duckdb.connect(config={"threads": threads})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET parquet_metadata_cache = true")
    connection.execute("SET memory_limit = '6GB'")
    files = lake_files.files(lake)
    for table, paths in files.items():
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet({paths}, union_by_name = true)")
    return connection, files


def serve(pipe, lake, threads):
    """Sends the profile of the lake, then answers until the other end goes."""
    import pyarrow

    from . import tables
    connection, files = connect(lake, threads)
    pipe.send(tables.profile(connection, files))
    set_to = threads
    while True:
        try:
            sql, limit, rows, on = pipe.recv()
        except EOFError:
            return
        if on != set_to:
            connection.execute(f"SET threads = {on}")
            set_to = on
        late = threading.Event()
        clock = threading.Timer(limit, lambda: (late.set(), connection.interrupt()))
        clock.start()
        cpu, wall = own_cpu(), time.monotonic()
        try:
            # The answer of `execute` is a stream: most of the work is done while its rows are fetched.
            table = connection.execute(sql).fetch_arrow_table()
            answer = {"cpu_s": own_cpu() - cpu, "wall_s": time.monotonic() - wall, "rows": table.num_rows}
            if table.num_rows <= rows:
                sink = pyarrow.BufferOutputStream()
                with pyarrow.ipc.new_file(sink, table.schema) as file:
                    file.write_table(table)
                answer["table"] = sink.getvalue().to_pybytes()
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:600]}
            if late.is_set():
                answer["timeout"] = True
        finally:
            clock.cancel()
        pipe.send(answer)
