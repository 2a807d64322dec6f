"""Several questions as few: those that read the same rows become one with several sets of keys, answered in one scan.

    SELECT count(*) FROM t                          one question with GROUPING SETS ((), (a)):
    SELECT a, count(*), sum(x) FROM t GROUP BY a    counts are bought once, and the total is the sum of its parts

    SELECT count(*) FROM t WHERE a = 1              one question GROUP BY a, and two of its cells are used: a row
    SELECT count(*) FROM t WHERE a = 2              is in one of them at most, so both cost what one would

Pure rewriting: what each asker gets is taken from the finished rows of the larger question (`Member`), which costs
nothing. Questions that do not fit together stay by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tacit.question import tree

HIDDEN = "tacit_together_"
_ADDITIVE = frozenset(
    {"count_rows", "count", "sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "bool_and", "bool_or"}
)


@dataclass(frozen=True, slots=True)
class Member:
    """One asker's part of a larger question: which rows of it, and which columns (by place)."""

    place: int  # of the question among those asked
    keys: tuple[int, ...]  # the keys that its rows have; all others are left out there
    cell: tuple[int, tree.Constant] | None  # the key that must have this value
    columns: tuple[int, ...]
    names: tuple[str, ...]
    having: int | None
    order: tuple[tuple[int, bool, bool], ...]
    limit: int | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Family:
    """One question to plan, and what each asker gets. Columns 2 k and 2 k + 1 are key k and whether it is left out."""

    question: tree.Question
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    place: int
    question: tree.Question
    where: frozenset[tree.Scalar]
    cell: tuple[tree.Scalar, tree.Constant] | None = None

    @property
    def keys(self) -> tuple[tree.Scalar, ...]:
        """The member's keys, and the column by which its cell is chosen."""
        own = tuple(key.expression for key in self.question.keys)
        return own if self.cell is None or self.cell[0] in own else (*own, self.cell[0])


def families(questions: Sequence[tree.Question]) -> list[Family]:
    """The questions put together where they read the same rows, in the order of their first members."""
    asked = _partitions([_Asked(place, each, _parts(each.where)) for place, each in enumerate(questions)])
    groups: dict[object, list[_Asked]] = {}
    for each in asked:
        groups.setdefault(_rows_of(each), []).append(each)
    return [_family(group) for group in groups.values()]


def alone(questions: Sequence[tree.Question]) -> list[Family]:
    """Every question by itself."""
    return [_family([_Asked(place, each, _parts(each.where))]) for place, each in enumerate(questions)]


def _parts(where: tree.Scalar | None) -> frozenset[tree.Scalar]:
    if where is None:
        return frozenset()
    if isinstance(where, tree.And):
        return frozenset().union(*(_parts(part) for part in where.parts))
    return frozenset({where})


def _rows_of(asked: _Asked) -> object:
    """A key: questions with the same one can be put together."""
    question = asked.question
    if not _fits(question):
        return asked.place
    # aggregates that do not add up over groups are put together only where the groups are the same
    sets = None if all(node.kind in _ADDITIVE for node in _aggregates(question)) else asked.keys
    return (question.source, question.joins, asked.where, question.rows_per_unit, sets)


def _fits(question: tree.Question) -> bool:
    special = (tree.Over, tree.Inner, tree.LeftOut)
    plain = not any(isinstance(node, special) for node in _nodes(question))
    return plain and not question.sets and question.qualify is None and question.groups_per_unit is None


def _nodes(question: tree.Question) -> Iterator[object]:
    shown: list[tree.Scalar | None] = [output.expression for output in question.outputs]
    for expression in (*shown, question.having, *(each.expression for each in question.order)):
        if expression is not None:
            yield from tree.walk(expression)


def _aggregates(question: tree.Question) -> list[tree.Aggregate]:
    return [node for node in _nodes(question) if isinstance(node, tree.Aggregate)]


