"""Discrete Gaussian noise on several integers: against the whole law of two and three of them, and compositions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.loss import calibrate, events
from tacit.loss.accountants.event_curve import delta_curve
from tacit.loss.curves.discrete_gaussian import delta_curve_by_rounding
from tacit.loss.curves.lattice_vectors import _laws, delta

EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 3.0])


def law(sigma: float, reach: int) -> np.ndarray:
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma * sigma))
    return weights / weights.sum()


def enumerated(sigma: float, vector: tuple[int, ...], epsilon: float) -> float:
    """Over every outcome of the noise, none of them put together: P, and P moved by the vector."""
    reach = math.ceil(9 * sigma) + 4
    wide = law(sigma, reach + max(vector))
    inside = slice(max(vector), max(vector) + 2 * reach + 1)
    first, second = np.ones(()), np.ones(())
    for size in vector:
        first = np.multiply.outer(first, wide[inside])
        second = np.multiply.outer(second, wide[inside.start - size : inside.stop - size])
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


def vectors(squared: int, dimensions: int) -> list[tuple[int, ...]]:
    sizes = range(math.isqrt(squared) + 1)
    return [v for v in itertools.product(sizes, repeat=dimensions) if 0 < sum(x * x for x in v) <= squared]


@pytest.mark.parametrize(("squared", "dimensions"), [(2, 2), (5, 2), (16, 2), (3, 3), (6, 3)])
@pytest.mark.parametrize("sigma", [0.5, 0.9, 2.0])
def test_the_curve_is_the_worst_of_all_vectors(squared: int, dimensions: int, sigma: float) -> None:
    if dimensions == 3 and sigma == 2.0:
        sigma = 1.3  # fewer outcomes to write out
    found = delta(squared, sigma, dimensions, EPSILONS)
    for epsilon, bound in zip(EPSILONS.tolist(), found.tolist(), strict=True):
        truth = max(enumerated(sigma, v, epsilon) for v in vectors(squared, dimensions))
        assert truth * (1 - 1e-12) <= bound <= truth * (1 + 1e-9) + 1e-14


def test_every_vector_is_tried_and_none_has_more_coordinates_than_there_are() -> None:
    for squared, dimensions in ((16, 2), (7, 3), (12, 12)):
        sizes = {tuple(sorted(filter(None, v))) for v in vectors(squared, min(dimensions, 4))}
        assert len(_laws(squared, 1.0, min(dimensions, squared))) >= len(sizes)
        if dimensions <= 4:
            assert len(_laws(squared, 1.0, min(dimensions, squared))) == len(sizes)
    assert len(_laws(16, 1.0, 16)) == len(_laws(16, 1.0, 40))


def test_ones_in_k_coordinates_are_k_times_one_coordinate() -> None:
    """Bounded below by the k-fold law of t, made here by multiplying generating functions at roots of unity."""
    sigma, k, size = 1.5, 4, 512
    single = np.zeros(size)
    single[np.arange(-30, 31) % size] = law(sigma, 30)
    total = np.fft.ifft(np.fft.fft(single) ** k).real
    t = np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size)
    for epsilon, bound in zip(EPSILONS.tolist(), delta(k, sigma, 50, EPSILONS).tolist(), strict=True):
        losses = (2 * t + k) / (2 * sigma**2)
        truth = float((total * np.maximum(-np.expm1(np.minimum(epsilon - losses, 0)), 0)).sum())
        assert truth <= bound * (1 + 1e-12) + 1e-15


def test_prices_and_calibration_are_tighter_than_by_rounding_and_hold() -> None:
    for sigma, sensitivity in ((Fraction(1), Fraction(3, 2)), (Fraction(3), Fraction(2)), (Fraction(6), Fraction(4))):
        event = events.DiscreteGaussian(sensitivity, sigma, 10)
        found = delta_curve(event, EPSILONS)
        loose = delta_curve_by_rounding(sigma, math.floor(sensitivity**2), EPSILONS, 10)
        assert np.all(found <= loose)
        assert found[3] < 0.97 * loose[3]
    for sensitivity, epsilon, target in ((Fraction(3, 2), 2, "1e-6"), (2, 3, "1e-5")):
        sigma = calibrate.discrete_gaussian_sigma(sensitivity, epsilon, target, dimensions=20)
        assert calibrate.discrete_gaussian_delta(sensitivity, sigma, epsilon, dimensions=20) <= Fraction(target)
        # the discrete law on its squared distance of whole numbers, beside the continuous law at that distance
        distance = Fraction(math.isqrt(10**12 * math.floor(Fraction(sensitivity) ** 2)), 10**6)
        least = calibrate.gaussian_sigma(distance, epsilon, target)
        assert sigma < 1.02 * float(least)


def test_noise_outside_what_is_worked_out_keeps_its_bound() -> None:
    for sigma, squared in ((Fraction(1, 10), 2), (Fraction(9), 2), (Fraction(3), 17)):
        event = events.DiscreteGaussian(Fraction(math.isqrt(squared * 10**12) + 1, 10**6), sigma, 30)
        assert np.all(delta_curve(event, EPSILONS) <= 1)
