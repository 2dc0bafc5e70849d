"""A smaller statement that still differs: parts are taken away one by one as long as the difference stays."""

import copy
import time

from .syntax import BOOL, NODES, Edge, Expr, Join, Select, SetOp, children, walk


def smaller(query, still, seconds=25):
    """The smallest statement found in that time. `still` says whether a statement shows what the first one does."""
    end = time.monotonic() + seconds
    changed = True
    while changed:
        changed = False
        number = 0
        while time.monotonic() < end:
            candidate = copy.deepcopy(query)
            edits = list(edits_of(candidate))
            if number >= len(edits):
                break
            try:
                edits[number]()
                good = still(candidate)
            except (ValueError, IndexError, AttributeError, KeyError):
                good = False
            if good:
                query, changed = candidate, True
            else:
                number += 1
    return query


def edits_of(root):
    """Changes that make a tree smaller, the largest first; each is a function that changes the tree in place."""
    for node in walk(root):
        if isinstance(node, Select):
            yield from of_select(node, fixed(node, root))
        if isinstance(node, (Select, SetOp)):
            if node.order and node.limit is None and not fixed(node, root):
                yield lambda node=node: node.order.clear()
            if node.limit is not None:
                yield lambda node=node: (setattr(node, "limit", None), setattr(node, "offset", None))
            if node.offset is not None:
                yield lambda node=node: setattr(node, "offset", None)
            for at in range(len(node.ctes)):
                yield lambda node=node, at=at: node.ctes.pop(at)
            # A key that is a function of an output needs those behind it.
            for at in range(0 if fixed(node, root) or any(one.form != "{0}" for one in node.order) else len(node.order)):
                yield lambda node=node, at=at: node.order.pop(at)
        if isinstance(node, Edge):
            for at in range(len(node.rows)):
                yield lambda node=node, at=at: node.rows.pop(at)
            for at in range(1, len(node.columns)):
                yield lambda node=node, at=at: [node.columns.pop(at), *(row.pop(at) for row in node.rows)]
    yield from replacements(root)


def fixed(node, root):
    """Whether the rows of a subquery depend on a total order: its keys and outputs stay then."""
    return bool(node is not root and (node.limit is not None or getattr(node, "distinct_on", 0)))


def of_select(node, fixed):
    for what in ("where", "having", "qualify"):
        for at in range(len(getattr(node, what))):
            yield lambda node=node, what=what, at=at: getattr(node, what).pop(at)
    if node.distinct:
        yield lambda node=node: setattr(node, "distinct", False)
    if node.grouping in ("rollup", "cube", "sets"):
        yield lambda node=node: setattr(node, "grouping", "plain")
    for at in range(len(node.sets)):
        yield lambda node=node, at=at: node.sets.pop(at)
    if len(node.items) > 1 and not fixed:
        for at in range(len(node.items)):
            yield lambda node=node, at=at: drop_item(node, at)


def drop_item(node, at):
    """Sort keys that are numbers keep their meaning; a key of GROUP BY goes with its output."""
    item = node.items.pop(at)
    node.order = [one for one in node.order if one.key not in (at + 1, item.alias)]
    for one in node.order:
        if isinstance(one.key, int) and one.key > at + 1:
            one.key -= 1
    if item.expr in node.group:
        place = node.group.index(item.expr)
        node.group.pop(place)
        node.sets = [[i - (i > place) for i in one if i != place] for one in node.sets]
        if not node.group:
            node.grouping = None


def replacements(root):
    """A node in another's place: a side of a join, of a set operation; of an expression, an operand of its type, or a constant."""
    for parent in walk(root):
        for holder, place, child in slots(parent):
            for other in instead(child):
                yield lambda holder=holder, place=place, other=other: put(holder, place, other)


def slots(node):
    for name, value in list(vars(node).items()):
        if isinstance(value, NODES):
            yield node, name, value
        elif isinstance(value, list):
            for at, one in enumerate(value):
                if isinstance(one, NODES):
                    yield value, at, one


def put(holder, place, other):
    if isinstance(holder, list):
        holder[place] = other
    else:
        setattr(holder, place, other)


def instead(node):
    if isinstance(node, Join):
        yield node.left
        yield node.right
        if node.kind in ("full", "left", "right"):
            yield Join("inner", node.left, node.right, node.on, node.using)
        if len(node.on) > 1:
            for at in range(len(node.on)):
                yield Join(node.kind, node.left, node.right, node.on[:at] + node.on[at + 1:], node.using)
    elif isinstance(node, SetOp):
        yield node.left
        yield node.right
    elif isinstance(node, Expr):
        if node.op in ("column", "literal", "order"):
            return
        if node.type == BOOL:
            yield Expr("literal", [True], BOOL)
        for child in children(node):
            if isinstance(child, Expr) and child.type == node.type:
                yield child
