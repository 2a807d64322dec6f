"""Spark's keys: which types can name a unit or lead to one, so that units are equal exactly where Spark says so.

Promise: nothing here looks at a value. Of the types below, two values are equal in Spark exactly when their keys are.
Every other type is refused: a text with a collation other than bytes (`UTF8_LCASE` says 'Ann' = 'ann'), an interval,
a variant, a structure have several forms of one value, and one person would be protected as several.

    whole numbers, decimals without a fraction, floats      by their number: 7 is 7.0. Floats name people only below
                                                            2**53 (2**24 with 32 bits), which `floats` lets one check
    text                                                    by its bytes; char(n) without the spaces that fill it up
    binary                                                  by its bytes
    boolean, date, timestamp, timestamp_ntz                 by their moment

A person must be named in one family of types in all tables: whether Spark finds '007' and 7 equal depends on which one
is cast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tacit.engines.sources import LARGEST_WHOLE
from tacit.errors import PolicyError
from tacit.policy.policy import Policy
from tacit.policy.units import ColumnUnit, PathUnit

Types = Mapping[str, Mapping[str, str]]
"""For each table of the policy its columns with Spark's own names of their types."""

_FAMILIES: Final = (
    (re.compile(r"tinyint|smallint|int|bigint|decimal\(\d+,0\)|float|double"), "number"),
    (re.compile(r"string|varchar\(\d+\)"), "text"),
    (re.compile(r"char\(\d+\)"), "char"),
    (re.compile(r"binary"), "binary"),
    (re.compile(r"boolean"), "boolean"),
    (re.compile(r"date"), "date"),
    (re.compile(r"timestamp"), "timestamp"),
    (re.compile(r"timestamp_ntz"), "timestamp_ntz"),
)
_LARGEST: Final = {name.lower(): limit for name, limit in LARGEST_WHOLE.items()}
ALLOWED: Final = "whole numbers, text, binary, boolean, date or timestamp"


@dataclass(frozen=True, slots=True)
class Key:
    """A column that names units, or leads to them."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class Float:
    """A key that is stored as a floating-point number, and where its numbers become too coarse to name anyone."""

    key: Key
    type: str

    @property
    def limit(self) -> int:
        """From here on two whole numbers may be the same float."""
        return _LARGEST[self.type]

    def refusal(self) -> PolicyError:
        """The refusal where there is such a number."""
        power = self.limit.bit_length() - 1
        return PolicyError(
            f"tables.{self.key.table}.unit: column {self.key.column!r} is a {self.type} and holds numbers of "
            f"2**{power} and beyond, where two people may have the same one. Store it as a BIGINT or as text."
        )


def family(spark_type: str) -> str | None:
    """Types whose keys can be compared; None for a type that cannot be a key."""
    return next((name for pattern, name in _FAMILIES if pattern.fullmatch(spark_type)), None)


def check(policy: Policy, types: Types) -> None:
    """Refuse the policy if a unit, or a key that leads to one, cannot be compared as Spark compares it."""
    families = {}
    for key in keys_of(policy):
        found = _type_of(types, key)
        if found is None:
            continue  # a missing column: the check of names reports it
        families[key] = family(found)
        if families[key] is None:
            raise PolicyError(_cannot_be(key, found))
    roots = [
        Key(name, table.unit.column) for name, table in policy.tables.items() if isinstance(table.unit, ColumnUnit)
    ]
    steps = [
        (Key(name, table.unit.key), Key(table.unit.table, table.unit.their_key))
        for name, table in policy.tables.items()
        if isinstance(table.unit, PathUnit)
    ]
    for one, other in [*((roots[0], root) for root in roots[1:]), *steps]:
        if one in families and other in families and families[one] != families[other]:
            raise PolicyError(
                f"tables.{other.table}.unit: column {other.column!r} holds {_type_of(types, other)} and "
                f"{one.column!r} of table {one.table!r} holds {_type_of(types, one)}. Whether they name the same "
                "person cannot be told: store both as the same type."
            )


def floats(policy: Policy, types: Types) -> Iterator[Float]:
    """The keys that may have numbers too large for their type."""
    for key in keys_of(policy):
        found = _type_of(types, key)
        if found in _LARGEST:
            yield Float(key, str(found))


def keys_of(policy: Policy) -> list[Key]:
    """Every column that names units or leads to them, each once."""
    found: dict[Key, None] = {}
    for name, table in policy.tables.items():
        if isinstance(table.unit, ColumnUnit):
            found[Key(name, table.unit.column)] = None
        if isinstance(table.unit, PathUnit):
            found[Key(name, table.unit.key)] = None
            found[Key(table.unit.table, table.unit.their_key)] = None
    return list(found)


def _type_of(types: Types, key: Key) -> str | None:
    folded = key.column.casefold()
    return next((found for name, found in types[key.table].items() if name.casefold() == folded), None)


def _cannot_be(key: Key, found: str) -> str:
    start = f"tables.{key.table}.unit: column {key.column!r} is a {found}"
    if "collate" in found.lower() and found.lower().startswith("string"):
        return (
            f"{start}, and Spark takes texts for equal there that are written differently. "
            f"Make it a plain STRING in which each person has one spelling, such as lower({key.column})."
        )
    if found.startswith("decimal"):
        return f"{start}: a number with a fraction names nobody. Make it a whole number or text in the source."
    return f"{start}, which can name no unit and lead to none. Allowed: {ALLOWED}."
