"""A mean of no rows is NULL where the count says that there are none, and a number wherever rows may be there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.plan.answers.formulas import Cells, Mean, Variance
from tacit.plan.answers.pairs import Covariance
from tests.coverage.awkward_tables import opened

ONE = Fraction(1)
MEAN = Mean(1, 0, ONE, Fraction(0), Fraction(-50), Fraction(50))
SPREAD = Variance(1, 2, 0, ONE, ONE, Fraction(0), Fraction(2500), False)
SAMPLE = Variance(1, 2, 0, ONE, ONE, Fraction(0), Fraction(2500), True)
PAIR = Covariance(1, 2, 3, 0, ONE, ONE, ONE, Fraction(0), Fraction(2500), False)
PAIR_SAMPLE = Covariance(1, 2, 3, 0, ONE, ONE, ONE, Fraction(0), Fraction(2500), True)


def missing(formula: Mean | Variance | Covariance, count: float, spread: float) -> bool:
    noisy = [np.array([count]), *(np.array([3.0]) for _ in range(3))]
    cells = Cells(1, noisy, spreads=[spread, 1.0, 1.0, 1.0])
    return bool(np.isnan(formula.of(cells).value[0]))


@pytest.mark.parametrize(("formula", "least"), [(MEAN, 1), (SPREAD, 1), (SAMPLE, 2), (PAIR, 1), (PAIR_SAMPLE, 2)])
def test_a_value_is_missing_where_the_count_rules_out_its_rows(
    formula: Mean | Variance | Covariance, least: int
) -> None:
    assert missing(formula, least - 1, 0.01)
    assert not missing(formula, least, 0.01)
    assert not missing(formula, least - 0.3, 0.01)  # nearer to the least number than to one less
    assert not missing(formula, least - 2.0, 1.0)  # noise of two deviations is no proof
    assert missing(formula, least - 2.2, 1.0)  # that of 2.1184 and more is met in one of forty cases


def test_what_no_noise_is_told_of_has_a_value() -> None:
    """An expected deviation is worked out before there are noisy numbers."""
    assert not np.isnan(MEAN.of(Cells(1, [np.array([0.0]), np.array([3.0])])).value[0])


def test_an_empty_group_has_no_mean_and_no_interval() -> None:
    with opened() as curator:
        found = curator.ask("SELECT k, sign(k) AS s, avg(x) AS m, count(x) AS n FROM people GROUP BY k, s", 1000)
        ends = found.intervals()["m"]
    impossible = [place for place, (k, s) in enumerate(zip(found["k"], found["s"], strict=True)) if k == 3 and s == -1]
    assert len(impossible) == 1
    assert found["n"][impossible[0]] == 0
    assert found["m"][impossible[0]] is None
    assert ends[impossible[0]] is None
