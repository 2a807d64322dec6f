"""Runs of many steps: against closed forms where there are some, and published totals where there are none."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from tacit.errors import ParameterError
from tacit.loss import calibrate, compose, events


def gaussian_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(40):
        m, eps = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - eps / m) - mpmath.exp(eps) * mpmath.ncdf(-m / 2 - eps / m)


@pytest.mark.parametrize(("sigma", "epsilon", "delta"), [(10, 1.0, 1e-6), (30, 4.0, 1e-5), (100, 0.3, 1e-9)])
def test_the_number_of_gaussian_steps_is_the_largest(sigma: int, epsilon: float, delta: float) -> None:
    count = calibrate.steps(events.Gaussian(Fraction(1), Fraction(sigma)), epsilon, delta)
    assert gaussian_delta(math.sqrt(count) / sigma, epsilon) <= delta
    # The tight accountant is within a part in ten thousand, so a few steps may be lost, never won.
    assert gaussian_delta(math.sqrt(count + 1 + count // 2000) / sigma, epsilon) > delta


def test_the_number_of_pure_steps_without_help_of_delta_is_the_quotient() -> None:
    assert calibrate.steps(events.Pure(Fraction(1, 4)), 1, "1e-300") == 4


def test_no_step_fits_when_one_is_too_much() -> None:
    assert calibrate.steps(events.Pure(Fraction(2)), 1, 1e-6) == 0


def test_a_step_that_costs_nothing_can_be_repeated_for_ever() -> None:
    with pytest.raises(ParameterError, match="for ever"):
        calibrate.steps(events.Pure(Fraction(0)), 1, 1e-6)


def test_the_noise_of_a_known_training_run_is_found_again() -> None:
    """Rate 0.01 and sigma 1 for 1,000 steps cost epsilon 2.12451 at delta 1e-6: independent accountants agree."""
    sigma = calibrate.noise_multiplier("0.01", 1000, "2.12451", "1e-6")
    assert 0.99999 < sigma < 1.0005
    step = events.PoissonSampled(events.Gaussian(Fraction(1), sigma), Fraction(1, 100))
    assert compose([step] * 1000).delta("2.12451") <= 1e-6


def test_the_sampling_rate_of_a_known_training_run_is_found_again() -> None:
    event = events.Gaussian(Fraction(1), Fraction(1))
    rate = calibrate.sampling_rate(event, 1000, "2.12451", "1e-6")
    assert Fraction("0.00999") < rate < Fraction("0.0100001")
    assert compose([events.PoissonSampled(event, rate)] * 1000).delta("2.12451") <= 1e-6


def test_without_sampling_the_noise_is_the_exact_gaussian_one() -> None:
    exact = calibrate.gaussian_sigma(Fraction(5), 2, "1e-6")  # 25 steps of sensitivity 1
    found = calibrate.noise_multiplier(1, 25, 2, "1e-6")
    assert exact * Fraction(999999, 1000000) <= found <= exact * Fraction(1001, 1000)


def test_a_cheap_event_needs_no_sampling() -> None:
    assert calibrate.sampling_rate(events.Pure(Fraction(1, 100)), 10, 1, 1e-6) == 1


def test_more_steps_need_more_noise_and_a_lower_rate() -> None:
    few, many = (calibrate.noise_multiplier("0.05", count, 1, 1e-5) for count in (200, 2000))
    assert few < many
    event = events.Gaussian(Fraction(1), Fraction(2))
    often, rarely = (calibrate.sampling_rate(event, count, 1, 1e-5) for count in (200, 2000))
    assert often > rarely > 0


def test_nonsense_is_refused() -> None:
    event = events.Pure(Fraction(1))
    for call in (
        lambda: calibrate.steps(event, 0, 1e-6),
        lambda: calibrate.steps(event, 1, 0),
        lambda: calibrate.sampling_rate(event, 0, 1, 1e-6),
        lambda: calibrate.noise_multiplier(0, 10, 1, 1e-6),
        lambda: calibrate.noise_multiplier(0.1, 10, 1, 1),
        lambda: calibrate.noise_multiplier(1.5, 10, 1, 1e-6),
    ):
        with pytest.raises(ParameterError, match="must be"):
            call()
