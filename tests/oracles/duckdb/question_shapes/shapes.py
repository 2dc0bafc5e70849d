"""The shapes: functions from a source of random numbers to a question. Those about values are in `values`."""

import re

from . import values  # noqa: F401 - puts its shapes into the list
from .draw import EDGE, EDGES, ROUGH, SHAPES, TABLES, Q, group, pairs, shape


@shape(6)
def grouping(g):
    t = g.table()
    items, names, n, by, dims, aggs = group(g, t)
    where = f" where {g.filt(t)}" if g.random() < 0.6 else ""
    having = g.one("", "", " having count(*) > 2", f" having {g.agg(t, exact=True)} is not null", " having m1 is not null")
    order, kw = g.order(range(1, n + 1), names, cut=True)
    return Q(f"select {items} from {g.src(t, 'q')}{where} group by {by}{having}{order}", **kw)


@shape(4)
def dashboard(g):
    """Grafana: buckets of time, then differences, moving means and running totals of the aggregates."""
    t = g.table(need=("times", "ints"), edge=0.03)
    c = g.choice(t.times)
    unit = g.one("hour", "day", "minute", "week") if t.name.startswith("lmt") else g.one("day", "hour", "week", "month")
    b = f"date_trunc('{unit}', {c})"
    a, a2 = (g.agg(t) for _ in range(2))
    w = g.one(f"sum({a}) over (order by {b})", f"avg({a}) over (order by {b} rows between 6 preceding and current row)", f"{a} - lag({a}) over (order by {b})", f"lag({a}, 2, 0) over (order by {b} desc)", f"max({a}) over (order by {b} rows between 3 preceding and 1 preceding)",
              f"sum(count(*)) over (order by {b} range between interval '3 days' preceding and current row)", f"avg(count(*)) over (order by {b} range between interval '2 hours' preceding and interval '1 hour' following)", "100.0 * count(*) / sum(count(*)) over ()", f"rank() over (order by count(*) desc, {b})",
              f"stddev(count(*)) over (order by {b} rows 5 preceding)", f"first_value(count(*)) over (order by {b})", f"count(*) - avg(count(*)) over ()")
    if ("sum(" in w or "avg(" in w) and re.search(r"max\(|min\(|bool", a):
        a = "sum(" + g.choice(t.ints) + ")" if t is not EDGES else "count(*)"
        w = f"sum({a}) over (order by {b})"
    order, kw = g.order([1], ["time_bucket"], cut=True)
    if g.random() < 0.5:
        return Q(f"select {b} as time_bucket, {a} as v, {a2} as v2, {w} as moved from {g.src(t, 'q')} where {c} is not null group by {g.one(b, '1')}{order}", **kw)
    return Q(f"with s as (select {b} as tb, {a} as v from {g.src(t, 'q')} where {c} is not null group by 1) select tb as time_bucket, v, lag(v) over (order by tb) as before, lead(v, 2) over (order by tb) as later, count(v) over (order by tb rows between 2 preceding and 2 following) as n from s{order}", **kw)


@shape(7)
def moving(g):
    """Frames that move, of floats."""
    t = g.table(edge=0.12)
    part = f"partition by {g.dim(t)} " if g.random() < 0.7 else ""
    outs = []
    for _ in range(g.randrange(1, 4)):
        f = g.float(t) if t is not EDGES else g.one("id", "d", "i % 5", "id * 1.5e0")
        fn = g.one("sum", "avg", "stddev", "var_pop", "var_samp", "min", "max", "count", "stddev_pop", "first_value", "last_value", "nth_value", "corr", "covar_pop", "bool_or", "median", "regr_slope", "string_agg")
        call = {"nth_value": f"nth_value({f}, 2)", "corr": f"corr({f}, {g.float(t) if t is not EDGES else 'id'})", "covar_pop": f"covar_pop({f}, {g.int(t) if t is not EDGES else 'id'})", "bool_or": f"bool_or({g.filt(t)})", "regr_slope": f"regr_slope({f}, {g.choice(t.ints)})", "string_agg": f"string_agg({g.text(t, depth=0)}, ',')"}.get(fn, f"{fn}({f})")
        if fn in ("sum", "avg", "count", "min", "max") and g.random() < 0.3:
            call += f" filter (where {g.filt(t)})"
        if g.random() < 0.2 and part:
            k = g.choice([c for c in t.floats + t.ints if c not in ("f",)])
            frame = f"order by {k} {g.one('range', 'groups')} between {g.one('10 preceding', 'current row', 'unbounded preceding', '1 preceding')} and {g.one('current row', '100 following', '1 following')}"
            call = re.sub(r"^(first|last|nth)_value\((.*?)(, 2)?\)$", r"max(\2)", call) if not call.startswith("string_agg") else "count(*)"
        elif g.random() < 0.12 and t.times:
            frame = f"order by {g.choice(t.times)} range between interval '{g.one('1 hour', '2 days', '90 minutes', '10 seconds')}' preceding and {g.one('current row', chr(105) + 'nterval ' + chr(39) + '30 minutes' + chr(39) + ' following')}"
            call = f"count(*)" if call.startswith(("first", "last", "nth", "string")) else call
        else:
            frame = f"order by {g.dirs(t)} {g.frame()}"
        if g.random() < 0.004:
            frame += f" exclude {g.one('current row', 'ties', 'no others', 'group')}"
        outs.append(f"{call} over ({part}{frame})")
    where = f" where {g.filt(t)}" if g.random() < 0.5 else ""
    return Q(f"select {g.keyed(t)}, {', '.join(f'{o} as w{k}' for k, o in enumerate(outs))} from {g.src(t, 'q', small=g.random() < 0.6)}{where}")


@shape(4)
def over_groups(g):
    t = g.table(edge=0.05)
    items, names, n, by, dims, _ = group(g, t, n=g.one(1, 2))
    s = g.choice(t.ints) if t is not EDGES else "id"
    part = f"partition by {dims[0]} " if n > 1 else ""
    od = ", ".join(dims)
    ws = [g.one(f"sum(sum({s})) over ({part}order by {od})", f"rank() over ({part}order by sum({s}) desc nulls last)", f"dense_rank() over (order by count(*))", f"sum({s}) * 100.0 / nullif(sum(sum({s})) over ({part}), 0)", f"row_number() over ({part}order by count(*) desc, {od})", f"max(count(*)) over ({part})",
                f"lag(max({s}), 1, min({s})) over (order by {od})", f"ntile(3) over (order by {od})", f"avg(sum({s})) over (order by {od} rows between 2 preceding and 2 following)", f"percent_rank() over (order by count(*))", f"cume_dist() over ({part}order by {od})", f"min(min({s})) over (order by {od} desc)",
                f"sum(count(*)) filter (where count(*) > 3) over (order by {od})", f"case when sum({s}) > avg(sum({s})) over () then 'above' else 'below' end", f"first_value({dims[0]}) over (order by count(*) desc, {od})") for _ in range(g.randrange(1, 3))]
    order, kw = g.order(range(1, n + 1), names, cut=True)
    qualify = g.one("", "", " qualify row_number() over (order by count(*) desc, " + od + ") <= 5", f" qualify sum({s}) >= avg(sum({s})) over ()")
    return Q(f"select {items}, {', '.join(f'{w} as w{k}' for k, w in enumerate(ws))} from {g.src(t, 'q')} group by {by}{g.one('', ' having count(*) > 1')}{qualify}{order}", **kw)


