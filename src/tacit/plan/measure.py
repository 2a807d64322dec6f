"""Rule: which whole numbers to ask the engine for, so that every output follows from them and none is paid for twice.

    count(*), count(x)      a count (of rows; of rows where x is not NULL)
    count(DISTINCT unit)    a count of units; with FILTER, of those that have a row for which it holds
    count(DISTINCT x)       a count of different values
    avg(x)                  c + S/n, with S the sum of x - c around the public middle c of x, and n the count of x
    sum(x)                  the sum itself, or S + c n where S or n is bought anyway and the error is less
    variance, stddev        T/n + q - (S/n)**2, with T the sum of (x - c)**2 - q, q the middle of the squares
    bool_or, bool_and       a count of the rows that are true, or false, compared with one half
    corr, covar, regr       see `pairs`

Why centred: |x - c| is at most half the width, so S needs half the noise (or far less) of the plain sum.
Sum against sum: with u the noise of one unit of sensitivity, plain costs max|x| u and centred sqrt(h**2 + c**2) u
(h half the width), as each of the two measures has the same share.

A measure's numbers are at most 2**32 a row: finer grids are rounded (row by row, a function of the row alone) so
that sums of two billion rows fit the 64 bits of an answer, and sums never overflow the engine's 128.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan import arithmetic
from tacit.plan.draft import Draft, Part
from tacit.plan.floats import as_float
from tacit.plan.formulas import Constant, Formula, Linear, Mean, Root, Test, Variance
from tacit.plan.hints import bound_here
from tacit.plan.pairs import PAIRS, pair_formula
from tacit.plan.translate import condition_of, number_of, value_of
from tacit.plan.values import Nothing, Number, cast_to, coarsened, constant, integer
from tacit.question import tree

LARGEST_ROW = 1 << 32
PICKS = ("quantile", "min", "max", "mode")
"""Aggregates that are no measures: `pick` plans them."""
HISTOGRAM = "histogram"
"""The aggregate that is a measure of many numbers in each cell: `bins` plans it."""


def measure(draft: Draft) -> Draft:
    """The measures, and for each aggregate the formula that gives it."""
    aggregates = [each for each in aggregates_of(draft.question) if each.kind not in (*PICKS, HISTOGRAM)]
    book = Book(draft)
    formulas: dict[tree.Aggregate, Formula] = {}
    # sums last: they look at what the others have bought
    for aggregate in sorted(aggregates, key=lambda each: each.kind == "sum"):
        formulas[aggregate] = _formula(aggregate, book)
    parts = list(book.parts)
    if draft.levels is not None and not all(part.additive for part in parts):
        raise QuestionError(
            "count(DISTINCT ...) does not add up over groups, so it cannot stand with ROLLUP, CUBE or GROUPING SETS. "
            "Ask for each set of keys by itself."
        )
    for block, inner in enumerate(draft.inner, start=1):
        parts += [replace(part, block=block) for part in inner.parts]
    return replace(draft, parts=tuple(parts), formulas=formulas)


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
        if isinstance(value, Nothing):
            return Linear(())
        return Linear(((book.count(value.sql, value.nullable), Fraction(1)),))
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
    return coarsened(replace(number, meaning="number"), LARGEST_ROW)


@dataclass(slots=True)
class Book:
    """The measures bought so far, each once."""

    draft: Draft
    parts: list[Part] = field(default_factory=list)
    places: dict[tuple[str, object], int] = field(default_factory=dict)

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
        self, number: Number, centre: int, counted: exp.Expr | None = None, typical: Fraction | None = None
    ) -> int:
        """The sum of number - centre: per row at most the distance of the bounds from the centre.

        `counted` is something simpler that is NULL on the same rows; `typical` is the number's mean where what it is
        computed from is spread evenly, its bounds' middle if not said.
        """
        bound = max(number.bounds.high - centre, centre - number.bounds.low)
        exact = centre * number.step
        low, high = (_shown(end * number.step) for end in (number.bounds.low, number.bounds.high))
        around = f", minus {_shown(exact)}" if centre else ""
        reason = f"each row adds a number from {low} to {high}{around}: at most {_shown(bound * number.step)} in size"
        usual = Fraction(number.bounds.low + number.bounds.high, 2) if typical is None else typical
        part = Part(
            "sum", _sum(number, centre, counted or number.sql), exact, number.step, bound, reason, usual - centre
        )
        return self._buy("sum", (centre, number.sql), part)

    def mean(self, number: Number) -> Formula:
        """avg."""
        centre = number.bounds.middle
        count = self.count(number.sql, number.nullable)
        flat = number.bounds.low == number.bounds.high
        total = None if flat else self.total(number, centre)
        low, high = number.bounds.low * number.step, number.bounds.high * number.step
        return Mean(total, count, number.step, centre * number.step, low, high)

    def sum(self, number: Number) -> Formula:
        """sum, by whichever measures are least noisy."""
        bounds, centre = number.bounds, number.bounds.middle
        count = self.bought_count(number)
        if bounds.low == bounds.high:
            count = self.count(number.sql, number.nullable)
            return Linear(((count, centre * number.step),))
        half = max(bounds.high - centre, centre - bounds.low)
        shared = ("sum", (centre, number.sql)) in self.places
        if count is not None and (shared or half**2 + centre**2 < bounds.size**2):
            terms = [(self.total(number, centre), number.step)]
            terms += [(count, centre * number.step)] if centre else []
            return Linear(tuple(terms))
        return Linear(((self.total(number, 0), number.step),))

    def variance(self, number: Number, *, sample: bool) -> Formula:
        """var_pop, var_samp."""
        bounds, centre = number.bounds, number.bounds.middle
        if bounds.low == bounds.high:
            return Linear(())
        count, total = self.count(number.sql, number.nullable), self.total(number, centre)
        distance = arithmetic.subtract(number, constant(centre, number.step))
        squared = replace(arithmetic.multiply(distance, distance), bounds=distance.bounds.square())
        squares = coarsened(squared, LARGEST_ROW)
        middle = squares.bounds.middle
        return Variance(
            total=total,
            squares=self.total(squares, middle, number.sql, _mean_square(distance) * squared.step / squares.step),
            count=count,
            step=number.step,
            square_step=squares.step,
            square_centre=middle * squares.step,
            largest=((bounds.high - bounds.low) * number.step) ** 2 / 4,
            sample=sample,
        )


def _sum(number: Number, centre: int, counted: exp.Expr) -> exp.Expr:
    """SUM(x) - c * COUNT(x), which is the sum of x - c: exact in 128 bits, and 0 on no row."""
    total = exp.Coalesce(this=exp.Sum(this=number.sql.copy()), expressions=[cast_to(exp.Literal.number(0), "INT128")])
    if not centre:
        return total
    count = exp.Count(this=counted.copy() if number.nullable else exp.Star())
    factor = cast_to(exp.Literal.number(centre), "INT128")
    return exp.Sub(this=total, expression=exp.Mul(this=factor, expression=count))


def _mean_square(number: Number) -> Fraction:
    """The mean of x**2 where x is spread evenly over the w + 1 points of its bounds: w (w + 2)/12 around its mean."""
    low, high = number.bounds.low, number.bounds.high
    return Fraction((high - low) * (high - low + 2), 12) + Fraction(low + high, 2) ** 2


def _shown(exact: Fraction) -> str:
    return str(exact) if exact.denominator == 1 else f"{as_float(exact):.6g}"
