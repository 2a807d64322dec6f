"""Shuffled binary responses against every law that the others can make, added up bit by bit or from binomial laws."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from tacit.loss import events
from tacit.loss.accountants.event_curve import delta_curve, smallest_epsilon
from tacit.loss.curves.shuffled_bits import shuffled_bits
from tacit.loss.curves.shuffling import Clones, shuffled

mpmath.mp.dps = 30


def exact(local: float, others: int, ones: int, epsilon: float) -> float:
    """The larger of both directions, in arbitrary precision, one report after another."""
    truth = 1 / (1 + mpmath.exp(-mpmath.mpf(local)))
    law = [mpmath.mpf(1)]
    for chance in [truth] * ones + [1 - truth] * (others - ones):
        law = [(1 - chance) * a + chance * b for a, b in zip([*law, 0], [0, *law], strict=True)]
    first = [(1 - truth) * a + truth * b for a, b in zip([*law, 0], [0, *law], strict=True)]
    second = [truth * a + (1 - truth) * b for a, b in zip([*law, 0], [0, *law], strict=True)]
    factor = mpmath.exp(mpmath.mpf(epsilon))
    pairs = list(zip(first, second, strict=True))
    return float(max(sum(max(a - factor * b, 0) for a, b in pairs), sum(max(b - factor * a, 0) for a, b in pairs)))


@pytest.mark.parametrize("local", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("population", [1, 2, 3, 8, 16])
def test_the_curve_is_the_largest_over_all_that_the_others_hold(local: float, population: int) -> None:
    for share in (0.0, 0.02, 0.1, 0.5, 0.9):
        epsilon = share * local
        truth = max(exact(local, population - 1, ones, epsilon) for ones in range(population))
        (found,) = shuffled_bits(local, population, np.array([epsilon]))
        assert truth * (1 - 1e-15) <= found <= truth * (1 + 1e-9)


def by_binomials(local: float, others: int, ones: int, epsilon: float) -> float:
    truth = 1 / (1 + math.exp(-local))
    law = np.convolve(
        binom.pmf(np.arange(ones + 1), ones, truth), binom.pmf(np.arange(others - ones + 1), others - ones, 1 - truth)
    )
    first, second = np.convolve(law, [1 - truth, truth]), np.convolve(law, [truth, 1 - truth])
    return max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in ((first, second), (second, first)))


@pytest.mark.parametrize(("population", "steps"), [(320, 1), (3000, 500)])
def test_many_others_are_covered_and_cost_little_more_than_they_must(population: int, steps: int) -> None:
    for local, epsilon in ((0.5, 0.03), (2.0, 0.1)):
        others = [*range(0, population, steps), population - 1]
        truth = max(by_binomials(local, population - 1, ones, epsilon) for ones in others)
        found, further = shuffled_bits(local, population, np.array([epsilon, 1.01 * epsilon]))
        assert further <= truth <= found  # at most a hundredth of epsilon too much


def test_laws_that_are_convolved_by_a_transform_are_covered() -> None:
    """All others alike: one binomial law, whose tails are known."""
    population, local, epsilon = 60_000, 1.0, 0.02
    truth = 1 / (1 + math.exp(-local))
    j = np.arange(0, population + 1)
    best = 0.0
    for chance in (truth, 1 - truth):
        law, beyond = binom.pmf(j - 1, population - 1, chance), binom.sf(j - 1, population - 1, chance)
        gained = (truth - math.exp(epsilon) * (1 - truth)) * law - math.expm1(epsilon) * beyond
        best = max(best, float(np.max(gained)))
    found, further = shuffled_bits(local, population, np.array([epsilon, 1.03 * epsilon]))
    assert further <= best <= found


def test_two_options_cost_less_than_clones_tell() -> None:
    """The hidden noise is 2 p times as large in variance, so epsilon is smaller by its root."""
    for local, population in ((1.0, 90), (3.0, 400)):
        event = events.Shuffled(events.RandomizedResponse(local, 2), population)
        found = smallest_epsilon(event, 1e-6)
        clones = Clones.of_response(local, 2)
        assert float(shuffled(clones, population, np.array([found]))[0]) > 2e-6
        gain = math.sqrt(2 / (1 + math.exp(-local)))
        assert float(shuffled(clones, population, np.array([found * gain * 1.1]))[0]) < 1e-6
        assert float(delta_curve(event, np.array([found]))[0]) <= 1e-6


def test_a_curve_never_rises_and_ends_where_one_report_does() -> None:
    points = np.linspace(0, 1.2, 100)
    for population in (1, 10, 500, 20_000):
        found = shuffled_bits(1.0, population, points)
        assert np.all(np.diff(found) <= 1e-15)
        assert np.all(found[points >= 1.0] == 0)