@shape(4)
def top_of_each(g):
    t = g.table()
    d, o = g.dim(t), g.dirs(t)
    k = g.randrange(1, 5)
    fn = g.one("row_number()", "row_number()", "rank()", "dense_rank()")
    e = ", ".join(f"{one} as e{n}" for n, one in enumerate([g.int(t), g.text(t), g.float(t)][:g.randrange(1, 4)]))
    how = g.randrange(5)
    w = f"{fn} over (partition by {d} order by {o})"
    where = f" where {g.filt(t)}" if g.random() < 0.4 else ""
    if how == 0:
        return Q(f"select {g.keyed(t)}, {e} from {g.src(t, 'q')}{where} qualify {w} <= {k}")
    if how == 1:
        return Q(f"select {g.keyed(t)}, {e}, {w} as place from {g.src(t, 'q')}{where} qualify place <= {k}")
    if how == 2:
        return Q(f"select {g.keyed(t)}, {e}, row_number() over w as rn, sum({g.int(t)}) over w as s from {g.src(t, 'q')}{where} window w as (partition by {d} order by {o}) qualify rn {g.one('= 1', '< 3', 'between 2 and 3')}")
    if how == 3:
        return Q(f"select count(*), sum(rn), max(e0) from (select {g.keyed(t)}, {e}, {w} as rn from {g.src(t, 'q')}{where}) as ranked where rn {g.one('= 1', '<= 2', '> 1', 'in (1, 3)')}")
    return Q(f"with ranked as (select q.*, {w} as rn from {g.src(t, 'q')}{where}) select {g.keyed(t)}, {e} from ranked where rn = {g.one(1, 2)} and {g.filt(t)}")


@shape(3)
def named_windows(g):
    t = g.table()
    d, o = g.dim(t), g.dirs(t)
    outs = [g.one(f"sum({g.int(t, depth=0) if t is not EDGES else 'id'}) over w", "row_number() over w", f"lag({g.int(t)}) over w", f"count(*) over p", f"max({g.float(t)}) over p", f"lead({g.text(t)}, 2, 'none') over w", f"first_value({g.text(t)}) over w", "ntile(4) over w", f"count({g.int(t)}) over m",
                  f"min({g.int(t)}) over m", f"{g.int(t, depth=0)} - lag({g.int(t, depth=0)}, 1, 0) over w" if t is not EDGES else "id - lag(id, 1, 0) over w", f"sum(case when {g.filt(t)} then 1 end) over w", "percent_rank() over w", f"last_value({g.int(t)}) over m", f"count(distinct {g.dim(t)}) over p") for _ in range(g.randrange(1, 5))]
    order, kw = g.order(range(1, len(t.key) + 1), t.key, cut=True) if g.random() < 0.7 else ("", {})
    return Q(f"select {g.keyed(t)}, {', '.join(f'{x} as w{k}' for k, x in enumerate(outs))} from {g.src(t, 'q', small=g.random() < 0.5)} where {g.filt(t)} window p as (partition by {d}), w as (partition by {d} order by {o}), m as (partition by {d} order by {o} {g.frame()}){order}", **kw)


@shape(4)
def offsets(g):
    """lag and lead with expressions, IGNORE NULLS, gaps and islands."""
    t = g.table()
    d, o = g.dim(t), g.dirs(t)
    how = g.randrange(5)
    src = g.src(t, "q", small=g.random() < 0.4)
    if how == 0:
        i = g.int(t)
        return Q(f"select {g.keyed(t)}, {g.one('lag', 'lead')}({i}, {g.randrange(0, 4)}, {g.one('-1', 'null', '0', t.ints[0])}) over (partition by {d} order by {o}) as a, {g.one('first_value', 'last_value', 'lag', 'lead')}({g.choice(t.ints + t.texts + t.floats)} ignore nulls) over (order by {o}) as b from {src}")
    if how == 1:
        return Q(f"select {g.keyed(t)}, {g.one('first_value', 'last_value')}({g.choice(t.ints + t.floats)} ignore nulls) over (partition by {d} order by {o} {g.frame()}) as a, nth_value({g.text(t)}, {g.randrange(1, 4)}) over (partition by {d} order by {o} {g.frame()}) as b from {src}")
    if how == 2:
        c = g.filt(t)
        return Q(f"with marked as (select q.*, case when {c} and not coalesce(lag({c}) over (partition by {d} order by {g.keyed(t)}), false) then 1 else 0 end as starts from {src}), islands as (select m.*, sum(starts) over (partition by {d} order by {g.keyed(t)}) as island from marked m) select {d} as d, island, count(*) as n, min({t.key[0]}) as a, max({t.key[-1]}) as z from islands group by 1, 2")
    if how == 3 and t.times:
        c = g.choice(t.times)
        return Q(f"with s as (select {g.keyed(t)}, {d} as d, {c} as c, {c} - lag({c}) over (partition by {d} order by {c}, {g.keyed(t)}) as pause from {src}) select {g.keyed(t)}, d, sum(case when pause > interval '{g.one('1 hour', '10 minutes', '3 hours')}' then 1 else 0 end) over (partition by d order by c, {g.keyed(t)}) as session, extract(epoch from pause) as s from s")
    c = g.dim(t)
    return Q(f"select c, count(*) as n, max(len) as longest from (select c, rn - rc as grp, count(*) as len from (select {c} as c, row_number() over (order by {g.keyed(t)}) as rn, row_number() over (partition by {c} order by {g.keyed(t)}) as rc from {src}) as x group by c, rn - rc) as y group by c")


@shape(3)
def quantiles(g):
    t = g.table(edge=0)
    d = g.dim(t)
    f = g.one(g.float, g.int)(t)
    p = g.one("0.5", "0.25", "0.9", "0.99", "0", "1", "0.333")
    out = [g.one(f"median({f})", f"quantile_cont({f}, {p})", f"percentile_cont({p}) within group (order by {f})", f"median({f}) filter (where {g.filt(t)})", f"quantile_cont({f}, {p}) filter (where {g.filt(t)})", f"quantile_cont({f}, 0.75) - quantile_cont({f}, 0.25)", f"mode({g.dim(t)})" if g.random() < 0.1 else "count(*)", f"covar_samp(1e-3 * {f}, {g.float(t)})", f"covar_samp({f}, {g.int(t)})",
                 f"regr_slope({f}, {g.int(t)})", f"regr_count({f}, {g.float(t)})", f"regr_intercept({f}, {g.float(t)})", f"case when count(*) > 3 then stddev({f}) / nullif(avg({f}), 0) end", f"median(distinct {g.int(t)})", f"max({f}) - min({f})", f"avg(distinct {g.int(t)})") for _ in range(g.randrange(1, 5))]
    return Q(f"select {d} as d, {', '.join(f'{x} as q{k}' for k, x in enumerate(out))} from {g.src(t, 'q')} where {g.filt(t)} group by {g.one('1', 'd', 'all', d)}" if g.random() < 0.8 else f"select {', '.join(f'{x} as q{k}' for k, x in enumerate(out))} from {g.src(t, 'q')} where {g.filt(t)}")


