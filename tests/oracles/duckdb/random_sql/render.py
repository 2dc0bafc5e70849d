"""Trees as SQL, so that both dialects mean the same.

Where the engines differ by design, the form is written apart for each:

- `/` of integers is integer division in iolode, `//` in DuckDB.
- A sum of integers has 64 bits in iolode, which refuses what does not fit, and 128 in DuckDB: it is cast, which refuses the same.
- A percentile is `percentile_cont` in iolode, `quantile_cont` in DuckDB.
- A cast of a float to an integer cuts in iolode and rounds in DuckDB: it is cut first in both.
- Texts of times are of UTC in both; DuckDB is told by a setting.
"""

from .syntax import BOOL, DBL, I32, INT, TS, TXT, U64, Derived, Edge, Expr, Join, Select, SetOp, Table

IOLODE, DUCKDB = 0, 1

TYPES = {INT: "BIGINT", I32: "INTEGER", DBL: "DOUBLE", TXT: "VARCHAR", BOOL: "BOOLEAN", TS: "TIMESTAMP"}
UNSIGNED = ("BIGINT UNSIGNED", "UBIGINT")

# An operation as a text with the places of its arguments; {*} is all of them. A pair where the dialects differ.
FORMS = {
    "add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})", "neg": "(- {0})", "div": "({0} / {1})",
    "idiv": ("({0} / {1})", "({0} // {1})"), "mod": "({0} % {1})",
    "eq": "({0} = {1})", "ne": "({0} <> {1})", "lt": "({0} < {1})", "le": "({0} <= {1})", "gt": "({0} > {1})", "ge": "({0} >= {1})",
    "same": "({0} IS NOT DISTINCT FROM {1})", "distinct": "({0} IS DISTINCT FROM {1})",
    "and": "({0} AND {1})", "or": "({0} OR {1})", "not": "(NOT {0})",
    "null": "({0} IS NULL)", "not_null": "({0} IS NOT NULL)", "true": "({0} IS TRUE)", "not_true": "({0} IS NOT TRUE)",
    "between": "({0} BETWEEN {1} AND {2})", "not_between": "({0} NOT BETWEEN {1} AND {2})",
    "like": "({0} LIKE {1})", "not_like": "({0} NOT LIKE {1})",
    "coalesce": "coalesce({*})", "nullif": "nullif({0}, {1})", "greatest": "greatest({*})", "least": "least({*})",
    "abs": "abs({0})", "floor": "floor({0})", "ceil": "ceil({0})", "round": "round({0})", "sqrt": "sqrt(abs({0}))",
    "length": "length({0})", "upper": "upper({0})", "lower": "lower({0})", "concat": "({0} || {1})", "substr": "substr({0}, {1}, {2})",
    "starts": "starts_with({0}, {1})", "trim": "trim({0})", "replace": "replace({0}, {1}, {2})", "isnan": "isnan({0})",
    # Casts into another order.
    "clock_before": ("(CAST({0} AS TIME) < CAST({1} AS TIME))", "(CAST(({0} AT TIME ZONE 'UTC') AS TIME) < CAST({1} AS TIME))"), "falsy": "(CAST({0} AS BOOLEAN) IS NOT TRUE)",
    # DuckDB 1.4 takes `date_trunc('day', NULL) <> '2026-09-30 23:59:59'` for true: of the sum it does not know that it has no seconds.
    "trunc_ts": ("date_trunc({0}, {1})", "(date_trunc({0}, {1}) + INTERVAL 0 SECOND)"), "part": "cast(date_part({0}, {1}) as bigint)",
    "exists": "EXISTS ({0})", "not_exists": "NOT EXISTS ({0})", "scalar": "({0})",
    "in_query": "({0} IN ({1}))", "not_in_query": "({0} NOT IN ({1}))",
    "count_all": "count(*)", "count": "count({0})", "count_distinct": "count(DISTINCT {0})",
    "min": "min({0})", "max": "max({0})", "sum_float": "sum({0})", "avg": "avg({0})", "avg_distinct": "avg(DISTINCT {0})",
    "stddev": ("stddev({0})", "stddev_samp({0})"), "stddev_pop": "stddev_pop({0})", "var": ("var_samp({0})", "var_samp({0})"),
    "median": "median({0})", "quantile": ("percentile_cont({0}, {1})", "quantile_cont({0}, {1})"),
    "bool_and": "bool_and({0})", "bool_or": "bool_or({0})", "grouping": "grouping({0})",
    "sum": ("sum({0})", "cast(sum({0}) as bigint)"), "sum_distinct": ("sum(DISTINCT {0})", "cast(sum(DISTINCT {0}) as bigint)"),
    "sum_u": ("sum({0})", "cast(sum({0}) as ubigint)"),
    "row_number": "row_number()", "rank": "rank()", "dense_rank": "dense_rank()", "percent_rank": "percent_rank()", "cume_dist": "cume_dist()",
    "ntile": "ntile({0})", "lag": "lag({*})", "lead": "lead({*})", "first_value": "first_value({0})", "last_value": "last_value({0})",
    "nth_value": "nth_value({0}, {1})", "unnest": "unnest({0})", "list_length": ("array_length({0})", "len({0})"), "element": "{0}[{1}]",
}
# Behind these aggregates DuckDB's cast must stand outside of FILTER and OVER.
CAST_OUTSIDE = {"sum": "bigint", "sum_distinct": "bigint", "sum_u": "ubigint"}


