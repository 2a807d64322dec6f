"""A confidence interval for the mean of the population that the rows were drawn from: sampling and noise together.

Theorem. The parts of `one_column` (degree 2) are released with sensitivity r W**2, r = 1 here; they give the mean, and
the variance that says how far sampling may have moved it. The interval holds the values that a test at this level does
not reject (`sampling`), so it accounts for the noise in the count as well.

Assumptions: `sampling`. Neighbours: one unit's row, added or removed.
Source: the inversion of a test is Neyman's; Karwa, Vadhan 2018 for finite-sample private intervals.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tacit import parameters
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.inference.sampling import chance_of_mean
from tacit.statistics.moments.bounded import Bounded, bounded
from tacit.statistics.moments.inversion import not_rejected
from tacit.statistics.moments.one_column import Moments, opened_parts, plan, release
from tacit.statistics.source import Opened, source_of


def mean_interval(
    data: Any,
    columns: Any = None,
    *,
    epsilon: Number,
    bounds: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The population's mean with a confidence interval that covers sampling and noise.

    >>> mean_interval([20, 30, 40, 50], bounds=(0, 100), epsilon=1).title
    'Mean of x in the population'
    """
    source = source_of(data, columns, bounds=bounds, rows_per_unit=rows_per_unit)
    source.one_row_each("A confidence interval for a population's mean")
    known = bounded(source.only)
    exact_epsilon = parameters.price("epsilon", epsilon)
    confidence = float(parameters.level("level", level))
    noise = plan(known, 2, 1, exact_epsilon, Fraction(0))

    def compute(opened: Opened, bits: BitSource) -> Content:
        moments = release(known, 2, noise, opened_parts(opened, known, 2), bits)
        low, high = interval(moments, known, confidence)
        ends = [known.value(each) for each in (moments.mean, low, high)]
        words = "The interval covers sampling and noise: it is for the mean of the population of the rows."
        facts = {"count": moments.count, "variance": moments.variance * known.span**2}
        table = column("mean", ends[:1], ends[1:2], ends[2:])
        return Content(f"Mean of {known.name} in the population", (table,), (words,), facts)

    return source.release({"study": "mean interval"}, noise.price, compute, level=level, analyst=analyst)


def interval(moments: Moments, known: Bounded, level: float) -> tuple[float, float]:
    """Between which shares the population's mean lies."""
    if not moments.enough:
        return 0.0, 1.0
    return not_rejected(
        lambda share: chance_of_mean(moments, share, 1 / known.width), level, moments.mean, 0.0, 1.0
    )  # fmt: skip