@shape(4)
def cases(g):
    """Divisions and casts that only the taken branch may do, in values and in conditions."""
    t = g.table()
    a, b = g.choice(t.ints), g.choice(t.ints)
    a, b = (f"({a} % 1000)", f"({b} % 1000)") if t is EDGES else (a, b)
    s = g.text(t, depth=0)
    e = [g.one(f"case when {b} <> 0 then {a} /i {b} end", f"case when {b} = 0 then null else {a} % {b} end", f"case {b} when 0 then -1 else 100 /i {b} end", f"case when regexp_replace({s}, '[0-9]', '', 'g') = '' and {s} <> '' and length({s}) < 10 then cast({s} as bigint) else -1 end",
               f"coalesce({a} /i nullif({b}, 0), 0)", f"try_cast({s} as int)", f"try_cast({s} as double)", f"case when {b} > 0 then case when {a} /i {b} > 1 then 'more' else 'less' end end", f"try_cast({s} as date)", f"case when {g.filt(t)} then {g.int(t)} else {g.float(t)} end",
               f"case when {g.filt(t)} then {g.int(t)} end is null", f"nullif({a}, {b})", f"case {s} when 'a' then 1 when null then 2 else 3 end", f"greatest({a}, {b}, null)", f"coalesce(null, {a}, {b})", f"least({g.float(t)}, {a})", f"cast({g.filt(t)} as varchar)", f"cast({a} as varchar) || {s}") for _ in range(g.randrange(1, 4))]
    cond = g.one(f"case when {b} = 0 then false else {a} /i {b} > 1 end", f"case when {b} <> 0 then {a} % {b} = 0 else {g.filt(t)} end", f"not case when {b} > 0 then {a} /i {b} < 5 end", f"case when {s} in ('007', '12') then cast({s} as int) > 8 else {g.filt(t)} end", f"coalesce({a} /i nullif({b}, 0) > 1, {g.filt(t)})", f"(case when {b} = 0 then 0 else {a} /i {b} end) between 1 and 10",
                 f"exists (select 1) and {g.filt(t)}", f"case when {g.filt(t)} then {g.filt(t)} else {g.filt(t)} end is not false", f"({g.filt(t)} or {g.filt(t)}) and not ({g.filt(t)} and {g.filt(t)})", f"({g.filt(t)}) is distinct from ({g.filt(t)})", f"(({g.filt(t)}) = ({g.filt(t)})) is not true")
    sel = f"select {g.keyed(t)}, {', '.join(f'{x} as e{k}' for k, x in enumerate(e))} from {g.src(t, 'q')} where {cond}"
    return Q(sel) if g.random() < 0.6 else Q(f"select e0, count(*) as n from ({sel}) as x group by e0")


@shape(3)
def unsigned(g):
    t = g.choice([t for t in TABLES if t.u64])
    n = g.choice(t.ints)
    k = g.one(2, 3, 1000, 65536, 10**12, 9223372036854775807)
    e = [g.one(f"record_id /i {k}", f"record_id % {k}", f"record_id >> {g.randrange(1, 63)}", f"record_id & 255", f"record_id > 9223372036854775807", f"cast(record_id as varchar)", f"cast(record_id as double)", f"cast(record_id /i 2 as bigint)", f"cast(record_id as decimal(20,0))",
               f"record_id = {g.randrange(10**18)}", f"record_id between 1 and 10000000000000000000", f"record_id in (1, 18446725518146352859)", f"nullif(record_id, 5)", f"greatest(record_id, 5)", f"coalesce(record_id, 0)", f"least(record_id, {k})", f"case when {n} > 0 then record_id /i {k} end", f"record_id is distinct from {n}", f"try_cast(record_id as bigint)", f"right(cast(record_id as varchar), 3)",
               f"cast(record_id as double) / {k}", f"log_id % 100", f"log_id /i 1000000007", f"abs(log_id % 17)", f"cast(log_id as varchar)", f"record_id - record_id % 10") for _ in range(g.randrange(1, 4))]
    sel = ", ".join(f"{x} as e{k}" for k, x in enumerate(e))
    src = g.src(t, "q", small=g.random() < 0.6)
    return Q(g.one(f"select {g.keyed(t)}, {sel} from {src}", f"select record_id % {g.one(2, 7, 10)} as r, count(*) as n, min(record_id) as a, max(record_id) as z, count(distinct record_id) as d, min(record_id /i 10) as t from {src} group by 1", f"select record_id /i 1000000000000000000 as bucket, count(*) as n from {src} group by bucket order by bucket",
                   f"select e0, count(*) as n, min(log_id) as a from (select log_id, {sel} from {src}) as x group by e0"))


@shape(6)
def joins(g):
    t, u, on = pairs(g)
    if g.random() < 0.3:
        t, u, on = u, t, on
    a, b = g.src(t, "a"), g.src(u, "b")
    kind = g.one("join", "left join", "right join", "full join", "inner join", "left outer join", "full outer join")
    more = g.one("", "", f" and {g.filt(u, 'b.')}", f" and {g.filt(t, 'a.')}")
    using = f"using ({', '.join(on)})"
    eq = " and ".join(f"a.{k} = b.{k}" for k in on)
    nd = " and ".join(f"a.{k} is not distinct from b.{k}" for k in on)
    how = g.randrange(6)
    where = g.one("", "", f" where {g.filt(t, 'a.')}", f" where {g.filt(u, 'b.')}", f" where b.{u.key[-1]} is null", f" where a.{t.key[-1]} is null or {g.filt(u, 'b.')}")
    d = g.one(g.dim(t, "a."), g.dim(u, "b."))
    aggs = ", ".join(f"{g.one(g.agg(t, 'a.'), g.agg(u, 'b.'))} as m{k}" for k in range(g.randrange(1, 4)))
    if how < 2:
        return Q(f"select {d} as d, {aggs} from {a} {kind} {b} on {eq}{more}{where} group by {g.one('1', 'd')}")
    if how == 2:
        return Q(f"select {on[0]}, count(*) as n, {aggs} from {a} {kind} {b} {using}{where} group by {on[0]}")
    if how == 3:
        return Q(f"select {d} as d, count(*) as n, {aggs} from {a} {kind} {b} on {nd}{more}{where} group by 1")
    if how == 4:
        ka, kb = ", ".join(f"a.{k} as a_{k}" for k in t.key), ", ".join(f"b.{k} as b_{k}" for k in u.key)
        return Q(f"select {ka}, {kb}, {g.int(t, 'a.')} as x, {g.text(u, 'b.')} as y from {g.src(t, 'a', True)} {kind} {g.src(u, 'b', True)} on {eq}{more}{where}")
    cols = lambda s, p: ", ".join(f"{k}" for k in on) + f", {g.dim(s)} as {p}1, {g.int(s)} as {p}2"
    return Q(f"select {g.one('*', f'{on[0]}, l1, r2')} from (select {cols(t, 'l')} from {g.src(t, 'x', True)}) as l natural {g.one('', 'left ', 'full ', 'right ')}join (select {cols(u, 'r')} from {g.src(u, 'y', True)}) as r")


