"""SELECTs inside a question: projections, per-unit aggregates and UNION ALL, each again a bounded source of rows.

Theorem (projection). Filtering and computing row by row keeps at most the rows there were, each in its unit.
Theorem (GROUP BY with the unit among its keys). Every group lies within one unit, so its aggregates are a function of
that unit's rows alone; a unit with at most R rows has at most R groups, and one if the unit is the only key. Each
aggregate has exact bounds: of n rows, 1 <= n <= R, each between low and high, the sum lies between min(low, R low) and
max(high, R high), and least, greatest and mean lie between low and high.
Theorem (UNION ALL). The rows of a unit add up.
DISTINCT with the unit among the columns removes rows within one unit only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.sources.anchors import put_together
from tacit.plan.sources.fan_out import renamed
from tacit.plan.sources.join_tables import Joined
from tacit.plan.sources.names import conjunction, listed
from tacit.plan.sources.union_all import union_of
from tacit.plan.sources.unit_aggregates import aggregate_value
from tacit.plan.values.magnitude import is_coded
from tacit.plan.values.scope import UNIT, Opened, Place, Scope, column_of, quoted
from tacit.plan.values.translate import condition_of, value_of
from tacit.plan.values.value import Nothing, Text, Truth, Value, truth_as_number
from tacit.plan.work import NONE, STEPS, Work, computed, counted_once, distinct_in, effort_of, longest_of
from tacit.question import tree

if TYPE_CHECKING:
    from tacit.plan.sources.opener import Opener

_GROUP = "tacit_group"
_LONGEST_NAME = 63


def open_rows(rows: tree.Rows | tree.Union, opener: Opener) -> tuple[tree.Rows | tree.Union, Opened]:
    """The SELECT with its names resolved, and as a query."""
    if isinstance(rows, tree.Union):
        parts = [_select(part, opener) for part in rows.parts]
        places = {tuple(isinstance(output.expression, tree.UnitOf) for output in part.outputs) for part, _ in parts}  # type: ignore[union-attr]
        if len({place.index(True) if True in place else None for place in places}) > 1:
            raise QuestionError("The unit's column stands at the same place in all SELECTs of a UNION ALL.")
        return tree.Union(tuple(part for part, _ in parts)), union_of([opened for _, opened in parts])
    return _select(rows, opener)


def _select(rows: tree.Rows, opener: Opener) -> tuple[tree.Rows, Opened]:
    joined = opener.open_from(rows.source, rows.joins, rows.where)
    where = conjunction(joined.names.in_rows(part) for part in joined.where)
    rows = replace(rows, source=joined.source, joins=joined.joins, where=where)
    outputs = tuple(_written_out(rows.outputs, joined))
    aggregated = any(isinstance(node, tree.Aggregate) for output in outputs for node in tree.walk(output.expression))
    if rows.keys or aggregated:
        return _grouped(rows, outputs, joined)
    return _projected(rows, outputs, joined)


def _written_out(outputs: tuple[tree.Output | tree.Every, ...], joined: Joined) -> Iterator[tree.Output]:
    """The outputs, with * written out."""
    taken: dict[str, str] = {}
    for output in outputs:
        if isinstance(output, tree.Every):
            alias = None if output.table is None else output.table.lower()
            if alias is not None and alias not in joined.names.places:
                raise QuestionError(
                    f"No table is called {output.table!r} here. {listed('Tables', joined.names.places, alias)}"
                )
            found = _but(list(_every(alias, joined)), output.but)
        else:
            found = [output]
        for each in found:
            if each.name.casefold() in taken:
                raise QuestionError(f"Two columns are called {each.name!r} in a SELECT inside. Name them with AS.")
            if each.name.casefold().startswith("tacit_"):
                raise QuestionError(f"{each.name!r}: names that begin with 'tacit_' are kept for the working copy.")
            if len(each.name.encode()) > _LONGEST_NAME:  # engines cut longer ones, and then do not find them
                raise QuestionError(
                    f"The column {each.name[:40]!r}... of a SELECT inside has a name of over {_LONGEST_NAME} bytes. "
                    "Give it a shorter one: AS ..."
                )
            taken[each.name.casefold()] = each.name
            yield each


def _but(outputs: list[tree.Output], names: tuple[str, ...]) -> list[tree.Output]:
    """* without the columns that EXCLUDE names."""
    left = {name.casefold() for name in names}
    missing = left - {output.name.casefold() for output in outputs}
    if missing:
        name = sorted(missing)[0]
        raise QuestionError(f"EXCLUDE: {listed(f'{name!r} is not among the columns', [o.name for o in outputs], name)}")
    return [output for output in outputs if output.name.casefold() not in left]


def _every(alias: str | None, joined: Joined) -> Iterator[tree.Output]:
    units = False
    for name, place in joined.names.places.items():
        if alias not in (None, name):
            continue
        if place.unit is not None and not units and not place.optional:
            units = True
            yield tree.Output(place.unit, tree.Name(name, place.unit))
        for column in place.columns:
            if is_coded(place.columns[column]):
                continue  # * is not meant to include columns without bounds
            if place.unit is None or column.casefold() != place.unit.casefold():
                yield tree.Output(column, tree.Name(name, column))


# -- row by row --------------------------------------------------------------------------------------------


def _projected(rows: tree.Rows, outputs: tuple[tree.Output, ...], joined: Joined) -> tuple[tree.Rows, Opened]:
    names = joined.names
    if rows.having is not None:
        raise QuestionError("HAVING in a SELECT inside needs GROUP BY.")
    unit: str | None = None
    columns: dict[str, Value] = {}
    resolved = []
    for output in outputs:
        place = names.own_unit(output.expression)
        if place is not None:
            unit = _one_unit(unit, output.name)
            resolved.append(tree.Output(output.name, tree.UnitOf(place.alias)))
            continue
        expression = names.in_rows(output.expression)
        resolved.append(tree.Output(output.name, expression))
        columns[output.name] = _column(value_of(expression, joined.scope), output.name)
    if rows.distinct and joined.rows is not None and unit is None:
        raise QuestionError(
            "SELECT DISTINCT inside a question must name the unit's column: rows that are alike may belong to others."
        )
    where = None if rows.where is None else condition_of(rows.where, joined.scope).sql
    query = _query(columns, joined, where)
    if rows.distinct:
        query = query.distinct(copy=False)
    opened = _opened(query, columns, unit, joined.rows, joined, _computed(columns, where, joined))
    if joined.rows is None and not joined.joins:
        opened = replace(opened, meets=renamed(joined.places[0].meets, _shown_as(resolved)))
    return replace(rows, outputs=tuple(resolved)), opened


def _shown_as(outputs: list[tree.Output]) -> dict[str, list[str]]:
    """For each column of a source, the names of the outputs that show it unchanged."""
    found: dict[str, list[str]] = {}
    for output in outputs:
        if isinstance(output.expression, tree.Name):
            found.setdefault(output.expression.column, []).append(output.name)
    return found


def _one_unit(found: str | None, name: str) -> str:
    if found is not None:
        raise QuestionError(f"The unit's column stands twice in a SELECT inside: as {found!r} and as {name!r}.")
    return name


def _column(value: Value, name: str) -> Value:
    if isinstance(value, Truth):
        value = truth_as_number(value)
    if isinstance(value, Nothing):
        raise QuestionError(f"The column {name!r} of a SELECT inside is always NULL. Leave it out.")
    return value


def _query(columns: dict[str, Value], joined: Joined, where: exp.Expr | None) -> exp.Select:
    selected: list[exp.Expr] = [] if joined.unit_sql is None else [exp.alias_(joined.unit_sql.copy(), UNIT, copy=False)]
    selected += [exp.alias_(value.sql.copy(), quoted(name), copy=False) for name, value in columns.items()]
    return put_together(joined.sources, selected, where)


def _computed(columns: dict[str, Value], where: exp.Expr | None, joined: Joined) -> Work:
    """The work of a SELECT's columns and condition on the rows of one unit."""
    if joined.rows is None:
        return NONE
    sqls = [*(value.sql for value in columns.values()), *([] if where is None else [where])]
    work = joined.work + computed(joined.most, effort_of(sqls, joined.scope.lengths), joined.scope.lists)
    return work + counted_once(distinct_in(sqls), joined.most, joined.together)


