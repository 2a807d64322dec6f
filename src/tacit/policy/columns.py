"""Columns: the public facts an owner states about a column, and the integer grid that follows from them.

Promise: a column's facts are exact, and a grid follows from them alone, on which every value of the column is a whole
number. The working copy holds these whole numbers, so that sums and their sensitivities are exact.

    kind        on the grid                                            step
    integer     the number itself                                      1
    real        floor(x / step + 1/2)                                  a power of two, see `step`
    boolean     0 or 1                                                 1
    date        days since 1970-01-01                                  1
    timestamp   microseconds since 1970-01-01 00:00 UTC                1
    text        (not a number; held as text)
    auto        the cell of a power of two that a number lies in        (see `cells`)

A real column must be bounded, because its grid follows from its bounds: 2**24 to 2**25 steps between them, but never
so fine that a bound needs more than 53 bits. The bounds themselves are rounded outwards to the grid, so a value inside
the stated range stays inside the range on the grid. Where the bounds are not known yet, `auto` says so: then the copy
only holds how large a number is, to a power of two, and bounds can be bought from that (`Curator.suggest`).
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, get_args

from tacit import parameters
from tacit.errors import ParameterError, PolicyError
from tacit.parameters import written
from tacit.policy import cells
from tacit.policy.dates import EPOCH

LONGEST_TEXT = 1_000
"""The most characters of a text that the working copy holds; longer ones are cut."""
Kind = Literal["integer", "real", "text", "date", "timestamp", "boolean"]
Outside = Literal["clamp", "drop"]
Scalar: TypeAlias = int | Fraction | str | bool | datetime.date | datetime.datetime

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
OUTSIDE: Final[tuple[Outside, ...]] = get_args(Outside)
LARGEST_INTEGER: Final = 2**62
"""Bounds of integers stay below this, so that a difference of two grid values fits in 64 bits."""

_UTC_EPOCH: Final = EPOCH.replace(tzinfo=datetime.UTC)
_REAL_STEPS: Final = 24
_DOUBLE_BITS: Final = 52


@dataclass(frozen=True)  # without slots, so that computed properties can be kept
class Column:
    """What the owner states about one column.

    `outside` says what happens to a value outside `lower` and `upper`: "clamp" moves it to the nearer bound, "drop"
    makes it NULL. With `values`, anything else is NULL. NaN and infinities are NULL. With `nullable=False`, rows that
    are left without a value in this column are left out of the working copy, so that the statement is true there.

    >>> Column("age", "integer", 0, 110).outside
    'clamp'
    """

    name: str
    kind: Kind
    lower: Scalar | None = None
    upper: Scalar | None = None
    values: tuple[Scalar, ...] | None = None
    nullable: bool = True
    outside: Outside = "clamp"
    auto: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise PolicyError(f"A column needs a name. Got {self.name!r} instead.")
        if self.name.lower().startswith("tacit_"):
            raise PolicyError(f"Column {self.name!r}: names that begin with 'tacit_' are kept for the working copy.")
        _one_of("type", self.kind, KINDS)
        _one_of("outside", self.outside, OUTSIDE)
        if not isinstance(self.nullable, bool):
            raise PolicyError(f"'nullable' must be true or false. Got {self.nullable!r} instead.")
        _check_bounds(self)
        _check_values(self)
        _check_auto(self)
        if self.kind == "real" and not self.auto:
            _check_real(self)

    @property
    def bounded(self) -> bool:
        """Whether the values lie between two known whole numbers on the grid."""
        return self.grid_lower is not None

    @cached_property
    def step(self) -> Fraction:
        """How much one grid unit is worth. For a real column 2**e with

            e = max(floor(log2(upper - lower)) - 24, floor(log2(max(|lower|, |upper|))) - 52)

        The second part matters only far from zero, where doubles themselves are not finer.
        """
        if self.kind != "real" or self.auto:
            return Fraction(1)
        lower, upper = Fraction(self.lower), Fraction(self.upper)  # type: ignore[arg-type]  # both are Fractions here
        exponent = max(floor_log2(upper - lower) - _REAL_STEPS, floor_log2(max(abs(lower), abs(upper))) - _DOUBLE_BITS)
        return Fraction(2) ** exponent

    @cached_property
    def grid_lower(self) -> int | None:
        """The least value on the grid, or None where the policy states none."""
        return self._range[0]

    @cached_property
    def grid_upper(self) -> int | None:
        """The greatest value on the grid, or None where the policy states none."""
        return self._range[1]

    @cached_property
    def grid_values(self) -> tuple[int | str, ...] | None:
        """The stated values as the working copy holds them."""
        if self.kind == "boolean" and self.values is None:
            return (0, 1)
        return None if self.values is None else tuple(self.to_grid(value) for value in self.values)

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """Every cell of `tacit.policy.cells` that a number of this kind can lie in: a whole one is 0, or 1 or more."""
        least = cells.cell_of(1) if self.kind == "integer" else 1
        return tuple(cell for cell in range(-cells.LAST, cells.LAST + 1) if cell == 0 or abs(cell) >= least)

    def to_grid(self, value: Scalar) -> int | str:
        """A value of this column as the working copy holds it (not clamped)."""
        exact = typed(self.kind, value)
        if isinstance(exact, str):
            return exact
        if self.auto:
            return cells.cell_of(exact)  # type: ignore[arg-type]  # an auto column is of numbers
        if isinstance(exact, Fraction):
            return (exact / self.step + Fraction(1, 2)).__floor__()
        if isinstance(exact, datetime.datetime):
            return (exact - _UTC_EPOCH) // datetime.timedelta(microseconds=1)
        if isinstance(exact, datetime.date):
            return exact.toordinal() - EPOCH.toordinal()
        return int(exact)

    def from_grid(self, value: int | str) -> Scalar:
        """The value that the working copy holds as `value`."""
        if isinstance(value, str):
            return value
        if self.auto:
            raise PolicyError(f"Column {self.name!r} has no bounds yet, and its values cannot be told from its cells.")
        convert: Mapping[Kind, Callable[[int], Scalar]] = {
            "integer": int,
            "real": lambda number: number * self.step,
            "boolean": bool,
            "date": lambda days: EPOCH.date() + datetime.timedelta(days=days),
            "timestamp": lambda micros: _UTC_EPOCH + datetime.timedelta(microseconds=micros),
        }
        return convert[self.kind](value)

    @cached_property
    def _range(self) -> tuple[int | None, int | None]:
        if self.kind == "text":
            return None, None
        if self.auto:
            return -cells.LAST, cells.LAST
        if self.kind == "boolean":
            return 0, 1
        if self.kind == "real":
            lower, upper = Fraction(self.lower), Fraction(self.upper)  # type: ignore[arg-type]
            return (lower / self.step).__floor__(), (upper / self.step).__ceil__()
        if self.values is not None:
            whole = [int(self.to_grid(value)) for value in self.values]
            return min(whole), max(whole)
        if self.lower is None or self.upper is None:
            return None, None
        return int(self.to_grid(self.lower)), int(self.to_grid(self.upper))


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts without a name or a kind yet: what `between` and `one_of` give, completed from the table's own types.

    >>> Facts(0, 110).column("age", "integer") == Column("age", "integer", 0, 110)
    True
    """

    lower: Any = None
    upper: Any = None
    values: tuple[Any, ...] | None = None
    nullable: bool = True
    outside: Outside = "clamp"
    auto: bool = False

    def column(self, name: str, kind: Kind) -> Column:
        """These facts about the column `name`, whose values are of this kind."""
        try:
            _one_of("type", kind, KINDS)
            return Column(
                name,
                kind,
                None if self.lower is None else typed(kind, self.lower),
                None if self.upper is None else typed(kind, self.upper),
                None if self.values is None else tuple(typed(kind, value) for value in self.values),
                self.nullable,
                self.outside,
                self.auto,
            )
        except PolicyError as bad:
            raise PolicyError(f"Column {name!r}: {bad}") from None


