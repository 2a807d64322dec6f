"""Statistical tests here fail a correct sampler with probability below 1e-9 each."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.loss import events
from tacit.mechanisms import Laplace, Staircase
from tacit.noise import SeededBitsForTestsOnly
from tests.mechanisms.exact import FALSE_ALARM, Law, discrete_laplace, p_value, product, real, refused, worst_loss


def law(sensitivity: int, inner: int, epsilon: Any, centre: int = 0, reach: int = 150) -> Law:
    """Normalised in closed form: 2 r - 1 points of weight 1, then 2 D of each power of b."""
    b = mpmath.exp(-real(epsilon))
    total = 2 * inner - 1 + 2 * sensitivity * b / (1 - b)
    return {x: b ** ((abs(x - centre) + sensitivity - inner) // sensitivity) / total for x in range(-reach, reach + 1)}


def magnitude(of: Law) -> Any:
    return mpmath.fsum(p * abs(x) for x, p in of.items())


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (4, 1), (5, 3), (10, "1/2")])
def test_neighbours_differ_by_exactly_epsilon_at_worst(sensitivity: int, epsilon: Any) -> None:
    mechanism = Staircase(sensitivity, epsilon)
    here = law(sensitivity, mechanism.inner, epsilon)
    losses = [
        worst_loss(here, law(sensitivity, mechanism.inner, epsilon, shift)) for shift in range(1, sensitivity + 2)
    ]
    assert all(loss <= real(epsilon) + mpmath.mpf(10) ** -40 for loss in losses[:sensitivity])
    assert mpmath.almosteq(losses[sensitivity - 1], real(epsilon), 1e-40)
    assert losses[sensitivity] > real(epsilon) * mpmath.mpf("1.9")  # one unit more would need a second step


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(4, 1), (5, 3), (10, 2), (7, 6)])
def test_the_width_of_the_step_is_the_best_of_all_and_beats_laplace_noise(sensitivity: int, epsilon: int) -> None:
    errors = {inner: magnitude(law(sensitivity, inner, epsilon)) for inner in range(1, sensitivity + 1)}
    assert Staircase(sensitivity, epsilon).inner == min(errors, key=lambda inner: errors[inner])
    assert min(errors.values()) < magnitude(discrete_laplace(Fraction(sensitivity, epsilon), reach=150))


@pytest.mark.statistical
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, "1/2"), (4, 1), (6, 3)])
def test_what_is_released_has_the_law_of_the_claim(sensitivity: int, epsilon: Any) -> None:
    mechanism, bits = Staircase(sensitivity, epsilon), SeededBitsForTestsOnly(15)
    drawn = [mechanism.release(10, bits=bits) - 10 for _ in range(12_000)]
    assert p_value(drawn, law(sensitivity, mechanism.inner, epsilon)) > FALSE_ALARM


@functools.cache
def wide_law(sensitivity: int, inner: int, epsilon: Any) -> Law:
    return law(sensitivity, inner, epsilon, reach=2000)


@pytest.mark.parametrize("confidence", ["1/100", "1/2", 0.9, 0.95, 0.99, "0.999999"])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (4, 1), (5, 3), (10, "1/2"), (100, 5)])
def test_the_error_is_the_exact_quantile(sensitivity: int, epsilon: Any, confidence: Any) -> None:
    mechanism = Staircase(sensitivity, epsilon)
    exact = wide_law(sensitivity, mechanism.inner, epsilon)
    level = 1 - real(confidence)

    def tail(t: int) -> Any:
        return 1 - mpmath.fsum(exact[x] for x in range(-t, t + 1))

    found = mechanism.error(confidence)
    assert tail(found) <= level
    assert found == 0 or tail(found - 1) > level


def test_at_sensitivity_one_it_is_the_geometric_mechanism() -> None:
    assert law(1, 1, 2)[3] == discrete_laplace(Fraction(1, 2))[3]
    for confidence in (0.5, 0.95, 0.999):
        assert Staircase(1, "1/3").error(confidence) == Laplace(1, "1/3").error(confidence)
    assert Staircase(1, 1).release(np.arange(10)).shape == (10,)


def test_several_numbers_at_once_would_cost_more_and_are_refused() -> None:
    mechanism = Staircase(2, 1)
    here = product(law(2, mechanism.inner, 1, 0, 6), law(2, mechanism.inner, 1, 0, 6))
    there = product(law(2, mechanism.inner, 1, 1, 6), law(2, mechanism.inner, 1, -1, 6))
    assert worst_loss(here, there) > 1.9  # an L1 distance of 2, and twice the epsilon
    refused(lambda: mechanism.release([1, 2]), "values")
    assert mechanism.release([1]).shape == (1,)


def test_the_event_is_a_pure_guarantee() -> None:
    assert Staircase(3, "1/2").event == events.Pure(Fraction(1, 2))
    assert Staircase(3, "1/2").scale == 6.0
    assert type(Staircase(3, 1).release(4)) is int


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "x", True, 1.0, Fraction(1, 2)])
def test_a_wrong_sensitivity_is_refused(value: Any) -> None:
    refused(lambda: Staircase(value, 1), "sensitivity")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "x", True, 1e-310, Fraction(1, 10**400)])
def test_a_wrong_epsilon_is_refused(value: Any) -> None:
    refused(lambda: Staircase(1, value), "epsilon")


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan, None])
def test_a_wrong_confidence_is_refused(confidence: Any) -> None:
    refused(lambda: Staircase(1, 1).error(confidence), "confidence")