def name(text):
    return f'"{text}"' if text in ("user", "partition", "rank", "time", "module", "day") else text


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class Renderer:
    def __init__(self, dialect):
        self.dialect = dialect

    def form(self, op):
        form = FORMS[op]
        return form if isinstance(form, str) else form[self.dialect]

    def type(self, kind):
        return UNSIGNED[self.dialect] if kind == U64 else TYPES[kind]

    def any(self, node):
        if isinstance(node, Expr):
            return self.expr(node)
        return self.query(node) if isinstance(node, (Select, SetOp, Edge)) else str(node)

    def expr(self, e):
        special = getattr(self, f"expr_{e.op}", None)
        if special:
            return special(e)
        args = [self.any(one) for one in e.args]
        return self.form(e.op).replace("{*}", ", ".join(args)).format(*args)

    def expr_column(self, e):
        qualifier, column = e.args
        return f"{qualifier}.{name(column)}" if qualifier else name(column)

    def expr_literal(self, e):
        return self.literal(e.args[0], e.type)

    def literal(self, value, kind):
        if value is None:
            return f"CAST(NULL AS {self.type(kind)})"
        if kind == TXT:
            return quoted(value)
        if kind == BOOL:
            return "true" if value else "false"
        if kind == TS:
            return f"TIMESTAMP '{value}'" if self.dialect == IOLODE else f"TIMESTAMPTZ '{value}+00'"
        if kind == DBL:
            if value == "-nan":
                return "(- CAST('NaN' AS DOUBLE))"
            text = {"nan": "'NaN'", "inf": "'Infinity'", "-inf": "'-Infinity'"}.get(value)
            return f"CAST({text or quoted(repr(value))} AS DOUBLE)"
        if kind == INT and abs(value) < 2**31:
            return str(value) if value >= 0 else f"({value})"
        return f"CAST('{value}' AS {self.type(kind)})"

    def expr_cast(self, e):
        inner = self.expr(e.args[0])
        if e.args[0].type == DBL and e.type in (INT, I32, U64):
            inner = f"trunc({inner})"
        return f"CAST({inner} AS {self.type(e.type)})"

    def expr_case(self, e):
        *branches, otherwise = e.args
        pairs = zip(branches[::2], branches[1::2])
        whens = " ".join(f"WHEN {self.expr(when)} THEN {self.expr(then)}" for when, then in pairs)
        return f"(CASE {whens}{'' if otherwise is None else ' ELSE ' + self.expr(otherwise)} END)"

    def expr_in(self, e):
        return f"({self.expr(e.args[0])} IN ({', '.join(map(self.expr, e.args[1:]))}))"

    def expr_not_in(self, e):
        return f"({self.expr(e.args[0])} NOT IN ({', '.join(map(self.expr, e.args[1:]))}))"

    def expr_any_list(self, e):
        value, op, *elements = e.args
        return f"({self.expr(value)} {op} ANY ([{', '.join(map(self.expr, elements))}]))"

    def expr_quantified(self, e):
        value, op, quantifier, query = e.args
        return f"({self.expr(value)} {op} {quantifier} ({self.query(query)}))"

    def expr_row_in_query(self, e):
        *values, query = e.args
        return f"(({', '.join(map(self.expr, values))}) IN ({self.query(query)}))"

    def expr_filter(self, e):
        """An aggregate with FILTER."""
        return self.outside(e.args[0], lambda aggregate: f"{aggregate} FILTER (WHERE {self.expr(e.args[1])})")

    def expr_over(self, e):
        """A window function: the function, its FILTER or None, PARTITION BY, ORDER BY as pairs of expression and direction, the frame."""
        function, condition, partition, order, frame = e.args
        words = []
        partition = list(map(self.expr, partition))
        if self.dialect != IOLODE:
            # DuckDB 1.4.2 partitions by `x, x` otherwise than by `x`.
            partition = list(dict.fromkeys(partition))
        if partition:
            words.append(f"PARTITION BY {', '.join(partition)}")
        if order:
            words.append("ORDER BY " + ", ".join(f"{self.expr(one.args[0])}{one.args[1]}" for one in order))
        if frame:
            words.append(frame)
        behind = f" FILTER (WHERE {self.expr(condition)})" if condition is not None else ""
        return self.outside(function, lambda inner: f"{inner}{behind} OVER ({' '.join(words)})")

    def outside(self, aggregate, around):
        """DuckDB's cast of a sum stands outside of what is put around the aggregate."""
        kind = CAST_OUTSIDE.get(aggregate.op)
        if self.dialect == IOLODE or not kind:
            return around(self.expr(aggregate))
        plain = FORMS[aggregate.op][IOLODE].format(*map(self.any, aggregate.args))
        return f"cast({around(plain)} as {kind})"

    def source(self, node):
        if isinstance(node, Table):
            return f"{node.name} {node.alias}" if node.alias != node.name else node.name
        if isinstance(node, Derived):
            return f"({self.query(node.query)}) {node.alias}"
        left, right = self.source(node.left), self.source(node.right)
        if isinstance(node.right, Join):
            right = f"({right})"
        if node.kind == "cross":
            return f"{left} CROSS JOIN {right}"
        if node.using:
            return f"{left} {node.kind.upper()} JOIN {right} USING ({', '.join(map(name, node.using))})"
        return f"{left} {node.kind.upper()} JOIN {right} ON {' AND '.join(map(self.expr, node.on)) or 'true'}"

    def query(self, q):
        ctes = f"WITH {', '.join(f'{one.name} AS ({self.query(one.query)})' for one in q.ctes)} " if q.ctes else ""
        if isinstance(q, Edge):
            return ctes + self.edge(q)
        body = self.setop(q) if isinstance(q, SetOp) else self.select(q)
        return ctes + body + self.tail(q)

    def setop(self, q):
        sides = [f"({self.query(side)})" for side in (q.left, q.right)]
        return f"{sides[0]} {q.op.upper()}{' ALL' if q.all else ''} {sides[1]}"

    def select(self, q):
        words = ["SELECT DISTINCT" if q.distinct else "SELECT"]
        if q.distinct_on:
            words = [f"SELECT DISTINCT ON ({', '.join(self.expr(one.expr) for one in q.items[:q.distinct_on])})"]
        words.append(", ".join(self.expr(one.expr) + (f" AS {name(one.alias)}" if one.alias else "") for one in q.items))
        if q.source is not None:
            words.append(f"FROM {self.source(q.source)}")
        if q.where:
            words.append(f"WHERE {' AND '.join(map(self.expr, q.where))}")
        if q.grouping:
            words.append(f"GROUP BY {self.grouping(q)}")
        if q.having:
            words.append(f"HAVING {' AND '.join(map(self.expr, q.having))}")
        if q.qualify:
            words.append(f"QUALIFY {' AND '.join(map(self.expr, q.qualify))}")
        return " ".join(words)

    def grouping(self, q):
        group = [one if isinstance(one, str) else self.expr(one) for one in q.group]
        if q.grouping == "plain":
            return ", ".join(group)
        if q.grouping == "sets":
            return f"GROUPING SETS ({', '.join('(' + ', '.join(group[at] for at in one if at < len(group)) + ')' for one in q.sets)})"
        return f"{q.grouping.upper()} ({', '.join(group)})"

    def tail(self, q):
        words = []
        if q.order:
            keys = [f"{one.form.format(name(one.key)) if isinstance(one.key, str) else one.key}{' DESC' if one.descending else ''}{one.nulls or ''}" for one in q.order]
            words.append(f" ORDER BY {', '.join(keys)}")
        if q.limit is not None:
            words.append(f" LIMIT {q.limit}")
        if q.offset is not None:
            words.append(f" OFFSET {q.offset}")
        return "".join(words)

    def edge(self, q):
        names = [name(column.name) for column in q.columns]
        # Every value is cast: the type of a column must not depend on how an engine guesses it from rows.
        rows = [[self.cast_literal(value, column.type) for value, column in zip(row, q.columns)] for row in q.rows]
        if q.form == "values":
            return f"SELECT * FROM (VALUES {', '.join('(' + ', '.join(row) + ')' for row in rows)}) AS v ({', '.join(names)})"
        selects = [f"SELECT {', '.join(f'{value} AS {column}' for value, column in zip(row, names))}" for row in rows]
        return " UNION ALL ".join(selects)

    def cast_literal(self, value, kind):
        text = self.literal(value, kind)
        plain = value is not None and kind in (INT, I32) and not text.startswith("CAST")
        return f"CAST({text} AS {self.type(kind)})" if plain else text


def sql(query, dialect):
    return Renderer(dialect).query(query)
