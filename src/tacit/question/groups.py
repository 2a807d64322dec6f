"""GROUP BY in all its forms: keys, ALL, ROLLUP, CUBE and GROUPING SETS, as keys and the sets of them that are asked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from tacit.question import clauses, tree
from tacit.question.refusals import only, refused
from tacit.question.scalars import Reader, scalar

MOST_SETS = 64
Sets = tuple[tuple[int, ...], ...]


def groups_of(select: exp.Select, outputs: Sequence[tree.Output]) -> tuple[tuple[tree.Key, ...], Sets]:
    """The keys, and which of them go together; no sets at all for a plain GROUP BY."""
    group = select.args.get("group")
    if group is None:
        return (), ()
    only(group, "expressions", "rollup", "cube", "all")
    if group.args.get("all"):
        only(group, "all")
        return _every_output(outputs), ()
    keys: list[tree.Key] = []
    items = [_alternatives(node, keys, outputs) for node in group.expressions]
    for name in ("rollup", "cube"):
        for node in group.args.get(name) or ():
            if node.expressions:
                items.append(_alternatives(node, keys, outputs))
            else:  # GROUP BY a, b WITH ROLLUP
                items = [_taken(name, [part for item in items for part in item[0]])]
    sets: list[tuple[int, ...]] = [()]
    for item in items:  # one after the other: all combinations together may be many more than there are sets
        sets = [tuple(sorted({*one, *part})) for one in sets for part in item]
        if len(sets) > MOST_SETS:
            raise refused(group, f"GROUP BY asks for more than {MOST_SETS} sets of keys")
    if len({*sets}) < len(sets):
        twice = next(one for one in sets if sets.count(one) > 1)
        named = ", ".join(keys[place].name for place in twice)
        advice = "SQL would show its rows twice: write each set once, in GROUPING SETS (...)."
        raise refused(group, f"GROUP BY asks for the set ({named}) more than once", advice)
    plain = len(sets) == 1 and len(sets[0]) == len(keys)
    return tuple(keys), () if plain else tuple(sets)


def _every_output(outputs: Sequence[tree.Output]) -> tuple[tree.Key, ...]:
    """GROUP BY ALL: every output without an aggregate."""
    plain = [
        output
        for output in outputs
        if not any(isinstance(part, (tree.Aggregate, tree.Over)) for part in tree.walk(output.expression))
    ]
    return tuple(tree.Key(output.name, output.expression) for output in plain)


def _alternatives(node: exp.Expr, keys: list[tree.Key], outputs: Sequence[tree.Output]) -> list[tuple[int, ...]]:
    """The sets of keys that one item of GROUP BY stands for."""
    if isinstance(node, (exp.Rollup, exp.Cube)):
        only(node, "expressions")
        parts = [_place(part, keys, outputs) for part in node.expressions]
        return _taken("rollup" if isinstance(node, exp.Rollup) else "cube", parts)
    if isinstance(node, exp.GroupingSets):
        only(node, "expressions")
        return [one for part in node.expressions for one in _alternatives(part, keys, outputs)]
    if isinstance(node, exp.Tuple):
        return [tuple(_place(part, keys, outputs) for part in node.expressions)]
    return [(_place(node.this if isinstance(node, exp.Paren) else node, keys, outputs),)]


def _taken(kind: str, places: Sequence[int]) -> list[tuple[int, ...]]:
    if kind == "rollup":
        return [tuple(places[:length]) for length in range(len(places), -1, -1)]
    if len(places) > 6:
        raise refused(None, f"CUBE of {len(places)} keys asks for {2 ** len(places)} sets", f"At most {MOST_SETS} go.")
    return [one for length in range(len(places), -1, -1) for one in itertools.combinations(places, length)]


def _place(node: exp.Expr, keys: list[tree.Key], outputs: Sequence[tree.Output]) -> int:
    key = clauses.key_of(node, outputs)
    for place, other in enumerate(keys):
        if other.expression == key.expression:
            return place
    keys.append(key)
    return len(keys) - 1


def _grouping(node: exp.Expr) -> tree.Scalar:
    """GROUPING(a, b): the bits, from the left, of the keys that are left out of a row's set."""
    only(node, "expressions")
    found: tree.Scalar | None = None
    for part in node.expressions:
        bit = tree.LeftOut(scalar(part))
        found = bit if found is None else tree.Arithmetic("+", tree.Arithmetic("*", tree.Literal(2), found), bit)
    if found is None:
        raise refused(node, "GROUPING needs a key")
    return found


READERS: Mapping[type[exp.Expr], Reader] = MappingProxyType({exp.Grouping: _grouping, exp.GroupingId: _grouping})
