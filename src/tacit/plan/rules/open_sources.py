"""Rule: the sources in FROM and JOIN become places: sources whose columns have bounds and whose units have few rows.

Theorem (tables). The working copy of a private table holds at most `rows_per_unit` rows of a unit, ranked 1, 2, ... by
a rule that looks at that unit's rows alone; so `tacit_rank <= r` leaves at most r of them. What `join_tables` and
`open_rows` make of places keeps the promise of `scope.Place`; by induction it holds for everything in FROM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan import work
from tacit.plan.draft import Draft, changed
from tacit.plan.sources.join_tables import Joined, join_tables
from tacit.plan.sources.names import Names, listed
from tacit.plan.sources.open_selects import open_rows
from tacit.plan.sources.scope import COPY, RANK, UNIT, Opened, Place, column_of, quoted, table_columns
from tacit.plan.values.value import Value
from tacit.policy import ColumnUnit, Policy, Table
from tacit.question import tree


def open_sources(draft: Draft) -> Draft:
    """The draft with its sources opened, and how many rows of one unit they hold together."""
    question = draft.question
    opener = Opener(draft.policy, question.rows_per_unit)
    joined = opener.open_from(question.source, question.joins, question.where)
    if joined.rows is None:
        raise QuestionError(
            f"Table {joined.places[0].shown!r} is public: read it directly. A question has a private table in it."
        )
    opener.check_asked()
    resolved = replace(question, source=joined.source, joins=joined.joins, rows_per_unit=None)
    return changed(
        draft,
        question=resolved,
        joined=joined,
        scope=joined.scope,
        rows_per_unit=joined.rows,
        notes=tuple(dict.fromkeys(opener.notes)),
    )


@dataclass(slots=True)
class Opener:
    """Opens the sources of one question. Every source gets an alias that does not depend on what was written."""

    policy: Policy
    asked: int | None
    taken: dict[str, int] = field(default_factory=dict)
    opened: dict[tree.Rows | tree.Union, Opened] = field(default_factory=dict)
    bounds: list[tuple[str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what the sources leave out, for the answer to say

    def open_from(self, source: tree.Source, joins: Sequence[tree.Join], where: tree.Scalar | None) -> Joined:
        """All sources of one FROM, joined."""
        written: dict[str, tuple[Place, tree.Source]] = {}
        for each in (source, *(join.source for join in joins)):
            alias = each.alias.lower() or f"#{len(written) + 1}"  # type: ignore[attr-defined]
            if alias in written:
                raise QuestionError(f"Two tables are called {alias!r} in the question. Give one another alias.")
            written[alias] = self._place(each)
        names = Names({alias: place for alias, (place, _) in written.items()}, self.open_inside)
        return join_tables(names, [source for _, source in written.values()], joins, where, self)

    def open_inside(self, rows: tree.Rows | tree.Union) -> tuple[tree.Rows | tree.Union, bool]:
        """A SELECT in a condition."""
        resolved, opened = open_rows(rows, self)
        if len(opened.columns) + (opened.unit is not None) != 1:
            raise QuestionError("A SELECT inside IN has exactly one column.")
        is_unit = opened.unit is not None
        if opened.rows is not None and not is_unit:
            raise QuestionError(
                "IN (SELECT ...) of a private table works on the unit's column only, "
                "because whether a value occurs there depends on other people."
            )
        self.opened[resolved] = opened
        return resolved, is_unit

    def check_asked(self) -> None:
        """Refuse a number of rows per unit that no table allows."""
        if self.asked is None:
            return
        name, most = max(self.bounds, key=lambda bound: bound[1])
        if not 1 <= self.asked <= most:
            raise QuestionError(_too_many(name, most, self.asked))

    def _place(self, source: tree.Source) -> tuple[Place, tree.Source]:
        if isinstance(source, tree.Named):
            return self._table(source)
        assert isinstance(source, tree.Derived)
        rows, opened = open_rows(source.rows, self)
        alias = self._alias("select")
        columns = {name: at(value, name, alias) for name, value in opened.columns.items()}
        place = Place(
            alias,
            source.alias or "the SELECT inside",
            opened.query.subquery(quoted(alias), copy=False),
            columns,
            opened.rows,
            opened.unit,
            opened.kind,
            sources=opened.sources,
            work=opened.work,
            meets=opened.meets,
        )
        return place, tree.Derived(rows, alias)

    def _table(self, source: tree.Named) -> tuple[Place, tree.Source]:
        table = self.policy.table(source.table)
        if table is None:
            raise QuestionError(
                f"Table {source.table!r} is not in the policy. {listed('Tables', self.policy.tables, source.table)}"
            )
        alias = self._alias(table.name)
        columns = table_columns(table, alias)
        if table.public:
            if source.rows_per_unit is not None:
                raise QuestionError(f"Table {table.name!r} is public, so tacit_rows_per_unit says nothing about it.")
            place = Place(alias, table.name, _read(table, alias, None), columns, None, table=table, meets=table.meets)
            return place, replace(source, table=table.name, alias=alias)
        rows = self._rows(table, source.rows_per_unit)
        unit = self.policy.unit_of(table.name).unit
        by_column = isinstance(unit, ColumnUnit)
        place = Place(
            alias,
            table.name,
            _read(table, alias, rows),
            columns,
            rows,
            _unit_name(table, unit),
            "unit" if by_column else f"row of {table.name}",
            table,
            sources=(table.name,),
            work=work.read(rows),
        )
        return place, tree.Named(table.name, alias, rows)

    def _rows(self, table: Table, asked: int | None) -> int:
        """r: the number that the question asks for, at most the one that the policy promises."""
        self.bounds.append((table.name, table.rows_per_unit))
        if asked is None:
            return table.rows_per_unit if self.asked is None else min(self.asked, table.rows_per_unit)
        if not 1 <= asked <= table.rows_per_unit:
            raise QuestionError(_too_many(table.name, table.rows_per_unit, asked))
        return asked

    def _alias(self, name: str) -> str:
        alias, again = name, self.taken.get(name, 0)
        while alias in self.taken:  # a table may have the name of the alias that another would get
            again += 1
            alias = f"{name}#{again}"
        self.taken[name] = max(again, 1)
        self.taken.setdefault(alias, 1)
        return alias


def _unit_name(table: Table, unit: object) -> str | None:
    """The unit's name in a table; at the end of a path, only where no column of the table has that name."""
    if not isinstance(unit, ColumnUnit):
        return None
    own = isinstance(table.unit, ColumnUnit)
    return unit.column if own or table.column(unit.column) is None else None