def _partitions(asked: list[_Asked]) -> list[_Asked]:
    """Questions that differ only in a = 1, a = 2, ... become cells of one GROUP BY a."""
    cells: dict[tuple[object, object, object, tree.Name], dict[int, tree.Constant]] = {}
    grouped: set[tuple[object, object, object, tree.Name]] = set()
    for each in asked:
        rows = (each.question.source, each.question.joins)
        for part, column, value in _equalities(each):
            cells.setdefault((*rows, each.where - {part}, column), {})[each.place] = value
        grouped |= {(*rows, each.where, key) for key in each.keys if isinstance(key, tree.Name)}
    chosen: dict[int, tuple[tree.Scalar, tree.Scalar, tree.Constant]] = {}
    for same, values in sorted(cells.items(), key=lambda item: -len(item[1])):
        fresh = {place: value for place, value in values.items() if place not in chosen}
        # one value alone gains nothing, unless another question asks for all of them
        if len(set(fresh.values())) > 1 or same in grouped:
            for place, value in fresh.items():
                part = next(part for part, name, _ in _equalities(asked[place]) if name == same[3])
                chosen[place] = (part, same[3], value)
    return [
        each
        if each.place not in chosen
        else replace(each, where=each.where - {chosen[each.place][0]}, cell=chosen[each.place][1:])
        for each in asked
    ]


def _equalities(asked: _Asked) -> Iterator[tuple[tree.Scalar, tree.Name, tree.Constant]]:
    if not _fits(asked.question) or not all(node.kind in _ADDITIVE for node in _aggregates(asked.question)):
        return
    for part in asked.where:
        if isinstance(part, tree.Compare) and part.op == "=":
            name, value = part.left, part.right
            if isinstance(name, tree.Name) and isinstance(value, tree.Literal) and type(value.value) in (int, str):
                yield part, name, value.value


def _family(group: list[_Asked]) -> Family:
    first = group[0].question
    if len(group) == 1 and group[0].cell is None:
        columns = tuple(range(len(first.outputs)))
        names = tuple(output.name for output in first.outputs)
        return Family(first, (Member(group[0].place, (), None, columns, names, None, (), None),))
    keys = list(dict.fromkeys(key for each in group for key in each.keys))
    outputs: list[tree.Scalar] = []
    for key in keys:
        outputs += [key, tree.LeftOut(key)]
    members = tuple(_member(each, keys, outputs) for each in group)
    sets = tuple(dict.fromkeys(member.keys for member in members))
    plain = len(sets) == 1 and len(sets[0]) == len(keys)
    where = sorted(group[0].where, key=repr)
    question = replace(
        first,
        where=None if not where else where[0] if len(where) == 1 else tree.And(tuple(where)),
        keys=tuple(tree.Key(f"{HIDDEN}{place}", key) for place, key in enumerate(keys)),
        outputs=tuple(tree.Output(f"{HIDDEN}{place}", each) for place, each in enumerate(outputs)),
        having=None,
        order=(),
        limit=None,
        offset=0,
        sets=() if plain or not keys else sets,
        output_sets=()
        if plain or not keys
        else tuple(_looked_at(place, members, sets) for place in range(len(outputs))),
    )
    return Family(question, members)


def _looked_at(column: int, members: Sequence[Member], sets: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The sets of keys at which some asker looks at a column."""
    using = [
        member
        for member in members
        if column in (*member.columns, member.having, *(place for place, _, _ in member.order))
    ]
    return tuple(sorted({sets.index(member.keys) for member in using}))


def _member(asked: _Asked, keys: list[tree.Scalar], outputs: list[tree.Scalar]) -> Member:
    def column(expression: tree.Scalar) -> int:
        if expression not in outputs:
            outputs.append(expression)
        return outputs.index(expression)

    question = asked.question
    cell = None if asked.cell is None else (keys.index(asked.cell[0]), asked.cell[1])
    return Member(
        place=asked.place,
        keys=tuple(sorted(keys.index(key) for key in asked.keys)),
        cell=cell,
        columns=tuple(column(output.expression) for output in question.outputs),
        names=tuple(output.name for output in question.outputs),
        having=None if question.having is None else column(question.having),
        order=tuple((column(each.expression), each.descending, each.nulls_first) for each in question.order),
        limit=question.limit,
        offset=question.offset,
    )
