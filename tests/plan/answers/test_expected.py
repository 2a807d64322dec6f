"""What an estimate expects of means and variances, against values written out and derivatives taken by differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tacit.answer import Answer
from tacit.answer.release import finished_words
from tacit.plan import finish, make_plan
from tacit.policy import Column
from tacit.question import read
from tests.plan.copies import clinic, table

TOP, ROWS_PER_UNIT, EPSILON = 110, 3, 0.5
AGES = [age for age in range(TOP + 1) for _ in range(40)]  # spread evenly over their bounds


def noise(bound: float) -> float:
    """The deviation of Laplace noise on numbers to which one row adds this much in all."""
    a = math.exp(-EPSILON / (ROWS_PER_UNIT * bound))
    return math.sqrt(2 * a) / (1 - a)


def spread(of: Callable[..., float], sums: list[float], deviations: list[float]) -> float:
    """The deviation of a function of noisy sums, by central differences."""
    total = 0.0
    for place, deviation in enumerate(deviations):
        step = 1e-4 * max(sums)
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


def count(first: float, second: float, third: float) -> float:
    """From the sums of (10 x - 110)**2, of (990 - 10 x)**2 last, and of what is missing of 82 times 110**2 between."""
    return (first + second + third) / (82 * TOP**2)


def variance(first: float, second: float, third: float) -> float:
    rows = count(first, second, third)
    # (10 x - 110)**2 - (990 - 10 x)**2 = 160 * 110 (x - 55), and their sum is 200 (x - 55)**2 + 32 * 110**2
    return ((first + third) / rows - 32 * TOP**2) / 200 - ((first - third) / rows / (160 * TOP)) ** 2


NEAR, FAR = sum((10 * x - TOP) ** 2 for x in AGES), sum((9 * TOP - 10 * x) ** 2 for x in AGES)
SUMS = [float(NEAR), float(82 * TOP**2 * len(AGES) - NEAR - FAR), float(FAR)]
NOISES = [noise(82 * TOP**2)] * 3


def sample(*sums: float) -> float:
    return variance(*sums) * count(*sums) / (count(*sums) - 1)


@pytest.mark.parametrize(("output", "of"), [("var_pop(age)", variance), ("var_samp(age)", sample)])
def test_a_spread_is_estimated_for_values_that_lie_evenly_in_their_bounds(
    output: str, of: Callable[..., float]
) -> None:
    assert planned(output) == pytest.approx(spread(of, SUMS, NOISES), rel=1e-3)


@pytest.mark.parametrize(("output", "of"), [("stddev_pop(age)", variance), ("stddev(age)", sample)])
def test_a_root_is_off_by_what_it_falls_where_its_inside_is_off_by_a_99_percent_bound(
    output: str, of: Callable[..., float]
) -> None:
    """A share of that bound, ln(100)/sqrt(2) deviations of Laplace noise: never less than the slope says."""
    inside, noise_of_it, far = of(*SUMS), spread(of, SUMS, NOISES), math.log(100) / math.sqrt(2)
    fall = math.sqrt(inside) - math.sqrt(inside - far * noise_of_it)
    assert planned(output) == pytest.approx(fall / far, rel=1e-3)
    assert planned(output) >= spread(lambda *sums: math.sqrt(of(*sums)), SUMS, NOISES)


def test_a_quotient_of_a_sum_is_estimated_as_the_mean_is() -> None:
    """Both come from the sums of age and of 110 - age, which add up to 110 on every row."""
    sums = [float(sum(AGES)), float(sum(TOP - age for age in AGES))]
    expected = spread(lambda up, down: TOP * up / (up + down), sums, [noise(TOP)] * 2)
    assert planned("sum(age) / count(*)") == pytest.approx(expected, rel=1e-3)
    assert planned("avg(age)") == pytest.approx(expected, rel=1e-3)


def test_a_plain_sum_is_taken_at_the_middle_of_its_bounds() -> None:
    """100 * sum(age): its error does not depend on the rows; its square's does, through the sum that is expected."""
    assert planned("sum(age) * sum(age)") == pytest.approx(2 * 55 * len(AGES) * noise(TOP), rel=1e-3)


@pytest.mark.parametrize(
    "output",
    [
        "count(*)",
        "sum(age)",
        "avg(age)",
        "round(avg(age))",
        "count(*) // 10",
        "count(*) % 1000",
        "ceil(sum(age) / 10)",
        "greatest(count(*), 4440)",
        "CASE WHEN count(*) > 4440 THEN sum(age) ELSE 0 END",
        "sum(age) / count(*)",
        "exp(count(*) / 10)",
        "ln(count(*))",
        "stddev_pop(age)",
    ],
)
def test_an_estimate_promises_no_more_than_the_answer_says_of_such_a_cell(output: str) -> None:
    """It was made of slopes alone: 0.4 for a rounded mean that the answer gave as +/- 1."""
    policy = clinic(table("t", [Column("age", "integer", 0, TOP, nullable=False)], rows=ROWS_PER_UNIT))
    plan = make_plan(read(f"SELECT {output} AS out FROM t"), policy, epsilon=str(EPSILON))
    (error,) = plan.errors_at(len(AGES))
    typical = np.array([float(len(AGES) * measure.typical) for measure in plan.measures])
    for bundle in plan.bundles:  # those that are released together stand there as they are released
        places = list(bundle.places)
        typical[places] = np.linalg.solve(np.array(bundle.matrix, dtype=np.float64), typical[places])
    finished = finish(plan, [()], [np.array([each]) for each in typical])
    spread = tuple(None if each is None else tuple(each) for each in finished.deviations)
    columns = tuple(map(tuple, finished.columns))
    answer = Answer(finished.names, finished.kinds, columns, spread, True, {}, False, *finished_words(finished))
    (reaches,) = answer.reaches(0.95)
    assert reaches is not None
    # a sum is shown in whole numbers, and its interval is rounded up to them
    assert error.within_95 >= 0.999 * reaches[0] - (1 if finished.kinds == ("integer",) else 0)