@shape(4)
def odd_joins(g):
    """Of unequal, null-safe, ranging and own keys."""
    how = g.randrange(8)
    t = g.table(edge=0.1)
    if how == 0:
        return Q(f"select a.id as x, b.id as y, a.i, b.i as j from {EDGE} a {g.one('join', 'left join', 'full join')} {EDGE} b on a.{(c := g.one('i', 's', 'b', 'f', 't', 'd'))} is {g.one('', 'not ')}distinct from b.{c}{g.one('', ' and a.id < b.id' if g.random() < .5 else '', ' and a.id <> b.id')}")
    d = g.dim(t)
    own = f"(select {d} as k, count(*) as n, max({g.choice(t.ints)}) as hi, min({g.choice(t.ints)}) as lo from {g.src(t, 'q')} group by 1)"
    if how == 1:
        return Q(f"with s as {own} select a.k as x, b.k as y, a.n + b.n as n from s a {g.one('join', 'left join')} s b on a.k < b.k and {g.one('a.n > b.n', 'a.hi >= b.lo', 'a.lo is not distinct from b.lo', 'abs(a.n - b.n) < 50')}" + g.one("", " where a.n > 3"))
    if how == 2:
        return Q(f"with s as {own}, u as {own} select s.k as x, u.k as y, s.n, u.hi from s {g.one('full join', 'left join', 'join', 'right join')} u on s.k is not distinct from u.k{g.one('', ' and s.n <> u.n', ' and u.n > 2')}")
    if how == 3:
        bins = g.one("(0, 10, 'a'), (10, 1000, 'b'), (1000, null, 'c')", "(0, 1, 'zero'), (1, 100, 'few'), (50, 500, 'mid'), (null, 3, 'null')")
        c = g.choice(t.ints)
        return Q(f"select b.name, count(q.{t.key[0]}) as n, {g.agg(t, 'q.')} as m from (values {bins}) as b(lo, hi, name) {g.one('left ', '')}join {g.src(t, 'q')} on q.{c} >= b.lo and (q.{c} < b.hi{g.one('', ' or b.hi is null')}) group by b.name")
    if how == 4 and t.times:
        c = g.choice(t.times)
        return Q(f"select d.day, count(q.{t.key[0]}) as n, coalesce(sum(q.{g.choice(t.ints)} % 1000), 0) as s from (values (timestamp '2026-09-01 00:00:00'), (timestamp '2026-09-11 00:00:00'), (timestamp '2026-09-10 23:00:00'), (null)) as d(day) left join {g.src(t, 'q')} on cast(q.{c} as timestamp) {g.one('>= d.day and cast(q.' + c + ' as timestamp) < d.day + interval ' + chr(39) + '1 day' + chr(39), 'between d.day and d.day + interval ' + chr(39) + '3 hours' + chr(39))} group by d.day")
    if how == 5:
        return Q(f"select count(*) as n, sum(case when a.{t.ints[0]} > b.{t.ints[0]} then 1 else 0 end) as m from {g.src(t, 'a', True)} {g.one('join', 'left join')} {g.src(t, 'b', True)} on a.{t.dims[0]} = b.{t.dims[0]} and ({', '.join('a.' + k for k in t.key[:1])}) {g.one('<', '<>', '>=')} ({', '.join('b.' + k for k in t.key[:1])}) where {g.filt(t, 'a.')}")
    if how == 6:
        u = g.table(edge=0)
        return Q(f"select x.k, y.k as j, x.n, y.n as m from {own} as x cross join (select {g.dim(u)} as k, count(*) as n from {g.src(u, 'q')} group by 1) as y where x.n {g.one('>', '<', '=', '<>')} y.n")
    return Q(f"select a.{t.key[0]}, count(*) as n, max(b.{t.ints[0]}) as m from {g.src(t, 'a', True)}, {g.src(t, 'b', True)} where a.{t.key[0]} = b.{t.key[0]} and a.{t.key[-1]} <= b.{t.key[-1]} and {g.filt(t, 'b.')} group by a.{t.key[0]}{g.one('', ' having count(*) > 1')}")


@shape(2)
def as_of(g):
    """The last sample before an event, by windows, by a correlated maximum and by a union."""
    n = g.randrange(8)
    ev = f"(select job_id, start_time as tm, node_count from slurm_job where start_time between '2026-09-10 22:30:00+00' and '2026-09-11 01:00:00+00') as e"
    sm = f"(select time, ost, bytes_read, bytes_written from lmt_ost where ost = {n} and fs = 'scratch' and time < '2026-09-11 02:00:00+00') as s"
    how = g.randrange(4)
    if how == 0:
        return Q(f"select job_id, tm, b from (select job_id, tm, last_value(b ignore nulls) over (order by tm, kind) as b, kind from (select null as job_id, time as tm, bytes_written as b, 0 as kind from {sm} union all select job_id, tm, null, 1 from {ev}) as u) as x where kind = 1")
    if how == 1:
        return Q(f"select job_id, tm, time, bytes_read from (select e.job_id, e.tm, s.time, s.bytes_read, row_number() over (partition by e.job_id, e.tm order by s.time desc) as rn from {ev} {g.one('left ', '')}join {sm} on s.time <= e.tm) as x where rn = 1")
    if how == 2:
        return Q(f"select e.job_id, e.tm, (select max(s.time) from {sm} where s.time <= e.tm) as before, (select min(s.time) from {sm} where s.time {g.one('>', '>=')} e.tm) as after_it from {ev}")
    return Q(f"select e.job_id, e.tm, s.bytes_written from {ev} join {sm} on s.time = (select max(x.time) from lmt_ost x where x.time <= e.tm and x.ost = {n} and x.fs = 'scratch')")


@shape(5)
def semi(g):
    t, u, on = pairs(g)
    if g.random() < 0.4:
        t, u = u, t
    k = on[0]
    if g.random() < 0.25:
        t, u, k = EDGES, EDGES, g.one("i", "s", "d", "t")
    f, h = g.filt(t, "a."), g.filt(u, "b.")
    inner = f"from {g.src(u, 'b')} where {h}"
    n = g.one("", "not ")
    cond = g.one(f"a.{k} {n}in (select b.{k} {inner})", f"{n}exists (select 1 {inner} and b.{k} = a.{k})", f"{n}exists (select * {inner} and b.{k} = a.{k} and b.{u.ints[0]} {g.one('>', '<>', '<=')} a.{t.ints[0]})", f"(a.{k} in (select b.{k} {inner})) is not true", f"a.{t.ints[-1]} {n}in (select b.{u.ints[-1]} {inner})", f"a.{k} {n}in (select case when {g.filt(u, 'b.')} then b.{k} end {inner})",
                 f"{n}exists (select 1 {inner} and b.{k} = a.{k} and exists (select 1 from {g.src(t, 'c')} where c.{k} = b.{k} and c.{t.ints[0]} {g.one('<', '=', '<>')} a.{t.ints[0]}))", f"a.{t.ints[0]} > (select avg(b.{u.ints[0]}) {inner} and b.{k} = a.{k})", f"a.{t.ints[0]} {g.one('>=', '=', '<>')} {g.one('all', 'any')} (select b.{u.ints[0]} {inner})",
                 f"a.{t.ints[0]} {n}in (select b.{u.ints[0]} {inner} and b.{k} = a.{k})", f"(a.{k}, a.{t.ints[0]}) {n}in (select b.{k}, b.{u.ints[0]} {inner})", f"{n}exists (select b.{k} {inner} and b.{k} = a.{k} group by b.{k} having count(*) > {g.one(1, 2, 3)})", f"a.{k} {n}in (select b.{k} {inner} group by b.{k} having {g.agg(u, 'b.', True)} is not null)", f"{n}exists (select 1 {inner} and b.{k} is not distinct from a.{k})",
                 f"(select count(*) {inner} and b.{k} = a.{k}) {g.one('= 0', '> 1', 'between 1 and 2')}")
    cond = g.one(cond, cond, f"{cond} and {f}", f"({cond} or {f})")
    if g.random() < 0.4:
        return Q(f"select {g.keyed(t, 'a.')} from {g.src(t, 'a')} where {cond}")
    return Q(f"select {g.dim(t, 'a.')} as d, count(*) as n, {g.agg(t, 'a.')} as m from {g.src(t, 'a')} where {cond} group by 1")


