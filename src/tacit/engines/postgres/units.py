"""Units and keys in PostgreSQL: only types for which our form is equal exactly where the database says equal.

A unit that the database counts as one must never count as several here: then one person could have several times the
allowed rows. So the types below are listed with the reason why the keys of `postgres.cleaning` are the same for two
values exactly when `=` holds, and every other type is refused, with what to do.

- smallint, integer, bigint: whole numbers. numeric: written without trailing zeros; NaN and infinities are missing.
- real, double precision: -0 and 0 are both `0`; others in their shortest form, which is one for each number.
- boolean, uuid, date, time, timestamp, timestamptz, timetz, oid, bytea, macaddr, inet, cidr, bit: one text for
  each value under the settings that a connection pins, and `=` compares all that the text shows.
- text, varchar, name under a collation that compares bytes (deterministic); char(n) without trailing blanks, which its
  `=` ignores and its text does not have. Enums: their labels. A domain counts as the type below it.

Not these: interval (1 day = 24 hours), jsonb (1.0 = 1.00), money (written in a locale), citext and collations that are
not deterministic (a = A), arrays, ranges and composites (as their parts), types of extensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tacit.errors import EngineError, PolicyError
from tacit.policy.policy import Policy
from tacit.policy.units import ColumnUnit, PathUnit

_FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "number": ("int2", "int4", "int8", "numeric"),
    "floating point": ("float4", "float8"),
    "text": ("text", "varchar", "bpchar", "name"),
    **{
        name: (name,)
        for name in (
            *("bool", "uuid", "date", "time", "timetz", "timestamp", "timestamptz", "oid", "bytea"),
            *("macaddr", "macaddr8", "inet", "cidr", "bit", "varbit"),
        )
    },
}
_FAMILY: Final = {base: family for family, bases in _FAMILIES.items() for base in bases}


@dataclass(frozen=True, slots=True)
class Found:
    """A column of a source: its type below all domains, whether that is the server's own, and how text compares."""

    name: str
    base: str
    form: str
    builtin: bool
    deterministic: bool

    @property
    def family(self) -> str | None:
        """Types of one family have the same form for equal values; None where no form is proven."""
        if self.form == "e":
            return f"enum {self.base}"
        return _FAMILY.get(self.base) if self.builtin and self.form == "b" and self.deterministic else None


def distinct_names(table: str, names: Sequence[str]) -> None:
    """Refuse columns that differ by the case of their names: a policy could mean either."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise EngineError(
                f"The source of table {table!r} has columns {other!r} and {name!r}, which differ by capital and small "
                "letters only: a question, or the unit, could mean either. Rename one, or name a view without it."
            )


def refuse_units(policy: Policy, found: Mapping[str, Sequence[Found]]) -> None:
    """Refuse a unit, or a key on the way to one, whose equality could be misjudged here."""
    problems = list(_problems(policy, found))
    if problems:
        raise PolicyError("\n".join(problems))


def _problems(policy: Policy, found: Mapping[str, Sequence[Found]]) -> Iterator[str]:
    roots: dict[str, str] = {}  # family -> where it was first seen
    for name, table in policy.tables.items():
        unit = table.unit
        if isinstance(unit, ColumnUnit):
            column = _column(found[name], unit.column)
            if column is None:
                continue  # `policy.check` says that it is not there
            yield from _refused(f"tables.{name}.unit", unit.column, column)
            if column.family is not None:
                roots.setdefault(column.family, f"tables.{name}.unit")
        elif isinstance(unit, PathUnit) and unit.table in found:
            mine, theirs = _column(found[name], unit.key), _column(found[unit.table], unit.their_key)
            for key, column in ((unit.key, mine), (unit.their_key, theirs)):
                if column is not None:
                    yield from _refused(f"tables.{name}.unit", key, column)
            if mine and theirs and mine.family and theirs.family and mine.family != theirs.family:
                yield (
                    f"tables.{name}.unit: {unit.key!r} is a {mine.base} and {unit.their_key!r} of {unit.table!r} a "
                    f"{theirs.base}. Keys that are compared must be of one kind: cast one of them in a view."
                )
    if len(roots) > 1:
        places = ", ".join(f"{place} ({family})" for family, place in roots.items())
        yield (
            f"Units are of different kinds: {places}. The same person could have two names. Cast them to one type in a "
            "view, and name that."
        )


def _refused(where: str, name: str, column: Found) -> Iterator[str]:
    if column.family is not None:
        return
    kind = column.base if column.deterministic else f"{column.base} under a collation that is not deterministic"
    yield (
        f"{where}: column {name!r} is a {kind}, of which values can be equal that are written differently: one unit "
        "could be taken for several. Give each unit one name of a plain type (bigint, uuid, text), in a view such as "
        f"SELECT lower({name}::text) ..., and name that."
    )


def _column(columns: Sequence[Found], name: str) -> Found | None:
    exact = next((column for column in columns if column.name == name), None)
    return exact or next((column for column in columns if column.name.casefold() == name.casefold()), None)
