"""Shapes about values: lists, texts, times, numbers, ordered aggregates."""

from .draw import EDGE, EDGES, TABLES, Q, group, shape


@shape(3)
def lists(g):
    how = g.randrange(9)
    p = g.randrange(97)
    lst = g.one("ost_list", "ost_bytes_read", "nodes", "nodes", "modules")
    src = {"ost_list": f"darshan_file", "ost_bytes_read": "darshan_file", "nodes": "slurm_job", "modules": "darshan_log"}[lst]
    cond = f"job_id % 97 = {p}" + (" and stripe_count < 9" if src == "darshan_file" else " and node_count < 40" if src == "slurm_job" else "")
    if how == 0:
        return Q(f"select x, count(*) as n, count(distinct job_id) as jobs from (select job_id, unnest({lst}) as x from {src} where {cond}) as u group by x")
    if how == 1:
        f = [g.one(f"array_length({lst})", f"{lst}[1]", f"{lst}[-1]", f"{lst}[2]", f"list_contains({lst}, {lst}[1])", f"{lst} is null", f"{lst}[1:2]", f"{lst} = {lst}", f"array_position({lst}, {lst}[2])", f"array_to_string({lst}, '-')", f"coalesce(array_length({lst}), 0)", f"list_concat({lst}, {lst}[1:1])" if lst != "nodes" else "nodes[2]", f"array_has({lst}, {lst}[1])",
                   f"array_length({lst}[2:4])", f"list_reverse({lst})", f"array_append({lst}, {lst}[1])", f"{lst} > {lst}[2:]", f"array_length({lst})", f"{lst}[100]") for _ in range(2)]
        return Q(f"select job_id, {f[0]} as a, {f[1]} as b from {src} where {cond}")
    if how == 2:
        return Q(f"select user, array_agg(job_id order by job_id{g.one('', ' desc')}) as ids, array_agg(distinct qos order by qos) as q, string_agg(state, ',' order by job_id, submit_time) as s from slurm_job where {cond} group by user" if src == "slurm_job" else f"select user, array_agg(app order by log_id) as ids, array_agg(log_id order by log_id) filter (where nprocs > 64) as big, string_agg(distinct app, '|' order by app{g.one('', ' desc')}) as s from darshan_log where job_id % 23 = {p % 23} group by user")
    if how == 3:
        return Q(f"select k, array_length(v) as n, v[1] as first from (select {lst} as k, array_agg(job_id order by job_id) as v from {src} where {cond} group by {lst}) as z")
    if how == 4:
        return Q(f"select unnest([{', '.join(g.one('1', 'null', '3', '2') for _ in range(4))}]) as x, unnest([10, 20]) as y")
    if how == 5:
        return Q(f"select id, unnest([i, id, null]) as x from {EDGE} as e" if g.random() < 0.5 else f"select max(x) as m, count(x) as c, count(*) as n from (select unnest([i, id, null]) as x from {EDGE} as e where {g.filt(EDGES)}) as z")
    if how == 6:
        return Q(f"select alloc_tres['{g.one('cpu', 'mem', 'node', 'gpu')}'] as v, count(*) as n, sum(alloc_tres['cpu']) as c from slurm_job where {g.filt(TABLES[0])} group by 1")
    if how == 7:
        return Q(f"select distinct {lst} as l from {src} where {cond}" if g.random() < 0.5 else f"select {lst} as l, count(*) as n from {src} where {cond} group by 1 having count(*) > 1")
    return Q(f"select a.job_id, count(*) as n from (select job_id, unnest(nodes) as node from slurm_job where {cond.replace('stripe_count', 'node_count')}) as a join (select job_id, unnest(nodes) as node from slurm_job where job_id % 97 = {p % 7} and node_count < 40) as b on a.node = b.node and a.job_id {g.one('<', '<>')} b.job_id group by 1")