def _opened(
    query: exp.Query, columns: dict[str, Value], unit: str | None, rows: int | None, joined: Joined, work: Work
) -> Opened:
    outside = {name: _outside(name, value, joined.scope) for name, value in columns.items()}
    sources = tuple(dict.fromkeys(source for place in joined.places for source in place.sources))
    return Opened(query, outside, rows, unit, joined.kind, sources, work)


def _outside(name: str, value: Value, scope: Scope) -> Value:
    """A column as it is seen from outside; a text can be as long as its expression can make it."""
    sql = exp.column(quoted(name))
    if isinstance(value, Text):
        return replace(value, sql=sql, longest=longest_of(value.sql, scope.lengths))
    return replace(value, sql=sql)


# -- one row for each group of a unit ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Group:
    """The keys and aggregates of a GROUP BY, as columns of a place of their own."""

    keys: dict[tree.Scalar, str]
    aggregates: dict[tree.Aggregate, str]
    place: Place
    work: Work


def _grouped(rows: tree.Rows, outputs: tuple[tree.Output, ...], joined: Joined) -> tuple[tree.Rows, Opened]:
    names = joined.names
    if rows.sets:
        raise QuestionError("ROLLUP, CUBE and GROUPING SETS belong to the answer, not to a SELECT inside.")
    if joined.rows is None:
        raise QuestionError("GROUP BY in a SELECT of public tables is not understood. Prepare the table beforehand.")
    owners = [names.own_unit(key.expression) for key in rows.keys]
    if not any(owners):
        column = next((place.unit for place in joined.places if place.unit), "the unit's column")
        raise QuestionError(
            f"A SELECT inside that aggregates private rows needs {column} in its GROUP BY, "
            f"so that each group is one unit's. Groups over several units are an answer: ask for it by itself."
        )
    keys = tuple(
        tree.Key(key.name, names.in_rows(key.expression))
        for key, owner in zip(rows.keys, owners, strict=True)
        if owner is None
    )
    cells = [_in_group(output.expression, joined) for output in outputs]
    having = None if rows.having is None else _in_group(rows.having, joined)
    group, inner = _group(rows, keys, [*cells, *([] if having is None else [having])], joined)
    scope = Scope({_GROUP: group.place})
    unit: str | None = None
    columns: dict[str, Value] = {}
    for output, cell in zip(outputs, cells, strict=True):
        if isinstance(cell, tree.UnitOf):
            unit = _one_unit(unit, output.name)
        else:
            columns[output.name] = _column(value_of(_from_group(cell, group), scope), output.name)
    selected: list[exp.Expr] = [exp.column(UNIT, quoted(_GROUP))]
    selected += [exp.alias_(value.sql.copy(), quoted(name), copy=False) for name, value in columns.items()]
    query = exp.select(*selected, copy=False).from_(inner.subquery(quoted(_GROUP), copy=False), copy=False)
    above = None if having is None else condition_of(_from_group(having, group), scope).sql
    if above is not None:
        query = query.where(above, copy=False)
    assert joined.rows is not None
    groups = joined.rows if keys else 1
    work = group.work + computed(groups, effort_of([*(v.sql for v in columns.values())], scope.lengths), NONE)
    if above is not None:
        work += computed(groups, effort_of([above], scope.lengths), NONE)
    work += Work(STEPS * groups, STEPS * groups)
    resolved = replace(
        rows,
        # the unit is a key as well: otherwise one row for each unit would look the same as all of its rows
        keys=(*keys, *(tree.Key("", tree.UnitOf(owner.alias)) for owner in owners if owner is not None)),
        outputs=tuple(tree.Output(output.name, cell) for output, cell in zip(outputs, cells, strict=True)),
        having=having,
    )
    inside = replace(joined, scope=scope)  # the scope from which the columns are computed
    return resolved, _opened(query, columns, unit, groups, inside, work)