@shape(4)
def scalars(g):
    """Scalar subqueries, also correlated, in all clauses."""
    t, u, on = pairs(g)
    k = on[0]
    src, other = g.src(t, "a", True), g.src(u, "b")
    sub = lambda: g.one(f"(select {g.agg(u, 'b.', True)} from {other} where b.{k} = a.{k})", f"(select max(b.{u.ints[0]}) from {other} where b.{k} = a.{k} and {g.filt(u, 'b.')})", f"(select count(*) from {other} where {g.filt(u, 'b.')})", f"(select min(b.{u.ints[0]}) from {other} where b.{k} = a.{k} and b.{u.ints[0]} > (select avg(c.{u.ints[0]}) from {g.src(u, 'c')} where {g.filt(u, 'c.')}))",
                        f"coalesce((select sum(b.{u.ints[0]}) from {other} where b.{k} = a.{k}), 0)", f"(select count(distinct b.{u.key[-1]}) from {other} where b.{k} = a.{k})", f"exists (select 1 from {other} where b.{k} = a.{k})", f"a.{k} in (select b.{k} from {other} where {g.filt(u, 'b.')})", f"case when {g.filt(t, 'a.')} then (select count(*) from {other} where b.{k} = a.{k}) else -1 end",
                        f"(select b.{u.ints[0]} from {other} where b.{k} = a.{k} order by {g.keyed(u, 'b.')} limit 1)", f"(select max(b.{u.ints[0]}) - a.{t.ints[0]} from {other} where b.{k} = a.{k})", f"(select string_agg(distinct cast(b.{u.ints[-1]} as varchar), ',' order by cast(b.{u.ints[-1]} as varchar)) from {other} where b.{k} = a.{k})")
    how = g.randrange(5)
    if how < 2:
        return Q(f"select {g.keyed(t, 'a.')}, {sub()} as s1{g.one('', ', ' + sub() + ' as s2')} from {src} where {g.filt(t, 'a.')}")
    if how == 2:
        order, kw = g.order(range(1, len(t.key) + 1), total=True)
        return Q(f"select {g.keyed(t, 'a.')} from {src} order by {sub()} desc nulls last, {g.keyed(t, 'a.')} limit 20", list(range(len(t.key))), True)
    if how == 3:
        return Q(f"select a.{t.dims[0]} as d, count(*) as n from {g.src(t, 'a')} group by a.{t.dims[0]} having count(*) {g.one('>', '<=')} (select {g.one('avg(n)', 'min(n)', 'max(n) / 2')} from (select count(*) as n from {g.src(t, 'z')} group by {t.dims[0]}) as y)")
    return Q(f"select s, count(*) as n from (select {sub()} as s from {src}) as x group by s")


@shape(3)
def recursive(g):
    how = g.randrange(6)
    n = g.randrange(3, 40)
    t = g.table(edge=0)
    if how == 0:
        return Q(f"with recursive r(n, a, b) as (select 1, 0, 1 union all select n + 1, b, a + b from r where n < {n}) select n, a{g.one('', ', sum(a) over (order by n) as s', ', b - a as d')} from r where {g.one('n % 2 = 0', 'a > 3', 'true')} order by n", [0], True)
    if how == 1 and t.times:
        c = g.choice(t.times)
        return Q(f"with recursive days as (select timestamp '2026-09-01 00:00:00' as day union all select day + interval '1 day' from days where day < timestamp '2026-09-{g.randrange(5, 30):02} 00:00:00') select day, count(q.{t.key[0]}) as n, {g.agg(t, 'q.', True)} as m from days left join {g.src(t, 'q')} on cast(date_trunc('day', q.{c}) as timestamp) = day group by day order by day", [0], True)
    if how == 2:
        return Q(f"with recursive split(s, rest, k) as (select '', 'scratch/a/b//c{g.randrange(9)}' || '/', 0 union all select substr(rest, 1, strpos(rest, '/') - 1), substr(rest, strpos(rest, '/') + 1), k + 1 from split where rest <> '') select k, s, length(s) as l from split where k > 0 order by k", [0], True)
    if how == 3:
        return Q(f"with recursive reach(a, b) as (select a, b from (values (1, 2), (2, 3), (3, 1), (4, 5), (5, {g.randrange(1, 7)}), (6, null)) as e(a, b) union select r.a, e.b from reach r join (values (1, 2), (2, 3), (3, 1), (4, 5), (5, 6)) as e(a, b) on e.a = r.b) select a, count(*) as n, count(b) as m, max(b) as z from reach group by a")
    if how == 4:
        return Q(f"with recursive chain as (select job_id, array_job_id, 0 as depth from slurm_job where array_job_id is null and {g.filt(TABLES[0])} union all select j.job_id, j.array_job_id, c.depth + 1 from slurm_job j join chain c on j.array_job_id = c.job_id where c.depth < 3 and j.job_id <> c.job_id) select depth, count(*) as n, count(distinct job_id) as d from chain group by depth")
    return Q(f"with recursive h(n, x) as (select 0, cast({n} as bigint) union all select n + 1, case when x % 2 = 0 then x /i 2 else 3 * x + 1 end from h where x <> 1 and n < 200) select max(n) as steps, max(x) as peak, count(*) filter (where x % 2 = 1) as odd from h")


