"""The contents of public tables: questions may list their keys and join all their rows without paying.

Promise: only public tables are read, once, when the engine opens. A text column of theirs for which the policy lists no
values gets those that the working copy holds, where they are not too many; then GROUP BY that column shows every one of
them, even where no row meets it, and NULL only where a row of the table has no value. How many rows agree in a column,
or in two, is counted (`Table.meets`), so that a join leaves none of them out. Nothing of a private table is looked at,
and the owner's policy file stays as it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from tacit.engines.engine import Engine
from tacit.plan import Query
from tacit.plan.values.scope import COPY, quoted, table_columns
from tacit.policy import Policy, Table

_MOST: Final = 10_000
_MOST_PAIRED: Final = 6  # columns that do not identify rows by themselves; pairs of these are counted


def with_public_keys(policy: Policy, engine: Engine) -> Policy:
    """The policy with the values of its public text columns, as far as they can be listed; the same without any."""
    if not any(table.public for table in policy.tables.values()):
        return policy
    tables = {name: _listed(table, engine) if table.public else table for name, table in policy.tables.items()}
    return replace(policy, tables=tables)


def _listed(table: Table, engine: Engine) -> Table:
    columns = dict(table.columns)
    for name, column in table.columns.items():
        if column.kind == "text" and column.values is None:
            found = _values(table.name, name, engine)
            texts = sorted(value for value in found if value is not None)
            if texts and len(found) <= _MOST:
                columns[name] = replace(column, values=tuple(texts), nullable=column.nullable and None in found)
    return replace(table, columns=columns, meets=_meets(table, engine))


def _meets(table: Table, engine: Engine) -> dict[tuple[str, ...], int]:
    """How many rows agree in each column, and in pairs of columns where no single column identifies all rows."""
    singles = [(name,) for name in sorted(table.columns)]
    found = _alike(table, [(), *singles], engine)
    several = [name for (name,) in singles if found[(name,)] > 1][:_MOST_PAIRED]
    return found | _alike(table, list(itertools.combinations(several, 2)), engine)


def _alike(table: Table, sets: Sequence[tuple[str, ...]], engine: Engine) -> dict[tuple[str, ...], int]:
    """For each set of columns the greatest number of rows that agree in it, compared as a join compares them."""
    if not sets:
        return {}
    columns = table_columns(table, table.name)
    counted = []
    for place, names in enumerate(sets):
        keys = [columns[name].sql.copy() for name in names]
        alike = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n"))
        alike = alike.from_(exp.table_(quoted(table.name), db=COPY, alias=quoted(table.name)))
        for key in keys:
            alike = alike.where(exp.not_(exp.Is(this=exp.paren(key.copy()), expression=exp.Null())))
        alike = alike.group_by(*keys) if keys else alike
        most = exp.select(exp.Max(this=exp.column("n"))).from_(alike.subquery("alike"))
        none = exp.Literal.number(0)
        counted.append(exp.alias_(exp.Coalesce(this=most.subquery(), expressions=[none]), f"m{place}"))
    query = Query(exp.select(*counted), (), tuple(f"m{place}" for place in range(len(sets))), None)
    # opened here, because it holds no one's rows
    numbers = engine.run(query).open_for(lambda _, found: [int(found[f"m{place}"][0]) for place in range(len(sets))])
    return dict(zip(sets, numbers, strict=True))


def _values(table: str, column: str, engine: Engine) -> list[str | None]:
    """Every value of a public column, None where one is missing; or one more than can be listed."""
    key = exp.column(exp.to_identifier(column, quoted=True))
    source = exp.table_(exp.to_identifier(table, quoted=True), db=COPY)
    query = exp.select(exp.alias_(key, "k0")).distinct().from_(source).limit(_MOST + 2)
    # opened here, because it holds no one's rows
    keys = engine.run(Query(query, ("k0",), (), None)).open_for(lambda found, _: [value for (value,) in found])
    return [value for value in keys if value is None or isinstance(value, str)]
