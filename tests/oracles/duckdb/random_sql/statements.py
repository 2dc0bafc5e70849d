"""Random statements: relations and their joins, groups, windows, set operations, subqueries, orders."""

from . import tables
from .expressions import Expressions, Scope, literal, ref
from .syntax import (BOOL, DBL, I32, INT, LIST, TS, TXT, U64, WHOLE, WILD, Column, Cte, Derived, Edge, Expr, Item, Join, Order, Select, SetOp, Table)

# Rows of an answer at most, by estimate; rows of a join; rows that windows go over.
ANSWER, JOINED, WINDOWED = 3000, 3e6, 3e5

# Sort keys that are functions of an output, by its type. None of them can overflow.
FORMS = {
    INT: ["abs({0} % 1000)", "{0} % 7", "sqrt(abs({0} % 1000))", "abs(coalesce({0}, 1) % 10)", "-({0} % 5)"],
    I32: ["abs({0} % 1000)", "{0} % 7", "sqrt(abs({0} % 1000))"],
    TXT: ["length({0})", "upper({0})", "coalesce({0}, 'm')", "abs(length({0}) - 4)"],
    BOOL: ["NOT {0}", "coalesce({0}, true)"],
}


class Relation:
    """Something that can stand in FROM: its node, what it offers, the columns that tell its rows apart, about how many rows it has."""

    def __init__(self, node, columns, keys, rows):
        self.node, self.columns, self.keys, self.rows = node, columns, keys, rows

    def scope(self):
        return Scope(self.columns, self.keys)


