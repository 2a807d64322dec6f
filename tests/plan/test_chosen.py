"""How far noise in whole numbers reaches: its laws are summed up point by point."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.plan.answers.chosen import whole_reach

POINTS = np.arange(-1_500, 1_501)
LEVELS = (0.5, 0.8, 0.95, 0.99, 1 - 0.05 / 60)


def gaussian(scale: float) -> np.ndarray:
    weights = np.exp(-np.square(POINTS / scale) / 2)
    return np.asarray(weights / weights.sum())


def laplace(scale: float) -> np.ndarray:
    weights = np.exp(-np.abs(POINTS) / scale)
    return np.asarray(weights / weights.sum())


def held(law: np.ndarray, level: float, *, heavy: bool) -> tuple[float, int]:
    """What the law has within the reach that its deviation is given, and that reach."""
    deviation = math.sqrt(float((law * np.square(POINTS)).sum()))
    far = whole_reach(deviation, level, heavy)
    assert far == int(far)
    return float(law[np.abs(POINTS) <= far].sum()), int(far)


SCALES = [float(each) for each in np.geomspace(0.05, 40, 150)]


@pytest.mark.parametrize("level", LEVELS)
def test_the_discrete_laws_are_held_at_every_scale(level: float) -> None:
    for scale in SCALES:
        for law, heavy in ((gaussian(scale), False), (laplace(scale), True)):
            found, _ = held(law, level, heavy=heavy)
            assert found >= level - 1e-9, (scale, heavy, found)


def test_one_less_would_hardly_ever_do_for_gaussian_noise_of_a_deviation_of_one_or_more() -> None:
    for scale in [each for each in SCALES if each >= 1]:
        law = gaussian(scale)
        _, far = held(law, 0.95, heavy=False)
        assert law[np.abs(POINTS) < far].sum() < 0.955


def test_one_less_would_not_do_for_laplace_noise_unless_it_is_almost_always_zero() -> None:
    for scale in SCALES:
        law = laplace(scale)
        _, far = held(law, 0.95, heavy=True)
        assert far == 0 or law[np.abs(POINTS) < far].sum() < 0.95 or (far == 1 and scale < 0.3)


def test_noise_that_is_almost_always_zero_reaches_nowhere_and_among_many_it_does() -> None:
    assert whole_reach(0.2, 0.95, False) == 0  # 0.04 is less than 0.05
    assert whole_reach(0.2, 0.95, False, among=10) == 1
    assert whole_reach(0.25, 0.95, True) == 1
    assert whole_reach(math.inf, 0.95, True) == math.inf
