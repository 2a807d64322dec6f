"""Aggregates of two columns: covariance, correlation and the regression line, from sums that are bought once.

    covar(y, x)             T/n + q - (S_x/n)(S_y/n), with T the sum of (x - a)(y - b) - q, and S_x, S_y the sums of
                            x - a and y - b, around public middles a and b; q the middle of the products
    regr_slope(y, x)        covar / var(x)
    regr_intercept(y, x)    avg(y) - slope avg(x)
    corr(y, x)              covar / sqrt(var(x) var(y)), held to [-1, 1]; regr_r2 is its square

As in SQL only rows where neither is NULL count: each column is read as NULL where the other is, so all sums and the
count are over the same rows. Every sum is a measure of its own with its own bounds, and the count is released together
with the sums of x (`together`); nothing else is bought.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from tacit.plan.answers.bends import Moves, product
from tacit.plan.answers.floats import as_float
from tacit.plan.answers.formulas import Cells, Estimate, Formula, Linear, Operation, over_count, too_few
from tacit.plan.answers.no_rows import unless_empty
from tacit.plan.answers.roots import Root, Squared
from tacit.plan.values import arithmetic
from tacit.plan.values.value import Number, coarsened, constant, enclosed
from tacit.question import tree

if TYPE_CHECKING:
    from tacit.plan.rules.measure import Book

PAIRS = ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_count")


def pair_formula(aggregate: tree.Aggregate, y: Number, x: Number, book: Book, largest_row: int) -> Formula:
    """The formula of an aggregate of two numbers (y first, as SQL has it)."""
    y, x = _beside(y, x), _beside(x, y)
    if aggregate.kind == "regr_count":
        return Linear(((book.count(x.sql, x.nullable), Fraction(1)),))
    if aggregate.kind in ("covar_pop", "covar_samp"):
        return _covariance(y, x, book, largest_row, sample=aggregate.kind == "covar_samp")
    covariance = _covariance(y, x, book, largest_row, sample=False)
    spread = book.variance(x, sample=False)
    if aggregate.kind == "regr_slope":
        return Operation("/", covariance, spread)
    if aggregate.kind == "regr_intercept":
        return Operation("-", book.mean(y), Operation("*", Operation("/", covariance, spread), book.mean(x)))
    both = Operation("*", spread, book.variance(y, sample=False))
    correlation = Held(Operation("/", covariance, Root(both)), -1.0, 1.0)
    return correlation if aggregate.kind == "corr" else Squared(correlation)


def _beside(number: Number, other: Number) -> Number:
    """The number, NULL where the other one is."""
    if not other.nullable:
        return number
    present = exp.Not(this=exp.Is(this=enclosed(other.sql), expression=exp.Null()))
    return replace(number, sql=exp.Case().when(present, number.sql.copy()), nullable=True)


def _covariance(y: Number, x: Number, book: Book, largest_row: int, *, sample: bool) -> Formula:
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
    products = coarsened(product, largest_row)
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


@dataclass(frozen=True, slots=True)
class Covariance:
    """The mean of products minus the product of the means, held to what bounds allow."""

    total_x: int
    total_y: int
    products: int
    count: int
    step_x: Fraction
    step_y: Fraction
    product_step: Fraction
    product_centre: Fraction
    largest: Fraction  # a quarter of the product of the widths, which no covariance of bounded numbers exceeds
    sample: bool

    @property
    def measures(self) -> frozenset[int]:
        return frozenset({self.total_x, self.total_y, self.products, self.count})

    def of(self, cells: Cells) -> Estimate:
        least = 2.0 if self.sample else 1.0
        count = np.maximum(cells.noisy[self.count], least)
        mean_x = as_float(self.step_x) * cells.noisy[self.total_x] / count
        mean_y = as_float(self.step_y) * cells.noisy[self.total_y] / count
        around = as_float(self.product_step) * cells.noisy[self.products] / count
        factor = count / (count - 1) if self.sample else np.ones(cells.size)
        most = as_float(self.largest)
        value = np.clip(around + as_float(self.product_centre) - mean_x * mean_y, -most, most) * factor
        slopes = {
            self.products: as_float(self.product_step) / count * factor,
            self.total_x: -mean_y * as_float(self.step_x) / count * factor,
            self.total_y: -mean_x * as_float(self.step_y) / count * factor,
            self.count: (2 * mean_x * mean_y - around) / count * factor,
        }
        off_x: Moves = ({self.total_x: as_float(self.step_x) / count, self.count: -mean_x / count}, {})
        off_y: Moves = (
            {self.total_y: as_float(self.step_y) / count * factor, self.count: -mean_y / count * factor},
            {},
        )
        both = product((slopes, {}), off_x, off_y, cells.spreads, cells.within)
        value = unless_empty(value, cells.noisy[self.count], self.count, cells.spreads, least)
        far = over_count((slopes, both), self.count, count, cells)
        return Estimate(value, slopes, far, doubtful=too_few(value, self.count, cells, least))


@dataclass(frozen=True, slots=True)
class Held:
    """A number held between two bounds; its slopes stay, because the noise that was cut off did exist."""

    inside: Formula
    low: float
    high: float

    @property
    def measures(self) -> frozenset[int]:
        return self.inside.measures

    def of(self, cells: Cells) -> Estimate:
        inner = self.inside.of(cells)
        return replace(inner, value=np.clip(inner.value, self.low, self.high))