@shape(4)
def texts(g):
    t = g.table(edge=0.4, need=("texts",))
    c = g.choice(t.texts)
    e = [g.one(lambda: g.text(t), lambda: g.text(t), lambda: f"strpos({c}, '{g.one('a', '/', '', 'ss', 'ß')}')", lambda: f"length({g.text(t)})", lambda: f"{c} like '{g.one('%a_', 'a%', '_', '%/%', '%', '', 'a!_b%', '%[0-9]%', '%ß')}' escape '!'", lambda: f"{c} {g.one('', 'not ')}ilike '{g.one('%AB%', 'ä%', '%s', 'A_b%')}'", lambda: f"left({c}, {g.randrange(-3, 4)})", lambda: f"right({c}, {g.randrange(-3, 4)})",
               lambda: f"substr({c}, {g.randrange(1, 4)}, {g.randrange(0, 4)})", lambda: f"substring({c} from {g.randrange(1, 5)})", lambda: f"split_part({c}, '{g.one('/', '_', ' ', 'a')}', {g.one(1, 2, 3, -1, -2)})", lambda: f"regexp_replace({c}, '{g.one('[aeiou]', '^.', '.$', 'b+', '[^a-z]', 'X?', '(.)(.)')}', '{g.one('', '*', 'zz')}'{g.one('', chr(44) + chr(39) + 'g' + chr(39))})", lambda: f"lower({c}) < upper({c})", lambda: f"{c} || {g.one('null', chr(39) + '-' + chr(39), g.choice(t.texts))}",
               lambda: f"concat({c}, {g.choice(t.ints)}, {g.one('null', g.choice(t.texts))})", lambda: f"lpad({c}, {g.randrange(0, 9)}, '{g.one('x', 'ab', ' ')}')", lambda: f"rpad({c}, {g.randrange(0, 9)}, '{g.one('x', 'ab')}')", lambda: f"trim({g.one('both', 'leading', 'trailing')} 'a' from {c})", lambda: f"position('{g.one('a', '_', 'b')}' in {c})", lambda: f"ascii({c})", lambda: f"chr(cast(65 + {g.choice(t.ints)} % 20 as int))" if t is not EDGES else "chr(cast(65 + id as int))", lambda: f"md5({c})", lambda: f"replace({c}, {g.one(chr(39) * 2, chr(39) + 'a' + chr(39))}, 'Q')",
               lambda: f"starts_with({c}, 'a')", lambda: f"{c} between 'a' and 'n'", lambda: f"greatest({c}, 'm')", lambda: f"bit_length({c})", lambda: f"{c} in ('a', '', null)", lambda: f"nullif(trim({c}), '')", lambda: f"trim({c}, 'a ')", lambda: f"repeat({c}, 2)", lambda: f"ends_with({c}, 's')", lambda: f"contains({c}, 'a')", lambda: f"char_length({c})", lambda: f"concat_ws({g.one(chr(39) + ',' + chr(39), 'null')}, {c}, null, 'x')",
               lambda: f"regexp_matches({c}, '^[a-c]')", lambda: f"instr({c}, 'a')", lambda: f"upper(left({c}, 1)) || substr({c}, 2)", lambda: f"reverse({c})")() for _ in range(g.randrange(1, 4))]
    sel = ", ".join(f"{x} as e{k}" for k, x in enumerate(e))
    how = g.randrange(3)
    if how == 0 or t is EDGES:
        return Q(f"select {g.keyed(t)}, {sel} from {g.src(t, 'q', small=True)}")
    return Q(f"select {sel}, count(*) as n from {g.src(t, 'q')} group by {', '.join(str(k + 1) for k in range(len(e)))}" if how == 1 else f"select distinct {sel} from {g.src(t, 'q')} order by {', '.join(str(k + 1) for k in range(len(e)))}", [], False)


