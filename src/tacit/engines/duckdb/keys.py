"""Keys: do the columns that lead to units mean the same where they meet, and are different units always distinguished?

Promise: an accepted policy names each unit by one text, and never two units by the same text. Units meet when
several tables name them, and where a path steps from one table to another. Whole numbers of any width meet whole
numbers, text meets text; what is stored as a double is a whole number as long as it is below 2**53, beyond which
several people share one double. Text meets whole numbers only when each text that reads as a number is written as
SQL would write it, since "007" is not 7. Everything else is refused, with what to do. Types are compared without
looking at a row; the two rules about values are checked when a table is registered, for the owner.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tacit.engines import quoting
from tacit.engines.sources import LARGEST_WHOLE, Relation, kind_of
from tacit.errors import PolicyError
from tacit.policy.policy import Policy
from tacit.policy.units import ColumnUnit, PathUnit

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_WHOLE: Final = "whole numbers"
_DOUBLE: Final = "doubles"
_TEXT: Final = "text"
_HOW: Final = "Store it alike in both: as text, or as a whole number (Int64 in pandas)."


@dataclass(frozen=True, slots=True)
class Key:
    """A column that leads to units."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


def meetings(policy: Policy) -> Iterator[tuple[Key, Key]]:
    """The pairs of columns whose values are compared; a unit's column that meets no other is paired with itself."""
    units = {name: table.unit for name, table in policy.tables.items()}
    roots = [Key(name, unit.column) for name, unit in units.items() if isinstance(unit, ColumnUnit)]
    yield from ((roots[0], other) for other in roots)
    for name, unit in units.items():
        if isinstance(unit, PathUnit):
            yield Key(name, unit.key), Key(unit.table, unit.their_key)


def check(connection: DuckDBPyConnection, policy: Policy, relations: Mapping[str, Relation]) -> None:
    """Refuse keys that do not mean the same, or that take several units for one. Looks at the keys of all rows."""
    check_types(policy, relations)
    for key in dict.fromkeys(key for pair in meetings(policy) for key in pair):
        if _family(_type(relations, key)) == _DOUBLE:
            _check_doubles(connection, relations, key)
        if relations[key.table].own is not None and _type(relations, key) == "VARCHAR":
            _check_collation(connection, relations[key.table], key)
    for one, other in meetings(policy):
        families = {_family(_type(relations, key)): key for key in (one, other)}
        if set(families) == {_TEXT, _WHOLE}:
            _check_texts(connection, relations, families[_TEXT], families[_WHOLE])


def check_types(policy: Policy, relations: Mapping[str, Relation]) -> None:
    """The part of the check that needs no row."""
    for one, other in meetings(policy):
        ours, theirs = _type(relations, one), _type(relations, other)
        for key, found in ((one, ours), (other, theirs)):
            if kind_of(found) is None:
                raise PolicyError(
                    f"tables.{key.table}.unit: column {key.column!r} is of the type {found}, which cannot name a unit. "
                    "Text, numbers, dates and times can."
                )
        if _family(ours) != _family(theirs) and {_family(ours), _family(theirs)} not in (
            {_WHOLE, _TEXT},
            {_WHOLE, _DOUBLE},
        ):
            raise PolicyError(
                f"tables.{other.table}.unit: {other} is {theirs} and {one} is {ours}: whether they mean the same unit "
                f"cannot be told. {_HOW}"
            )


def _family(engine_type: str) -> str:
    """Types of one family name the same thing by the same text."""
    name = engine_type.upper()
    if name in LARGEST_WHOLE:
        return _DOUBLE
    if kind_of(name) in ("integer", "real"):
        return _WHOLE  # decimals too: their digits name them, without zeros at the end
    return _TEXT if name == "VARCHAR" or name.startswith("ENUM") else name


def _check_doubles(connection: DuckDBPyConnection, relations: Mapping[str, Relation], key: Key) -> None:
    engine_type = _type(relations, key)
    column = quoting.identifier(relations[key.table].name_of(key.column))
    limit = LARGEST_WHOLE[engine_type.upper()]
    if _any(connection, relations, key, f"isfinite({column}) AND abs({column}) >= {limit}"):
        raise PolicyError(
            f"tables.{key.table}.unit: {key} is stored as {engine_type}, and holds values of {limit:,} and beyond, "
            "where several whole numbers become one: two people could not be told apart. Store it as a whole number or "
            'as text (in pandas: read it with dtype="Int64" or "string"; converting it now is too late).'
        )


def _check_collation(connection: DuckDBPyConnection, relation: Relation, key: Key) -> None:
    column = quoting.identifier(relation.name_of(key.column))
    counted = f"SELECT count(DISTINCT {column}), count(DISTINCT encode({column})) FROM {relation.own} AS tacit_keys"
    theirs, ours = connection.execute(counted).fetchone() or (0, 0)
    if theirs != ours:
        raise PolicyError(
            f"tables.{key.table}.unit: {key} is text under a collation by which texts that are written differently are "
            f"equal: {ours:,} texts are {theirs:,} for the source, and one unit could be taken for several. Write each "
            "unit in one way, for example lower(...) in a view without a collation, and name that."
        )


def _check_texts(connection: DuckDBPyConnection, relations: Mapping[str, Relation], text: Key, whole: Key) -> None:
    column = quoting.identifier(relations[text.table].name_of(text.column))
    value = f"CAST({column} AS VARCHAR)"
    odd = f"TRY_CAST({value} AS DOUBLE) IS NOT NULL AND NOT regexp_full_match({value}, '0|-?[1-9][0-9]*')"
    if _any(connection, relations, text, odd):
        raise PolicyError(
            f"tables.{text.table}.unit: {text} is text and {whole} is {_type(relations, whole)}, and some of the texts "
            f"write a number in another way (zeros in front, spaces, a point): whether 007 is 7 cannot be told. {_HOW}"
        )


def _any(connection: DuckDBPyConnection, relations: Mapping[str, Relation], key: Key, condition: str) -> bool:
    sql = f"SELECT 1 FROM {relations[key.table].sql} AS tacit_keys WHERE {condition} LIMIT 1"
    return connection.execute(sql).fetchone() is not None


def _type(relations: Mapping[str, Relation], key: Key) -> str:
    found = relations[key.table].type_of(key.column)
    if found is None:
        raise PolicyError(f"tables.{key.table}: column {key.column!r} is not in the source.")
    return found
