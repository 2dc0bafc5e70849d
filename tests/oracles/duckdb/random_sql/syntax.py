"""Statements as trees. Nodes are plain objects whose children lie in lists or fields, so that `shrink` can take parts away."""

import copy
from dataclasses import dataclass, field

INT, I32, U64, DBL, TXT, BOOL, TS, LIST = "int", "i32", "u64", "dbl", "txt", "bool", "ts", "list"
WHOLE = (INT, I32, U64)
# The power of ten of a value without a bound: the extremes of integers, infinities, NaN.
WILD = 400


@dataclass
class Expr:
    """`op` is a key of `render.FORMS`, or one of a few that `render` writes itself. `args` are expressions, queries, or texts.

    `mag` bounds the power of ten of the value. `rough` is true of floats whose last digits depend on the order of additions: such a
    value is selected and never compared, grouped or sorted by.
    """

    op: str
    args: list
    type: str
    mag: float = 0
    rough: bool = False


@dataclass
class Column:
    """A column that a relation offers."""

    name: str
    type: str
    mag: float = 0
    rough: bool = False
    ndv: float = 10
    values: list = field(default_factory=list)


@dataclass
class Table:
    """A table of the lake or a common table expression under a name of its own."""

    name: str
    alias: str


@dataclass
class Derived:
    query: object
    alias: str


@dataclass
class Join:
    """`kind` is inner, left, right, full or cross; either conditions or columns of USING."""

    kind: str
    left: object
    right: object
    on: list
    using: list = field(default_factory=list)


@dataclass
class Item:
    """An output; without an alias it is headed by its column."""

    expr: Expr
    alias: str | None


@dataclass
class Order:
    """A sort key: the number of an output, or the alias of one. `form` is an expression with the alias in its `{0}`."""

    key: object
    descending: bool
    nulls: str | None
    form: str = "{0}"


@dataclass
class Select:
    items: list
    source: object = None
    distinct: bool = False
    # So many of the first outputs stand in DISTINCT ON.
    distinct_on: int = 0
    where: list = field(default_factory=list)
    # plain, rollup, cube or sets; None without GROUP BY.
    grouping: str | None = None
    group: list = field(default_factory=list)
    # For sets: lists of places in `group`.
    sets: list = field(default_factory=list)
    having: list = field(default_factory=list)
    qualify: list = field(default_factory=list)
    order: list = field(default_factory=list)
    limit: int | None = None
    offset: int | None = None
    ctes: list = field(default_factory=list)


@dataclass
class SetOp:
    """`op` is union, intersect or except."""

    op: str
    all: bool
    left: object
    right: object
    order: list = field(default_factory=list)
    limit: int | None = None
    offset: int | None = None
    ctes: list = field(default_factory=list)


@dataclass
class Edge:
    """The table of awkward values: rows of SQL literals, one pair of dialects each, written as VALUES or as a UNION ALL."""

    form: str
    columns: list
    rows: list
    ctes: list = field(default_factory=list)


@dataclass
class Cte:
    name: str
    query: object


NODES = (Expr, Table, Derived, Join, Item, Order, Select, SetOp, Edge, Cte)


def children(node):
    """The nodes below a node, each with its place: the holder (a node's fields or a list) and a key."""
    if isinstance(node, NODES):
        for name, value in vars(node).items():
            if isinstance(value, NODES):
                yield value
            elif isinstance(value, list):
                yield from (one for one in value if isinstance(one, NODES))


def walk(node):
    yield node
    for child in children(node):
        yield from walk(child)


def outputs(query):
    """The number of columns of an answer."""
    while isinstance(query, SetOp):
        query = query.left
    return len(query.columns if isinstance(query, Edge) else query.items)


def duplicate(query):
    return copy.deepcopy(query)
