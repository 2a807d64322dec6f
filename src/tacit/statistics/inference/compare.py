"""Two groups of rows compared: the difference of their population means, with an interval; and tests of means.

Theorem. `mean_interval` and `t_test` release the parts of one column with L1 sensitivity W**2, `compare` and the
two-sample test those of two groups, which together move by W**2 as well (`two_groups`). All else is post-processing.

The difference's interval, and the p-values, take the error as sampling (Welch: each group with its own variance) plus
the known noise, to first order (`sampling`). Where a group's count does not stand out of its noise nothing can be said:
the interval is everything that the bounds allow, and the p-value 1.

Assumptions: rows are independent draws, one of each unit. Neighbours: one unit's row, added or removed.
Source: Welch 1947; Couch, Kazan, Shi, Bray, Groce 2019 for private tests of means.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tacit import parameters
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.inference.sampling import (
    chance_of_difference,
    chance_of_mean,
    chances_of_differences,
    difference_law,
    sampling_variance,
)
from tacit.statistics.inference.two_groups import groups_of, other_column, plan_groups, release_groups
from tacit.statistics.moments.bounded import bounded
from tacit.statistics.moments.inversion import not_rejected
from tacit.statistics.moments.one_column import Moments, opened_parts, plan, release
from tacit.statistics.source import Opened, Source, source_of


def compare(
    data: Any,
    columns: Any = None,
    *,
    by: str,
    epsilon: Number,
    groups: Any = None,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The difference of a column's population means in two groups: the first group's minus the second's.

    >>> data = {"age": [20, 30, 40, 50], "ward": ["A", "B", "A", "B"]}
    >>> compare(data, by="ward", bounds={"age": (0, 100)}, values={"ward": ["A", "B"]}, epsilon=1).title
    'age: A - B'
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    source.one_row_each("A comparison of two populations")
    known, chosen = bounded(source.variable(other_column(source, by))), groups_of(source, by, groups)
    exact_epsilon = parameters.price("epsilon", epsilon)
    confidence = float(parameters.level("level", level))
    noise = plan_groups(known, exact_epsilon)

    def compute(opened: Opened, bits: BitSource) -> Content:
        first, second = release_groups(opened, known, chosen, noise, bits)
        low, high = interval(first, second, confidence)
        ends = [known.span * each for each in (first.mean - second.mean, low, high)]
        name = f"{chosen.names[0]} - {chosen.names[1]}"
        table = (column("difference of", [name]), column("difference", ends[:1], ends[1:2], ends[2:]))
        facts = {
            "means": [known.value(first.mean), known.value(second.mean)],
            "counts": [first.count, second.count],
            "p_value": chance(first, second),
        }
        words = "The interval covers sampling and noise, for the populations of both groups."
        return Content(f"{known.name}: {name}", table, (words,), facts)

    asked = {"study": "compare", "by": chosen.cells.name, "groups": list(chosen.names)}
    return source.release(asked, noise.price, compute, level=level, analyst=analyst)


def interval(first: Moments, second: Moments, level: float) -> tuple[float, float]:
    """Between which shares of the bounds' distance the difference lies."""
    if not (first.enough and second.enough):
        return -1.0, 1.0
    return not_rejected(chances_of_differences(first, second), level, first.mean - second.mean, -1.0, 1.0)


def chance(first: Moments, second: Moments) -> float:
    """The p-value of no difference."""
    return chance_of_difference(first, second, 0.0) if first.enough and second.enough else 1.0


def t_test(
    data: Any,
    columns: Any = None,
    *,
    epsilon: Number,
    mean: Number | None = None,
    by: str | None = None,
    groups: Any = None,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """A two-sided test that the population's mean is `mean`, or that two groups `by` a column have the same mean.

    >>> found = t_test([20, 30, 40, 50], mean=30, bounds=(0, 100), epsilon=1)
    >>> found.title, 0 <= found["p_value"][0] <= 1
    ('Test: Mean of x = 30', True)
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    source.one_row_each("A test of means")
    if (mean is None) == (by is None):
        raise parameters.refuse("mean or by", "given as exactly one of the two", "neither or both")
    exact_epsilon = parameters.price("epsilon", epsilon)
    if mean is not None:
        return _one_sample(source, parameters.rational("mean", mean), exact_epsilon, level, analyst)
    known, chosen = bounded(source.variable(other_column(source, by))), groups_of(source, by, groups)
    noise = plan_groups(known, exact_epsilon)

    def compute(opened: Opened, bits: BitSource) -> Content:
        first, second = release_groups(opened, known, chosen, noise, bits)
        said = first.enough and second.enough
        statistic = (first.mean - second.mean) / difference_law([first, second]).deviation if said else 0.0
        return _tested(f"{known.name}: {chosen.names[0]} = {chosen.names[1]}", statistic, chance(first, second))

    asked = {"study": "t test", "by": chosen.cells.name, "groups": list(chosen.names)}
    return source.release(asked, noise.price, compute, level=level, analyst=analyst)


def _one_sample(
    source: Source, value: Fraction, epsilon: Fraction, level: Number, analyst: str | None
) -> Finding:  # fmt: skip
    known = bounded(source.only)
    share = known.share(value)
    if not 0 <= share <= 1:
        raise parameters.refuse("mean", f"between the bounds of {known.name!r}", float(value))
    noise = plan(known, 2, 1, epsilon, Fraction(0))

    def compute(opened: Opened, bits: BitSource) -> Content:
        moments = release(known, 2, noise, opened_parts(opened, known, 2), bits)
        law = moments.noise_of_centred(share, sampling_variance(moments))
        p_value = chance_of_mean(moments, share, 1 / known.width) if moments.enough else 1.0
        statistic = moments.centred(share) / law.deviation
        return _tested(f"Mean of {known.name} = {float(value):g}", statistic, p_value)

    asked = {"study": "t test", "mean": parameters.as_text(value)}
    return source.release(asked, noise.price, compute, level=level, analyst=analyst)


def _tested(hypothesis: str, statistic: float, p_value: float) -> Content:
    table = (column("hypothesis", [hypothesis]), column("statistic", [statistic]), column("p_value", [p_value]))
    words = "The p-value accounts for sampling and noise; the statistic is in units of both together."
    return Content(f"Test: {hypothesis}", table, (words,))
