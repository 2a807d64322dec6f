"""Running totals as a caller sees them: price, error, state, refusals."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.loss import calibrate, compose, targets
from tacit.loss.events import Concentrated, DiscreteGaussian, Pure
from tacit.mechanisms.continual import Change, RunningTotals, any_window, one_event, one_user
from tacit.mechanisms.continual.matrix import matrix_for
from tacit.noise import SeededBitsForTestsOnly


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.1}])
@pytest.mark.parametrize("steps", [1, 40, 300, None])
def test_the_errors_are_as_large_as_stated(price: dict[str, float], steps: int | None) -> None:
    """Mean of squares over 600 cells within 30 %: further off by chance less than once in 1e6."""
    totals = RunningTotals(steps, width=600, **price)
    course = totals.begin()
    length = 200 if steps is None else steps
    rng = np.random.default_rng(0)
    stream = rng.integers(0, 10, (length, 600))
    sent = course.extend(stream)
    for step in {1, length // 2 + 1, length}:
        off = sent[step - 1] - stream[:step].sum(axis=0)
        assert np.square(off).mean() == pytest.approx(totals.deviation(step) ** 2, rel=0.3)
        assert np.mean(np.abs(off) > totals.within(step)) < 0.12


def test_the_noise_is_what_the_event_needs() -> None:
    totals = RunningTotals(365, epsilon=1, delta=1e-6)
    event = totals.event
    assert isinstance(event, DiscreteGaussian)
    assert event.sensitivity == matrix_for(365).sensitivity(Fraction(1))
    assert compose([event]).epsilon(1e-6) <= 1
    assert float(event.sigma / event.sensitivity) == pytest.approx(
        float(calibrate.gaussian_sigma(1, 1, 1e-6)), rel=1e-3
    )
    assert RunningTotals(365, rho="0.5").event.sigma == pytest.approx(float(event.sensitivity), rel=1e-9)


@pytest.mark.parametrize("times", [1, 4])
def test_what_is_drawn_has_the_scale_of_the_event(times: int) -> None:
    for steps in (1, 100):
        tree = RunningTotals(steps, epsilon=1, protects=one_user(times))
        assert tree.stretch(0).scale == tree.event.scale
        matrix = RunningTotals(steps, epsilon=1, delta=1e-6, protects=one_user(times))
        assert matrix.stretch(0).scale == matrix.event.sigma
    unknown = RunningTotals(None, epsilon=1, protects=one_user(times))
    assert [unknown.stretch(number).scale for number in (0, 1)] == [7 * times, 8 * times]


def test_more_of_one_unit_costs_more_noise() -> None:
    def deviation(**options: object) -> float:
        return RunningTotals(365, epsilon=1, delta=1e-6, **options).deviation(365)

    once = deviation()
    assert deviation(protects=one_event()) == once
    assert once < deviation(protects=one_user(7, apart=30)) < deviation(protects=one_user(7)) <= 7 * once * 1.001
    assert deviation(protects=any_window(7)) == deviation(protects=one_user(7))
    assert deviation(protects=one_user(1000)) == deviation(protects=one_user(365))  # there are no more steps
    assert deviation(change=Change(3, Fraction(3), 1)) == pytest.approx(3 * once, rel=1e-3)


def test_an_unknown_length_is_priced_by_what_holds_for_any() -> None:
    assert RunningTotals(None, epsilon=1).event == Pure(Fraction(1))
    event = RunningTotals(None, epsilon=1, delta=1e-6).event
    assert isinstance(event, Concentrated)
    assert targets.epsilon_of_concentrated(event.rho, Fraction(1, 10**6)) <= 1
    totals = RunningTotals(None, rho=1, protects=one_user(2))
    for number in range(6):
        part = totals.stretch(number)
        once = matrix_for(part.steps).sensitivity(Fraction(1))
        assert (2 * once / part.scale) ** 2 / 2 <= 1


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}])
@pytest.mark.parametrize("steps", [500, None])
def test_a_state_goes_on_where_it_was_taken(price: dict[str, float], steps: int | None) -> None:
    totals = RunningTotals(steps, width=2, **price)
    stream = np.random.default_rng(1).integers(0, 5, (400, 2))
    course = totals.begin(bits=SeededBitsForTestsOnly(1))
    course.extend(stream[:150])
    state = json.loads(json.dumps(course._state()))
    again = totals.begin(bits=SeededBitsForTestsOnly(2))._resume(state)
    assert again.time == 150
    assert again.last == course.last
    one, two = (each.totals.begin(bits=SeededBitsForTestsOnly(3))._resume(state) for each in (course, again))
    assert (one.extend(stream[150:]) == two.extend(stream[150:])).all()
    assert np.abs(one.last - stream.sum(axis=0)).max() < 20 * totals.deviation(400)


def test_values_are_clamped_to_the_public_largest_one() -> None:
    totals = RunningTotals(4, rho=1000, largest=10)
    assert totals.begin().extend([5, 100, -100, 3])[-1, 0] == pytest.approx(8, abs=1)
    course = totals.begin()
    course.step(10**30)
    assert course.last[0] == pytest.approx(10, abs=1)
    wide = RunningTotals(4, rho=1000, largest=None).begin()
    assert wide.step(10**30)[0] == pytest.approx(1e30, rel=1e-9)
    assert wide.extend([[10**30], [1]])[-1, 0] == pytest.approx(2e30, rel=1e-9)


def test_what_cannot_be_honoured_is_refused() -> None:
    with pytest.raises(ParameterError, match="either epsilon"):
        RunningTotals(5)
    with pytest.raises(ParameterError, match="at most 4,294,967,296"):
        RunningTotals(1 << 33, epsilon=1)
    course = RunningTotals(2, epsilon=1).begin()
    with pytest.raises(ParameterError, match="1 whole numbers"):
        course.step(1.5)
    with pytest.raises(ParameterError, match="whole numbers"):
        course.extend([1.5])
    course.extend([1, 2])
    with pytest.raises(ParameterError, match="paid for 2 steps"):
        course.step(3)
    with pytest.raises(ParameterError, match="'step' parameter must be at most 2"):
        course.totals.deviation(3)


def test_an_error_is_told_before_anything_is_drawn() -> None:
    totals = RunningTotals(1 << 20, epsilon=1, delta=1e-6)
    assert totals.within(1 << 20) == pytest.approx(1.96 * totals.deviation(1 << 20), rel=1e-3)
    assert math.isfinite(RunningTotals(None, epsilon=1).within(1000))
