"""Random expressions of a type over the columns in reach."""

from .syntax import BOOL, DBL, I32, INT, LIST, TS, TXT, U64, WHOLE, WILD, Expr

NUMBERS = (INT, I32, U64, DBL)
COMPARISONS = ["eq", "eq", "ne", "lt", "le", "gt", "ge", "same", "distinct"]
UNITS = ["minute", "hour", "day", "month"]


def literal(value, kind, mag=None):
    if mag is None:
        mag = WILD if kind in NUMBERS and (isinstance(value, str) or (value is not None and abs(value) > 1e6)) else 3
    return Expr("literal", [value], kind, mag=mag if kind in NUMBERS else 0)


class Scope:
    """Columns in reach: pairs of a qualifier and a column. `outer` are those of the query around a correlated subquery."""

    def __init__(self, columns, keys=None):
        self.columns = [(qualifier, column) for qualifier, column in columns]
        # Names that tell rows apart, all together: None where nothing is known to.
        self.keys = keys

    def of(self, kind, rough=False):
        return [(q, c) for q, c in self.columns if c.type == kind and (rough or not c.rough)]

    def types(self):
        return sorted({c.type for _, c in self.columns if not c.rough})


def ref(qualifier, column):
    return Expr("column", [qualifier, column.name], column.type, mag=column.mag, rough=column.rough)


