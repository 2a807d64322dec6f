"""Rule: which whole numbers to ask the engine for, so that every output follows from them, and each is paid for once.

    count(*), count(x)      a count (of rows; of rows where x is not NULL)
    count(DISTINCT unit)    a count of units; with FILTER, of those that have a row for which it holds
    count(DISTINCT x)       a count of different values
    avg(x)                  c + S/n, with S the sum of x - c around the public middle c of x, and n the count of x
    sum(x)                  the sum itself, or S + c n where S or n is bought anyway and the error is less
    variance, stddev        T/n + q - (S/n)**2, with T the sum of (x - c)**2 - q, q the middle of the squares
                            (34/75 of the largest where n, S and T are released together)
    bool_or, bool_and       a count of the rows that are true, or false, compared with one half
    covar(y, x)             see `answers.pairs`
    regr_slope(y, x)        covar / var(x)
    regr_intercept(y, x)    avg(y) - slope avg(x)
    corr(y, x)              covar / sqrt(var(x) var(y)), held to [-1, 1]; regr_r2 is its square

Of two columns only rows count where neither is NULL, as in SQL: each column is read as NULL where the other is, so all
sums and the count are over the same rows. Every sum is a measure of its own with its own bounds, and the count is
released together with the sums of x; nothing else is bought.

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

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.answers.conditions import Test
from tacit.plan.answers.formulas import Constant, Formula, Linear, Operation
from tacit.plan.answers.pairs import Covariance, Held
from tacit.plan.answers.roots import Root, Squared
from tacit.plan.book import LARGEST_ROW, Book
from tacit.plan.draft import Draft, changed
from tacit.plan.values import arithmetic
from tacit.plan.values.hints import bound_here
from tacit.plan.values.translate import condition_of, number_of, value_of
from tacit.plan.values.value import Nothing, Number, coarsened, constant, enclosed, integer
from tacit.question import tree

FURTHEST = 1 << 80
"""How far from zero a number may lie that is added up: 2**40 such rows stay below 2**120, and engines hold 10**38."""
PAIRS = ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_count")
"""Aggregates of two columns."""
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
        return _pair_formula(aggregate, y, x, book)
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


def _pair_formula(aggregate: tree.Aggregate, y: Number, x: Number, book: Book) -> Formula:
    """The formula of an aggregate of two numbers (y first, as SQL has it)."""
    y, x = _null_with(y, x), _null_with(x, y)
    if aggregate.kind == "regr_count":
        return Linear(((book.count(x.sql, x.nullable), Fraction(1)),))
    if aggregate.kind in ("covar_pop", "covar_samp"):
        return _covariance(y, x, book, sample=aggregate.kind == "covar_samp")
    covariance = _covariance(y, x, book, sample=False)
    spread = book.variance(x, sample=False)
    if aggregate.kind == "regr_slope":
        return Operation("/", covariance, spread)
    if aggregate.kind == "regr_intercept":
        return Operation("-", book.mean(y), Operation("*", Operation("/", covariance, spread), book.mean(x)))
    both = Operation("*", spread, book.variance(y, sample=False))
    correlation = Held(Operation("/", covariance, Root(both)), -1.0, 1.0)
    return correlation if aggregate.kind == "corr" else Squared(correlation)


def _null_with(number: Number, other: Number) -> Number:
    """The number, NULL where the other is."""
    if not other.nullable:
        return number
    present = exp.Not(this=exp.Is(this=enclosed(other.sql), expression=exp.Null()))
    return replace(number, sql=exp.Case().when(present, number.sql.copy()), nullable=True)


def _covariance(y: Number, x: Number, book: Book, *, sample: bool) -> Formula:
    if x.bounds.low == x.bounds.high or y.bounds.low == y.bounds.high:
        return Linear(())
    width_x, width_y = ((each.bounds.high - each.bounds.low) * each.step for each in (x, y))
    count = book.count(x.sql, x.nullable)
    book.claims(x)
    total_x, step_x, middle_x = book.centred(x)
    total_y, step_y, middle_y = book.centred(y)
    product = arithmetic.multiply(
        *(
            arithmetic.subtract(each, constant(int(middle / step), step))
            for each, middle, step in ((x, middle_x, step_x), (y, middle_y, step_y))
        )
    )
    products = coarsened(product, LARGEST_ROW)
    middle = products.bounds.middle
    return Covariance(
        total_x=total_x,
        total_y=total_y,
        products=book.total(products, middle, x.sql),
        count=count,
        step_x=step_x,
        step_y=step_y,
        product_step=products.step,
        product_centre=middle * products.step,
        largest=width_x * width_y / 4,
        sample=sample,
    )
