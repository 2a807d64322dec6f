"""Keys from public tables: what stands in a public column is public, so questions may list it without paying.

Promise: only public tables are read, once, when the engine opens. A text column of theirs for which the policy lists no
values gets those that the working copy holds, where they are not too many; then GROUP BY that column shows every one of
them, also where no row meets it. Nothing of a private table is looked at, and the owner's policy file stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from tacit.engines.engine import Engine
from tacit.plan import Query
from tacit.policy import Policy, Table

_MOST: Final = 10_000
_COPY: Final = "tacit_copy"


def with_public_keys(policy: Policy, engine: Engine) -> Policy:
    """The policy with the values of its public text columns, as far as they can be listed."""
    tables = {name: _listed(table, engine) if table.public else table for name, table in policy.tables.items()}
    return replace(policy, tables=tables)


def _listed(table: Table, engine: Engine) -> Table:
    columns = dict(table.columns)
    for name, column in table.columns.items():
        if column.kind == "text" and column.values is None:
            found = _values(table.name, name, engine)
            if 0 < len(found) <= _MOST:
                columns[name] = replace(column, values=tuple(found))
    return replace(table, columns=columns)


def _values(table: str, column: str, engine: Engine) -> list[str]:
    """Every value of a public column, or one more than can be listed."""
    key = exp.column(exp.to_identifier(column, quoted=True))
    source = exp.table_(exp.to_identifier(table, quoted=True), db=_COPY)
    query = exp.select(exp.alias_(key, "k0")).distinct().from_(source).limit(_MOST + 2)
    # opened here, because nobody's row is in it
    keys = engine.run(Query(query, ("k0",), (), None)).open_for(lambda found, _: [value for (value,) in found])
    return sorted(value for value in keys if isinstance(value, str))