@shape(5)
def times(g):
    t = g.table(edge=0.4, need=("times",))
    c, c2 = g.choice(t.times), g.choice(t.times)
    ts = lambda x: x if t is EDGES else f"cast({x} as timestamp)"
    unit = lambda: g.one("year", "quarter", "month", "week", "day", "hour", "minute", "second")
    iv = lambda: f"interval '{g.one('1 month', '1 day', '90 minutes', '1 year 2 months', '36 hours', '-1 day', '1.5 hours', '13 months', '3 weeks', '500 milliseconds')}'"
    e = [g.one(lambda: f"date_trunc('{unit()}', {ts(c)})", lambda: f"extract({g.one('year', 'month', 'day', 'hour', 'minute', 'second', 'dow', 'isodow', 'doy', 'week', 'quarter', 'epoch', 'milliseconds' if g.random() < .3 else 'day', 'microseconds' if g.random() < .3 else 'day', 'isoyear', 'decade' if g.random() < .2 else 'year', 'century' if g.random() < .2 else 'year')} from {c})", lambda: f"date_part('{g.one('year', 'month', 'dow', 'hour', 'week', 'epoch')}', {c})",
               lambda: f"{ts(c)} {g.one('+', '-')} {iv()}", lambda: f"cast({c} as date)", lambda: f"cast({c} as date) - date '2026-09-01'", lambda: f"cast({c} as date) + {g.randrange(-40, 40)}", lambda: f"{ts(c)} {g.one('<', '>=', '=', '<>')} date '2026-09-1{g.randrange(10)}'", lambda: f"cast({c} as date) {g.one('<', '>=', '=')} {ts(c)}", lambda: f"extract(epoch from {c} - {c2})", lambda: f"{c} - {c2} {g.one('>', '<=')} {g.one('interval ' + chr(39) + '1 hour' + chr(39), 'interval ' + chr(39) + '0 seconds' + chr(39))}",
               lambda: f"cast(cast({c} as date) as varchar)", lambda: f"date_trunc('{unit()}', cast({c} as date))", lambda: f"{ts(c)} between timestamp '2026-09-10 12:00:00' and timestamp '2026-09-21'", lambda: f"to_timestamp({g.choice(t.ints)} % 100000)" if t is not EDGES else "to_timestamp(id)", lambda: f"greatest({c}, {c2})", lambda: f"coalesce({ts(c)}, timestamp '1970-01-01 00:00:00')", lambda: f"last_day(cast({c} as date))" if g.random() < .2 else f"cast({ts(c)} as time)",
               lambda: f"floor(extract(epoch from {c}) / 3600)", lambda: f"cast({c} as date) {g.one('+', '-')} interval '{g.one('1 month', '3 days', '1 year', '2 weeks')}'", lambda: f"date_trunc('day', {ts(c)}) + interval '1 day' - {ts(c)} > interval '12 hours'", lambda: f"extract(epoch from {ts(c)} - {ts(c2)})", lambda: f"date_diff('{g.one('day', 'hour', 'month')}', {c}, {c2})" if g.random() < .15 else f"make_date(2026, 1 + {g.choice(t.ints)} % 12, 3)" if t is not EDGES else "make_date(2026, 2, id)",
               lambda: f"try_cast('2026-0' || cast({g.choice(t.ints) if t is not EDGES else 'id'} % 10 as varchar) || '-30' as date)", lambda: f"{c} in (timestamp '2026-02-28 23:59:59.5', null)", lambda: f"case when {c} < {c2} then {c} else {c2} end", lambda: f"{iv()} * 2 > interval '1 day'" if g.random() < .3 else f"{ts(c)} + interval '1 day' * 2", lambda: f"{ts(c)} at time zone 'UTC' is null" , lambda: f"strftime({ts(c)}, '%Y')" if g.random() < 0.1 else f"nullif({c}, {c2})")() for _ in range(g.randrange(1, 4))]
    sel = ", ".join(f"{x} as e{k}" for k, x in enumerate(e))
    how = g.randrange(3)
    if how == 0 or t is EDGES:
        return Q(f"select {g.keyed(t)}, {sel} from {g.src(t, 'q', small=True)}")
    if how == 1:
        return Q(f"select {e[0]} as e, count(*) as n, min({c}) as a, max({c2}) as z, count(distinct {c}) as d from {g.src(t, 'q')} group by 1")
    return Q(f"select {g.one('min', 'max')}({e[0]}) as e, count({e[-1]}) as n, extract(epoch from max({c}) - min({c})) as span, extract(epoch from max({c} - {c2})) as longest from {g.src(t, 'q')} where {g.filt(t)}")


