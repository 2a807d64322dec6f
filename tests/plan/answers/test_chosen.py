"""How far noise in whole numbers reaches: its laws are summed up point by point."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tacit.plan.answers.chosen import placed, reach, whole_reach

POINTS = np.arange(-1_500, 1_501)
LEVELS = (0.5, 0.8, 0.95, 0.99, 1 - 0.05 / 60)


def gaussian(scale: float) -> np.ndarray:
    weights = np.exp(-np.square(POINTS / scale) / 2)
    return np.asarray(weights / weights.sum())


def laplace(scale: float) -> np.ndarray:
    weights = np.exp(-np.abs(POINTS) / scale)
    return np.asarray(weights / weights.sum())


def held(law: np.ndarray, level: float, *, scale: float, heavy: bool) -> tuple[float, int]:
    """What the law has within the reach that its deviation is given (Gaussian: sigma, as plans tell it), and it."""
    far = whole_reach(deviation_of(law) if heavy else scale, level, heavy)
    assert far == int(far)
    return float(law[np.abs(POINTS) <= far].sum()), int(far)


def deviation_of(law: np.ndarray) -> float:
    return math.sqrt(float((law * np.square(POINTS)).sum()))


def added(law: np.ndarray, times: int) -> np.ndarray:
    """The law of a sum of so many."""
    turned = np.fft.rfft(np.fft.ifftshift(law))
    return np.asarray(np.fft.fftshift(np.fft.irfft(turned**times, len(law))))


def tails(law: np.ndarray) -> np.ndarray:
    """At place d the probability of being d or more off: one number for each size."""
    middle = len(POINTS) // 2
    sizes = law[middle:].copy()
    sizes[1:] += law[:middle][::-1]
    return np.asarray(sizes[::-1].cumsum()[::-1])


SCALES = [float(each) for each in np.geomspace(0.05, 40, 150)]


@pytest.mark.parametrize("level", LEVELS)
def test_the_discrete_laws_are_held_at_every_scale(level: float) -> None:
    for scale in SCALES:
        for law, heavy in ((gaussian(scale), False), (laplace(scale), True)):
            found, _ = held(law, level, scale=scale, heavy=heavy)
            assert found >= level - 1e-9, (scale, heavy, found)


def test_one_less_would_hardly_ever_do_for_gaussian_noise_of_a_deviation_of_one_or_more() -> None:
    for scale in [each for each in SCALES if each >= 1]:
        law = gaussian(scale)
        _, far = held(law, 0.95, scale=scale, heavy=False)
        assert law[np.abs(POINTS) < far].sum() < 0.955


def test_one_less_would_not_do_for_laplace_noise_unless_it_is_almost_always_zero() -> None:
    for scale in SCALES:
        law = laplace(scale)
        _, far = held(law, 0.95, scale=scale, heavy=True)
        assert far == 0 or law[np.abs(POINTS) < far].sum() < 0.95 or (far == 1 and scale < 0.3)


def test_noise_that_is_almost_always_zero_reaches_nowhere_and_among_many_it_does() -> None:
    assert whole_reach(0.2, 0.95, False) == 0  # 0.04 is less than 0.05
    assert whole_reach(0.2, 0.95, False, among=10) == 1
    assert whole_reach(0.25, 0.95, True) == 1
    assert whole_reach(math.inf, 0.95, True) == math.inf


@pytest.mark.parametrize("times", [2, 3, 6, 10])
def test_sums_of_noises_in_whole_numbers_are_held_at_every_scale(times: int) -> None:
    for scale in [each for each in SCALES if each <= 20]:
        for law, heavy in ((gaussian(scale), False), (laplace(scale), True)):
            one = deviation_of(law) if heavy else scale
            beyond = tails(added(law, times))
            for level in LEVELS:
                far = whole_reach(one * math.sqrt(times), level, heavy, several=True)
                assert beyond[int(far) + 1] <= 1 - level + 1e-9, (scale, heavy, level)


def test_half_a_step_less_would_not_hold_a_sum_of_little_noises() -> None:
    """Three noises that are nearly always 0: the sum is not 0 more often than one time in thirty."""
    law = laplace(0.194)
    deviation, allowed = deviation_of(law) * math.sqrt(3), 0.1 / 3
    assert 1 - added(law, 3)[POINTS == 0].sum() > allowed
    assert math.ceil(reach(0.9, True, 3) * deviation - 0.5) == 0
    assert whole_reach(deviation, 0.9, True, 3, several=True) == 1


@pytest.mark.parametrize("times", [2, 4, 12])
def test_noises_over_a_width_rounded_to_whole_numbers_are_held_at_every_scale(times: int) -> None:
    """Of a count that is released together with a sum, and of a total of such counts. A half may go either way."""
    for scale in SCALES[::2]:
        for law, heavy in ((gaussian(scale), False), (laplace(scale), True)):
            one = deviation_of(law) if heavy else scale
            beyond = tails(added(law, times))
            for width, level in itertools.product((2, 3, 4, 5, 10), LEVELS):
                far = whole_reach(one * math.sqrt(times) / width, level, heavy, shared=True)
                missed = beyond[math.ceil(width * (far + 0.5))]
                assert missed <= 1 - level + 1e-9, (scale, heavy, width, level)


def test_a_count_beside_a_sum_is_off_by_one_more_often_than_its_variance() -> None:
    """Halves: the variance of (X + Y)/2 is below 0.05, and one time in five it is a half or more."""
    law = laplace(2 / 7)
    deviation = deviation_of(law) / math.sqrt(2)
    assert deviation**2 < 0.05 < added(law, 2)[np.abs(POINTS) >= 1].sum()
    assert whole_reach(deviation, 0.95, True, several=True) == 0
    assert whole_reach(deviation, 0.95, True, shared=True) == 1
    assert whole_reach(0.1, 0.95, True, shared=True) == 0  # 4 times 0.01 is less than 0.05


def test_a_sum_of_six_noises_needs_a_step_less_than_its_reach_rounded_up() -> None:
    law = laplace(1.0)
    deviation = deviation_of(law) * math.sqrt(6)
    far = whole_reach(deviation, 0.95, True, several=True)
    assert far == math.ceil(reach(0.95, True) * deviation) - 1
    assert added(law, 6)[np.abs(POINTS) <= far].sum() >= 0.95


@pytest.mark.parametrize("sigma", [0.6, 0.7, 0.75])
def test_a_little_gaussian_noise_is_held_by_one_step_where_that_holds_the_level(sigma: float) -> None:
    law = gaussian(sigma)
    assert law[np.abs(POINTS) <= 1].sum() >= 0.95
    assert whole_reach(sigma, 0.95, False) == 1


def sorted_misses(truths: np.ndarray, noise: np.ndarray, far: int) -> np.ndarray:
    """Whether the value at each place of the order is off by more than `far`; a row of noise is an answer."""
    noisy = truths + noise
    order = np.argsort(-noisy, axis=1, kind="stable")
    off = np.abs(np.take_along_axis(noise, order, axis=1))
    return np.asarray(off > far)


@pytest.mark.statistical
@pytest.mark.parametrize("gap", [0, 1, 3, 100])
def test_the_value_at_any_place_of_a_sorted_answer_is_held(gap: int) -> None:
    """False alarms: six binomial deviations above the bound, 36 times, below 1e-7 a run."""
    cells, runs = 6, 40_000
    law = laplace(2.0)
    draws = np.random.default_rng(gap).choice(POINTS, size=(runs, cells), p=law)
    far = int(whole_reach(deviation_of(law), 0.95, True, placed(cells)))
    misses = sorted_misses(np.arange(cells) * gap, draws, far)
    assert misses.mean(axis=0).max() <= 0.05 + 6 * math.sqrt(0.05 * 0.95 / runs)
    for first, shown in ((0, 3), (2, 3), (1, 5)):
        far = int(whole_reach(deviation_of(law), 0.95, True, placed(cells, shown)))
        misses = sorted_misses(np.arange(cells) * gap, draws, far)[:, first : first + shown]
        assert misses.any(axis=1).mean() <= 0.05 + 6 * math.sqrt(0.05 * 0.95 / runs)


def test_of_alike_values_the_first_is_missed_about_as_often_as_the_level_says() -> None:
    """By enumeration: the greatest of m alike values is off by more than k with probability 1 - F(k)**m, about."""
    cells, law = 6, laplace(20.0)
    far = int(whole_reach(deviation_of(law), 0.95, True, placed(cells)))
    missed = 1 - float(law[far >= POINTS].sum()) ** cells + float(law[-far > POINTS].sum()) ** cells
    assert 0.03 < missed <= 0.05
    narrower = int(whole_reach(deviation_of(law), 0.95, True, (cells + 1) // 2))
    assert placed(cells) == 4
    assert narrower < far