@shape(4)
def ctes(g):
    """Used several times, shadowing tables, nested, as dbt writes them."""
    t = g.table()
    d = g.dim(t)
    how = g.randrange(6)
    src = g.src(t, "q")
    if how == 0 and t is not EDGES:
        return Q(f"with {t.name} as (select * from {t.name} where {g.filt(t)}) select {d} as d, {g.agg(t)} as m from {t.name} group by 1")
    if how == 1:
        return Q(f"with base as (select {d} as k, {g.agg(t, exact=True)} as v, count(*) as n from {src} group by 1), total as (select sum(n) as n, max(n) as top from base) select b.k, b.v, b.n, t.n as of, b.n * 100 /i t.n as pct, (select count(*) from base x where x.n > b.n) + 1 as place from base b, total t where b.n <= (select max(top) from total)")
    if how == 2:
        return Q(f"with source as (select q.* from {src}), renamed as (select {g.keyed(t)}, {g.int(t)} as amount, {g.text(t)} as label, {d} as bucket from source), filtered as (select * from renamed where amount is not null), final as (select bucket, count(*) as n, count(distinct label) as labels, max(amount) as top from filtered group by bucket) select * from final{g.one('', ' where n > 1')}")
    if how == 3:
        a = g.choice(t.ints)
        return Q(f"with x as (select {d} as k, {a} as v from {src}) select k, 'max' as what, max(v) as v from x group by k union all select k, 'min', min(v) from x group by k union all select null, 'all', count(v) from x")
    if how == 4:
        return Q(f"with a as (with b as (select {g.keyed(t)}, {d} as k from {src}) select k, count(*) as n from b group by k), b as (select max(n) as n from a) select a.k, a.n from a join b on a.n {g.one('=', '<', '<=')} b.n")
    return Q(f"with dup as (select q.* , row_number() over (partition by {d} order by {g.dirs(t)}) as rn from {src}), d1 as (select * from dup where rn = 1), d2 as (select * from dup where rn = 2) select {', '.join('d1.' + k + ' as a_' + k for k in t.key)}, {', '.join('d2.' + k + ' as b_' + k for k in t.key)}, d1.{t.ints[0]} - d2.{t.ints[0]} as diff from d1 {g.one('left join', 'join', 'full join')} d2 on d1.{t.dims[0]} = d2.{t.dims[0]}" if t is not EDGES else f"with e as (select * from {src}) select a.id, b.id as bid from e a join e b on a.id = b.id + 1 where (select count(*) from e) > 3")


@shape(4)
def names(g):
    """Outputs with the names of other columns, quoted names, sorted and grouped by."""
    t = g.table(edge=0.05)
    a, b = g.sample(t.ints, 2) if len(t.ints) > 1 else ("i", "id")
    d = g.dim(t)
    src = g.src(t, "q")
    how = g.randrange(7)
    if how == 0:
        return Q(f"select {a} % 5 as r, count(*) as {a} from {src} group by 1 order by r nulls first", [0], True)
    if how == 1:
        return Q(f"select -({a} % 100) as {a}, {g.keyed(t)} from {src} order by {a}, {g.keyed(t)}", [0], False)
    if how == 2:
        return Q(f'select {d} as "User Name", count(*) as "Count of Rows", max({a}) as "MAX({a})" from {src} group by {g.one(d, "1")} having count(*) > 0 order by "Count of Rows" desc, "User Name" limit 15', [1, 0], True)
    if how == 3:
        return Q(f'select "source"."d" as "d", "source"."v" as "v", count(*) as "count" from (select {d} as "d", {g.int(t)} as "v" from {src}) as "source" where ("source"."v" is not null and ("source"."v" > 0 or "source"."v" is null)) group by "source"."d", "source"."v" order by "source"."d" asc, "source"."v" asc limit 2000', [0, 1], True)
    if how == 4:
        return Q(f'select "Custom SQL Query"."d" as "d", sum(1) as "cnt:Number of Records:ok", sum({"cast" if t is EDGES else ""}{"(" if t is EDGES else ""}"Custom SQL Query"."v"{" as double) % 7" if t is EDGES and False else (" as decimal(38,0))" if t is EDGES else "")}) as "sum:v:ok" from (select {d} as d, {a} % 1000 as v from {src}) "Custom SQL Query" inner join (select {d} as d, count(1) as "$__alias__0" from {src} group by 1 order by 2 desc, 1 asc limit 10) "t0" on ("Custom SQL Query"."d" is not distinct from "t0"."d") group by 1')
    if how == 5:
        return Q(f"select q.{a} as {b}, q.{b} as {a} from {src} where q.{a} > 1 and {b} > 0 order by q.{a}, q.{b}", [0, 1], True)
    return Q(f"select {a}, {b}, sum(one) as {t.ints[0] if t.ints[0] not in (a, b) else 'one'} from (select 1 as one, q.* from {src}) as z group by {a}, {b} having sum(one) > 1 order by sum(one) desc, {b}, {a}", [2, 1, 0], True)


@shape(4)
def sets_of_groups(g):
    t = g.table(edge=0.05)
    items, names, n, by, dims, aggs = group(g, t, n=g.one(2, 3), exact=g.random() < 0.5)
    d = dims
    if len(d) == 1:
        d = d * 2
    kind = g.one(f"rollup ({', '.join(dims)})", f"cube ({', '.join(dims)})", f"grouping sets (({', '.join(dims)}), ({d[0]}), ())", f"grouping sets (({d[0]}), ({d[1]}))", f"{d[0]}, rollup ({', '.join(dims[1:]) or dims[0]})", f"grouping sets (({d[1]}), (), ({d[0]}, {d[1]}), ({d[1]}))")
    gr = g.one("", f", grouping({d[0]}) as gr", f", grouping({', '.join(dims)}) as gr", f", case when grouping({d[0]}) = 1 then 'all' else 'one' end as gr")
    having = g.one("", "", " having count(*) > 1", f" having grouping({d[0]}) = 0", f" having {g.agg(t, exact=True)} is not null")
    w = g.one("", "", ", sum(count(*)) over () as w", f", rank() over (partition by grouping({d[0]}) order by count(*) desc) as w")
    return Q(f"select {items}{gr}{w} from {g.src(t, 'q')} where {g.filt(t)} group by {kind}{having}")


@shape(3)
def distinct(g):
    t = g.table()
    d, d2 = g.dim(t), g.dim(t)
    src = g.src(t, "q")
    how = g.randrange(5)
    if how == 0:
        return Q(f"select distinct on ({d}) {d} as d, {g.keyed(t)}, {g.int(t)} as e from {src} where {g.filt(t)} order by {d}{g.one('', ' desc', ' nulls first')}, {g.dirs(t)}")
    if how == 1:
        return Q(f"select distinct {d} as a, {d2} as b, {g.dim(t)} as c from {src}{g.one('', ' where ' + g.filt(t))} order by {g.one('1, 2, 3', 'c, b, a', 'a desc, b, c nulls first')}")
    aggs = [g.one(f"count(distinct {g.dim(t)})", f"count(distinct {g.int(t)})", f"sum(distinct {g.choice(t.ints)} % 10)", f"count(distinct {g.text(t)}) filter (where {g.filt(t)})", f"avg(distinct {g.choice(t.ints)} % 10)", f"min(distinct {g.int(t)})", "count(*)", f"count(distinct case when {g.filt(t)} then {g.dim(t)} end)", f"count({g.int(t)})", f"count(distinct {g.float(t)})") for _ in range(g.randrange(2, 5))]
    body = ", ".join(f"{x} as m{k}" for k, x in enumerate(aggs))
    if how == 2:
        return Q(f"select {body} from {src} where {g.filt(t)}")
    return Q(f"select {d} as d, {body} from {src} group by {g.one('1', d)}")


