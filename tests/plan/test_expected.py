"""What an estimate expects of means and variances, against values written out and derivatives taken by differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tacit.plan import make_plan
from tacit.policy import Column
from tacit.question import read
from tests.plan.copies import clinic, table

TOP, ROWS_PER_UNIT, EPSILON = 110, 3, 0.5
AGES = [age for age in range(TOP + 1) for _ in range(40)]  # spread evenly over their bounds


def noise(bound: float, shares: int) -> float:
    """The deviation of Laplace noise on a sum of rows of this size, at an equal share."""
    a = math.exp(-EPSILON / shares / (ROWS_PER_UNIT * bound))
    return math.sqrt(2 * a) / (1 - a)


def spread(of: Callable[..., float], sums: list[float], deviations: list[float]) -> float:
    """The deviation of a function of noisy sums, by central differences."""
    total = 0.0
    for place, deviation in enumerate(deviations):
        step = 1e-3 * len(AGES)
        up, down = list(sums), list(sums)
        up[place] += step
        down[place] -= step
        total += ((of(*up) - of(*down)) / (2 * step) * deviation) ** 2
    return math.sqrt(total)


def planned(output: str) -> float:
    policy = clinic(table("t", [Column("age", "integer", 0, TOP, nullable=False)], rows=ROWS_PER_UNIT))
    found = make_plan(read(f"SELECT {output} AS out FROM t"), policy, epsilon=str(EPSILON))
    (error,) = found.errors_at(len(AGES))
    return error.deviation


def variance(count: float, total: float, squares: float) -> float:
    """From the count, the sum of x - 55, and the sum of (x - 55)**2 - 1512."""
    return squares / count + 1512 - (total / count) ** 2


AROUND = [age - 55 for age in AGES]
SUMS = [len(AGES), sum(AROUND), sum(each**2 - 1512 for each in AROUND)]
NOISES = [noise(1, 3), noise(55, 3), noise(55**2 - 1512, 3)]


def sample(count: float, total: float, squares: float) -> float:
    return variance(count, total, squares) * count / (count - 1)


@pytest.mark.parametrize(
    ("output", "of"),
    [
        ("var_pop(age)", variance),
        ("stddev_pop(age)", lambda *sums: math.sqrt(variance(*sums))),
        ("var_samp(age)", sample),
        ("stddev(age)", lambda *sums: math.sqrt(sample(*sums))),
    ],
)
def test_a_spread_is_estimated_for_values_that_lie_evenly_in_their_bounds(
    output: str, of: Callable[..., float]
) -> None:
    assert planned(output) == pytest.approx(spread(of, SUMS, NOISES), rel=1e-3)


def test_a_quotient_of_a_sum_is_estimated_as_the_mean_is() -> None:
    """sum(age) is centred where a count is bought too: around 55 plus 55 for each of the count."""
    deviations = [noise(1, 2), noise(55, 2)]
    expected = spread(lambda count, total: (total + 55 * count) / count, SUMS[:2], deviations)
    assert planned("sum(age) / count(*)") == pytest.approx(expected, rel=1e-3)
    assert planned("avg(age)") == pytest.approx(expected, rel=1e-3)


def test_a_plain_sum_is_taken_at_the_middle_of_its_bounds() -> None:
    """100 * sum(age): its error does not depend on the rows; its square's does, through the sum that is expected."""
    assert planned("sum(age) * sum(age)") == pytest.approx(2 * 55 * len(AGES) * noise(TOP, 1), rel=1e-3)