def between(lower: Any, upper: Any, *, outside: Outside = "clamp", nullable: bool = True) -> Facts:
    """A column whose values lie between two public bounds, both included. Dates may be ISO text.

    >>> between(0, 1).column("share", "real").step
    Fraction(1, 16777216)
    """
    return Facts(lower=lower, upper=upper, outside=outside, nullable=nullable)


def one_of(*values: Any, nullable: bool = True) -> Facts:
    """A column with these public values, one by one or as a list; anything else counts as missing.

    >>> one_of("f", "m").column("sex", "text").grid_values
    ('f', 'm')
    """
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        values = tuple(values[0])
    return Facts(values=values, nullable=nullable)


def date_between(lower: Any, upper: Any, *, outside: Outside = "clamp", nullable: bool = True) -> Facts:
    """`between` for dates, which may be ISO text such as "2024-02-29".

    >>> str(date_between("2024-01-01", "2024-12-31").upper)
    '2024-12-31'
    """
    return Facts(lower=typed("date", lower), upper=typed("date", upper), outside=outside, nullable=nullable)


def anything(*, nullable: bool = True) -> Facts:
    """A column with no stated range: it may be filtered, counted and grouped by, but not summed.

    >>> anything().lower is None
    True
    """
    return Facts(nullable=nullable)