def _too_many(table: str, most: int, asked: int) -> str:
    return f"tacit_rows_per_unit must be from 1 to {most} for table {table!r}, by its policy. Got {asked} instead."


def _read(table: Table, alias: str, rows: int | None) -> exp.Expr:
    """The table of the working copy; with fewer rows of a unit than there may be, behind a filter on the rank."""
    whole = whole_table(table, alias)
    if rows is None or rows >= table.rows_per_unit:
        return whole
    names = [exp.column(name, quoted(alias)) for name in (UNIT, RANK)]
    names += [column_of(alias, name) for name in table.columns]
    rank = exp.LTE(this=exp.column(RANK, quoted(alias)), expression=exp.Literal.number(rows))
    return (
        exp.select(*names, copy=False)
        .from_(whole, copy=False)
        .where(rank, copy=False)
        .subquery(quoted(alias), copy=False)
    )


def whole_table(table: Table, alias: str) -> exp.Table:
    """The table of the working copy."""
    schema = exp.Identifier(this=COPY, quoted=False)
    return exp.Table(this=quoted(table.name), db=schema, alias=exp.TableAlias(this=quoted(alias)))


def at(value: Value, name: str, alias: str) -> Value:
    """A column of a SELECT inside, seen from outside."""
    return replace(value, sql=column_of(alias, name))
