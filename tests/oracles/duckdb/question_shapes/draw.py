"""The tables that statements read, and random columns, terms and conditions over them."""

import random
import re

# What makes a question, and how often it is drawn, by name.
SHAPES = {}


def shape(weight=2):
    """Puts a shape into the list; one of twice the weight is drawn twice as often."""
    def put(make):
        SHAPES[make.__name__] = (make, weight)
        return make
    return put


# What answers with floats whose last digits depend on the order of additions.
ROUGH = re.compile(r"\b(sum|avg|stddev\w*|var_\w+|corr|covar\w*|regr\w*|median|quantile\w*|percentile\w*|ln|log10|log|exp|power|atan2|cbrt|degrees|sqrt)\(|epoch from ", re.I)


class Q:
    def __init__(self, sql, keys=(), total=False):
        self.sql, self.keys, self.total = " ".join(sql.split()), list(keys), total


class Table:
    """A source: what stands in FROM, the columns by kind, the columns of a key without NULLs."""

    def __init__(self, name, key, ints="", floats="", texts="", bools="", times="", where=None, u64="", dims=""):
        self.name, self.where = name, where
        self.key, self.ints, self.floats, self.texts, self.bools, self.times, self.u64, self.dims = (
            one.split() for one in (key, ints, floats, texts, bools, times, u64, dims))

TABLES = [
    Table("slurm_job", "job_id submit_time", "node_count ncpus exit_code uid array_task_id het_offset req_mem restarts state_code", "elapsed suspended timelimit",
          "user account qos state job_name timelimit_text node_list", "last_record", "submit_time start_time end_time eligible_time", dims="user account qos state partition array_task_id exit_code"),
    Table("slurm_step", "job_id step_id start_time", "node_count ncpus exit_code ntasks max_rss state_code exit_signal", "elapsed suspended user_cpu",
          "step_name state layout node_list", "", "start_time end_time", "job_id % 5 = {n}", dims="step_id state layout exit_code cluster"),
    Table("darshan_log", "log_id", "nprocs uid files bytes_read bytes_written reads writes posix_opens mpiio_bytes_read stdio_reads files_shared posix_seeks", "run_time read_time write_time meta_time read_start write_end read_bw_span critical_io_time",
          "user app exe lib_ver status mpi_hints", "partial exe_truncated", "start_time end_time read_start_time write_end_time", dims="user app status lib_ver compression partial"),
    Table("darshan_file", "log_id record_id", "bytes_read bytes_written reads writes posix_bytes_read mpiio_bytes_read stripe_count stripe_size stripe_offset readers writers ost_count slowest_rank", "read_time write_time meta_time read_start read_busy write_end amplification_read",
          "path fs mount_point sharing bytes_source", "shared is_stream mirrored posix_incomplete", "read_start_time write_end_time", "job_id % 37 = {n}", "record_id", dims="fs fs_type sharing bytes_source shared stripe_count readers"),
    Table("darshan_stdio", "log_id record_id rank", "rank stdio_reads stdio_writes stdio_flushes stdio_bytes_written stdio_bytes_read stdio_fdopens", "stdio_f_meta_time stdio_f_write_time stdio_f_read_end_timestamp",
          "", "", "", "job_id % 5 = {n}", "record_id", dims="rank stdio_flushes stdio_fdopens"),
    Table("darshan_mpiio", "log_id record_id rank", "rank mpiio_indep_opens mpiio_coll_writes mpiio_bytes_read mpiio_bytes_written mpiio_slowest_rank", "mpiio_f_read_time mpiio_f_write_time mpiio_f_variance_rank_time",
          "", "", "", None, "record_id", dims="rank mpiio_indep_opens mpiio_mode"),
    Table("darshan_module", "log_id module", "bytes inflated_bytes records module_version error_at", "", "module status error warning", "partial", "", "job_id % 7 = {n}", dims="module status partial module_version"),
    Table("darshan_heatmap", "log_id record_id rank bin", "rank bin bytes_read bytes_written", "bin_width bin_start", "module", "", "", "job_id % 199 = {n}", "record_id", dims="module rank bin"),
    Table("lmt_ost", "fs ost time", "ost bytes_read bytes_written bytes_free inodes_used num_exports", "interval_s", "fs oss", "gap reset", "time start_time", "ost in ({n}, 7) and time < '2026-09-11 03:00:00+00'", dims="fs ost oss gap"),
    Table("lmt_mdt", "fs mdt time", "mdt bytes_free inodes_used", "pct_cpu interval_s pct_memory", "fs mds", "gap", "time start_time", "mdt = {n} % 3", dims="fs mdt mds"),
    Table("lmt_mdt_op", "fs mdt op time", "mdt samples samples_counter", "interval_s", "fs op", "gap", "time", "mdt = {n} % 2 and op in ('open', 'close', 'unlink') and time < '2026-09-11 02:30:00+00'", dims="fs mdt op"),
]
EDGE = """(select id, i, f, s, b, t, cast(d as decimal(9,2)) as d from (values (1, cast(null as bigint), cast(1.5 as double), 'a', true, timestamp '2026-02-28 23:59:59.5', cast(1.25 as decimal(9,2))),
 (2, 0, -2.5, '', false, timestamp '2024-02-29 00:00:00', '-0.01'), (3, -7, cast(null as double), 'ÄÖ ß', null, null, null), (4, 7, cast('nan' as double), 'a_b%c', true, timestamp '1969-12-31 23:59:59.999999', '100.10'),
 (5, 9007199254740993, 0.5, null, false, timestamp '2026-12-28 12:30:00', '0.00'), (6, -1, -0.0, 'Ab/cD/eF', null, timestamp '2027-01-01 00:00:00', '-99.99'), (7, 3, cast('inf' as double), ' a ', true, timestamp '2026-02-28 23:59:59.5', '1.25'),
 (8, 7, 1e300, '007', null, timestamp '2000-01-01 00:00:01', '12.50'), (9, 2, -1e-9, 'naïve 日本', false, null, '0.05'), (10, null, 2.5, '12', true, timestamp '2026-03-29 02:30:00', '7.77')) as v(id, i, f, s, b, t, d))"""
