"""What an expression is on a row of the working copy: SQL that cannot fail, together with exact bounds.

Three kinds: `Number` (whole numbers on a grid; numbers, dates, times and truth values stored as numbers), `Text`, and
`Truth` (SQL's own three truth values). Invariants that every function of the plan keeps:
- the SQL of a `Number` is of type BIGINT, or HUGEINT where `wide`, and its value times `step` is what is meant;
- it lies in `bounds` or is NULL, and is NULL only where `nullable`;
- evaluating it raises no error on any row, so errors cannot distinguish rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal as OneOf
from typing import TypeAlias

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values.intervals import Interval
from tacit.policy.columns import LONGEST_TEXT

NARROW = 1 << 62
WIDEST = 1 << 100
EVERY_INTEGER = Interval(-(1 << 63), (1 << 63) - 1)
Meaning: TypeAlias = OneOf["number", "date", "timestamp", "boolean"]


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number on a grid. `stated` is false where the bounds are those of the type and not of the policy."""

    sql: exp.Expr
    bounds: Interval
    step: Fraction = Fraction(1)
    meaning: Meaning = "number"
    nullable: bool = True
    rounded: bool = False  # the grid is finer than the stored values: constants are moved to it
    stated: bool = True
    wide: bool = False
    points: tuple[int, ...] | None = None  # all values there can be, where they are fewer than the bounds say
    coded: bool = False  # the cell of a number whose bounds are not known yet, and not the number itself

    @property
    def constant(self) -> int | None:
        """The only possible value, where there is one."""
        return self.bounds.low if self.bounds.low == self.bounds.high and not self.nullable else None


@dataclass(frozen=True, slots=True)
class Text:
    """A text; `values` lists all there can be, where that is known. A column has at most `longest` characters."""

    sql: exp.Expr
    nullable: bool = True
    values: tuple[str, ...] | None = None
    constant: str | None = None
    longest: int = LONGEST_TEXT

    @property
    def length(self) -> int:
        """The most characters that a column of such texts has."""
        return self.longest if self.values is None else max(map(len, self.values), default=0)


@dataclass(frozen=True, slots=True)
class Truth:
    """A condition."""

    sql: exp.Expr
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Nothing:
    """NULL, of any kind."""

    sql: exp.Expr
    nullable: bool = True


Value: TypeAlias = Number | Text | Truth | Nothing


_ALONE = (exp.Column, exp.Literal, exp.Cast, exp.Paren, exp.Count, exp.Length, exp.Abs, exp.Lower, exp.Upper)


_TYPES = {
    "BIGINT": exp.DType.BIGINT,
    "INT128": exp.DType.INT128,
    "INT": exp.DType.INT,
    "DATE": exp.DType.DATE,
    "BOOLEAN": exp.DType.BOOLEAN,
    "DOUBLE": exp.DType.DOUBLE,
    "TEXT": exp.DType.TEXT,
}


def cast_to(sql: exp.Expr, kind: str) -> exp.Expr:
    """CAST(sql AS kind), without the parsing of type names that costs most of a plan's time."""
    return exp.Cast(this=sql, to=exp.DataType(this=_TYPES[kind], nested=False))


def enclosed(sql: exp.Expr) -> exp.Expr:
    """A copy that is safe as an operand: in brackets, unless it is one word or one call."""
    return sql.copy() if isinstance(sql, _ALONE) else exp.paren(sql)


def integer(value: int) -> exp.Expr:
    """A whole constant as SQL, of type BIGINT (or HUGEINT): a bare 5 would be a 32-bit number that can overflow."""
    return cast_to(bare(value), "BIGINT" if abs(value) < NARROW else "INT128")


def bare(value: int) -> exp.Expr:
    """A whole constant without a type, to compare with.

    Refused where no engine has room for it: otherwise it would fail only when a row reaches it, after the charge.
    """
    if abs(value) >= WIDEST:
        raise QuestionError(
            "A constant of the question is beyond 2**100 on the grid of what it meets. Use a smaller one."
        )
    number = exp.Literal.number(abs(value))
    return exp.Neg(this=number) if value < 0 else number


def constant(value: int, step: Fraction = Fraction(1), meaning: Meaning = "number") -> Number:
    """A constant number."""
    wide = abs(value) >= NARROW
    return Number(integer(value), Interval(value, value), step, meaning, nullable=False, wide=wide)


def null() -> Nothing:
    """NULL."""
    return Nothing(exp.Null())


def widened(number: Number) -> exp.Expr:
    """The number's SQL as HUGEINT."""
    return number.sql if number.wide else cast_to(enclosed(number.sql), "INT128")