class Expressions:
    """Draws expressions. `subqueries` is the generator of statements, None where no subquery may stand."""

    def __init__(self, rng, subqueries=None):
        self.rng, self.subqueries = rng, subqueries

    def chance(self, share):
        return self.rng.random() < share

    def column(self, scope, kind, rough=False):
        found = scope.of(kind, rough)
        return ref(*self.rng.choice(found)) if found else None

    def any_column(self, scope, kinds=None):
        found = [(q, c) for q, c in scope.columns if not c.rough and c.type != LIST and (kinds is None or c.type in kinds)]
        return ref(*self.rng.choice(found)) if found else None

    def value_near(self, scope, expr):
        """A literal that the column may hold, else an ordinary or awkward one of the type."""
        from .tables import AWKWARD, TAME
        if expr.op == "column" and self.chance(0.8):
            for q, c in scope.columns:
                if [q, c.name] == expr.args and c.values:
                    return literal(self.rng.choice(c.values), c.type)
        pool = TAME.get(expr.type) if self.chance(0.8) and expr.type in TAME else AWKWARD[expr.type]
        return literal(self.rng.choice([value for value in pool if value is not None]), expr.type)

    def expr(self, scope, kind, depth=2):
        """An expression of this type; its leaves are columns where there are some."""
        if depth <= 0 or self.chance(0.3):
            leaf = self.column(scope, kind)
            if leaf is not None and self.chance(0.9):
                return leaf
            if kind == BOOL and self.any_column(scope) is not None:
                return self.predicate(scope, 0)
            return self.constant(kind)
        if self.chance(0.15):
            return self.choice_of(scope, kind, depth)
        return {INT: self.whole, I32: self.whole, U64: self.whole, DBL: self.double, TXT: self.text, BOOL: self.predicate, TS: self.time}[kind](
            scope, depth, **({"kind": kind} if kind in WHOLE else {}))

    def constant(self, kind):
        from .tables import AWKWARD, TAME
        pool = TAME[kind] if kind in TAME and self.chance(0.9) else AWKWARD[kind]
        if kind in (I32, U64) and self.chance(0.9):
            pool = [0, 1, 2, 3, None]
        return literal(self.rng.choice(pool), kind)

    def choice_of(self, scope, kind, depth):
        """CASE, coalesce, nullif, greatest, least."""
        a, b = self.expr(scope, kind, depth - 1), self.expr(scope, kind, depth - 1)
        mag = max(a.mag, b.mag)
        op = self.rng.choice(["case", "case", "coalesce", "coalesce", "nullif", "greatest", "least"])
        if op == "case":
            args = [self.predicate(scope, depth - 1), a]
            if self.chance(0.3):
                args += [self.predicate(scope, 0), self.expr(scope, kind, 0)]
                mag = max(mag, args[-1].mag)
            return Expr("case", [*args, b if self.chance(0.7) else None], kind, mag=mag)
        if op in ("greatest", "least") and kind == BOOL:
            op = "coalesce"
        return Expr(op, [a, b], kind, mag=mag)

    def tamed(self, scope, kind, depth):
        """An operand of arithmetic: with extreme values only now and then, as it is refused for overflow then."""
        for _ in range(4):
            drawn = self.expr(scope, kind, depth)
            if drawn.mag <= 17 or (kind == DBL) or self.chance(0.04):
                return drawn
        return literal(self.rng.choice([0, 1, 2, 5]), kind, 1)

    def whole(self, scope, depth, kind=INT):
        draw = self.rng.random()
        if kind != INT and draw < 0.5:
            return self.expr(scope, kind, 0)
        if draw < 0.12:
            return self.cast(scope, kind, depth)
        if kind == INT and draw < 0.2 and (text := self.column(scope, TXT)):
            return Expr("length", [text], INT, mag=4)
        if kind == INT and draw < 0.27 and (time := self.column(scope, TS)):
            return Expr("part", [Expr("literal", [self.rng.choice(["year", "month", "day", "hour", "minute", "dow"])], TXT), time], INT, mag=4)
        if kind == INT and draw < 0.31 and (held := self.column(scope, LIST)):
            return Expr("cast", [Expr(*self.rng.choice([("list_length", [held], INT), ("element", [held, literal(1, INT)], I32)]), mag=5)], INT, mag=5)
        if draw < 0.36 and kind != U64:
            a = self.tamed(scope, kind, depth - 1)
            return Expr(self.rng.choice(["abs", "neg"]), [a], kind, mag=a.mag)
        op = self.rng.choice(["add", "add", "sub", "mul", "idiv", "mod"])
        limit = {INT: 17, I32: 8, U64: 18}[kind]
        a, b = self.tamed(scope, kind, depth - 1), self.tamed(scope, kind, depth - 1)
        if kind == U64 and op == "sub":
            op = "add"
        if op in ("idiv", "mod"):
            if self.chance(0.6):
                # A plain number beside an unsigned column: the quotient stays unsigned.
                plain = INT if kind == U64 and self.chance(0.6) else kind
                b = literal(self.rng.choice([1, 2, 3, 10, 100, 1024]), plain, 4)
            else:
                b = Expr("nullif", [b, literal(0, kind)], kind, mag=b.mag)
            return Expr(op, [a, b], kind, mag=a.mag)
        mag = a.mag + b.mag if op == "mul" else max(a.mag, b.mag) + 0.4
        if mag > limit and not self.chance(0.04):
            b = literal(self.rng.choice([0, 1, 2]), kind, 0.4)
            mag = a.mag + 0.4
        return Expr(op, [a, b], kind, mag=mag if mag <= limit + 1 else WILD)

    def cast(self, scope, kind, depth):
        """From another number or a truth; what does not fit is refused."""
        sources = [other for other in NUMBERS if other != kind]
        for _ in range(5):
            a = self.expr(scope, self.rng.choice(sources), depth - 1)
            fits = {INT: 17.5, I32: 9, U64: 0, DBL: WILD}[kind]
            if a.mag <= fits or self.chance(0.02):
                return Expr("cast", [a], kind, mag=a.mag)
        return self.expr(scope, kind, 0)

    def double(self, scope, depth):
        draw = self.rng.random()
        a = self.expr(scope, DBL, depth - 1)
        if draw < 0.2:
            return self.cast(scope, DBL, depth)
        if draw < 0.4:
            # 0/0, x/0: of whole numbers, so that the zero below has no sign.
            below = self.expr(scope, INT, 0)
            return Expr("div", [Expr("cast", [self.expr(scope, INT, depth - 1)], DBL), Expr("cast", [below], DBL)], DBL, mag=WILD)
        if draw < 0.5:
            return Expr(self.rng.choice(["abs", "neg", "floor", "ceil", "round", "sqrt"]), [a], DBL, mag=a.mag)
        if draw < 0.58:
            b = Expr("nullif", [Expr("abs", [self.expr(scope, DBL, 0)], DBL), literal(0.0, DBL)], DBL)
            return Expr("div", [a, b], DBL, mag=WILD)
        op = self.rng.choice(["add", "sub", "mul"])
        b = self.expr(scope, DBL, depth - 1)
        mag = a.mag + b.mag if op == "mul" else max(a.mag, b.mag) + 0.4
        return Expr(op, [a, b], DBL, mag=mag if mag < 100 else WILD)

    def text(self, scope, depth):
        draw = self.rng.random()
        a = self.expr(scope, TXT, depth - 1)
        if draw < 0.3:
            return Expr("concat", [a, self.expr(scope, TXT, depth - 1)], TXT)
        if draw < 0.55:
            return Expr(self.rng.choice(["upper", "lower", "trim"]), [a], TXT)
        if draw < 0.8:
            return Expr("substr", [a, literal(self.rng.randint(1, 3), INT), literal(self.rng.randint(0, 4), INT)], TXT)
        if draw < 0.9:
            return Expr("replace", [a, literal(self.rng.choice(["a", "e", "s"]), TXT), literal(self.rng.choice(["", "x", "ss"]), TXT)], TXT)
        number = self.any_column(scope, (INT, I32, U64, BOOL))
        return Expr("cast", [number], TXT) if number is not None else a

    def time(self, scope, depth):
        return Expr("trunc_ts", [Expr("literal", [self.rng.choice(UNITS)], TXT), self.expr(scope, TS, depth - 1)], TS)

    def predicate(self, scope, depth=2):
        draw = self.rng.random()
        if depth > 0 and draw < 0.22:
            op = self.rng.choice(["and", "or", "or"])
            return Expr(op, [self.predicate(scope, depth - 1), self.predicate(scope, depth - 1)], BOOL)
        if depth > 0 and draw < 0.27:
            return Expr("not", [self.predicate(scope, depth - 1)], BOOL)
        if depth > 0 and self.subqueries is not None and draw < 0.39:
            found = self.subqueries.condition(scope)
            if found is not None:
                return found
        a = self.any_column(scope)
        if a is None:
            return literal(self.rng.choice([True, True, False, None]), BOOL)
        if draw > 0.97 and (guarded := self.guarded(scope, depth)):
            return guarded
        if depth > 0 and self.chance(0.35):
            a = self.expr(scope, a.type, depth - 1)
        return self.about(scope, a, depth)

    def guarded(self, scope, depth):
        """A CASE of conditions whose branch divides by what its WHEN tests: the division must not be made of rows that take another branch."""
        a, b = self.column(scope, INT), self.column(scope, INT)
        if a is None or b is None:
            return None
        quotient = Expr(self.rng.choice(["idiv", "mod"]), [a, b], INT, mag=a.mag)
        then = Expr(self.rng.choice(["gt", "le", "ne"]), [quotient, literal(self.rng.choice([0, 1, 2, 100]), INT)], BOOL)
        otherwise = self.rng.choice([None, literal(True, BOOL), literal(False, BOOL), self.predicate(scope, min(depth, 1) - 1) if depth > 0 else None])
        zero = literal(0, INT)
        if self.chance(0.5):
            # The least integer by -1 does not fit.
            return Expr("case", [Expr("gt", [b, zero], BOOL), then, otherwise], BOOL)
        tests = Expr("or", [Expr("le", [b, zero], BOOL), Expr("null", [b], BOOL)], BOOL)
        return Expr("case", [tests, otherwise or literal(None, BOOL), then], BOOL)

    def about(self, scope, a, depth):
        """A condition on one value."""
        draw = self.rng.random()
        if draw < 0.16:
            return Expr(self.rng.choice(["null", "null", "not_null"]), [a], BOOL)
        if draw < 0.24:
            # x IS NULL OR coalesce(x, ..) <= n: true of rows that an outer join made.
            right = Expr(self.rng.choice(["le", "ge", "eq"]), [Expr("coalesce", [a, self.value_near(scope, a)], a.type), self.value_near(scope, a)], BOOL)
            return Expr("or", [Expr("null", [a], BOOL), right], BOOL) if self.chance(0.5) else right
        if a.type == BOOL:
            return Expr(self.rng.choice(["true", "not_true", "not"]), [a], BOOL)
        if draw < 0.38:
            values = [self.value_near(scope, a) for _ in range(self.rng.randint(1, 5))]
            if self.chance(0.12):
                values.append(literal(None, a.type))
            if self.chance(0.15):
                return Expr("any_list", [a, self.rng.choice(["=", "=", "<>", "<", "<=", ">", ">="]), *values], BOOL)
            return Expr("not_in" if self.chance(0.3) else "in", [a, *values], BOOL)
        if draw < 0.48:
            low, high = self.value_near(scope, a), self.value_near(scope, a)
            if self.chance(0.85):
                low, high = sorted((low, high), key=lambda one: self.place(one.args[0]))
            return Expr("not_between" if self.chance(0.2) else "between", [a, low, high], BOOL)
        if a.type == TXT and draw < 0.62:
            if self.chance(0.3):
                return Expr("starts", [a, literal(self.rng.choice(["a", "s", "C", "", "/"]), TXT)], BOOL)
            pattern = self.rng.choice(["%a%", "s%", "%", "_%", "C%", "%e", "%\\%%" if False else "%t%", ""])
            return Expr(self.rng.choice(["like", "like", "not_like"]), [a, literal(pattern, TXT)], BOOL)
        if a.type == DBL and draw < 0.56:
            return Expr("isnan", [a], BOOL)
        if a.type == TS and draw < 0.62:
            return Expr("clock_before", [a, literal(self.rng.choice(["00:00:01", "06:00:00", "12:30:00", "23:59:59.5"]), TXT)], BOOL)
        if a.type in (INT, I32) and draw < 0.5:
            return Expr("falsy", [a], BOOL)
        other = None
        if self.chance(0.3):
            other = self.other_number(scope, a) if a.type in NUMBERS and self.chance(0.4) else self.expr(scope, a.type, min(depth, 1) - 1)
        return Expr(self.rng.choice(COMPARISONS), [a, other if other is not None else self.value_near(scope, a)], BOOL)

    @staticmethod
    def place(value):
        return {"nan": 1e309, "-nan": 1e309, "inf": 1e308, "-inf": -1e308}.get(value, value)

    def other_number(self, scope, a):
        """A number of another type: the engines must compare by value."""
        return self.any_column(scope, tuple(kind for kind in NUMBERS if kind != a.type))

    def aggregate(self, scope, rows=1e6, unordered=False):
        """An aggregate of what is in reach."""
        draw = self.rng.random()
        if draw < 0.15:
            return Expr("count_all", [], INT, mag=8)
        a = None
        if draw < 0.3:
            a = self.any_column(scope)
            if a is not None:
                return Expr(self.rng.choice(["count", "count_distinct", "count_distinct"]), [a], INT, mag=8)
        if draw < 0.5:
            a = self.any_column(scope)
            if a is not None:
                if self.chance(0.3):
                    a = self.expr(scope, a.type, 1)
                return Expr(self.rng.choice(["min", "max"]), [a], a.type, mag=a.mag)
        if draw < 0.55:
            return Expr(self.rng.choice(["bool_and", "bool_or"]), [self.predicate(scope, 0)], BOOL)
        kind = self.rng.choice([INT, INT, INT, DBL, DBL, I32, U64])
        a = self.column(scope, kind) if self.chance(0.6) else self.expr(scope, kind, 1)
        if a is None:
            a = self.expr(scope, INT, 1)
        return self.sum_like(a)

    def sum_like(self, a):
        kind, tame = a.type, a.mag <= 12
        if kind == DBL:
            ops = ["sum_float", "avg", "median", "quantile"] + (["stddev", "stddev_pop", "var", "avg_distinct"] if a.mag <= 7 else [])
            op = self.rng.choice(ops)
            return Expr(op, [a, *self.share(op)], DBL, mag=WILD, rough=True)
        if not tame and not self.chance(0.08):
            return Expr(self.rng.choice(["min", "max"]), [a], kind, mag=a.mag)
        if kind == U64:
            return Expr("sum_u", [a], U64, mag=WILD)
        op = self.rng.choice(["sum", "sum", "sum", "sum_distinct"] + (["avg", "stddev", "median", "quantile"] if a.mag <= 7 else ["avg"] if tame else []))
        if op in ("avg", "stddev", "median", "quantile"):
            return Expr(op, [a, *self.share(op)], DBL, mag=a.mag, rough=True)
        return Expr(op, [a], INT, mag=min(a.mag + 7, WILD) if a.mag <= 10 else WILD)

    def share(self, op):
        return [literal(self.rng.choice([0.0, 0.25, 0.5, 0.9, 1.0]), DBL)] if op == "quantile" else []

    def shifted_sums(self, scope):
        """sum(x + a) beside sum(x + b), which optimizers write anew."""
        for _ in range(5):
            a = self.any_column(scope, (INT, I32))
            if a is None:
                return []
            if a.mag <= 10 or (a.type == INT and self.chance(0.1)):
                shift = lambda: Expr(self.rng.choice(["add", "sub"]), [a, literal(self.rng.choice([0, 1, 2, 7]), a.type, 1)], a.type, mag=a.mag)
                return [Expr("sum", [shift()], INT, mag=min(a.mag + 7, WILD)) for _ in range(self.rng.randint(2, 3))]
        return []

    def window(self, scope):
        """A window function whose value does not depend on the order of ties."""
        partition = [one for one in (self.any_column(scope) for _ in range(self.rng.choice([0, 1, 1, 2]))) if one is not None]
        total = [ref(q, c) for q, c in scope.keys] if scope.keys else None
        order = [one for one in (self.any_column(scope) for _ in range(self.rng.choice([0, 1, 1]))) if one is not None]
        way = lambda: self.rng.choice(["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST", " ASC NULLS LAST", " DESC NULLS FIRST"])
        ordered = lambda keys: [Expr("order", [key, way()], key.type) for key in keys]
        draw = self.rng.random()
        a = self.any_column(scope)
        if total and a is not None and draw < 0.45:
            keys = ordered(order + total)
            op = self.rng.choice(["row_number", "lag", "lag", "lead", "first_value", "last_value", "nth_value", "ntile"])
            if op == "row_number":
                return Expr("over", [Expr(op, [], INT), None, partition, keys, None], INT, mag=8)
            if op == "ntile":
                return Expr("over", [Expr(op, [literal(self.rng.randint(1, 5), INT)], INT), None, partition, keys, None], INT, mag=1)
            if op in ("lag", "lead"):
                args = [a, *([literal(self.rng.randint(0, 3), INT)] if self.chance(0.5) else [])]
                if len(args) == 2 and self.chance(0.4):
                    args.append(self.value_near(scope, a))
                return Expr("over", [Expr(op, args, a.type), None, partition, keys, None], a.type, mag=WILD if len(args) > 2 else a.mag)
            args = [a, literal(self.rng.randint(1, 3), INT)] if op == "nth_value" else [a]
            return Expr("over", [Expr(op, args, a.type), None, partition, keys, self.frame()], a.type, mag=a.mag)
        if order and draw < 0.65:
            op = self.rng.choice(["rank", "dense_rank", "percent_rank", "cume_dist"])
            kind = INT if op in ("rank", "dense_rank") else DBL
            return Expr("over", [Expr(op, [], kind), None, partition, ordered(order), None], kind, mag=8 if kind == INT else 1, rough=kind == DBL)
        aggregate = self.aggregate(scope)
        if aggregate.op in ("median", "quantile", "count_distinct", "sum_distinct", "avg_distinct"):
            aggregate = Expr("count_all", [], INT, mag=8)
        if self.chance(0.15):
            number = self.any_column(scope, (INT, I32, DBL))
            if number is not None and number.mag <= 7:
                aggregate = Expr(self.rng.choice(["stddev", "stddev_pop", "var", "avg", "sum_float" if number.type == DBL else "avg"]), [number], DBL, mag=WILD, rough=True)
        condition = self.predicate(scope, 0) if self.chance(0.15) else None
        keys, frame = [], None
        if total and self.chance(0.6):
            keys, frame = ordered(order + total), self.frame()
            # Sums of floats over frames that move lose digits when an infinity leaves; each engine in its own way.
            if aggregate.type == DBL and aggregate.args[0].mag > 100:
                aggregate = Expr("count_all", [], INT, mag=8)
        elif order and self.chance(0.5) and not aggregate.rough:
            keys = ordered(order)
            if order[0].type in (INT, I32) and order[0].mag < 9 and self.chance(0.4):
                start = self.rng.choice(["UNBOUNDED", *range(6)])
                ends = ["CURRENT ROW", "2 FOLLOWING", "UNBOUNDED FOLLOWING", *(["1 PRECEDING"] if start != 0 else [])]
                frame = f"RANGE BETWEEN {start} PRECEDING AND {self.rng.choice(ends)}"
        return Expr("over", [aggregate, condition, partition, keys, frame], aggregate.type, mag=aggregate.mag, rough=aggregate.rough)

    def frame(self):
        start = self.rng.choice(["UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW"])
        end = self.rng.choice(["CURRENT ROW", "1 FOLLOWING", "3 FOLLOWING", "UNBOUNDED FOLLOWING"])
        return self.rng.choice([None, f"ROWS BETWEEN {start} AND {end}", f"ROWS BETWEEN {start} AND {end}"])
