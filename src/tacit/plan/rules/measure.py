"""Rule: which whole numbers to ask the engine for, so that every output follows from them, and each is paid for once.

    count(*), count(x)      a count (of rows; of rows where x is not NULL)
    count(DISTINCT unit)    a count of units; with FILTER, of those that have a row for which it holds
    count(DISTINCT x)       a count of different values
    avg(x)                  c + S/n, with S the sum of x - c around the public middle c of x, and n the count of x
    sum(x)                  the sum itself, or S + c n where S or n is bought anyway and the error is less
    variance, stddev        T/n + q - (S/n)**2, with T the sum of (x - c)**2 - q, q the middle of the squares
                            (34/75 of the largest where n, S and T are released together)
    bool_or, bool_and       a count of the rows that are true, or false, compared with one half
    corr, covar, regr       see `pairs`

Why centred: |x - c| is at most half the width, so S needs half the noise (or far less) of the plain sum.
Which sum is better: with u the noise of one unit of sensitivity, plain costs max|x| u and centred sqrt(h**2 + c**2) u
(h half the width), as each of the two measures has the same share.

A count and the sums of one column are released together (`together`) where the noise is Laplace's: each count with one
column, one that has squares if there is one. The count that the rule for unknown keys releases anyway is not one of
these.

A measure's numbers are at most 2**32 a row: finer grids are rounded (row by row, a function of the row alone) so
that sums of two billion rows fit the 64 bits of an answer, and sums never overflow the engine's 128. Centred numbers
are rounded by their distance from the centre, so that numbers far from zero keep the resolution of their width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.answers.conditions import Test
from tacit.plan.answers.floats import as_float
from tacit.plan.answers.formulas import Constant, Formula, Linear, Mean, Variance
from tacit.plan.answers.pairs import PAIRS, pair_formula
from tacit.plan.answers.roots import Root
from tacit.plan.draft import Draft, Part, changed
from tacit.plan.together import SQUARE_CENTRE, Shape, pair, triple
from tacit.plan.values import arithmetic
from tacit.plan.values.hints import bound_here
from tacit.plan.values.squares import doubled, square_parts, squared_distance
from tacit.plan.values.translate import condition_of, number_of, value_of
from tacit.plan.values.value import Nothing, Number, cast_to, coarsened, constant, integer
from tacit.question import tree

FURTHEST = 1 << 80
"""How far from zero a number may lie if it is added up: 2**40 such rows stay below 2**120, and engines hold 10**38."""
LARGEST_ROW = 1 << 32
PICKS = ("quantile", "min", "max", "mode")
"""Aggregates that are not measures: `pick` plans them."""
HISTOGRAM = "histogram"
"""The aggregate that is a measure of many numbers in each cell: `bins` plans it."""


def measure(draft: Draft) -> Draft:
    """The measures, and for each aggregate the formula that gives it."""
    aggregates = [each for each in aggregates_of(draft.question) if each.kind not in (*PICKS, HISTOGRAM)]
    book = Book(draft)
    formulas: dict[tree.Aggregate, Formula] = {}
    # sums last, because they use what the others have bought; squares first, because a count is released with them if
    # with any
    for aggregate in sorted(aggregates, key=lambda each: _turn(each, book)):
        formulas[aggregate] = _formula(aggregate, book)
    parts = book.released()
    if draft.levels is not None and not all(part.additive for part in parts):
        raise QuestionError(
            "count(DISTINCT ...) does not add up over groups, so it cannot stand with ROLLUP, CUBE or GROUPING SETS. "
            "Ask for each set of keys by itself."
        )
    for block, inner in enumerate(draft.inner, start=1):
        offset = len(parts)
        parts += [
            replace(part, block=block, together=None if part.together is None else part.together.moved(offset))
            for part in inner.parts
        ]
    return changed(draft, parts=tuple(parts), formulas=formulas)


def _turn(aggregate: tree.Aggregate, book: Book) -> int:
    squared = aggregate.kind.startswith(("var", "stddev", "corr", "regr"))
    return 2 if aggregate.kind == "sum" else 0 if squared and book.joins else 1


def aggregates_of(question: tree.Question) -> list[tree.Aggregate]:
    """The different aggregates, in the order of the question."""
    expressions = [output.expression for output in question.outputs]
    expressions += [question.having] if question.having is not None else []
    expressions += [question.qualify] if question.qualify is not None else []
    if question.summary is not None and question.summary.having is not None:
        expressions.append(question.summary.having)
    expressions += [order.expression for order in question.order]
    found = [node for expression in expressions for node in tree.walk(expression) if isinstance(node, tree.Aggregate)]
    return list(dict.fromkeys(found))


def _formula(aggregate: tree.Aggregate, book: Book) -> Formula:
    if aggregate.kind == "count_rows":
        return Linear(((book.rows(), Fraction(1)),))
    if aggregate.kind == "count_units":
        place = book.units() if aggregate.second is None else book.some_units(aggregate.second)
        return Linear(((place, Fraction(1)),))
    assert aggregate.argument is not None
    if aggregate.kind == "count":
        value = value_of(aggregate.argument, book.draft.scope)
        counted = () if isinstance(value, Nothing) else ((book.count(value.sql, value.nullable), Fraction(1)),)
        return Linear(counted)
    if aggregate.kind == "count_distinct":
        value = value_of(aggregate.argument, book.draft.scope)
        return Linear(()) if isinstance(value, Nothing) else Linear(((book.different(value.sql), Fraction(1)),))
    if aggregate.kind in ("bool_and", "bool_or"):
        return _every_or_any(aggregate, book)
    if aggregate.kind in PAIRS:
        assert aggregate.second is not None
        y, x = (_bounded(aggregate, book.draft, each) for each in (aggregate.argument, aggregate.second))
        return pair_formula(aggregate, y, x, book, LARGEST_ROW)
    number = _bounded(aggregate, book.draft, aggregate.argument)
    if aggregate.kind == "sum":
        return book.sum(number)
    if aggregate.kind == "avg":
        return book.mean(number)
    variance = book.variance(number, sample=aggregate.kind.endswith("samp"))
    return Root(variance) if aggregate.kind.startswith("stddev") else variance


def _every_or_any(aggregate: tree.Aggregate, book: Book) -> Formula:
    """bool_or: whether the count of true rows is nearer to one than to none; bool_and: no row is false."""
    assert aggregate.argument is not None
    truth = condition_of(aggregate.argument, book.draft.scope)
    looked_for = truth.sql if aggregate.kind == "bool_or" else exp.Not(this=exp.paren(truth.sql.copy()))
    found = exp.Case().when(looked_for, integer(1))
    count = Linear(((book.count(found, nullable=True), Fraction(1)),))
    return Test(">" if aggregate.kind == "bool_or" else "<=", (count, Constant(Fraction(1, 2))))


def _bounded(aggregate: tree.Aggregate, draft: Draft, argument: tree.Scalar) -> Number:
    name = aggregate.kind.split("_")[0]
    number = number_of(argument, draft.scope, name)
    if number.meaning in ("date", "timestamp"):
        raise QuestionError(f"{name} of a date is not understood. Take {name} of days: a_date - DATE '2020-01-01'.")
    if not number.stated:
        raise QuestionError(
            f"{name} needs a column with bounds, because they decide the noise. "
            f"State them in the policy: between = [low, high]. Or bound it here: {bound_here(0, 100)}."
        )
    # SUM(x) and c COUNT(x) are made before they are subtracted: each must fit by itself, however many rows there are
    plain = number if number.meaning == "number" else replace(number, meaning="number")
    near = coarsened(plain, LARGEST_ROW, around=number.bounds.middle)
    return near if near.bounds.size <= FURTHEST else coarsened(plain, FURTHEST)  # coarser still, and rounded only once


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
        """The number of different values: one more row is at most one more value in its cell."""
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

        `counted` is something simpler that is NULL on the same rows; `typical` is the number's mean where its source is
        spread evenly, by default the middle of its bounds. A `claimed` sum is found from parts, whose own sums
        `released` puts in its place.
        """
        bought = self.places.get(("sum", (centre, number.sql)))
        if bought is not None:  # for example the sum and avg of one column
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
        """The sum of x - c around the exact middle c: its place, the step of its numbers, and c.

        Where c lies between two points of the grid the sum is that of 2 (x - c).
        """
        exact = doubled(number)
        centre = exact.bounds.middle
        claimed = any(each is number for each in self.joined.values())
        return self.total(exact, centre, claimed=claimed), exact.step, centre * exact.step

    def claims(self, number: Number) -> bool:
        """Whether the count of this number is released together with its sums; the first call decides."""
        count = self.bought_count(number)
        if count is None or not self.joins or self._chooses_keys(count):
            return False
        return self.joined.setdefault(count, number).sql == number.sql

    def _chooses_keys(self, count: int) -> bool:
        """Whether the rule for unknown keys counts exactly this (see `add_noise`)."""
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
        """sum, by the measures with the least noise."""
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