EDGES = Table("edge", "id", "id i", "f", "s", "b", "t", dims="i s b")


class Draw(random.Random):
    def one(self, *of):
        return self.choice(of)

    def table(self, *, big=True, edge=0.1, need=()):
        while True:
            t = EDGES if self.random() < edge else self.choice(TABLES)
            if all(getattr(t, kind) for kind in need):
                return t

    def src(self, t, alias, small=False):
        """What stands in FROM."""
        if t is EDGES:
            return f"{EDGE} as {alias}"
        where = (t.where or "").format(n=self.randrange(5))
        if small:
            where = " and ".join(filter(None, [where, f"{t.key[0] if t.key[0] != 'fs' else 'extract(minute from time)'} % {self.one(23, 41, 11)} = {self.randrange(4)}"]))
        return f"(select * from {t.name} where {where}) as {alias}" if where else f"{t.name} as {alias}" if self.random() < 0.5 else f"{t.name} {alias}"

    def filt(self, t, a=""):
        """A condition."""
        kinds = [k for k in ("ints", "floats", "texts", "bools", "times") if getattr(t, k)]
        k = self.choice(kinds)
        c = a + self.choice(getattr(t, k))
        if k == "ints":
            return self.one(f"{c} > 0", f"{c} % 3 = 1", f"{c} is not null", f"{c} between 1 and 1000000", f"{c} not in (0, 1)", f"{c} in (0, 1, null)", f"coalesce({c}, -1) <> 0", f"not ({c} < 2)", f"({c} is distinct from 1)", f"{c} not between 2 and 64", f"({c} > 4) is not true")
        if k == "floats":
            return self.one(f"{c} > 0.5", f"{c} is null", f"{c} * 2 < 1000", f"{c} between 0 and 100", f"{c} = {c}", f"{c} <> 0", f"({c} is not distinct from 1.0)")
        if k == "texts":
            return self.one(f"{c} like '%a%'", f"{c} is not null", f"length({c}) > 4", f"{c} <> ''", f"lower({c}) = {c}", f"{c} ilike '%S%'", f"{c} not like '%\\_%' escape '\\'", f"substr({c}, 1, 1) in ('a', 's', 'c', '/')", f"{c} >= 'c'", f"starts_with({c}, 's')")
        if k == "bools":
            return self.one(f"{c}", f"not {c}", f"{c} is not true", f"{c} is false", f"{c} = false", f"coalesce({c}, true)")
        return self.one(f"{c} >= '2026-09-10'", f"{c} is not null", f"extract(hour from {c}) < 6", f"date_trunc('day', {c}) = {c}", f"{c} < timestamp '2026-09-20 00:00:00'" if t is EDGES else f"{c} < '2026-09-20 00:00:00+00'", f"cast({c} as date) <> date '2026-09-12'", f"{c} + interval '1 day' > '2026-09-12'")

    def int(self, t, a="", depth=1):
        c = a + self.choice(t.ints)
        if depth == 0 or self.random() < 0.4:
            return c
        if t is EDGES:
            return self.one(f"coalesce({c}, -1)", f"nullif({c}, 7)", f"{c} % 3", f"{c} /i 2", f"abs({c})", f"case when {c} > 0 then {c} end", f"greatest({c}, 2)", f"least({a}id, {c})")
        return self.one(f"coalesce({c}, -1)", f"nullif({c}, 0)", f"{c} % 7", f"{c} /i 1000", f"-{c}", f"case when {c} > 10 then {c} else 0 end", f"greatest({c}, {a}{self.choice(t.ints)})", f"least({c}, 100)", f"{c} /i nullif({a}{self.choice(t.ints)}, 0)",
                        f"{c} % nullif({a}{self.choice(t.ints)}, 0)", f"cast(trunc(sqrt(abs({c}))) as bigint)", f"({c} - 3) /i 2", f"({c} - 100) % 7", f"{c} & 7", f"cast({c} > 1 as int)", f"cast({c} as double)")

    def float(self, t, a="", depth=1):
        c = a + self.choice(t.floats or t.ints)
        if depth == 0 or self.random() < 0.4:
            return c
        return self.one(f"{c} * 1e0 / nullif({a}{self.choice(t.ints)}, 0)", f"coalesce({c}, 0)", f"{c} * 1.5e0", f"{c} - 100", f"cast({a}{self.choice(t.ints)} as double) / 1e6", f"round(cast({c} as double), 2)", f"case when {c} > 1 then 1.0e0 / {c} end", f"floor({c})", f"abs({c})", f"nullif({c}, 0)", f"greatest({c}, 1.0e0)", f"abs(round({c}))")

    def text(self, t, a="", depth=1):
        if not t.texts:
            return f"cast({a}{self.choice(t.ints)} as varchar)"
        c = a + self.choice(t.texts)
        if depth == 0 or self.random() < 0.4:
            return c
        return self.one(f"lower({c})", f"substr({c}, 2, 3)", f"coalesce({c}, '-')", f"left({c}, 2)", f"right({c}, -1)", f"split_part({c}, '_', 1)", f"{c} || '!'", f"concat({c}, null, 'x')", f"replace({c}, 'a', 'A')", f"trim({c})", f"lpad({c}, 5, '*')",
                        f"case when {c} like 'c%' then 'c' else {c} end", f"nullif({c}, '')", f"regexp_replace({c}, '[0-9]+', '#')", f"regexp_replace({c}, '([a-z])_?([a-z])', '\\2\\1', 'g')", f"reverse({c})", f"left({c}, -2)", f"rpad({c}, 3, 'xy')", f"ltrim({c}, '/c')",
                        f"concat_ws('-', {c}, {a}{self.choice(t.texts)})", f"translate({c}, 'abc', 'xy')", f"split_part({c}, '/', -1)", f"repeat(left({c}, 1), 2)", f"lower({c})", f"substring({c} from 2 for 4)")

    def dim(self, t, a=""):
        """An exact expression of few values."""
        c = a + self.choice(t.dims)
        if t.times and self.random() < 0.25:
            c = a + self.choice(t.times)
            return self.one(f"date_trunc('{self.one('day', 'hour', 'week', 'month')}', {c})", f"extract({self.one('hour', 'dow', 'day', 'month', 'isodow', 'week', 'year')} from {c})", f"cast({c} as date)", f"date_part('{self.one('hour', 'doy', 'quarter', 'minute')}', {c})")
        return self.one(c, c, c, f"coalesce(cast({c} as varchar), 'none')", f"{c} is null", f"case when {a}{self.choice(t.ints)} > 100 then 'big' when {a}{self.choice(t.ints)} > 0 then 'small' end", f"length(cast({c} as varchar))", f"{a}{self.choice(t.ints)} > 10")

    def agg(self, t, a="", exact=False):
        """An aggregate; many float ones where that may be."""
        i, f, s = self.int(t, a), self.float(t, a), self.text(t, a)
        w = f" filter (where {self.filt(t, a)})" if self.random() < 0.35 else ""
        if t is EDGES:
            return self.one("count(*)", f"count({i})", f"min({f})", f"max({s})", f"count(distinct {s})", f"sum({a}id)", f"max({a}t)", f"sum({a}d)", f"min({a}i % 5)", f"bool_or({a}b)", f"bool_and({a}b)", f"count(distinct {a}b)") + w
        x = ["count(*)", f"count({i})", f"min({i})", f"max({i})", f"sum({a}{self.choice(t.ints)})", f"count(distinct {i})", f"max({s})", f"min({s})", f"count(distinct {s})", f"sum(case when {self.filt(t, a)} then 1 else 0 end)", f"bool_or({self.filt(t, a)})", f"bool_and({self.filt(t, a)})", f"max({f})",
             f"min({f})", f"count(case when {self.filt(t, a)} then {i} end)", f"sum(distinct {i} % 100)", f"sum(cast({self.filt(t, a)} as int))", f"median({a}{self.choice(t.ints)})", f"max(case when {self.filt(t, a)} then {i} /i nullif({a}{self.choice(t.ints)}, 0) end)"]
        if not exact:
            x += [f"avg({i})", f"avg({f})", f"sum({f})", f"stddev({f})", f"var_pop({f})", f"stddev_pop({i})", f"avg(case when {self.filt(t, a)} then {f} end)", f"quantile_cont({f}, {self.one(0.1, 0.5, 0.95)})", f"sum({f}) * 1.0e0 / nullif(count(*), 0)", f"var_samp({f})",
                  f"100.0 * sum(case when {self.filt(t, a)} then 1 else 0 end) / count(*)", f"sum({f}) * 1.0e0 / nullif(sum({i}), 0)", f"median({f})", f"coalesce(sum({f}), 0)"]
        c = self.choice(x)
        return c + w if c.endswith(")") and c.count(" / ") == 0 and not c.startswith("coalesce") else c

    def order(self, keys, names=None, cut=False, total=True):
        """ORDER BY over those outputs, from 1, and perhaps LIMIT. Returns the clause and the Q arguments."""
        keys = list(keys)
        self.shuffle(keys)
        said = [f"{names[k - 1] if names and self.random() < 0.5 else k}{self.one('', '', ' desc', ' asc', ' desc nulls first', ' nulls first', ' desc nulls last')}" for k in keys]
        text = " order by " + ", ".join(said)
        if cut and total and self.random() < 0.5:
            text += self.one(f" limit {self.randrange(1, 40)}", f" limit {self.randrange(1, 20)} offset {self.randrange(0, 9)}", f" offset {self.randrange(1, 5)}", f" offset 2 limit 7", " limit 10")
        return text, dict(keys=[k - 1 for k in keys], total=total)

    def keyed(self, t, a=""):
        return ", ".join(a + k for k in t.key)

    def dirs(self, t, a=""):
        """A total order of rows."""
        first = [a + self.choice(t.ints + t.floats + t.texts + t.times) + self.one("", " desc", " desc nulls first", " nulls first")] if self.random() < 0.6 else []
        return ", ".join(first + [a + k + self.one("", "", " desc") for k in t.key])

    def frame(self):
        lo, hi = self.one("unbounded preceding", "3 preceding", "1 preceding", "current row", "20 preceding", "2 following"), self.one("unbounded following", "current row", "1 following", "5 following", "1 preceding")
        if (lo == "2 following" and hi != "5 following" and hi != "unbounded following") or (lo == "current row" and hi == "1 preceding"):
            lo = "7 preceding"
        return f"{self.one('rows', 'rows', 'groups')} between {lo} and {hi}" if self.random() < 0.85 else self.one("rows 4 preceding", "rows unbounded preceding", "range between unbounded preceding and current row", "range between current row and unbounded following")


