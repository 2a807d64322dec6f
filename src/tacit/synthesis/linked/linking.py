"""`linked`: synthetic parents and children, one release for both tables, so that joining them makes sense.

    twins = synthesis.linked(clinic, "people", "visits", epsilon=1, delta=1e-6)
    people, visits = twins.sample()          # two tables that share the policy's unit column

Promise: charged once, for both tables together, before a row is read. It protects the policy's unit: one row
of the parents' table and all its rows of the children's, as many as the policy's rows_per_unit lets it have
(`measuring` has the theorem). Which SELECTs are made of the two tables follows from the policy alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tacit import parameters
from tacit.curator import Curator, Price
from tacit.errors import QuestionError
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.policy import Table
from tacit.policy.units import ColumnUnit
from tacit.question.pieces import name as quoted
from tacit.statistics.finding import Content
from tacit.statistics.source import CuratorSource, Opened
from tacit.synthesis.cells import Layout, layout_of
from tacit.synthesis.counting import Tables
from tacit.synthesis.linked.measuring import measured_children, plan_linked
from tacit.synthesis.linked.twins import Linked
from tacit.synthesis.mst import measured_tree, must_be_small

_MOST_CHILDREN: Final = 127  # so that every number of children is a cell of its own


@dataclass(frozen=True, slots=True)
class Selected:
    """The two SELECTs, and what their columns are: parents' (as the joined rows call them), the count, children's."""

    units: str
    joined: str
    parents: tuple[tuple[str, str], ...]  # (name in the joined rows, name in the table)
    counted: str
    children: tuple[str, ...]


def linked(
    curator: Curator,
    parents: str,
    children: str,
    *,
    epsilon: Number,
    delta: Number,
    columns: Mapping[str, Sequence[str]] | None = None,
    bins: Mapping[str, Any] | int | None = None,
    nulls: bool = False,
    analyst: str | None = None,
) -> Linked:
    """Synthetic rows of two tables: parents, one row of each unit, and children, several rows of each.

    parents, children: tables of the policy, with the same unit. columns: which columns of each table, all with public
    bounds or listed values if left out. bins: how columns of many numbers are cut; a parents' column whose name a
    child's column has too is called "parents_column". nulls: whether missing values are kept.

    >>> import pandas, tacit
    >>> frame = pandas.DataFrame({"who": [1], "age": [31]})
    >>> with tacit.protect(frame, unit="who", columns={"age": (0, 110)}, budget=1) as people:
    ...     linked(people, "data", "stays", epsilon=1, delta="1e-6")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tacit.errors.ParameterError: The 'table' parameter must be one of the policy's private tables: data. Got ...
    """
    if not isinstance(curator, Curator):
        hint = "Describe both tables in a policy: tacit.open(...)."
        raise parameters.refuse("curator", "a curator with two tables of one unit", type(curator).__name__, hint)
    exact_epsilon, exact_delta = parameters.budget(epsilon, delta)
    policy = curator.policy
    over, under = (_table(policy.tables, name) for name in (parents, children))
    links = _link(over), _link(under)
    chosen = _selected(over, under, links, columns or {})
    units = CuratorSource(curator.rows(chosen.units))
    joined = CuratorSource(curator.rows(chosen.joined))
    rows = joined.rows_per_unit
    if units.rows_per_unit != 1:
        hint = f"Its rows_per_unit is {over.rows_per_unit}: only one row of a unit can be a parent."
        raise parameters.refuse("parents", "a table with one row of each unit", parents, hint)
    if rows > _MOST_CHILDREN:
        hint = "A smaller rows_per_unit in the policy bounds it."
        raise parameters.refuse("children", f"at most {_MOST_CHILDREN} rows of a unit", rows, hint)
    kept = True if nulls else None
    whole = layout_of(joined, _bins(bins, joined), nulls=kept)
    many = len(chosen.parents) + 1
    counted = many - 1
    above = _above(units, whole, many, kept)
    for each in (above, whole):
        must_be_small(each)
    plan = plan_linked(many, len(chosen.children), rows, exact_epsilon, exact_delta)

    def content(opened: Opened, bits: BitSource) -> Content:
        first = measured_tree(plan.units, above, Tables(opened.other(units), above), bits)
        second = measured_children(plan.joined, whole, Tables(opened, whole), first, counted, bits)
        return Content(
            f"Synthetic data of {over.name} and {under.name}",
            (),
            (),
            {"release": first.to_text(), "children": second.to_text()},
        )

    asked = {
        "study": "linked synthesis",
        "tables": [over.name, under.name],
        "links": list(links),
        "texts": [_is_text(own, link) for own, link in ((over, links[0]), (under, links[1]))],
        "parents": [list(each) for each in chosen.parents],
        "units": units.rows.plan.text,
        "cells": whole.described(),
    }
    price = Price(plan.event, exact_epsilon, exact_delta)
    return Linked(joined.release(asked, price, content, analyst=analyst), asked)


def _table(known: Mapping[str, Table], name: str) -> Table:
    found = next((each for own, each in known.items() if own.casefold() == str(name).casefold()), None)
    if found is None or found.public:
        private = ", ".join(own for own, each in known.items() if not each.public)
        raise parameters.refuse("table", f"one of the policy's private tables: {private}", name)
    return found


def _link(table: Table) -> str:
    if not isinstance(table.unit, ColumnUnit):
        hint = "Tables are linked by the columns that name their units."
        raise QuestionError(f"The unit of table {table.name!r} is not a column of it. {hint}")
    return table.unit.column


def _is_text(table: Table, link: str) -> bool:
    stated = table.column(link)
    return stated is not None and stated.kind == "text"


def _selected(over: Table, under: Table, links: tuple[str, str], columns: Mapping[str, Sequence[str]]) -> Selected:
    for name in columns:
        if name not in (over.name, under.name):
            raise parameters.refuse("columns", f"a mapping from {over.name} and {under.name}", name)
    mine = _columns(over, links[0], columns.get(over.name))
    theirs = _columns(under, links[1], columns.get(under.name))
    taken = {each.casefold() for each in theirs}
    parents = tuple((f"{over.name}_{each}" if each.casefold() in taken else each, each) for each in mine)
    counted = f"{under.name}_count"
    names = [name for name, _ in parents] + [counted, *theirs]
    if len({each.casefold() for each in names}) != len(names):
        raise QuestionError(f"Columns of the two tables cannot be told apart: {', '.join(names)}. Name some: columns=.")
    count = (
        f"LEFT JOIN (SELECT {quoted(links[1])} AS u, count(*) AS n FROM {quoted(under.name)} "  # noqa: S608  # quoted
        f"GROUP BY {quoted(links[1])}) AS k ON p.{quoted(links[0])} = k.u"
    )
    above = ", ".join(f"p.{quoted(each)} AS {quoted(name)}" for name, each in parents)
    above = f"{above}, " if above else ""
    head = f"{above}coalesce(k.n, 0) AS {quoted(counted)}"
    units = f"SELECT {head} FROM {quoted(over.name)} AS p {count}"  # noqa: S608  # quoted
    below = ", ".join(f"v.{quoted(each)} AS {quoted(each)}" for each in theirs)
    joined = (
        f"SELECT {head}, {below} FROM {quoted(under.name)} AS v "  # noqa: S608  # quoted
        f"JOIN {quoted(over.name)} AS p ON v.{quoted(links[1])} = p.{quoted(links[0])} {count}"
    )
    return Selected(units, joined, parents, counted, theirs)


def _columns(table: Table, link: str, wanted: Sequence[str] | None) -> tuple[str, ...]:
    able = {name: each for name, each in table.columns.items() if name.casefold() != link.casefold()}
    if wanted is None:
        found = [name for name, each in able.items() if each.bounded or each.values is not None]
    else:
        found = [name for each in wanted for name in able if name.casefold() == str(each).casefold()]
        if len(found) != len(list(wanted)):
            raise parameters.refuse(f"columns of {table.name!r}", f"among {', '.join(able)}", list(wanted))
    if not found:
        raise QuestionError(f"No column of table {table.name!r} has bounds or listed values. State them in the policy.")
    return tuple(found)


def _bins(bins: Any, joined: CuratorSource) -> Any:
    given = bins.values() if isinstance(bins, Mapping) else [bins]
    if any(isinstance(each, str) for each in given):
        raise parameters.refuse("bins", "numbers or edges: those of linked tables are public", bins)
    return bins


def _above(units: CuratorSource, whole: Layout, many: int, nulls: Any) -> Layout:
    """The units' cells: those that the joined rows have. The number of children is never merged."""
    cut = {each.name: [each.value(edge) for edge in each.edges] for each in whole.fields[:many] if each.values is None}
    own = layout_of(units, cut, nulls=nulls)
    if [each.to_dict() for each in own.fields] != [each.to_dict() for each in whole.fields[:many]]:
        raise QuestionError("The parents' columns differ between the two tables. Leave out those that do: columns=.")
    return replace(own, kept=frozenset({many - 1}))