class Statements:
    def __init__(self, rng, lake_tables):
        self.rng, self.tables = rng, lake_tables
        self.expressions = Expressions(rng, self)
        self.plain = Expressions(rng)
        self.ctes, self.count, self.nested = [], 0, 0

    def chance(self, share):
        return self.rng.random() < share

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def statement(self):
        """A query for the top: few rows, or the first of an order that is total."""
        self.ctes, self.count, self.nested = [], 0, 0
        if self.chance(0.4):
            self.common(self.edge_query(), 12)
        if self.chance(0.2):
            relation = self.relation(1)
            query, columns, keys, rows = self.query(relation, 1)
            self.common(query, rows, columns, keys)
        query, columns, keys, rows = self.top()
        self.order_top(query, columns, rows)
        query.ctes = self.ctes
        return query

    # Relations.

    def edge_query(self):
        return tables.edge(self.rng, self.tables, self.rng.randint(3, 12))

    def common(self, query, rows, columns=None, keys=None):
        """A common table expression that relations may name."""
        if isinstance(query, Edge):
            columns, keys = query.columns, ["id"]
        self.ctes.append(Cte(self.name("w"), query))
        self.ctes[-1].offers = (columns, keys, rows)

    def relation(self, depth):
        draw = self.rng.random()
        if depth > 0 and draw < 0.32:
            return self.join(depth)
        return self.leaf(depth)

    def leaf(self, depth):
        draw = self.rng.random()
        if self.ctes and draw < 0.35:
            cte = self.rng.choice(self.ctes)
            columns, keys, rows = cte.offers
            alias = self.name("t")
            return Relation(Table(cte.name, alias), [(alias, c) for c in columns], keys and [(alias, k) for k in self.among(columns, keys)], rows)
        if draw < 0.4:
            query = self.edge_query()
            return self.derived(query, query.columns, ["id"], len(query.rows))
        if depth > 0 and draw < 0.62:
            return self.derived(*self.query(self.relation(depth - 1), depth - 1))
        return self.table()

    @staticmethod
    def among(columns, keys):
        return [column for column in columns if column.name in keys]

    def table(self, most=1e9):
        fit = [one for one in self.tables if one.rows <= most]
        table = self.rng.choices(fit, [one.weight for one in fit])[0]
        alias = self.name("t")
        columns = [(alias, c) for c in table.columns]
        keys = [(alias, c) for c in table.columns if c.name in table.key]
        # Only what the key can tell apart: slurm's keys may hold NULL, and the lake may hold a record more than once.
        keys = keys if len(keys) == len(table.key) and not table.name.startswith("slurm") else None
        return Relation(Table(table.name, alias), columns, keys, table.rows)

    def derived(self, query, columns, keys, rows):
        alias = self.name("d")
        return Relation(Derived(query, alias), [(alias, c) for c in columns], keys and [(alias, c) for c in self.among(columns, keys)], rows)

    # Joins.

    def join(self, depth):
        left = self.relation(depth - 1) if self.chance(0.3) else self.leaf(depth - 1)
        right = self.leaf(depth - 1)
        kind = self.rng.choice(["inner", "left", "left", "right", "right", "full"])
        pairs = self.pairs(left, right)
        if not pairs or self.chance(0.04):
            if left.rows * right.rows <= 20_000 and self.chance(0.8):
                return self.cross(left, right)
            return left if self.chance(0.5) else right
        both = left.rows * right.rows
        (a, b) = pairs[0]
        rows = max(both / max(a[1].ndv, b[1].ndv, 1), 1)
        used = [pairs[0]]
        if len(pairs) > 1 and (self.chance(0.35) or rows > JOINED):
            used.append(pairs[1])
            rows = max(rows / max(pairs[1][0][1].ndv, pairs[1][1][1].ndv, 1), 1)
        if rows > JOINED:
            return left if left.rows < right.rows else right
        rows = max(rows, left.rows if kind in ("left", "full") else 0, right.rows if kind in ("right", "full") else 0)
        columns, keys = left.columns + right.columns, left.keys + right.keys if left.keys and right.keys else None
        named_alike = [p for p in used if p[0][1].name == p[1][1].name]
        if named_alike == used and self.chance(0.12) and not isinstance(left.node, Join):
            names = [p[0][1].name for p in used]
            node = Join(kind, left.node, right.node, [], names)
            # The columns of USING are named without a table.
            merged = [("", Column(p[0][1].name, p[0][1].type, p[0][1].mag, ndv=p[0][1].ndv, values=p[0][1].values)) for p in used]
            others = [(q, c) for q, c in columns if c.name not in names]
            # A column of one name on both sides keeps its table; the key is that of the merged columns.
            keys = None
            return Relation(node, merged + others, keys, rows)
        scope = Scope(columns)
        on = [Expr("same" if self.chance(0.2) and rows < 1e5 and not self.wide(p) else "eq", [ref(*p[0]), ref(*p[1])], BOOL) for p in used]
        if self.chance(0.08) and rows < 1e5:
            on[0] = self.computed(on[0])
        if self.chance(0.22):
            side = self.rng.choice([left, right, None])
            extra = self.plain.predicate(side.scope() if side else scope, 0)
            on.append(extra)
        return Relation(Join(kind, left.node, right.node, on), columns, keys, rows)

    def computed(self, on):
        """A key that is an expression on one side or on both."""
        a, b = on.args
        if a.type == TXT:
            return Expr(on.op, [Expr("lower", [a], TXT), Expr("lower", [b], TXT) if self.chance(0.5) else b], BOOL)
        if a.type in (INT, I32, DBL) and a.mag < 8:
            moved = lambda one: Expr("add", [one, literal(1, one.type) if one.type != DBL else literal(1.0, DBL)], one.type, mag=one.mag + 0.4)
            return Expr(on.op, [moved(a), moved(b) if self.chance(0.7) else b], BOOL)
        return Expr(on.op, [Expr("coalesce", [a, b], a.type), b], BOOL) if self.chance(0.3) else on

    @staticmethod
    def wide(pair):
        return max(pair[0][1].ndv, pair[1][1].ndv) > 1e6

    def cross(self, left, right):
        columns, keys = left.columns + right.columns, left.keys + right.keys if left.keys and right.keys else None
        if self.chance(0.5):
            return Relation(Join("cross", left.node, right.node, []), columns, keys, left.rows * right.rows)
        kind = self.rng.choice(["inner", "left", "right", "full"]) if self.chance(0.7) else "inner"
        a, b = self.plain.any_column(left.scope()), self.plain.any_column(right.scope())
        on = []
        if a is not None and b is not None:
            numbers = (*WHOLE, DBL)
            if a.type == b.type or (a.type in numbers and b.type in numbers):
                on = [Expr(self.rng.choice(["lt", "ge", "ne", "gt"]), [a, b], BOOL)]
        if not on:
            return Relation(Join("cross", left.node, right.node, []), columns, keys, left.rows * right.rows)
        return Relation(Join(kind, left.node, right.node, on), columns, keys, left.rows * right.rows)

    def pairs(self, left, right):
        """Columns that may be compared, those of one name first, then of one type: in a random order."""
        joined = lambda relation: [(q, c) for q, c in relation.columns if not c.rough and c.type not in (LIST, BOOL)]
        mine, yours = joined(left), joined(right)
        same = [(a, b) for a in mine for b in yours if a[1].name == b[1].name and a[1].type == b[1].type]
        likely = {"job_id", "log_id", "record_id", "fs", "uid", "user", "ost", "time", "module", "id", "state", "step_id", "app", "rank"}
        good = [p for p in same if p[0][1].name in likely]
        other = [(a, b) for a in mine for b in yours if a[1].type == b[1].type and a[1].name != b[1].name and left.rows * right.rows < 1e7]
        self.rng.shuffle(good), self.rng.shuffle(same), self.rng.shuffle(other)
        ordered = good + same + other if self.chance(0.85) else other + good
        seen, found = set(), []
        for a, b in ordered:
            if (a[0], a[1].name) not in seen and (b[0], b[1].name) not in seen:
                seen |= {(a[0], a[1].name), (b[0], b[1].name)}
                found.append((a, b))
        return found

    # Subqueries in conditions.

    def condition(self, scope):
        """EXISTS, IN, or a comparison with an aggregate of a subquery; correlated by a column or not."""
        if self.nested >= 2:
            return None
        self.nested += 1
        try:
            inner = self.leaf(0) if self.chance(0.8) else self.leaf(1)
            outer = [(q, c) for q, c in scope.columns if not c.rough and c.type not in (LIST, BOOL)]
            names = {c.name for _, c in outer}
            shared = [(o, i) for o in outer for i in inner.columns if o[1].type == i[1].type and not i[1].rough and o[1].name == i[1].name]
            if not shared or self.chance(0.1):
                shared = [(o, i) for o in outer for i in inner.columns if o[1].type == i[1].type and not i[1].rough]
            if not shared or not names:
                return None
            (o, i) = self.rng.choice(shared)
            draw = self.rng.random()
            # Called as the table outside, which is hidden then.
            hides = 0.35 <= draw < 0.75 and isinstance(inner.node, Table) and self.chance(0.25)
            if hides:
                inner = Relation(Table(inner.node.name, o[0]), [(o[0], c) for _, c in inner.columns], None, inner.rows)
                i = (o[0], i[1])
            inner_scope = inner.scope()
            where = [self.plain.predicate(inner_scope, 1)] if self.chance(0.5) else []
            if draw < 0.35:
                linked = [Expr("eq", [ref(*i), ref(*o)], BOOL)]
                if self.chance(0.2):
                    more = [(p, j) for p, j in shared if j[1].type in (INT, DBL, TS, I32) and inner.rows < 1e5]
                    if more:
                        p, j = self.rng.choice(more)
                        linked.append(Expr(self.rng.choice(["lt", "ge", "ne"]), [ref(*j), ref(*p)], BOOL))
                query = Select([Item(literal(1, INT), "one")], inner.node, where=linked + where)
                return Expr(self.rng.choice(["exists", "not_exists"]), [query], BOOL)
            if draw < 0.75:
                value = ref(*i)
                if self.chance(0.1):
                    value = Expr("nullif", [value, self.plain.value_near(inner_scope, value)], value.type)
                query = Select([Item(value, None if value.op == "column" and self.chance(0.5) else "v")], inner.node, where=where, distinct=self.chance(0.1))
                if self.chance(0.15):
                    query.grouping, query.group = "plain", [value]
                    query.having = [Expr("ge", [Expr("count_all", [], INT), literal(self.rng.randint(1, 3), INT)], BOOL)]
                if len(shared) > 1 and not hides and not query.grouping and self.chance(0.08):
                    (p, j), values = self.rng.choice(shared), [ref(*o)]
                    query.items.append(Item(ref(*j), "w"))
                    return Expr("row_in_query", [*values, ref(*p), query], BOOL)
                if len(shared) > 1 and not hides and self.chance(0.15):
                    p, j = self.rng.choice(shared)
                    query.where = [*query.where, Expr("eq", [ref(*j), ref(*p)], BOOL)]
                    query.grouping, query.group, query.having = None, [], []
                if value.type != BOOL and self.chance(0.15):
                    return Expr("quantified", [ref(*o), self.rng.choice(["=", "<>", "<", "<=", ">", ">="]), self.rng.choice(["ANY", "ALL", "ALL"]), query], BOOL)
                return Expr(self.rng.choice(["in_query", "in_query", "not_in_query"]), [ref(*o), query], BOOL)
            query, kind = self.scalar_query(inner, where, o, i)
            left = self.plain.any_column(scope, (kind,))
            if left is None:
                return Expr(self.rng.choice(["null", "not_null"]), [Expr("scalar", [query], kind)], BOOL)
            return Expr(self.rng.choice(["eq", "lt", "ge", "gt", "ne", "distinct"]), [left, Expr("scalar", [query], kind)], BOOL)
        finally:
            self.nested -= 1

    def scalar_query(self, inner, where, o, i):
        """A query of one value; two times in three of the rows that agree with a row outside."""
        for _ in range(10):
            aggregate = self.plain.aggregate(inner.scope())
            if not aggregate.rough:
                break
        else:
            aggregate = Expr("count_all", [], INT, mag=8)
        linked = [Expr("eq", [ref(*i), ref(*o)], BOOL)] if self.chance(0.66) else []
        return Select([Item(aggregate, "v")], inner.node, where=linked + where), aggregate.type

    # Queries.

    def outputs(self, exprs, prefix="c"):
        """Items, and the columns that they are to whoever reads the query."""
        items, columns = [], []
        for expr in exprs:
            alias = self.name(prefix)
            alias = self.column_name(expr, [c.name for c in columns]) or alias
            items.append(Item(expr, alias))
            values, ndv = [], 50
            if expr.op == "column":
                found = [c for c in self.known if c.name == expr.args[1]]
                values, ndv = (found[0].values, found[0].ndv) if found else ([], 50)
            columns.append(Column(alias, expr.type, expr.mag, expr.rough, ndv, values))
        return items, columns

    def column_name(self, expr, taken):
        """Now and then the name of the column that an output is, or is a function of."""
        while expr.op != "column":
            if not self.chance(0.25) or not expr.args or not isinstance(expr.args[0], Expr):
                return None
            expr = expr.args[0]
        return expr.args[1] if self.chance(0.6) and expr.args[1] not in taken else None

    def where(self, scope):
        count = self.rng.choice([0, 0, 1, 1, 1, 2])
        return [self.expressions.predicate(scope, self.rng.choice([0, 1, 1, 2])) for _ in range(count)]

    def query(self, relation, depth):
        """A query to be read by another: query, its columns, its keys and about its rows."""
        kinds = [self.grouped, self.grouped, self.rows_of, self.rows_of, self.windowed, self.distinct_rows, self.set_operation, self.limited, self.unnested]
        return self.rng.choice(kinds)(relation, depth)

    def top(self):
        kinds = [(self.grouped, 5), (self.rows_of, 5), (self.grouping_sets, 2), (self.windowed, 2.5), (self.totals, 4), (self.set_operation, 2), (self.distinct_rows, 1),
                 (self.unnested, 0.5), (self.distinct_counts, 1), (self.first_of_each, 0.4)]
        kind = self.rng.choices([one for one, _ in kinds], [weight for _, weight in kinds])[0]
        relation = self.relation(2)
        return kind(relation, 1)

    def prepared(self, relation):
        self.known = [c for _, c in relation.columns]
        return relation.scope()

    def rows_of(self, relation, depth, distinct=False):
        """Rows of a relation, some columns and some expressions; columns of one name from both sides of a join among them."""
        where, scope = self.where(relation.scope()), self.prepared(relation)
        exprs = []
        offered = [(q, c) for q, c in scope.columns if c.type != LIST]
        kept_keys = []
        if relation.keys and self.chance(0.6) and not distinct:
            kept_keys = relation.keys
            exprs += [ref(q, c) for q, c in kept_keys]
        exprs += [ref(q, c) for q, c in self.rng.sample(offered, min(len(offered), self.rng.randint(1, 4)))]
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            exprs.append(self.expressions.expr(scope, self.rng.choice([INT, INT, DBL, DBL, TXT, BOOL, TS, U64, I32]), 2))
        if self.chance(0.08) and self.nested == 0:
            found = self.scalar_item(scope)
            exprs += [found] if found is not None else []
        items, columns = self.outputs(exprs)
        keys = [c.name for c in columns[:len(kept_keys)]] if kept_keys else None
        return Select(items, relation.node, distinct=distinct, where=where), columns, keys, relation.rows

    def scalar_item(self, scope):
        """A correlated subquery in the list of outputs."""
        inner = self.leaf(0)
        shared = [(o, i) for o in scope.columns for i in inner.columns if o[1].name == i[1].name and o[1].type == i[1].type and o[1].type not in (LIST, BOOL)
                  and not o[1].rough and not i[1].rough]
        if not shared:
            return None
        query, kind = self.scalar_query(inner, [], *self.rng.choice(shared))
        return Expr("scalar", [query], kind, mag=WILD)

    def distinct_rows(self, relation, depth):
        query, columns, _, rows = self.rows_of(relation, depth, distinct=True)
        usable = [at for at, column in enumerate(columns) if not column.rough]
        if not usable:
            return query, columns, None, rows
        query.items, columns = [query.items[at] for at in usable], [columns[at] for at in usable]
        return query, columns, [c.name for c in columns], rows

    def first_of_each(self, relation, depth):
        """DISTINCT ON: the first row of each value, by an order that is total."""
        if not relation.keys or relation.rows > WINDOWED:
            return self.grouped(relation, depth)
        where, scope = self.where(relation.scope()), self.prepared(relation)
        first = self.plain.any_column(scope)
        keys = [ref(q, c) for q, c in relation.keys]
        other = self.plain.any_column(scope)
        items, columns = self.outputs([first, *keys, other], "f")
        select = Select(items, relation.node, where=where)
        select.distinct_on = 1
        select.order = [self.key(columns, at) for at in range(len(keys) + 1)]
        for one in select.order:
            one.key = columns[one.key - 1].name if isinstance(one.key, int) else one.key
        # An order of its own stands outside.
        query = self.derived(select, columns, None, relation.rows)
        outer, offered = self.outputs([ref(q, c) for q, c in query.columns], "f")
        return Select(outer, query.node), offered, None, min(relation.rows, 1000)

    def group_keys(self, scope, count):
        keys = []
        for _ in range(count):
            kind = self.rng.choice([INT, INT, I32, U64, DBL, TXT, TXT, TXT, BOOL, TS])
            key = self.plain.any_column(scope) if self.chance(0.75) else self.plain.expr(scope, kind, 1)
            if key is None or self.chance(0.04):
                key = literal(self.rng.choice([1, 5, 0]), INT) if self.chance(0.5) else literal("k", TXT)
            keys.append(key)
        return keys

    def fixed(self, keys, where, scope):
        """Now and then a key's column has one value by WHERE."""
        if keys and self.chance(0.15):
            key = self.rng.choice(keys)
            if key.op == "column":
                where.append(Expr("eq", [key, self.plain.value_near(scope, key)], BOOL))

    def aggregates(self, scope):
        found = []
        for _ in range(self.rng.randint(1, 3)):
            aggregate = self.plain.aggregate(scope)
            if self.chance(0.15) and aggregate.op != "quantile":
                aggregate = Expr("filter", [aggregate, self.plain.predicate(scope, 1)], aggregate.type, mag=aggregate.mag, rough=aggregate.rough)
            found.append(aggregate)
        if self.chance(0.12):
            found += self.shifted(scope)
        return found

    def shifted(self, scope):
        return self.plain.shifted_sums(scope)

    def grouped(self, relation, depth):
        where, scope = self.where(relation.scope()), self.prepared(relation)
        keys = self.group_keys(scope, self.rng.choice([1, 1, 2, 3]))
        self.fixed(keys, where, scope)
        aggregates = self.aggregates(scope)
        if self.chance(0.1):
            a = aggregates[0]
            if a.type in (INT, DBL) and a.op != "filter" and a.mag < 17:
                aggregates.append(Expr("add", [a, literal(1, INT) if a.type == INT else literal(1.5, DBL)], a.type, mag=a.mag, rough=a.rough))
        items, columns = self.outputs([*keys, *aggregates], "g")
        # A literal key means the place of an output in GROUP BY: an expression of it does not.
        group = [key if key.op != "literal" else str(at + 1) for at, key in enumerate(keys)]
        having = []
        if self.chance(0.25):
            having = [self.having(scope, aggregates)]
        names = [c.name for c in columns[:len(keys)]]
        ndv = 1
        for column in columns[:len(keys)]:
            ndv *= column.ndv
        select = Select(items, relation.node, where=where, grouping="plain", group=group, having=having)
        return select, columns, names, min(relation.rows, ndv)

    def having(self, scope, aggregates):
        for aggregate in aggregates:
            if aggregate.type == INT and not aggregate.rough and self.chance(0.7):
                return Expr(self.rng.choice(["gt", "le", "ne"]), [aggregate, literal(self.rng.choice([0, 1, 2, 10, 1000]), INT)], BOOL)
            if aggregate.rough and aggregate.op != "filter" and self.chance(0.2):
                return Expr("null", [aggregate], BOOL)
        return Expr(self.rng.choice(["gt", "le"]), [Expr("count_all", [], INT), literal(self.rng.choice([0, 1, 2, 5]), INT)], BOOL)

    def grouping_sets(self, relation, depth):
        where, scope = self.where(relation.scope()), self.prepared(relation)
        keys = []
        for key in self.group_keys(scope, self.rng.choice([2, 2, 3])):
            if key.op != "literal" and not any(key.args == other.args for other in keys):
                keys.append(key)
        if len(keys) < 2:
            return self.grouped(relation, depth)
        if self.chance(0.4):
            self.fixed(keys, where, scope)
            key = self.rng.choice(keys)
            if key.op == "column":
                where.append(Expr("eq", [key, self.plain.value_near(scope, key)], BOOL))
        aggregates = self.aggregates(scope)
        if self.chance(0.4):
            aggregates.append(Expr("grouping", [self.rng.choice(keys)], INT, mag=1))
        kind = self.rng.choice(["rollup", "cube", "sets", "sets"])
        sets = []
        if kind == "sets":
            sets = [self.rng.sample(range(len(keys)), self.rng.randint(0, len(keys))) for _ in range(self.rng.randint(2, 4))]
            # A set more than once gives its groups as often; a key that stands in no set is NULL in all rows.
            if not any(sets):
                sets.append(list(range(len(keys))))
            missing = set(range(len(keys))) - {at for one in sets for at in one}
            sets += [sorted(missing)] if missing else []
        items, columns = self.outputs([*keys, *aggregates], "g")
        having = [self.having(scope, aggregates)] if self.chance(0.15) else []
        ndv = 1
        for column in columns[:len(keys)]:
            ndv *= column.ndv
        return Select(items, relation.node, where=where, grouping=kind, group=keys, sets=sets, having=having), columns, None, 2 * min(relation.rows, ndv)

    def windowed(self, relation, depth):
        if relation.rows > WINDOWED:
            return self.grouped(relation, depth)
        where, scope = self.where(relation.scope()), self.prepared(relation)
        kept = relation.keys or []
        exprs = [ref(q, c) for q, c in kept] + [one for one in [self.plain.any_column(scope)] if one is not None]
        windows = [self.plain.window(scope) for _ in range(self.rng.randint(1, 3))]
        items, columns = self.outputs([*exprs, *windows], "v")
        select = Select(items, relation.node, where=where)
        if self.chance(0.15) and windows[0].type == INT:
            select.qualify = [Expr("le", [windows[0], literal(self.rng.randint(1, 3), INT)], BOOL)]
        return select, columns, [c.name for c in columns[:len(kept)]] if kept else None, relation.rows

    def totals(self, relation, depth):
        """Aggregates of all rows: one row."""
        where, scope = self.where(relation.scope()), self.prepared(relation)
        items, columns = self.outputs(self.aggregates(scope), "a")
        select = Select(items, relation.node, where=where)
        if self.chance(0.05):
            select.having = [Expr("gt", [Expr("count_all", [], INT), literal(0, INT)], BOOL)]
        return select, columns, [], 1

    def distinct_counts(self, relation, depth):
        """DISTINCT aggregates beside one another and beside plain ones."""
        where, scope = self.where(relation.scope()), self.prepared(relation)
        found = []
        for _ in range(self.rng.randint(1, 3)):
            column = self.plain.any_column(scope)
            if column is not None:
                found.append(Expr("count_distinct", [column], INT, mag=8))
        number = self.plain.column(scope, INT)
        if number is not None and number.mag < 12:
            found.append(Expr("sum_distinct", [number], INT, mag=WILD))
            found.append(Expr("sum", [number], INT, mag=WILD))
        found.append(Expr("count_all", [], INT, mag=8))
        keys = self.group_keys(scope, self.rng.choice([0, 1, 1]))
        keys = [key for key in keys if key.op != "literal"]
        items, columns = self.outputs([*keys, *found], "g")
        return Select(items, relation.node, where=where, grouping="plain" if keys else None, group=keys), columns, [c.name for c in columns[:len(keys)]], \
            min(relation.rows, columns[0].ndv) if keys else 1

    def set_operation(self, relation, depth):
        """Two queries of the same types, which come from one list of outputs or from two relations."""
        left, columns, _, rows = self.rows_of(relation, 0, distinct=False)
        usable = [at for at, c in enumerate(columns) if not c.rough][:self.rng.randint(1, 4)]
        if not usable:
            return left, columns, None, rows
        left.items, columns = [left.items[at] for at in usable], [columns[at] for at in usable]
        other = self.leaf(0) if self.chance(0.75) else self.leaf(1)
        where, scope = self.where(other.scope()), self.prepared(other)
        exprs = []
        for column in columns:
            same = [one for one in scope.of(column.type) if one[1].name == column.name]
            exprs.append(ref(*same[0]) if same and self.chance(0.8) else self.plain.expr(scope, column.type, 1))
        right = Select([Item(expr, self.name("r")) for expr in exprs], other.node, where=where)
        mags = [max(column.mag, expr.mag) for column, expr in zip(columns, exprs)]
        columns = [Column(c.name, c.type, mag, False, c.ndv, c.values) for c, mag in zip(columns, mags)]
        op, every = self.rng.choice([("union", True), ("union", True), ("union", False), ("intersect", False), ("except", False), ("intersect", True), ("except", True)])
        query = SetOp(op, every, left, right)
        rows = rows + other.rows if op == "union" else rows
        if self.chance(0.15) and rows < 1e5:
            query = SetOp(self.rng.choice(["union", "except"]), self.chance(0.5), query, Select([Item(one.expr, one.alias) for one in left.items], left.source, where=[]))
        return query, columns, None if every else [c.name for c in columns], rows

    def limited(self, relation, depth):
        """The first rows of a total order."""
        query, columns, keys, rows = self.rows_of(relation, depth)
        usable = [at for at, c in enumerate(columns) if not c.rough]
        if not usable:
            return query, columns, keys, rows
        query.items, columns = [query.items[at] for at in usable], [columns[at] for at in usable]
        self.total_order(query, columns)
        query.limit = self.rng.choice([0, 1, 3, 10, 50])
        if self.chance(0.2):
            query.offset = self.rng.randint(1, 5)
        names = {c.name for c in columns}
        return query, columns, keys if keys and set(keys) <= names else None, query.limit

    def unnested(self, relation, depth):
        """A row for each element of a list."""
        lists = [(q, c) for q, c in relation.columns if c.type == LIST]
        if not lists:
            files = [table for table in self.tables if any(c.type == LIST for c in table.columns)]
            if not files or self.chance(0.5):
                return self.rows_of(relation, depth)
            alias, table = self.name("t"), files[0]
            columns = [(alias, c) for c in table.columns]
            relation = Relation(Table(table.name, alias), columns, None, table.rows)
            lists = [(alias, c) for c in table.columns if c.type == LIST]
        where, scope = self.where(relation.scope()), self.prepared(relation)
        some = [self.plain.any_column(scope) for _ in range(self.rng.randint(0, 2))]
        items, columns = self.outputs([one for one in some if one is not None] + [Expr("unnest", [ref(*lists[0])], I32, mag=4)], "u")
        return Select(items, relation.node, where=where), columns, None, relation.rows * 4

    # Orders.

    def total_order(self, query, columns):
        places = list(range(len(columns)))
        self.rng.shuffle(places)
        query.order = [self.key(columns, at) for at in places if not columns[at].rough]
        if isinstance(query, Select) and not query.distinct and self.chance(0.2):
            self.order_by_function(query, columns)

    def order_by_function(self, query, columns):
        """A function of an output stands before the keys of a total order. In a function the name of a column is the column's, in DuckDB the output's."""
        names = [c.name for c in [*columns, *self.known]]
        fit = [c for c in columns if not c.rough and c.type in FORMS and names.count(c.name) == 1]
        if fit:
            column = self.rng.choice(fit)
            query.order.insert(0, Order(column.name, self.chance(0.4), " NULLS LAST", self.rng.choice(FORMS[column.type])))

    def key(self, columns, at):
        nulls = self.rng.choice([None, None, None, " NULLS FIRST", " NULLS LAST"])
        names = [c.name for c in columns]
        by_name = self.chance(0.3) and names.count(columns[at].name) == 1
        return Order(columns[at].name if by_name else at + 1, self.chance(0.4), nulls)

    def order_top(self, query, columns, rows):
        """Large answers are cut to the first rows of an order; small ones are ordered now and then."""
        fixed = [at for at, c in enumerate(columns) if not c.rough]
        if not fixed:
            return
        if rows > ANSWER:
            self.total_order(query, columns)
            query.limit = self.rng.choice([1, 5, 20, 100, 1000])
        elif self.chance(0.4):
            if self.chance(0.5):
                self.total_order(query, columns)
                if self.chance(0.6):
                    query.limit = self.rng.choice([0, 1, 3, 10, 100])
            else:
                query.order = [self.key(columns, at) for at in self.rng.sample(fixed, min(len(fixed), self.rng.randint(1, 2)))]
                if self.chance(0.3):
                    query.limit = self.rng.choice([1, 3, 10, 100])
        if query.limit and self.chance(0.15):
            query.offset = self.rng.choice([1, 2, 7])
        # Outputs of one name stand beside one another at the top alone.
        if isinstance(query, Select) and self.chance(0.2):
            used = {one.key for one in query.order}
            for item in query.items:
                if item.expr.op == "column" and item.alias not in used:
                    item.alias = None