def _in_group(expression: tree.Scalar, joined: Joined) -> tree.Scalar:
    """An output of a GROUP BY with its names resolved; the unit itself as `UnitOf`."""
    place = joined.names.own_unit(expression)
    if place is not None:
        return tree.UnitOf(place.alias)

    def change(node: tree.Scalar) -> tree.Scalar | None:
        if isinstance(node, tree.Aggregate):
            return joined.names.in_cells(node, ())
        if isinstance(node, (tree.InRows, tree.Exists, tree.Inner)):
            raise QuestionError("A SELECT inside, next to aggregates, is not understood. Put the condition into WHERE.")
        return joined.names.found(node) if isinstance(node, tree.Name) else None

    return tree.rewrite(expression, change)


def _group(
    rows: tree.Rows, keys: tuple[tree.Key, ...], cells: list[tree.Scalar], joined: Joined
) -> tuple[_Group, exp.Select]:
    assert joined.rows is not None
    found = [node for cell in cells for node in tree.walk(cell) if isinstance(node, tree.Aggregate)]
    key_names = {key.expression: f"k{place}" for place, key in enumerate(keys)}
    aggregate_names = {node: f"a{place}" for place, node in enumerate(dict.fromkeys(found))}
    values: dict[str, Value] = {}
    for expression, name in key_names.items():
        values[name] = _column(value_of(expression, joined.scope), name)
    for node, name in aggregate_names.items():
        values[name] = aggregate_value(node, joined.scope, joined.rows)
    where = None if rows.where is None else condition_of(rows.where, joined.scope).sql
    query = _query(values, joined, where)
    places = range(1, len(keys) + 2)
    query = query.group_by(*(exp.Literal.number(place) for place in places), copy=False)
    columns = {
        name: replace(_outside(name, value, joined.scope), sql=column_of(_GROUP, name))
        for name, value in values.items()
    }
    place = Place(_GROUP, "the group", exp.Placeholder(), columns, 1)
    return _Group(key_names, aggregate_names, place, _computed(values, where, joined)), query


def _from_group(cell: tree.Scalar, group: _Group) -> tree.Scalar:
    """The expression over the group's own columns."""

    def change(node: tree.Scalar) -> tree.Scalar | None:
        if node in group.keys:
            return tree.Name(_GROUP, group.keys[node])
        if isinstance(node, tree.Aggregate):
            return tree.Name(_GROUP, group.aggregates[node])
        if isinstance(node, tree.Name):
            raise QuestionError(f"Column {node.column!r} stands alone in a SELECT with GROUP BY. Group by it too.")
        return None

    return tree.rewrite(cell, change)
