"""Rule: every name gets its table and its spelling from the policy; what the policy does not list does not exist.

Promise: afterwards every `Name` is (alias, column) with an alias of the scope and a column of its table; the unit's
column stands nowhere but in count(DISTINCT unit); outputs, HAVING and ORDER BY speak of aggregates and keys only.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tacit.errors import QuestionError
from tacit.plan.draft import Draft
from tacit.plan.scope import Place, Scope
from tacit.policy import ColumnUnit, Policy, Table
from tacit.question import tree


def resolve(draft: Draft) -> Draft:
    """The draft with resolved names, and the scope they live in."""
    question, policy = draft.question, draft.policy
    places = _places(question, policy)
    main = next(iter(places.values()))
    unit = policy.unit_of(main.table.name).unit
    unit_column = unit.column if isinstance(unit, ColumnUnit) else None
    names = _Names(places, unit_column)
    aliases = list(places.values())
    joins = tuple(
        tree.Join(place.table.name, place.alias, names.in_rows(join.on), join.kind)
        for join, place in zip(question.joins, aliases[1:], strict=True)
    )
    keys = tuple(tree.Key(key.name, names.in_rows(key.expression)) for key in question.keys)
    resolved = replace(
        question,
        table=main.table.name,
        alias=main.alias,
        joins=joins,
        where=None if question.where is None else names.in_rows(question.where),
        keys=keys,
        outputs=tuple(tree.Output(each.name, names.in_cells(each.expression, keys)) for each in question.outputs),
        having=None if question.having is None else names.in_cells(question.having, keys),
        order=tuple(replace(each, expression=names.in_cells(each.expression, keys)) for each in question.order),
    )
    scope = Scope({place.alias: place for place in aliases})
    return replace(draft, question=resolved, scope=scope)


def _places(question: tree.Question, policy: Policy) -> dict[str, Place]:
    """The tables by the alias that was written (in small letters), each with an alias that does not depend on it."""
    places: dict[str, Place] = {}
    asked = [(question.table, question.alias, "inner"), *((j.table, j.alias, j.kind) for j in question.joins)]
    for name, alias, kind in asked:
        table = policy.table(name)
        if table is None:
            raise QuestionError(f"Table {name!r} is not in the policy. {listed('Tables', policy.tables, name)}")
        if alias.lower() in places:
            raise QuestionError(f"Two tables are called {alias!r} in the question. Give one another alias.")
        if not places and table.public:
            raise QuestionError(
                f"Table {table.name!r} is public: read it directly. FROM takes the private table first."
            )
        if places and not table.public:
            raise QuestionError(f"Table {table.name!r} is private. Only public tables can be joined, for now.")
        again = sum(place.table.name == table.name for place in places.values())
        shown = table.name if not again else f"{table.name}#{again + 1}"
        places[alias.lower()] = Place(table, shown, optional=kind == "left")
    return places


class _Names:
    """Looks names up; keeps the unit's column out."""

    def __init__(self, places: Mapping[str, Place], unit_column: str | None) -> None:
        self.places = places
        self.unit_column = None if unit_column is None else unit_column.casefold()
        self.main = next(iter(places))

    def in_rows(self, expression: tree.Scalar) -> tree.Scalar:
        """An expression about single rows."""

        def change(node: tree.Scalar) -> tree.Scalar | None:
            return self._found(node) if isinstance(node, tree.Name) else None

        return tree.rewrite(expression, change)

    def in_cells(self, expression: tree.Scalar, keys: tuple[tree.Key, ...]) -> tree.Scalar:
        """An expression about cells: names stand inside aggregates, or are part of a key."""
        places = {key.expression: place for place, key in reversed(list(enumerate(keys)))}

        def row(node: tree.Scalar) -> tree.Scalar | None:
            if isinstance(node, tree.Aggregate):
                return self._aggregate(node)
            return self._found(node) if isinstance(node, tree.Name) else None

        def cell(node: tree.Scalar) -> tree.Scalar | None:
            if node in places:
                return tree.KeyValue(places[node])
            if isinstance(node, tree.Aggregate):
                return node
            if isinstance(node, tree.Name):
                raise QuestionError(
                    f"Column {node.column!r} stands alone, which would show single rows. "
                    f"Put it into GROUP BY, or inside count, sum or avg."
                )
            return None

        return tree.rewrite(tree.rewrite(expression, row), cell)

    def _aggregate(self, node: tree.Aggregate) -> tree.Scalar:
        if node.kind != "count_units":
            inside = None if node.argument is None else self.in_rows(node.argument)
            return replace(node, argument=inside)
        assert isinstance(node.argument, tree.Name)
        if self._is_unit(node.argument):
            return replace(node, argument=None)
        advice = "the unit has no column here: use count(*)" if self.unit_column is None else "only the unit's column"
        raise QuestionError(f"count(DISTINCT {node.argument.column}) is not understood: {advice}.")

    def _is_unit(self, name: tree.Name) -> bool:
        mine = name.table is None or name.table.lower() == self.main
        return mine and self.unit_column is not None and name.column.casefold() == self.unit_column

    def _found(self, name: tree.Name) -> tree.Name:
        if self._is_unit(name):
            raise QuestionError(
                f"Column {name.column!r} says whose row it is, and may only stand in count(DISTINCT {name.column})."
            )
        if name.table is not None:
            place = self.places.get(name.table.lower())
            if place is None:
                raise QuestionError(
                    f"No table is called {name.table!r} here. {listed('Tables', self.places, name.table)}"
                )
            return _named(place, name.column)
        having = [place for place in self.places.values() if place.table.column(name.column) is not None]
        if len(having) > 1:
            first = having[0].table.name
            raise QuestionError(
                f"Column {name.column!r} is in several tables. Write {first}.{name.column}, or another."
            )
        return _named(having[0] if having else self.places[self.main], name.column)


def _named(place: Place, column: str) -> tree.Name:
    found = place.table.column(column)
    if found is None:
        raise QuestionError(_no_column(place.table, column))
    return tree.Name(place.alias, found.name)


def _no_column(table: Table, column: str) -> str:
    return f"Column {column[:60]!r} is not in table {table.name!r}. {listed('Columns', table.columns, column)}"


def listed(what: str, known: Iterable[str], wanted: str) -> str:
    """What there is, and the nearest to what was wanted."""
    options = list(known)
    near = difflib.get_close_matches(wanted.lower(), [option.lower() for option in options], n=1)
    hint = next((f" Did you mean {option!r}?" for option in options if near and option.lower() == near[0]), "")
    shown = ", ".join(options[:30]) + (", ..." if len(options) > 30 else "")
    return f"{what}: {shown or 'none'}.{hint}"
