"""The measures of a question that are bought so far, each once: what `rules.measure` writes down."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from tacit.plan.answers.floats import as_float
from tacit.plan.answers.formulas import Formula, Linear, Mean, Variance
from tacit.plan.draft import Draft, Part
from tacit.plan.together import SQUARE_CENTRE, Shape, pair, triple
from tacit.plan.values import arithmetic
from tacit.plan.values.squares import doubled, square_parts, squared_distance
from tacit.plan.values.translate import condition_of
from tacit.plan.values.value import Number, cast_to, coarsened, constant, integer
from tacit.question import tree

LARGEST_ROW = 1 << 32
"""The most that one row adds to a measure, in its steps: finer grids are rounded row by row (`rules.measure`)."""


@dataclass(slots=True)
class Book:
    """The measures bought so far, each once; and with which column's sums each count is released."""

    draft: Draft
    parts: list[Part] = field(default_factory=list)
    places: dict[tuple[str, object], int] = field(default_factory=dict)
    joined: dict[int, Number] = field(default_factory=dict)

    @property
    def joins(self) -> bool:
        """Whether counts and sums may be released together."""
        return self.draft.asked.together and self.draft.asked.rho is None

    def _buy(self, kind: str, what: object, part: Part) -> int:
        place = self.places.setdefault((kind, what), len(self.parts))
        if place == len(self.parts):
            self.parts.append(part)
        return place

    def rows(self) -> int:
        """The count of rows."""
        sql = exp.Count(this=exp.Star())
        return self._buy("count", "*", Part("count_rows", sql, Fraction(0), Fraction(1), 1, "each row adds 1"))

    def units(self) -> int:
        """The count of units."""
        if self.draft.rows_per_unit == 1:
            return self.rows()  # one row each
        sql = exp.Count(this=exp.Distinct(expressions=[self.draft.unit_sql]))
        reason = "a unit adds 1 to a cell"
        part = Part("count_units", sql, Fraction(0), Fraction(1), 1, reason, additive=False)
        return self._buy("units", "", part)

    def some_units(self, condition: tree.Scalar) -> int:
        """The count of units that have a row for which a condition holds."""
        truth = condition_of(condition, self.draft.scope).sql
        if self.draft.rows_per_unit == 1:
            return self.count(exp.Case().when(truth, integer(1)), nullable=True)
        found = exp.Case().when(truth, self.draft.unit_sql)
        sql = exp.Count(this=exp.Distinct(expressions=[found]))
        reason = "a unit that has such a row adds 1 to a cell"
        part = Part("count_some_units", sql, Fraction(0), Fraction(1), 1, reason, additive=False)
        return self._buy("some units", found, part)

    def count(self, sql: exp.Expr, nullable: bool) -> int:
        """The count of rows where something is not NULL."""
        if not nullable:
            return self.rows()
        bought = self.places.get(("count", sql))
        if bought is not None:
            return bought
        counted = exp.Count(this=sql.copy())
        reason = "each row where it is not NULL adds 1"
        return self._buy("count", sql, Part("count", counted, Fraction(0), Fraction(1), 1, reason))

    def different(self, sql: exp.Expr) -> int:
        """The number of different values: a row more is at most one value more in its cell."""
        counted = exp.Count(this=exp.Distinct(expressions=[sql.copy()]))
        reason = "each row brings at most 1 value that no other has"
        part = Part("count", counted, Fraction(0), Fraction(1), 1, reason, additive=False)
        return self._buy("different", sql, part)

    def bought_count(self, number: Number) -> int | None:
        """The count that belongs to a number, if it was bought."""
        return self.places.get(("count", number.sql if number.nullable else "*"))

    def total(
        self,
        number: Number,
        centre: int,
        counted: exp.Expr | None = None,
        typical: Fraction | None = None,
        shape: Shape | None = None,
        *,
        claimed: bool = False,
    ) -> int:
        """The sum of number - centre: per row at most the distance of the bounds from the centre.

        `counted` is something simpler that is NULL on the same rows; `typical` is the number's mean where what it is
        computed from is spread evenly, its bounds' middle if not said. What is `claimed` is found from parts, whose own
        sums `released` puts in its place.
        """
        bought = self.places.get(("sum", (centre, number.sql)))
        if bought is not None:  # sum and avg of one column, say
            return bought
        bound = max(number.bounds.high - centre, centre - number.bounds.low)
        exact = centre * number.step
        low, high = (_shown(end * number.step) for end in (number.bounds.low, number.bounds.high))
        around = f", minus {_shown(exact)}" if centre else ""
        reason = f"each row adds a number from {low} to {high}{around}: at most {_shown(bound * number.step)} in size"
        middle = Fraction(number.bounds.low + number.bounds.high, 2)
        usual = (middle if typical is None else typical) - centre
        if shape is None:
            shape = Shape(middle - centre, Fraction(number.bounds.high - number.bounds.low, 2))
        column = number.sql if claimed else _sum(number, centre, counted)
        part = Part("sum", column, exact, number.step, bound, reason, usual, shape=shape)
        return self._buy("sum", (centre, number.sql), part)

    def centred(self, number: Number) -> tuple[int, Fraction, Fraction]:
        """The sum of x - c around the very middle c: its place, the step of its numbers, and c.

        Where c lies between two points of the grid the sum is that of 2 (x - c).
        """
        exact = doubled(number)
        centre = exact.bounds.middle
        claimed = any(each is number for each in self.joined.values())
        return self.total(exact, centre, claimed=claimed), exact.step, centre * exact.step

    def claims(self, number: Number) -> bool:
        """Whether the count of this number is released together with its sums; said on the first call."""
        count = self.bought_count(number)
        if count is None or not self.joins or self._chooses_keys(count):
            return False
        return self.joined.setdefault(count, number).sql == number.sql

    def _chooses_keys(self, count: int) -> bool:
        """Whether this count is what the rule for unknown keys counts (see `add_noise`)."""
        return self.draft.cells is None and self.draft.rows_per_unit == 1 and self.parts[count].kind == "count_rows"

    def mean(self, number: Number) -> Formula:
        """avg."""
        count = self.count(number.sql, number.nullable)
        low, high = number.bounds.low * number.step, number.bounds.high * number.step
        if number.bounds.low == number.bounds.high:
            return Mean(None, count, number.step, low, low, high)
        self.claims(number)
        total, step, centre = self.centred(number)
        return Mean(total, count, step, centre, low, high)

    def sum(self, number: Number) -> Formula:
        """sum, by whichever measures are least noisy."""
        bounds = number.bounds
        count = self.bought_count(number)
        if bounds.low == bounds.high:
            count = self.count(number.sql, number.nullable)
            return Linear(((count, bounds.low * number.step),))
        exact = doubled(number)
        middle, half = exact.bounds.middle * exact.step, (bounds.high - bounds.low) * number.step / 2
        shared = ("sum", (exact.bounds.middle, exact.sql)) in self.places
        largest = bounds.size * number.step
        if count is not None and (shared or self.claims(number) or half**2 + middle**2 < largest**2):
            total, step, centre = self.centred(number)
            return Linear(((total, step), (count, centre)) if centre else ((total, step),))
        plain = coarsened(number, LARGEST_ROW)
        return Linear(((self.total(plain, 0), plain.step),))

    def variance(self, number: Number, *, sample: bool) -> Formula:
        """var_pop, var_samp."""
        bounds = number.bounds
        if bounds.low == bounds.high:
            return Linear(())
        count = self.count(number.sql, number.nullable)
        total, step, _ = self.centred(number)
        squares, square_step, square_centre = self.squares(number)
        return Variance(
            total=total,
            squares=squares,
            count=count,
            step=step,
            square_step=square_step,
            square_centre=square_centre,
            largest=((bounds.high - bounds.low) * number.step) ** 2 / 4,
            sample=sample,
        )

    def squares(self, number: Number) -> tuple[int, Fraction, Fraction]:
        """The sum of (x - c)**2 - q: its place, the step of its numbers, and q."""
        exact = doubled(number)
        half = Fraction(exact.bounds.high - exact.bounds.low, 2)
        if self.claims(number):  # then it is found from parts, and need not be whole
            inner = half**2 * SQUARE_CENTRE
            shape = Shape(-inner, Fraction(0), half**2)
            reason = f"each row adds its squared distance from {_shown(exact.bounds.middle * exact.step)}"
            usual = _mean_square(number) * (number.step / exact.step) ** 2 - inner
            centre, step = inner * exact.step**2, exact.step**2
            part = Part("sum", number.sql, centre, step, math.ceil(half**2 - inner), reason, usual, shape=shape)
            return self._buy("squares", number.sql, part), step, centre
        distance = arithmetic.subtract(exact, constant(exact.bounds.middle, exact.step))
        squared = squared_distance(distance)
        squares = coarsened(squared, LARGEST_ROW)
        middle = squares.bounds.middle
        scale = squared.step / squares.step
        typical = _mean_square(number) * (number.step / exact.step) ** 2 * scale
        shape = Shape(Fraction(-middle), Fraction(0), half**2 * scale)
        place = self.total(squares, middle, number.sql, typical, shape)
        return place, squares.step, middle * squares.step

    def released(self) -> list[Part]:
        """All measures, those that are released together with the parts that the engine adds up."""
        found = list(self.parts)
        for count, number in self.joined.items():
            exact = doubled(number)
            width = number.bounds.high - number.bounds.low
            total = self.places["sum", (exact.bounds.middle, exact.sql)]
            squares = self.places.get(("squares", number.sql))
            if squares is None:
                bundle = pair((count, total), width, doubled=exact is not number)
                columns = [_sum(number, number.bounds.low), _negated_sum(number)]
            else:
                low, high, largest = square_parts(number, LARGEST_ROW)
                bundle = triple((count, total, squares), width, largest, doubled=exact is not number)
                rest = exp.Sub(
                    this=exp.Sub(this=_times_count(number, largest, number.sql), expression=_sum(low, 0)),
                    expression=_sum(high, 0),
                )
                columns = [_sum(low, 0), rest, _sum(high, 0)]
            for place, column in zip(bundle.places, columns, strict=True):
                found[place] = replace(found[place], sql=column, together=bundle)
        return found