@shape(4)
def set_operations(g):
    t, u = g.table(), g.table()
    cols = lambda s: g.one(lambda: f"{g.dim(s)}", lambda: g.int(s), lambda: f"cast({g.choice(s.ints)} % 100 as {g.one('int', 'smallint', 'double', 'bigint', 'decimal(12,2)', 'varchar' if False else 'real' if False else 'int')})", lambda: f"{g.choice(s.ints)} % 10 + 0.5", lambda: "null", lambda: "1", lambda: "2.5", lambda: "cast(3 as ubigint)")()
    num = lambda s: g.one(lambda: f"{g.choice(s.ints)} % 50", lambda: f"cast({g.choice(s.ints)} % 50 as {g.one('int', 'smallint', 'double', 'decimal(12,2)')})", lambda: "1", lambda: "2.5e0", lambda: "null", lambda: f"case when {g.filt(s)} then 1 else 2.5 end", lambda: f"length({g.text(s)})", lambda: f"({g.choice(s.ints)} % 10) / 4.0e0")()
    txt = lambda s: g.one(lambda: g.text(s), lambda: g.text(s, depth=0), lambda: "'x'", lambda: "null", lambda: f"cast({g.choice(s.ints)} % 10 as varchar)")()
    part = lambda s, more="": f"select {num(s)} as n, {txt(s)} as s from {g.src(s, 'q')}{g.one('', ' where ' + g.filt(s))}{more}"
    op = lambda: g.one("union", "union all", "intersect", "except", "union")
    sql = f"{part(t)} {op()} {part(u)}"
    if g.random() < 0.4:
        sql = g.one(f"({sql}) {op()} {part(t)}", f"{part(t)} {op()} ({sql})", f"{sql} {op()} {part(u)}")
    how = g.randrange(4)
    if how == 0:
        return Q(f"select n, count(*) as c, min(s) as lo, max(s) as hi from ({sql}) as z group by n")
    if how == 1:
        return Q(f"select * from ({sql}) as z{g.one('', ' where n > 3', ' where s is not null and n <> 1')}")
    order, kw = g.order([1, 2], ["n", "s"], cut=True)
    return Q(sql + order, **kw)


@shape(2)
def empties(g):
    t = g.table()
    none = g.one("false", f"{t.key[0]} is null", "1 = 0", f"{g.filt(t)} and false", "null", f"{t.ints[0]} > 5 and {t.ints[0]} < 3")
    src = g.src(t, "q")
    a, b = g.agg(t), g.agg(t)
    return Q(g.one(f"select {a} as a, {b} as b from {src} where {none}", f"select {a} as a from {src} having {g.one('count(*) > 0', 'count(*) = 0', '1 = 0', 'max(' + t.ints[0] + ') is null', 'sum(1) > 10')}", f"select {g.dim(t)} as d, {a} as a from {src} where {none} group by 1", f"select 1 as one from {src} having count(*) > 0", f"select x.a, {t.key[0]} from (select {a} as a from {src} where {none}) as x left join (select * from {src} where {none}) as y on true",
                   f"select {a} as a, sum(count(*)) over () as w from {src} where {none}", f"select {a} as a from {src} where {none} group by grouping sets ((), ({t.dims[0]}))", f"select {a} as a, (select {b} from {src} where {none}) as b from {src}", f"select {t.key[0]} from {src} where {t.ints[0]} > (select max({t.ints[0]}) from {src} where {none})", f"select count(*) as n from {src} where {t.ints[0]} not in (select {t.ints[0]} from {src} where {none})", f"select {a} as a from {src} limit 0",
                   f"select coalesce({b.replace(' ', ' ')}, null) as b from {src} where {none} group by {t.dims[0]}", f"select count(*) as n from (select {t.key[0]} from {src} where {none} union all select {t.key[0]} from {src} limit 3) as u", f"select row_number() over (order by {t.key[0]}) as rn from {src} where {none}", f"select d, a from (select {t.dims[0]} as d, {a} as a from {src} where {none} group by rollup ({t.dims[0]})) as z"))


@shape(3)
def reports(g):
    """Pivots, histograms, funnels, concurrency, value counts."""
    t = g.table(edge=0)
    src, d, d2 = g.src(t, "q"), g.dim(t), g.dim(t)
    how = g.randrange(8)
    i = g.choice(t.ints)
    if how == 0:
        return Q(f"select {d} as d, {', '.join(f'sum(case when {g.filt(t)} then {g.one(1, i)} else 0 end) as p{k}' for k in range(3))}, count(*) filter (where {g.filt(t)}) * 1.0e0 / count(*) as share from {src} group by 1")
    if how == 1:
        return Q(f"select cast(floor(log10({i})) as int) as magnitude, count(*) as n, min({i}) as lo, max({i}) as hi, sum(count(*)) over (order by cast(floor(log10({i})) as int)) as running from {src} where {i} > 0 group by 1 order by 1", [0], True)
    if how == 2:
        return Q(f"select b.x, count(q.{t.key[0]}) as n from generate_series(0, {g.randrange(3, 20)}) as b(x) left join {src} on q.{i} % 20 = b.x group by b.x order by b.x", [0], True)
    if how == 3:
        j = f"(select * from slurm_job where job_id % {g.one(7, 13)} = {g.randrange(7)} and start_time is not null and end_time is not null)"
        return Q(f"select max(running) as peak, count(*) as n from (select tm, sum(delta) over (order by tm, delta {g.one('', 'desc')} rows unbounded preceding) as running from (select start_time as tm, node_count as delta from {j} a union all select end_time, -node_count from {j} b) as e) as r")
    if how == 4:
        return Q(f"select v, n, round(100.0e0 * n / sum(n) over (), 2) as pct, sum(n) over (order by n desc, v nulls last rows unbounded preceding) as cum from (select {d} as v, count(*) as n from {src} group by 1) as c order by n desc, v nulls last limit {g.randrange(3, 30)}", [1, 0], True)
    if how == 5:
        return Q(f"select what, d, sum(v) as v from (select {d} as d, 'a' as what, {g.choice(t.ints)} as v from {src} union all select {d}, 'b', {g.choice(t.ints)} from {src} union all select {d}, 'c', 1 from {src} where {g.filt(t)}) as u group by what, d having sum(v) is not null")
    if how == 6:
        return Q(f"select count(*) as steps, count(*) filter (where {g.filt(t)}) as one, count(*) filter (where {g.filt(t)} and {g.filt(t)}) as two, count({i}) filter (where not ({g.filt(t)})) as rest, avg({g.float(t)}) filter (where {g.filt(t)}) as a from {src}")
    return Q(f"select coalesce(x.d, y.d) as d, x.n as before, y.n as after_it, coalesce(y.n, 0) - coalesce(x.n, 0) as delta, case when x.d is null and y.n is not null then 'right_only' when y.d is null then 'left_only' else 'both' end as merged from (select {d} as d, count(*) as n from {src} where {g.filt(t)} group by 1) as x full outer join (select {d} as d, count(*) as n from {src} where {g.filt(t)} group by 1) as y on x.d = y.d")


