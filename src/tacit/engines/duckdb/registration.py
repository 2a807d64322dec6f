"""Registration in DuckDB: DuckDB's words for `engines.registration`, and the form of its tables.

Promise: that of `engines.registration`. The rows of a private table lie in a schema of their own, together with dummy
rows that belong to no unit, and `tacit_copy` shows the real ones.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tacit.engines import quoting
from tacit.engines.cleaning import Words
from tacit.engines.duckdb.cleaning import WORDS
from tacit.engines.registration import Flavour, copy_of, names_of, units_are_whole, units_of
from tacit.engines.secret import Secret
from tacit.engines.sources import Relation
from tacit.plan.sources.scope import COPY, RANK
from tacit.policy.columns import LONGEST_TEXT, Column
from tacit.policy.policy import Policy, Table

ROWS: Final = "tacit_rows"
"""Where the rows of private tables are, of which the copy shows only the real ones."""
_END: Final = "tacit_end"


@dataclass(frozen=True, slots=True)
class Statement:
    """One step of the registration, and the table it is for."""

    table: str
    sql: str


@dataclass(frozen=True, slots=True)
class DuckDBFlavour:
    """DuckDB's words."""

    secret: Secret

    @property
    def words(self) -> Words:
        """Casts that give NULL where they cannot."""
        return WORDS

    def digest(self, values: str) -> str:
        """64 bits."""
        return f"hash({values})"

    def order(self, table: str) -> str:
        """64 bits of an MD5."""
        key = quoting.text(self.secret.key_for(f"rank of {table}"))
        return f"md5_number_lower({key} || tacit_digest || ':' || tacit_twin)"

    def number(self) -> str:
        """1, 2, 3, ..."""
        return "row_number() OVER ()"


def statements(policy: Policy, relations: Mapping[str, Relation], secret: Secret) -> Iterator[Statement]:
    """Every step, in order, that fills an empty DuckDB database with the working copy."""
    first = next(iter(policy.tables))
    yield Statement(first, f"CREATE SCHEMA {COPY}")
    flavour = DuckDBFlavour(secret)
    dense = not units_are_whole(policy, relations)
    if dense:
        yield Statement(first, _dense_units(policy, relations, flavour))
    yield Statement(first, f"CREATE SCHEMA {ROWS}")
    for name, table in policy.tables.items():
        body = copy_of(policy, name, relations, flavour, dense=dense)
        there = quoting.identifier(COPY, name)
        if table.public:
            yield Statement(name, f"CREATE TABLE {there} AS {body}")
            continue
        rows = quoting.identifier(ROWS, name)
        # In all blocks but the last the mark is one constant, so the engine knows without reading them that they have
        # no dummy rows; a condition on ranks would read one more column.
        columns = f"tacit_unit, {RANK}{names_of(table, lead=', ')}"
        yield Statement(name, f"CREATE TABLE {rows} AS SELECT *, CAST(0 AS TINYINT) AS {_END} FROM ({body}) AS tacit_t")
        yield Statement(name, f"INSERT INTO {rows} ({columns}, {_END}) {_ends(table)}")
        yield Statement(name, f"CREATE VIEW {there} AS SELECT {columns} FROM {rows} WHERE {_END} = 0")


def _ends(table: Table) -> str:
    """Dummy rows, marked 1, with the least and the greatest value that each column can hold, and with NULL.

    An engine that keeps the least and the greatest value of every column plans by them: one person with a value that no
    other has would change how a question is answered for everyone. With these rows, these values are what the policy
    says.
    """
    least, greatest, missing = [str(-(2**63)), "0"], [str(2**63 - 1), "0"], ["0", "0"]
    for column in table.columns.values():
        low, high = _ends_of(column)
        least.append(low)
        greatest.append(high)
        missing.append("NULL" if column.nullable else low)
    return "VALUES " + ", ".join(f"({', '.join(row)}, 1)" for row in (least, greatest, missing))


def _ends_of(column: Column) -> tuple[str, str]:
    values = column.grid_values
    if column.kind == "text":
        if values is None:
            return "''", f"repeat('\U0010ffff', {LONGEST_TEXT})"
        texts = sorted(map(str, values))
        return quoting.text(texts[0]), quoting.text(texts[-1])
    if values is not None:
        numbers = [int(value) for value in values]
        return str(min(numbers)), str(max(numbers))
    low, high = column.grid_lower, column.grid_upper
    return str(-(2**63) if low is None else low), str(2**63 - 1 if high is None else high)


def _dense_units(policy: Policy, relations: Mapping[str, Relation], flavour: Flavour) -> str:
    return (
        "CREATE TEMP TABLE tacit_units AS SELECT key, row_number() OVER (ORDER BY key) AS id "
        f"FROM ({units_of(policy, relations, flavour)}) AS tacit_distinct"
    )