@shape(4)
def numbers(g):
    """Decimals, casts, rounding, signs, mixed types."""
    t = EDGES if g.random() < 0.5 else g.table(edge=0)
    i, f = g.choice(t.ints), g.choice(t.floats or t.ints)
    d = "d" if t is EDGES else f"cast({i} % 10000 as decimal(12,2))"
    si = f"({i} % 1000)"
    e = [g.one(lambda: f"{d} + 1", lambda: f"{d} * {d}", lambda: f"round({d}, 1)", lambda: f"trunc({d})", lambda: f"{d} > {g.one('1', '0', i)}", lambda: f"cast({d} as double) / 3", lambda: f"cast({d} as varchar)", lambda: f"abs({d})", lambda: f"-{d}", lambda: f"{d} % 3", lambda: f"coalesce({d}, 0)", lambda: f"cast({f} as decimal(38,3))" if t is not EDGES else f"try_cast({f} as decimal(20,3))", lambda: f"round({f}, {g.randrange(0, 4)})", lambda: f"floor({f})", lambda: f"ceil({f})", lambda: f"trunc({f})", 
               lambda: f"sqrt(abs({f}))", lambda: f"ln(abs({f}) + 1)", lambda: f"power({si}, 2)", lambda: f"{si} / 3.0e0", lambda: f"{si} /i -3", lambda: f"{si} % -3", lambda: f"-{si} % 7", lambda: f"-{si} /i 7", lambda: f"{f} = {i}", lambda: f"{f} > {i}", lambda: f"{i} = {i} + 0.0e0", lambda: f"cast({i} as double)", lambda: f"cast({i} as varchar)", lambda: f"try_cast(cast({i} as varchar) as smallint)", lambda: f"try_cast({i} as int)", lambda: f"try_cast({i} as tinyint)", lambda: f"{si} & 6", lambda: f"{si} | 9", lambda: f"isnan({f})" if t.floats else "pi()", lambda: f"{si} * 1e-1", lambda: f"{si} + {d}", lambda: f"{si} * {d}",
               lambda: f"greatest({f}, {i})", lambda: f"nullif({f}, {i})", lambda: f"coalesce({i}, {f})", lambda: f"case when {i} > 0 then {i} else {f} end", lambda: f"cast(b as int)" if t is EDGES else f"cast({i} > 0 as int)", lambda: f"{f} is not distinct from {f}", lambda: f"{f} / 0e0", lambda: f"mod({si}, 4)", lambda: f"gcd({si}, 12)", lambda: f"factorial(abs({si}) % 10)", lambda: f"log10(abs({f}) + 1)", lambda: f"log(2, 8)", lambda: f"exp(-abs({si}))", lambda: f"atan2({f}, 2)", lambda: f"cast(trunc({f}) as bigint)" if t is not EDGES else "id", lambda: f"{i} between {f} and 10", lambda: f"{i} in (1, 2.0, 7)", lambda: f"cast({si} as real)",
               lambda: f"1 /i nullif({si}, 0)", lambda: f"cast({f} as real)" if t is not EDGES else "cast(d as real)", lambda: f"cbrt({f})", lambda: f"degrees({f})", lambda: f"round({si} / 8.0e0, 2)")() for _ in range(g.randrange(1, 5))]
    sel = ", ".join(f"{x} as e{k}" for k, x in enumerate(e))
    if g.random() < 0.75:
        return Q(f"select {g.keyed(t)}, {sel} from {g.src(t, 'q', small=True)}")
    return Q(f"select {g.dim(t)} as k, sum({d}) as s, min({d}) as lo, max({d}) as hi, count(distinct {d}) as n, sum({d} * 2) as s2 from {g.src(t, 'q')} where {g.filt(t)} group by 1")


@shape(3)
def ordered_aggregates(g):
    t = g.table()
    o = g.dirs(t)
    x = [g.one(f"FIRST({g.int(t)} order by {o})", f"LAST({g.text(t)} order by {o})", f"string_agg({g.text(t)}, ',' order by {o})", f"array_agg({g.int(t)} order by {o})", f"array_agg({g.text(t)} order by {o}) filter (where {g.filt(t)})", f"string_agg({g.text(t)}, '; ' order by {o}) filter (where {g.filt(t)})", "count(*)", f"string_agg(distinct {(s := g.text(t))}, ',' order by {s}{g.one('', ' desc')})", f"FIRST({g.float(t)} order by {o}) filter (where {g.filt(t)})", f"array_agg(distinct {(s := g.dim(t))} order by {s})", f"(array_agg({g.int(t)} order by {o}))[1]",
               f"array_length(array_agg({g.int(t)}))", f"max_by({g.choice(t.ints)}, {t.key[0]})" if g.random() < .2 else f"count({g.int(t)})") for _ in range(g.randrange(1, 3))]
    body = ", ".join(f"{one} as m{k}" for k, one in enumerate(x))
    return Q(f"select {g.dim(t)} as d, {body} from {g.src(t, 'q', small=True)} group by 1" if g.random() < 0.7 else f"select {body} from {g.src(t, 'q', small=True)} where {g.one('', 'not ')}({g.filt(t)})")