def operands(bounds: Interval, *numbers: Number) -> tuple[list[exp.Expr], bool]:
    """The operands' SQL, all in a type in which a result within `bounds` cannot overflow; and whether it is wide."""
    if bounds.size >= WIDEST:
        raise QuestionError(
            "A number in the question can grow beyond 2**100, too large to be added up exactly. "
            "Use narrower bounds in the policy, fewer decimals, or fewer factors."
        )
    wide = bounds.size >= NARROW or any(number.wide for number in numbers)
    return [enclosed(widened(n) if wide else n.sql) for n in numbers], wide


def combined(sql: exp.Expr, bounds: Interval, *numbers: Number, step: Fraction, wide: bool) -> Number:
    """A number computed from others: NULL where one of them is, stated where all of them are."""
    return Number(
        sql,
        bounds,
        step,
        nullable=any(number.nullable for number in numbers),
        rounded=any(number.rounded for number in numbers),
        stated=all(number.stated for number in numbers),
        wide=wide,
    )


def scaled(number: Number, factor: int) -> Number:
    """The same value on a grid `factor` times finer."""
    if factor == 1:
        return number
    if number.constant is not None:
        fine = constant(number.constant * factor, number.step / factor, number.meaning)
        return replace(fine, rounded=number.rounded)
    bounds = number.bounds * Interval(factor, factor)
    (sql,), wide = operands(bounds, number)
    points = None if number.points is None else tuple(point * factor for point in number.points)
    product = exp.Mul(this=sql, expression=bare(factor))
    return replace(number, sql=product, bounds=bounds, step=number.step / factor, wide=wide, points=points)


def floor_division(number: Number, divisor: int) -> tuple[exp.Expr, Interval, bool]:
    """floor(x / divisor) as SQL, its bounds, and whether it is wide.

    Engines divide towards zero. x + k * divisor is not negative for k = ceil(-low / divisor), so its quotient is a
    floor; taking k off again is exact.
    """
    quotient = number.bounds.floor_quotient(divisor)
    if divisor == 1:
        return number.sql, quotient, number.wide
    if number.bounds.low >= 0:
        return exp.IntDiv(this=enclosed(number.sql), expression=bare(divisor)), quotient, number.wide
    turns = -(number.bounds.low // divisor)
    shift = Interval(turns * divisor, turns * divisor)
    (sql,), wide = operands((number.bounds + shift).hull(shift), number)
    moved = enclosed(exp.Add(this=sql, expression=integer(shift.low)))
    divided = exp.IntDiv(this=moved, expression=bare(divisor))
    return exp.Sub(this=enclosed(divided), expression=integer(turns)), quotient, wide


def coarsened(number: Number, most: int, *, around: int = 0) -> Number:
    """The number rounded to a grid so coarse that it lies within `most` of `around`: a function of its value alone.

    A number that is measured around its middle needs a grid for its width only, however far from zero it lies.
    """
    far = max(number.bounds.high - around, around - number.bounds.low)
    shift = 0
    while (far >> shift) + 1 > most:
        shift += 1
    if shift == 0:
        return number
    half = 1 << (shift - 1)
    lifted = number.bounds + Interval(half, half)
    (sql,), wide = operands(lifted, number)
    moved = replace(number, sql=exp.Add(this=sql, expression=integer(half)), bounds=lifted, wide=wide)
    divided, bounds, wide = floor_division(moved, 1 << shift)
    step = number.step * (1 << shift)
    if wide and bounds.size < NARROW:
        divided, wide = cast_to(enclosed(divided), "BIGINT"), False
    return replace(number, sql=divided, bounds=bounds, step=step, wide=wide, points=None, rounded=True)


def truth_as_number(truth: Truth) -> Number:
    """1 where it holds, 0 where it does not, NULL where neither."""
    sql: exp.Expr
    if truth.nullable:
        # Named once: with two WHENs it would double at every level of nesting. PostgreSQL casts it to INT only.
        sql = cast_to(cast_to(truth.sql.copy(), "INT"), "BIGINT")
    else:
        sql = exp.Case(ifs=[exp.If(this=truth.sql.copy(), true=integer(1))], default=integer(0))
    return Number(sql, Interval(0, 1), meaning="boolean", nullable=truth.nullable, points=(0, 1))


def described(value: Value) -> str:
    """A value's kind in words."""
    if isinstance(value, Number):
        return "a " + {"timestamp": "time", "boolean": "truth value"}.get(value.meaning, value.meaning)
    return {Text: "a text", Truth: "a condition", Nothing: "NULL"}[type(value)]
