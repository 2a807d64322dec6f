"""Joins: sources put together so that the rows of a unit stay few and depend on that unit alone.

Theorem (public). A public source is joined on equality with some of its columns, and at most f of its rows that agree
in those are kept (the first in the order of all its columns). So every row meets at most f rows, and R rows of a unit
become at most f R. None of this depends on a private row. `fan_out` gives f: the number that the policy states, or else
the one that was counted in the table, so that no row is left out; where rows can be left out, the answer says so.

Theorem (private). A private source is joined on equality of the unit: every pair that is kept lies within one unit, so
the rows of a unit that result depend on that unit's rows alone. A join along the declared path to the unit, or on any
other condition, gets the equality of units added; it can only remove pairs. How many rows of a unit result, at most,
`join_bounds` says. After a FULL JOIN the unit comes from whichever side has a row; where both have one, they agree.

Rows of a public source that meet no row belong to no unit, and their number depends on all units: with one unit less,
such rows may appear. RIGHT and FULL JOIN of a public source would keep them, and are refused.

A join that is bounded in neither way is refused: a join that multiplies rows cannot raise a sensitivity silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.sources.anchors import Source
from tacit.plan.sources.fan_out import fan_out, first_of_each
from tacit.plan.sources.join_bounds import Bound, few
from tacit.plan.sources.names import Names, conjunction, conjuncts
from tacit.plan.sources.ties import spoken_of, tie_of
from tacit.plan.values.scope import Place, Scope
from tacit.plan.work import NONE, Step, Work, computed, effort_of, held, most_rows
from tacit.plan.work import joined as joined_work
from tacit.policy import PathUnit
from tacit.question import tree

if TYPE_CHECKING:
    from tacit.plan.sources.opener import Opener


@dataclass(frozen=True, slots=True)
class Joined:
    """All sources of one FROM: their SQL, the names in them, whose rows they are, and how many a unit has."""

    names: Names
    scope: Scope
    places: tuple[Place, ...]
    source: tree.Source
    joins: tuple[tree.Join, ...]
    where: tuple[tree.Scalar, ...]  # the remaining parts of WHERE; names as written
    sources: tuple[Source, ...]  # as they stand in FROM
    rows: int | None
    unit_sql: exp.Expr | None
    kind: str | None
    work: Work  # the work of putting them together
    most: int  # the most rows of one unit that any step on the way can hold

    @property
    def together(self) -> int:
        """The rows of one unit in all sources."""
        return sum(place.rows for place in self.places if place.rows is not None)


@dataclass(frozen=True, slots=True)
class _Joining:
    """One join to do: the alias that was written, its place, and the parts of its condition."""

    alias: str
    place: Place
    source: tree.Source
    parts: tuple[tree.Scalar, ...]
    kind: str
    from_where: bool = False


def join_tables(
    names: Names,
    sources: Sequence[tree.Source],
    joins: Sequence[tree.Join],
    where: tree.Scalar | None,
    opener: Opener,
) -> Joined:
    """The sources of a FROM, put together."""
    first, steps = _ordered(names, sources, joins, where)
    seen = {first.alias: first.place}
    rows, unit, kind = first.place.rows, None if first.place.public else first.place.unit_sql, first.place.kind
    sql: list[Source] = []
    resolved: list[tree.Join] = []
    merged = False
    sizes = [Step(first.place.rows or 1, not first.place.public)]
    bound = None if rows is None else Bound.of(first.place.alias, rows)
    for step in steps:
        place = step.place
        near = replace(names, places={**seen, step.alias: place})
        scope = Scope({each.alias: each for each in near.places.values()}, opener.opened)
        if place.public:
            on, source, factor = _public(step, near, set(seen), opener.notes)
            bound = None if bound is None else bound.times(place.alias, factor)
            place = replace(place, met=factor)
            sizes.append(Step(factor, private=False))
        else:
            assert bound is not None
            on, source, bound, leading, led = _private(step, near, kind, bound)
            # FULL keeps rows of either side that meet none, RIGHT along a key those of the other side
            alone = step.kind in ("right", "full")
            parent = None if leading is None or alone else [each.alias for each in seen.values()].index(leading)
            assert place.rows is not None
            sizes.append(Step(place.rows + alone, parent=parent))
            for number, each in enumerate(seen.values()):
                if step.kind == "inner" and parent is None and each.alias in led and sizes[number].parent is None:
                    sizes[number] = replace(sizes[number], parent=len(sizes) - 1)
            if step.kind == "full":
                assert unit is not None
                unit = exp.Coalesce(this=unit.copy(), expressions=[place.unit_sql])
                merged = _unit_using(joins, step, names)
        ties = tuple(tie_of(part, scope) for part in on)
        side = step.kind.upper() if step.kind != "inner" else None
        sql.append(Source(place.alias, source, side, ties, spoken_of(on, place, first.place.alias)))
        resolved.append(tree.Join(step.source, conjunction(on), step.kind))  # type: ignore[arg-type]
        if step.kind in ("right", "full"):
            seen = {alias: replace(each, optional=True) for alias, each in seen.items()}
        if step.kind == "right":
            unit, merged = place.unit_sql, False
        seen[step.alias] = replace(place, optional=step.kind in ("left", "full"))
    found = replace(names, places={alias: seen[alias] for alias in names.places}, merged=merged) if steps else names
    used = {part for step in steps if step.from_where for part in step.parts}
    places = tuple(seen.values())
    scope = Scope({each.alias: each for each in places}, opener.opened)
    rows = None if bound is None else bound.most
    most = most_rows(sizes)
    conditions = effort_of([tie.sql for source in sql for tie in source.ties], scope.lengths)
    optional = {each.alias for each in places if each.optional}
    ready = (Source(first.place.alias, first.place.sql), *sql)
    work = joined_work([place.work for place in places], sizes) + computed(most, conditions, scope.lists)
    work = NONE if rows is None else held(work)
    return Joined(
        found,
        scope,
        places,
        first.source,
        tuple(resolved),
        tuple(part for part in conjuncts(where) if not used or part not in used),
        tuple(replace(source, optional=True) if source.alias in optional else source for source in ready),
        None if rows is None else few(rows),
        unit,
        kind,
        work,
        most,
    )


def _ordered(
    names: Names, sources: Sequence[tree.Source], joins: Sequence[tree.Join], where: tree.Scalar | None
) -> tuple[_Joining, list[_Joining]]:
    """The first source and the joins in order. A private source comes first: public ones are joined to it."""
    aliases = list(names.places)
    places = list(names.places.values())
    steps = [_Joining(aliases[0], places[0], sources[0], (), "inner")]
    for number, join in enumerate(joins, start=1):
        parts = _parts(joins, aliases, number, names)
        implied = not parts and join.kind == "inner"
        if implied:
            parts = _implied(aliases, number, where)
        steps.append(_Joining(aliases[number], places[number], sources[number], parts, join.kind, implied))
    _refuse_late_conditions(steps)
    private = next((number for number, step in enumerate(steps) if not step.place.public), 0)
    if private == 0:
        return steps[0], steps[1:]
    first, main = steps[0], steps[private]
    if main.kind in ("left", "full") or any(step.kind in ("right", "full") for step in steps[1:private]):
        raise QuestionError(
            f"The public table {first.place.shown!r} stands first, so rows of nobody would be kept. "
            f"Put the private table first; keys that the policy lists are shown even where they are empty."
        )
    if main.kind == "right" and private > 1:
        raise QuestionError(
            f"RIGHT JOIN after a join of public tables is not understood. "
            f"Put the private table {main.place.shown!r} first, and LEFT JOIN the others."
        )
    kind = "left" if main.kind == "right" else "inner"
    turned = replace(first, parts=main.parts, kind=kind, from_where=main.from_where)
    rest = steps[1:private] + steps[private + 1 :]
    return replace(main, parts=(), kind="inner"), [turned, *rest]


def _refuse_late_conditions(steps: Sequence[_Joining]) -> None:
    """WHERE holds after all joins: what it says of a join without ON cannot be said before a RIGHT JOIN adds rows."""
    first = next((number for number, step in enumerate(steps) if step.from_where), None)
    after = [] if first is None else [step.kind.upper() for step in steps[first:] if step.kind in ("right", "full")]
    if first is not None and after:
        raise QuestionError(
            f"Table {steps[first].place.shown!r} is tied by WHERE, and a {after[0]} JOIN comes after it. "
            "Use JOIN ... ON."
        )


def _parts(joins: Sequence[tree.Join], aliases: Sequence[str], number: int, names: Names) -> tuple[tree.Scalar, ...]:
    """The parts of ON, or of USING."""
    join = joins[number - 1]
    parts = conjuncts(join.on)
    if join.using and any(each.kind == "full" for each in joins[: number - 1]):
        raise QuestionError("USING after a FULL JOIN is not understood. Write ON, and of which table the column is.")
    for column in join.using:
        mine = [alias for alias in aliases[:number] if _has(names.places[alias], column)]
        # after a RIGHT JOIN its own column is the one that is always there
        kept = [alias for place, alias in enumerate(aliases[:number]) if place and joins[place - 1].kind == "right"]
        mine = [alias for alias in reversed(kept) if alias in mine] or mine
        if not mine or not _has(names.places[aliases[number]], column):
            raise QuestionError(f"USING ({column}): both sides need a column of this name.")
        parts.append(tree.Compare("=", tree.Name(mine[0], column), tree.Name(aliases[number], column)))
    return tuple(parts)


def _implied(aliases: Sequence[str], number: int, where: tree.Scalar | None) -> tuple[tree.Scalar, ...]:
    """FROM a, b WHERE a.x = b.x: the parts of WHERE that tie the new source to the ones before it."""
    parts = []
    for part in conjuncts(where):
        tables = {node.table.lower() for node in tree.walk(part) if isinstance(node, tree.Name) and node.table}
        if aliases[number] in tables and len(tables) > 1 and tables <= set(aliases[: number + 1]):
            parts.append(part)
    return tuple(parts)


def _has(place: Place, column: str) -> bool:
    is_unit = place.unit is not None and place.unit.casefold() == column.casefold()
    return is_unit or place.find(column) is not None


# -- public sources ----------------------------------------------------------------------------------------


def _public(step: _Joining, names: Names, seen: set[str], notes: list[str]) -> tuple[list[tree.Scalar], exp.Expr, int]:
    if step.kind in ("right", "full"):
        instead = "JOIN" if step.kind == "right" else "LEFT JOIN"
        raise QuestionError(
            f"{step.kind.upper()} JOIN would keep rows of the public table {step.place.shown!r} that belong to nobody, "
            f"and how many there are depends on everybody. Use {instead}."
        )
    on = [names.in_rows(part) for part in step.parts]
    known = {names.places[alias].alias for alias in seen}
    keys = sorted({key for part in on if (key := _key_column(part, step.place, known)) is not None})
    most = fan_out(step.place, keys)
    notes += most.notes
    return on, first_of_each(step.place, keys, most.rows), most.rows


def _key_column(part: tree.Scalar, place: Place, known: set[str]) -> str | None:
    """The public column that an equality fixes, given what was joined before."""
    if isinstance(part, tree.Compare) and part.op == "=":
        for mine, other in ((part.left, part.right), (part.right, part.left)):
            tables = {node.table for node in tree.walk(other) if isinstance(node, tree.Name)}
            if isinstance(mine, tree.Name) and mine.table == place.alias and tables and tables <= known:
                return mine.column
    return None


# -- private sources ---------------------------------------------------------------------------------------


def _private(
    step: _Joining, names: Names, kind: str | None, bound: Bound
) -> tuple[list[tree.Scalar], exp.Expr, Bound, str | None, set[str]]:
    """The conditions, the source, the bound with it, the sources that lead to it, and those it leads to.

    A source leads to it if each row of that source meets at most one of its rows, because a key says which.
    """
    place = step.place
    if place.kind != kind:
        raise QuestionError(f"Table {place.shown!r} protects other units than the tables before it: they do not join.")
    links: list[tree.Scalar] = []
    on: list[tree.Scalar] = []
    paths: list[tree.Scalar] = []
    into: list[str] = []
    back: list[str] = []
    for part in step.parts:
        ends = _unit_ends(part, names, place)
        if ends is not None:
            links.append(tree.Compare("=", tree.UnitOf(ends), tree.UnitOf(place.alias)))
            continue
        resolved = names.in_rows(part)
        on.append(resolved)
        walked = _path_ends(resolved, names, place)
        if walked is not None:
            other, to_it, from_it = walked
            paths.append(tree.Compare("=", tree.UnitOf(other), tree.UnitOf(place.alias)))
            into += [other] if to_it else []
            back += [other] if from_it else []
    links = links or paths[:1]
    if not links:
        unit = place.unit or "the unit"
        raise QuestionError(
            f"Table {place.shown!r} is private: join it on the unit ({unit} = {place.shown}.{unit}), "
            f"or along the path to the unit that the policy states."
        )
    assert place.rows is not None
    leading = into[0] if into else None
    if step.kind == "inner":
        found = bound.joined(place.alias, place.rows, into, back)
    elif step.kind == "left":
        found = bound.left(place.alias, place.rows, into, back)
    elif step.kind == "right":
        found = bound.right(place.alias, place.rows, into, back)
    else:
        all_meet = not on and not any(names.places[alias].optional for alias in _linked(links, names))
        found = bound.full(place.alias, place.rows, into, back, all_meet=all_meet)
    return [*links, *_also(links, on, names, place), *on], place.sql, found, leading, set(back)


def _also(links: Sequence[tree.Scalar], on: Sequence[tree.Scalar], names: Names, place: Place) -> Iterator[tree.Scalar]:
    """The same equality of units with every other source in the condition.

    It follows from the earlier ones. But engines join in any order, and could otherwise join two sources first by a
    value alone, which many people's rows can share.
    """
    tied = {side.table for link in links for side in tree.walk(link) if isinstance(side, tree.UnitOf)}
    named = {node.table for part in on for node in tree.walk(part) if isinstance(node, tree.Name)}
    for other in names.places.values():
        if other.alias in named - tied - {place.alias} and not other.public and not other.optional:
            yield tree.Compare("=", tree.UnitOf(other.alias), tree.UnitOf(place.alias))


def _linked(links: Sequence[tree.Scalar], names: Names) -> Iterator[str]:
    """The names of the sources whose units are compared."""
    ends = {side.table for link in links for side in tree.walk(link) if isinstance(side, tree.UnitOf)}
    return (alias for alias, place in names.places.items() if place.alias in ends)


def _unit_using(joins: Sequence[tree.Join], step: _Joining, names: Names) -> bool:
    """Whether USING names the unit, so that its bare name stands for whichever side is there."""
    number = list(names.places).index(step.alias)
    unit = (step.place.unit or "").casefold()
    return any(column.casefold() == unit for column in joins[number - 1].using)


def _unit_ends(part: tree.Scalar, names: Names, place: Place) -> str | None:
    """The alias of the other side, where a part says that two units are equal."""
    if not isinstance(part, tree.Compare) or part.op != "=":
        return None
    for mine, other in ((part.left, part.right), (part.right, part.left)):
        here, there = names.unit(mine), names.unit(other)
        if here is not None and there is not None and here.alias == place.alias != there.alias:
            return there.alias
    return None


def _path_ends(part: tree.Scalar, names: Names, place: Place) -> tuple[str, bool, bool] | None:
    """Where a part walks the declared path: the alias of the other side, and which of both has one row for the other.

    First whether `place` has one row for each of the other side's, then whether the other side has one for each of its.
    """
    if not isinstance(part, tree.Compare) or part.op != "=":
        return None
    for mine, other in ((part.left, part.right), (part.right, part.left)):
        if not isinstance(mine, tree.Name) or not isinstance(other, tree.Name) or mine.table != place.alias:
            continue
        others = [each for each in names.places.values() if each.alias == other.table and each.alias != place.alias]
        if not others or others[0].table is None or place.table is None:
            continue
        there = others[0]
        assert there.table is not None
        down = _is_step(there.table.unit, other.column, place.table.name, mine.column)
        up = _is_step(place.table.unit, mine.column, there.table.name, other.column)
        if down or up:
            keys = (place.table.key, there.table.key)
            return (
                there.alias,
                keys[0] is not None and keys[0] == mine.column,
                keys[1] is not None and keys[1] == other.column,
            )
    return None


def _is_step(unit: object, key: str, table: str, their_key: str) -> bool:
    return isinstance(unit, PathUnit) and unit.table == table and (unit.key, unit.their_key) == (key, their_key)
