"""An interval is cut where bounds cut the value: nothing exact lies beyond."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from tacit.plan.answers.applied import Extreme, Rising
from tacit.plan.answers.cases import Choice
from tacit.plan.answers.conditions import Test as Condition
from tacit.plan.answers.farthest import farthest, range_of
from tacit.plan.answers.formulas import Apply, Constant, Formula, Linear, Mean, Variance
from tacit.plan.answers.pairs import Covariance, Held
from tacit.plan.answers.roots import Root, Squared
from tests.coverage.awkward_tables import opened

ONE = Fraction(1)
LOW, HIGH = Fraction(-3), Fraction(5)
LARGEST = (HIGH - LOW) ** 2 / 4
ROWS = [
    np.array(rows, dtype=float)
    for size in (1, 2, 3, 4)
    for rows in itertools.combinations_with_replacement((-3, -1, 0, 2, 5), size)
]


def spread(sample: bool) -> Variance:
    return Variance(1, 2, 0, ONE, ONE, Fraction(0), LARGEST, sample)


def covariance(sample: bool) -> Covariance:
    return Covariance(1, 2, 3, 0, ONE, ONE, ONE, Fraction(0), LARGEST, sample)


@pytest.mark.parametrize("rows", [rows for rows in ROWS if len(rows) > 1], ids=str)
def test_what_rows_within_the_bounds_have_lies_in_the_range(rows: np.ndarray) -> None:
    mean = Mean(1, 0, ONE, Fraction(0), LOW, HIGH)
    other = rows[::-1]
    truths: list[tuple[Formula, float]] = [
        (mean, float(rows.mean())),
        (spread(False), float(rows.var())),
        (spread(True), float(rows.var(ddof=1))),
        (Root(spread(True)), float(rows.std(ddof=1))),
        (covariance(False), float(np.cov(rows, other, bias=True)[0, 1])),
        (covariance(True), float(np.cov(rows, other)[0, 1])),
    ]
    for formula, truth in truths:
        ends = range_of(formula)
        assert ends is not None
        assert ends[0] - 1e-9 <= truth <= ends[1] + 1e-9


@pytest.mark.parametrize("rows", ROWS, ids=str)
def test_what_is_made_of_such_values_lies_in_a_range_too(rows: np.ndarray) -> None:
    """A rounded mean of few rows said +/- 9,000 between bounds 100 apart."""
    mean, average = Mean(1, 0, ONE, Fraction(0), LOW, HIGH), float(rows.mean())
    missing = Choice((Condition("null", (mean,)),), (Constant(-10), mean))
    truths: list[tuple[Formula, tuple[float, float], float]] = [
        (Apply("floor", mean), (-3, 5), float(np.floor(average))),
        (Apply("ceil", mean), (-3, 5), float(np.ceil(average))),
        (Apply("round", mean, 1), (-3, 5), round(average, 1)),
        (Apply("round", mean, -1), (-10, 10), float(np.floor(average / 10 + 0.5) * 10)),
        (Rising("sqrt", spread(False)), (0, 4), float(rows.std())),
        (missing, (-10, 5), average),
        (missing, (-10, 5), -10.0),
        (Extreme(True, (mean, Constant(2))), (-3, 5), min(average, 2.0)),
    ]
    for formula, wanted, truth in truths:
        assert range_of(formula) == pytest.approx(wanted)
        assert wanted[0] - 1e-9 <= truth <= wanted[1] + 1e-9
    assert range_of(Choice((Condition("null", (mean,)),), (Linear(()), mean))) is None
    assert range_of(Apply("sign", mean)) is None
    assert range_of(Apply("trunc", mean)) is None


def test_the_ranges_are_reached() -> None:
    two = np.array([-3.0, 5.0])
    assert range_of(spread(False)) == (0.0, two.var())
    assert range_of(spread(True)) == (0.0, two.var(ddof=1))
    assert range_of(covariance(True)) == (-two.var(ddof=1), two.var(ddof=1))
    assert range_of(Squared(Held(Linear(()), -1.0, 1.0))) == (0.0, 1.0)
    assert range_of(Linear(())) is None


def test_the_farther_end_is_taken_and_nothing_is_said_of_what_is_missing() -> None:
    mean = Mean(1, 0, ONE, Fraction(0), LOW, HIGH)
    assert farthest(mean, np.array([-3.0, 0.0, 5.0, np.nan])) == [8.0, 5.0, 8.0, None]


def test_no_interval_of_a_mean_is_wider_than_its_bounds_at_any_level() -> None:
    with opened() as curator:
        found = curator.ask("SELECT k, avg(x) AS m, corr(x, k) AS c FROM people GROUP BY k", "0.01")
        told = curator.estimate("SELECT avg(x) AS m FROM people", "0.001", rows=5)
    for level in ("0.5", "0.95", "0.999"):
        ends = found.intervals(level)
        for column, value in (("m", 5.0), ("c", 1.0)):
            for low_high in filter(None, ends[column]):
                assert low_high[0] <= -value + 1e-9
                assert low_high[1] >= value - 1e-9
                assert max(map(abs, low_high)) <= 3 * value
    assert told.errors[0].within_95 <= 10