@shape(3)
def nested(g):
    """Limits within, tuples, IN lists, constants, several levels."""
    t = g.table()
    src = g.src(t, "q")
    k = g.keyed(t)
    how = g.randrange(9)
    i = g.choice(t.ints)
    cut = f"(select q.* from {src} where {g.filt(t)} order by {g.dirs(t)} limit {g.randrange(1, 200)}{g.one('', ' offset 3')})"
    if how == 0:
        return Q(f"select {g.dim(t)} as d, {g.agg(t)} as m from {cut} as c group by 1")
    if how == 1:
        return Q(f"select {k} from {cut} as c where {g.filt(t)}")
    if how == 2:
        return Q(f"select count(*) as n, {g.agg(t, 'a.')} as m from {g.src(t, 'a')} where a.{t.key[0]} in (select {t.key[0]} from {cut} as c)")
    if how == 3:
        return Q(f"select {k} from {src} where ({t.dims[0]}, {i}) in (select {t.dims[0]}, max({i}) from {src} group by {t.dims[0]})")
    if how == 4:
        return Q(f"select {i} % 5 as r, count(*) as n from {src} where {i} % 5 {g.one('', 'not ')}in (1, 2{g.one('', ', null', ', 1 + 1', ', cast(3.0 as int)')}) or {g.filt(t)} group by 1")
    if how == 5:
        return Q(f"select a.d, a.n, b.m from (select {g.dim(t)} as d, count(*) as n from {src} group by 1 order by n desc, d limit 5) as a left join (select {g.dim(t)} as d, {g.agg(t, exact=True)} as m from {src} group by 1) as b on cast(a.d as varchar) = cast(b.d as varchar)")
    if how == 6:
        return Q(f"select (select count(*) from {src} where {g.filt(t)}) as a, (select {g.agg(t, exact=True)} from {src}) as b, {g.one('1 + 1', chr(39) + 'x' + chr(39), 'null is null', '(select 1 where false)')} as c")
    if how == 7:
        return Q(f"select d, n, (select max(n) from (select count(*) as n from {src} group by {t.dims[0]}) as w) as top from (select {t.dims[0]} as d, count(*) as n from {src} group by 1) as v where n > (select avg(n) from (select count(*) as n from {src} group by {t.dims[0]}) as z)")
    return Q(f"select x.a, x.b, y.c from (select {i} % 10 as a, count(*) as b from {src} group by 1 having count(*) > 1) as x left join lateral (select max({i}) as c from {g.src(t, 'z')} where z.{i} % 10 = x.a) as y on true")


@shape(3)
def echoes(g):
    """What the condition says, said again by the keys of sorts, windows and groups."""
    t = g.table()
    i, j = g.choice(t.ints), g.choice(t.ints)
    n = g.one(0, 1, 2, 3)
    e, lit = g.one((f"{i} % 4", n), (f"abs({i})", n), (f"{i} + 1", n), (f"coalesce({i}, {n})", n), (g.dim(t), None), (f"{i} % 2", f"{j} % 2"), (f"lower({g.text(t, depth=0)})", "'a'"), (f"{i} * 2", f"{j} * 2"), (f"case when {g.filt(t)} then 1 else 0 end", 1))
    where = f"{e} = {lit}" if lit is not None else f"({e}) is not null"
    lit = n if lit is None else lit
    k = g.one(f"{e}", f"{j} > {lit}" if str(lit) != "'a'" else f"{g.text(t, depth=0)} > 'a'", f"coalesce({j}, {lit})" if str(lit) != "'a'" else e, f"({e}) is null", f"case when {g.filt(t)} then {lit} end", f"{j} % 4")
    src = g.src(t, "q")
    return Q(g.one(f"select {g.keyed(t)}, {k} as k from {src} where {where} order by {k}, {g.keyed(t)}", f"select {g.keyed(t)}, row_number() over (partition by {k} order by {g.dirs(t)}) as rn from {src} where {where}", f"select {k} as k, count(*) as n, sum(count(*)) over (order by {k}) as s from {src} where {where} group by {k}", f"select distinct {k} as k, {e} as e from {src} where {where} order by 1, 2", f"select {k} as k, max({i}) as m from {src} where {where} group by 1 order by {k}",
                   f"select a.k, b.k as l, count(*) as n from (select {k} as k, {e} as e from {src} where {where}) as a join (select {k} as k, count(*) as c from {src} group by 1) as b on a.k = b.k group by 1, 2 order by a.k, b.k", f"select k, e, rank() over (order by k, e) as r, count(*) over (partition by e, k) as c from (select {k} as k, {e} as e from {src} where {where}) as w order by e, k"))


@shape(2)
def no_row(g):
    """Scalar subqueries that may have no row, of values that are never NULL."""
    t, u, on = pairs(g)
    k = on[0]
    inner = g.one(f"select b.{u.key[-1]} from {g.src(u, 'b')} where b.{k} is null", "select 1 where false", f"select 'yes' from {g.src(u, 'b')} where b.{u.ints[0]} < -100", f"select count(*) from {g.src(u, 'b')} where {g.filt(u, 'b.')} group by b.{k} having count(*) > 10000000", f"select count(*) from {g.src(u, 'b')} where b.{k} = a.{k} having count(*) > {g.one(0, 1)}", f"select count(*) from {g.src(u, 'b')} where b.{k} = a.{k} group by b.{k}", f"select max(b.{u.ints[0]}) is null from {g.src(u, 'b')} where b.{k} = a.{k}")
    return Q(g.one(f"select {g.keyed(t, 'a.')}, ({inner}) is null as e from {g.src(t, 'a', True)}", f"select count(*) as n from {g.src(t, 'a')} where ({inner}) is {g.one('', 'not ')}null", f"select {g.keyed(t, 'a.')}, ({inner}) as e from {g.src(t, 'a', True)}", f"select count(*) as n from {g.src(t, 'a')} where coalesce(cast(({inner}) as varchar), 'none') = 'none'", f"select case when ({inner}) is null then 'no' else 'yes' end as e, count(*) as n from {g.src(t, 'a')} group by 1"))


@shape(6)
def wrapped(g):
    """Another question as a subquery, a CTE or a side of a set operation."""
    name = g.choices([n for n in NAMES if n != "wrapped"], [w for n, w in zip(NAMES, WEIGHTS) if n != "wrapped"])[0]
    sql = SHAPES[name][0](g).sql
    if ROUGH.search(sql):
        return Q(f"select count(*) as n from ({sql}) as w")
    return Q(g.one(f"select count(*) as n from ({sql}) as w", f"select distinct * from ({sql}) as w", f"({sql}) union all ({sql})", f"({sql}) except ({sql})", f"({sql}) intersect ({sql})", f"with w as ({sql}) select * from w, (select count(*) as total from w) as x", f"with w as ({sql}), v as (select * from w) select * from v union select * from w",
                   f"select w.* from ({sql}) as w cross join (values (1), (2), (null)) as k(k_) where k_ >= 2", f"select *, count(*) over () as n_ from ({sql}) as w", f"select * from ({sql}) as w where (select count(*) from ({sql}) as y) > 3", f"select k_, count(*) as n from ({sql}) as w cross join (values (1), (1), (2)) as k(k_) group by k_", f"select * from (select *, 1 as one_ from ({sql}) as w) as v where one_ = 1 and exists (select 1 from ({sql}) as y)",
                   f"select w.*, x.n_ from ({sql}) as w left join (select count(*) as n_ from ({sql}) as y) as x on x.n_ > 10"))



NAMES = sorted(SHAPES)
WEIGHTS = [SHAPES[name][1] for name in NAMES]