def group(g, t, a="", n=None, aggs=None, exact=False):
    """(select list, names, dims count, group by) of a grouping."""
    dims = list(dict.fromkeys(g.dim(t, a) for _ in range(n or g.one(1, 1, 2, 2, 3))))
    aggs = [g.agg(t, a, exact) for _ in range(aggs or g.randrange(1, 5))]
    names = [f"g{k}" for k in range(1, len(dims) + 1)] + [f"m{k}" for k in range(1, len(aggs) + 1)]
    items = ", ".join(f"{e} as {n}" for e, n in zip(dims + aggs, names))
    by = g.one(", ".join(dims), ", ".join(str(k + 1) for k in range(len(dims))), "all", ", ".join(names[:len(dims)]))
    return items, names, len(dims), by, dims, aggs


def pairs(g):
    """Two sources with what equates them: (t, u, condition, columns of USING)."""
    k = g.randrange(7)
    by = {t.name: t for t in TABLES}
    t, u, on = [("slurm_job", "slurm_step", ["job_id"]), ("darshan_log", "darshan_module", ["log_id", "job_id"]), ("darshan_log", "darshan_stdio", ["log_id"]), ("darshan_file", "darshan_mpiio", ["log_id", "record_id"]), ("lmt_ost", "lmt_mdt", ["fs", "time"]), ("slurm_job", "darshan_log", ["job_id"]), ("darshan_stdio", "darshan_mpiio", ["log_id"])][k]
    return by[t], by[u], on