def _negated_sum(number: Number) -> exp.Expr:
    """high * COUNT(x) - SUM(x), which is the sum of high - x."""
    return exp.Sub(this=_times_count(number, number.bounds.high, number.sql), expression=_sum(number, 0))


def _times_count(number: Number, factor: int, counted: exp.Expr) -> exp.Expr:
    count = exp.Count(this=counted.copy() if number.nullable else exp.Star())
    return exp.Mul(this=cast_to(exp.Literal.number(factor), "INT128"), expression=count)


def _sum(number: Number, centre: int, counted: exp.Expr | None = None) -> exp.Expr:
    """SUM(x) - c * COUNT(x), which is the sum of x - c: exact in 128 bits, and 0 on no row."""
    total = exp.Coalesce(this=exp.Sum(this=number.sql.copy()), expressions=[cast_to(exp.Literal.number(0), "INT128")])
    if not centre:
        return total
    return exp.Sub(this=total, expression=_times_count(number, centre, counted or number.sql))


def _mean_square(number: Number) -> Fraction:
    """The mean of (x - c)**2, c the middle, where x is spread evenly over the w + 1 points of its bounds."""
    width = number.bounds.high - number.bounds.low
    return Fraction(width * (width + 2), 12)


def _shown(exact: Fraction) -> str:
    return str(exact) if exact.denominator == 1 else f"{as_float(exact):.6g}"
