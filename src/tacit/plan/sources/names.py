"""Names of a question looked up in its sources; the unit's column is kept apart from all others.

Promise: an expression that comes back has every `Name` as (alias, column) of a place, and the unit stands in it only as
`UnitOf` compared with another unit or a SELECT of units. A name that no source has does not exist.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from tacit.errors import QuestionError
from tacit.plan.values.scope import Place
from tacit.question import tree
from tacit.question.nodes import field_names

OpenRows = Callable[[tree.Rows | tree.Union], tuple[tree.Rows | tree.Union, bool]]
"""Opens a SELECT inside a condition: its resolved tree, and whether its one column is the unit."""


@dataclass(frozen=True, slots=True)
class Names:
    """The places by the alias that was written (in small letters; "#1" where none was), the first one first.

    `merged`: FULL JOIN ... USING (unit), so that the unit's bare name means the side that has a row.
    """

    places: Mapping[str, Place]
    open_rows: OpenRows
    merged: bool = False

    def in_rows(self, expression: tree.Scalar) -> tree.Scalar:
        """An expression about single rows."""

        def change(node: tree.Scalar) -> tree.Scalar | None:
            if isinstance(node, tree.Name):
                return self.found(node)
            if isinstance(node, tree.IsNull):
                place = self.unit(node.operand)
                if place is not None:  # whether a LEFT JOIN found a row of the unit
                    return tree.IsNull(tree.UnitOf(place.alias))
            if isinstance(node, tree.Exists):
                # EXISTS is true or false, where IN is NULL if a NULL is compared: NOT EXISTS would lose rows
                found = self._member(correlated(node, self.places))
                return tree.Case((tree.Branch(found, tree.Literal(True)),), tree.Literal(False))
            if isinstance(node, tree.InRows):
                return self._member(node)
            if isinstance(node, tree.Inner):
                raise QuestionError(
                    "A SELECT that stands for a number goes into the outputs or HAVING, not here: it is other people's "
                    "number, known with noise only, and would decide about each row. Ask for it first, and write the "
                    "number that comes back into WHERE."
                )
            return None

        return tree.rewrite(expression, change)

    def in_cells(self, expression: tree.Scalar, keys: tuple[tree.Key, ...]) -> tree.Scalar:
        """An expression about cells: names stand inside aggregates, or are part of a key."""
        places = {key.expression: place for place, key in reversed(list(enumerate(keys)))}
        kinds = {type(key.expression) for key in keys}  # most nodes are of another, and need not be looked up

        def row(node: tree.Scalar) -> tree.Scalar | None:
            if isinstance(node, tree.Aggregate):
                return self._aggregate(node)
            if isinstance(node, tree.Inner):
                return node
            return self.found(node) if isinstance(node, tree.Name) else None

        def cell(node: tree.Scalar) -> tree.Scalar | None:
            if type(node) in kinds and node in places:
                return tree.KeyValue(places[node])
            if isinstance(node, (tree.Aggregate, tree.Inner)):
                return node
            if isinstance(node, tree.Name):
                raise QuestionError(
                    f"Column {node.column!r} stands alone, which would show single rows. "
                    f"Put it into GROUP BY, or inside count, sum or avg."
                )
            return None

        return tree.rewrite(tree.rewrite(expression, row), cell)

    def unit(self, node: object) -> Place | None:
        """The place whose unit a name names."""
        if not isinstance(node, tree.Name):
            return None
        if node.table is not None:
            place = self._place(node.table)
            return place if _is_unit(place, node.column) else None
        naming = [place for place in self.places.values() if _is_unit(place, node.column)]
        if naming and any(place.find(node.column) for place in self.places.values() if place not in naming):
            raise self._ambiguous(node, naming[0])
        if len(naming) > 1 and all(place.optional for place in naming):  # a FULL JOIN: either may be missing
            raise self._ambiguous(node, naming[0])
        return next((place for place in naming if not place.optional), naming[0] if naming else None)

    def own_unit(self, node: object) -> Place | None:
        """As `unit`, where its value decides whose a row is: a join must not leave it empty on some rows."""
        if self.merged and isinstance(node, tree.Name) and node.table is None:
            naming = [place for place in self.places.values() if _is_unit(place, node.column)]
            if naming and not any(place.find(node.column) for place in self.places.values() if place not in naming):
                return replace(naming[0], optional=False)
        place = self.unit(node)
        if place is not None and place.optional:
            raise QuestionError(
                f"{place.shown}.{place.unit} is missing on the rows that an outer join keeps. "
                f"Name the unit's column of the table whose rows are all kept, or use JOIN."
            )
        return place

    def found(self, name: tree.Name) -> tree.Name:
        """The column that a name names."""
        if self.unit(name) is not None:
            raise QuestionError(
                f"Column {name.column!r} says whose row it is: it may stand in count(DISTINCT {name.column}), in "
                f"JOIN ... ON, in IN (SELECT ...), and in GROUP BY of a SELECT inside."
            )
        if name.table is not None:
            return named(self._place(name.table), name.column)
        having = [place for place in self.places.values() if place.find(name.column) is not None]
        if len(having) > 1:
            raise self._ambiguous(name, having[0])
        return named(having[0] if having else next(iter(self.places.values())), name.column)

    def _ambiguous(self, name: tree.Name, place: Place) -> QuestionError:
        return QuestionError(
            f"Column {name.column!r} is in several tables. Write {place.shown}.{name.column}, or another."
        )

    def _place(self, alias: str) -> Place:
        place = self.places.get(alias.lower())
        if place is None:
            raise QuestionError(f"No table is called {alias!r} here. {listed('Tables', self.places, alias)}")
        return place

    def _aggregate(self, node: tree.Aggregate) -> tree.Scalar:
        if node.kind != "count_units":
            return self.rewritten(node)
        assert node.argument is not None
        condition = None if node.second is None else self.in_rows(node.second)
        if self.own_unit(node.argument) is not None:
            return replace(node, argument=None, second=condition)
        argument = self.in_rows(node.argument)
        if condition is not None:
            argument = tree.Case((tree.Branch(condition, argument),), tree.Literal(None))
        return tree.Aggregate("count_distinct", argument)

    def rewritten(self, node: tree.Aggregate) -> tree.Aggregate:
        """The aggregate with its argument resolved."""
        inside = {name: self.in_rows(part) for name, part in _scalars(node)}
        return replace(node, **inside) if inside else node  # type: ignore[arg-type]  # only scalars are replaced

    def _member(self, node: tree.InRows) -> tree.Scalar:
        rows, is_unit = self.open_rows(node.rows)
        place = self.unit(node.operand)
        if place is not None:
            if not is_unit:
                raise QuestionError("The unit may be IN a SELECT of the unit's column of a private table only.")
            return tree.InRows(tree.UnitOf(place.alias), rows)
        if is_unit:
            raise QuestionError(
                "A SELECT of units goes with the unit's column: unit_column IN (SELECT unit_column ...)."
            )
        return tree.InRows(self.in_rows(node.operand), rows)


def _scalars(node: tree.Aggregate) -> list[tuple[str, tree.Scalar]]:
    parts = [(name, getattr(node, name)) for name in field_names(node)]
    return [(name, part) for name, part in parts if isinstance(part, tree.Scalar)]


def _is_unit(place: Place, column: str) -> bool:
    return place.unit is not None and place.unit.casefold() == column.casefold()


def named(place: Place, column: str) -> tree.Name:
    """The column of this name in a place."""
    found = place.find(column)
    if found is None:
        raise QuestionError(
            f"Column {column[:60]!r} is not in table {place.shown!r}. {listed('Columns', place.columns, column)}"
        )
    return tree.Name(place.alias, found)


def conjuncts(condition: tree.Scalar | None) -> list[tree.Scalar]:
    """The parts of a AND b AND c."""
    if condition is None:
        return []
    if isinstance(condition, tree.And):
        return [part for each in condition.parts for part in conjuncts(each)]
    return [condition]


def conjunction(parts: Iterable[tree.Scalar]) -> tree.Scalar | None:
    """All of them together."""
    listed_parts = tuple(parts)
    if not listed_parts:
        return None
    return listed_parts[0] if len(listed_parts) == 1 else tree.And(listed_parts)


def correlated(node: tree.Exists, outside: Mapping[str, Place]) -> tree.InRows:
    """EXISTS (SELECT ... WHERE inner.x = outer.y AND rest) as outer.y IN (SELECT inner.x ... WHERE rest)."""
    rows = node.rows
    advice = "EXISTS needs one equality with a column outside: EXISTS (SELECT 1 FROM t WHERE t.x = outer.x AND ...)."
    shown = (
        () if isinstance(rows, tree.Union) else tuple(each for each in rows.outputs if isinstance(each, tree.Output))
    )
    totals = any(isinstance(node, tree.Aggregate) for each in shown for node in tree.walk(each.expression))
    if isinstance(rows, tree.Union) or rows.keys or totals:  # a total of no rows is also a row
        raise QuestionError(advice)
    inner = {source.alias.lower() for source in (rows.source, *(join.source for join in rows.joins))}  # type: ignore[attr-defined]

    def is_outer(part: object) -> bool:
        return (
            isinstance(part, tree.Name)
            and part.table is not None
            and part.table.lower() not in inner
            and part.table.lower() in outside
        )

    links, rest = [], []
    for part in conjuncts(rows.where):
        equal = isinstance(part, tree.Compare) and part.op == "="
        left, right = (part.left, part.right) if isinstance(part, tree.Compare) and equal else (None, None)
        if isinstance(left, tree.Name) and isinstance(right, tree.Name) and is_outer(left) != is_outer(right):
            links.append((left, right) if is_outer(left) else (right, left))
        else:
            rest.append(part)
    if len(links) != 1:
        raise QuestionError(advice)
    theirs, mine = links[0]
    output = tree.Output("x", mine)
    return tree.InRows(theirs, replace(rows, outputs=(output,), where=conjunction(rest), distinct=False))


def listed(what: str, known: Iterable[str], wanted: str) -> str:
    """The existing names, and the nearest to the wanted one."""
    options = list(known)
    near = difflib.get_close_matches(wanted.lower(), [option.lower() for option in options], n=1)
    hint = next((f" Did you mean {option!r}?" for option in options if near and option.lower() == near[0]), "")
    shown = ", ".join(options[:30]) + (", ..." if len(options) > 30 else "")
    return f"{what}: {shown or 'none'}.{hint}"