def auto(*, outside: Outside = "clamp", nullable: bool = True) -> Facts:
    """A column of numbers whose bounds are not known yet. Buy them with `Curator.suggest`, and state them.

    >>> auto().auto
    True
    """
    return Facts(outside=outside, nullable=nullable, auto=True)


def typed(kind: Kind, value: Any) -> Scalar:
    """`value` as an exact scalar of this kind; refused when it is not one."""
    return _READERS[kind](value)


def floor_log2(positive: Fraction) -> int:
    """The exact floor of the binary logarithm."""
    guess = positive.numerator.bit_length() - positive.denominator.bit_length()
    return guess if Fraction(2) ** guess <= positive else guess - 1


def _integer(value: Any) -> int:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and abs(int(value)) <= LARGEST_INTEGER:
        return int(value)
    raise PolicyError(f"A whole number from -2**62 to 2**62 is wanted. Got {value!r} instead.")


def _real(value: Any) -> Fraction:
    # A bound is written by a person in decimals, so a float is read as its shortest text (as budgets are).
    try:
        return parameters.rational("bound", written(value))
    except ParameterError:
        raise PolicyError(f"A finite number is wanted. Got {value!r} instead.") from None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise PolicyError(f"Text is wanted. Got {value!r} instead. Write it in quotes, or give the column another type.")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise PolicyError(f"true or false is wanted. Got {value!r} instead.")


def _date(value: Any) -> datetime.date:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    try:
        return datetime.date.fromisoformat(value)
    except (TypeError, ValueError):
        raise PolicyError(f"A date such as 2024-02-29 is wanted. Got {value!r} instead.") from None


def _timestamp(value: Any) -> datetime.datetime:
    moment = value
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        moment = datetime.datetime(value.year, value.month, value.day)
    if not isinstance(moment, datetime.datetime):
        try:
            moment = datetime.datetime.fromisoformat(value)
        except (TypeError, ValueError):
            raise PolicyError(f"A time such as 2024-02-29T12:30:00 is wanted. Got {value!r} instead.") from None
    # A time without a zone is read as UTC, as the engine reads it.
    return moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment.astimezone(datetime.UTC)


_READERS: Final[Mapping[Kind, Callable[[Any], Scalar]]] = {
    "integer": _integer,
    "real": _real,
    "text": _text,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
}


def _one_of(key: str, found: object, allowed: tuple[str, ...]) -> None:
    if found not in allowed:
        raise PolicyError(f"{key!r} must be one of {', '.join(allowed)}. Got {found!r} instead.")


def _check_bounds(column: Column) -> None:
    if (column.lower is None) != (column.upper is None):
        raise PolicyError("A range needs both bounds, e.g. between = [0, 100].")
    if column.lower is None or column.upper is None:
        return
    if column.kind in ("text", "boolean"):
        raise PolicyError(f"A {column.kind} column has no range. State its values with one_of instead.")
    if column.values is not None:
        raise PolicyError("A column has either a range (between) or values (one_of), not both.")
    lower, upper = typed(column.kind, column.lower), typed(column.kind, column.upper)
    if lower != column.lower or upper != column.upper:
        raise PolicyError(f"The bounds of a {column.kind} column must be exact values of that kind.")
    if lower > upper:  # type: ignore[operator]  # both are of the column's kind
        raise PolicyError(f"The lower bound must not be above the upper. Got {lower} and {upper} instead.")


def _check_values(column: Column) -> None:
    if column.values is None:
        return
    if column.kind == "real":
        raise PolicyError(
            "A real column cannot have one_of. State a range with between, or declare it integer or text."
        )
    if not column.values:
        raise PolicyError("'one_of' needs at least one value.")
    if len({typed(column.kind, value) for value in column.values}) != len(column.values):
        raise PolicyError(f"'one_of' must not repeat a value. Got {list(column.values)!r} instead.")


def _check_auto(column: Column) -> None:
    if not isinstance(column.auto, bool):
        raise PolicyError(f"'auto' must be true or false. Got {column.auto!r} instead.")
    if column.auto and column.kind not in ("integer", "real"):
        raise PolicyError(f"Bounds can be suggested for integer and real columns. A {column.kind} column has none.")
    if column.auto and (column.lower is not None or column.values is not None):
        raise PolicyError('A column whose bounds are "auto" has no other bounds and no values.')


def _check_real(column: Column) -> None:
    if column.lower is None or column.upper is None:
        raise PolicyError(
            "A real column needs a range, e.g. between = [0.0, 100.0]: its grid follows from it. "
            'Where you do not know it, write between = "auto" and buy it: tacit suggest.'
        )
    if column.lower == column.upper:
        raise PolicyError("The range of a real column must be wider than a point.")
    if not Fraction(1, 2**900) <= column.step <= 2**900:
        raise PolicyError("The range of a real column must be within what a double can hold.")
