"""What statements read: columns, keys, sizes and values of the lake's tables, and a table of awkward values."""

import math

from .syntax import BOOL, DBL, I32, INT, LIST, TS, TXT, U64, WILD, Column, Edge

# Columns that statements use, the key's first, and how often a table is drawn.
USED = {
    "darshan_log": (8, "log_id", "job_id uid user app nprocs start_time end_time run_time status partial files bytes_read bytes_written reads writes "
                               "posix_bytes_read mpiio_bytes_read posix_opens log_bytes"),
    "darshan_file": (5, "log_id record_id", "job_id path fs is_stream shared sharing readers writers bytes_read bytes_written reads writes posix_reads "
                                            "amplification_read extra_read read_time write_time read_start_time write_start_time seq_reads stripe_count "
                                            "ost_count ost_list bytes_source"),
    "darshan_posix": (3, "log_id record_id rank", "job_id posix_opens posix_reads posix_writes posix_bytes_read posix_bytes_written posix_renamed_from "
                                                  "posix_mode posix_f_read_time posix_f_write_time posix_slowest_rank posix_f_variance_rank_time"),
    "darshan_mpiio": (2, "log_id record_id rank", "job_id mpiio_indep_opens mpiio_coll_opens mpiio_bytes_read mpiio_bytes_written mpiio_f_read_time mpiio_mode"),
    "darshan_stdio": (1, "log_id record_id rank", "job_id stdio_opens stdio_reads stdio_bytes_read stdio_bytes_written stdio_f_read_time"),
    "darshan_module": (4, "log_id module", "job_id status partial bytes inflated_bytes records error"),
    "slurm_job": (8, "job_id submit_time", "job_id_text user uid account partition qos state state_code exit_code exit_signal start_time end_time elapsed "
                                           "timelimit node_count ntasks ncpus array_job_id het_job_id last_record total_cpu priority reason nodes"),
    "slurm_step": (4, "job_id step_id start_time", "job_id_text end_time step_name state state_code exit_code elapsed node_count ntasks ncpus max_rss total_cpu"),
    "lmt_ost": (1, "fs ost time", "start_time interval_s bytes_read bytes_written reset gap bytes_free oss read_counter"),
    "lmt_mdt": (1, "fs mdt time", "start_time interval_s gap mds pct_cpu bytes_free inodes_used"),
    "lmt_oss": (1, "fs oss time", "start_time interval_s gap pct_cpu pct_memory"),
}
TYPES = {"BIGINT": INT, "INTEGER": I32, "UBIGINT": U64, "DOUBLE": DBL, "VARCHAR": TXT, "BOOLEAN": BOOL, "TIMESTAMP WITH TIME ZONE": TS, "INTEGER[]": LIST}


class TableOfLake:
    def __init__(self, name, weight, rows, columns, key):
        self.name, self.weight, self.rows, self.columns, self.key = name, weight, rows, columns, key


def profile(connection, tables):
    """The tables with their columns: kinds, magnitudes, and up to 30 values of each, the same for the same lake."""
    found = []
    for name, (weight, key, others) in USED.items():
        if name not in tables:
            continue
        described = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {name}").fetchall()}
        rows = connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
        columns = [column_of(connection, name, column, TYPES[described[column]], rows)
                   for column in [*key.split(), *others.split()] if described.get(column) in TYPES]
        if rows:
            found.append(TableOfLake(name, weight, rows, columns, key.split()))
    return found


def column_of(connection, table, name, kind, rows):
    column = f'"{name}"'
    if kind == LIST:
        return Column(name, kind)
    ndv = connection.execute(f"SELECT approx_count_distinct({column}) FROM {table}").fetchone()[0]
    # Of large tables a part of the values will do.
    source = table if rows < 200_000 or ndv < 1000 else f"(SELECT * FROM {table} WHERE hash({column}) % 97 = 0)"
    shown = f"strftime({column} AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S')" if kind == TS else column
    distinct = f"SELECT DISTINCT {shown} AS value FROM {source} WHERE {column} IS NOT NULL"
    values = [row[0] for row in connection.execute(f"SELECT value FROM ({distinct}) ORDER BY hash(value::varchar) LIMIT 30").fetchall()]
    mag = 0
    if kind in (INT, I32, U64, DBL):
        least, most = connection.execute(f"SELECT min({column}), max({column}) FROM {table}").fetchone()
        bound = max(abs(least or 0), abs(most or 0))
        mag = math.log10(bound) if bound > 1 else 0
        mag = WILD if mag > 17 or bound != bound else mag
    return Column(name, kind, mag=mag, ndv=max(ndv, 1), values=values)


# Values that engines get wrong. They stand beside ordinary ones, some of which the lake has too.
AWKWARD = {
    INT: [None, 0, 1, -1, 2, 3, 7, 2**31, -(2**31), 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1],
    I32: [None, 0, 1, -1, 2, 3, 65536, 46341, 2**31 - 1, -(2**31)],
    U64: [None, 0, 1, 2, 3, 2**31, 2**63 - 1, 2**63, 2**64 - 1],
    DBL: [None, "nan", "-nan", "inf", "-inf", 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 1e-300, 9007199254740993.0, 1e15, -1e15],
    TXT: [None, "", " ", "a", "A", "ab", "b", "ä", "%", "a%b", "0", "scratch", "home", "POSIX", "ok", "NULL", "it's"],
    BOOL: [None, True, False],
    TS: [None, "1970-01-01 00:00:00", "1969-12-31 23:59:59", "2026-09-11 00:00:00", "2026-09-11 12:00:00", "2026-09-30 23:59:59"],
}
TAME = {INT: [None, 0, 0, 1, 1, 2, 3, 5, 8, -4], DBL: [None, 0.0, -0.0, 0.5, 1.0, 1.0, 2.5, -3.0, 100.25]}


def edge(rng, lake_tables, size):
    """A small table: a unique `id`, some columns under names of the lake's, some with the extremes of their type."""
    columns = [Column("id", INT, mag=2, ndv=size)]
    values = [list(range(1, size + 1))]
    donors = {column.name: column for table in lake_tables for column in table.columns if column.values and column.type != LIST}
    wild = [("i", INT), ("n", I32), ("u", U64), ("x", DBL), ("z", DBL), ("s", TXT), ("b", BOOL), ("t", TS)]
    chosen = rng.sample(wild, rng.randint(2, 5)) + [("g", "tame int"), ("y", "tame double")][: rng.randint(0, 2)]
    for name in rng.sample(["job_id", "log_id", "fs", "uid", "user", "record_id", "status", "ost", "bytes_read", "state", "app", "module"], rng.randint(1, 4)):
        if name in donors:
            chosen.append((name, donors[name]))
    for name, what in chosen:
        if isinstance(what, Column):
            pool = [*rng.sample(what.values, min(4, len(what.values))), *rng.sample(AWKWARD[what.type], 3)]
            column = Column(name, what.type, mag=max(what.mag, WILD if what.type in (INT, I32, U64, DBL) else 0), ndv=4)
        elif what.startswith("tame"):
            kind = INT if what.endswith("int") else DBL
            pool, column = TAME[kind], Column(name, kind, mag=2, ndv=5)
        else:
            pool = rng.sample(AWKWARD[what], min(len(AWKWARD[what]), rng.randint(2, 8)))
            column = Column(name, what, mag=WILD if what in (INT, I32, U64, DBL) else 0, ndv=5)
        column.values = [value for value in pool if value is not None] or [0]
        columns.append(column)
        values.append([rng.choice(pool) for _ in range(size)])
    return Edge(rng.choice(["values", "values", "union"]), columns, [list(row) for row in zip(*values)])
