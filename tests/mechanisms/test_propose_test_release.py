"""Propose-test-release, checked by exact sums over its two noises."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit import noise
from tacit.errors import ParameterError
from tacit.loss.events import Approximate
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.propose_test_release import REFUSED, ProposeTestRelease

MP = mpmath.mp.clone()
MP.dps = 40


def upper_tail(scale: Any, t: int) -> Any:
    """P(X > t) of a discrete Laplace variable, summed term by term where that is short, else by symmetry."""
    a = MP.exp(-1 / MP.mpf(scale.numerator) * scale.denominator)
    if t < 0:
        return 1 - a ** (-t) / (1 + a)
    return a ** (t + 1) / (1 + a)


def mass(scale: Fraction, x: int) -> Any:
    a = MP.exp(-MP.mpf(scale.denominator) / scale.numerator)
    return (1 - a) / (1 + a) * a ** abs(x)


def law(
    mechanism: ProposeTestRelease, value: int, distance: int, outputs: range, shrink: Fraction, threshold: int
) -> dict[Any, Any]:
    """The probability of the refusal and of every released number in `outputs`."""
    assert mechanism.answer is not None
    passed = upper_tail(mechanism.test.event.scale * shrink, threshold - distance)
    released = {y: passed * mass(mechanism.answer.event.scale * shrink, y - value) for y in outputs}
    return {REFUSED: 1 - passed, **released}


def hockey_stick(one: dict[Any, Any], other: dict[Any, Any], epsilon: Fraction) -> float:
    factor = MP.exp(MP.mpf(epsilon.numerator) / epsilon.denominator)
    return float(sum(max(chance - factor * other[key], MP.mpf(0)) for key, chance in one.items()))


def worst(mechanism: ProposeTestRelease, shrink: Fraction = Fraction(1), lower: int = 0) -> float:
    """The largest hockey-stick divergence at epsilon over neighbours (value, distance)."""
    event, bound = mechanism.event, mechanism.answer.event.sensitivity if mechanism.answer else 0
    outputs = range(-40, 91)
    threshold = mechanism.threshold - lower
    worst_found = 0.0
    stable = [
        (d, d + step, bound) for d in range(0, threshold + 30, 7) for step in (-1, 0, 1) if d + step >= 0 < d + d + step
    ]
    unstable = [(0, 0, 50)]  # both neighbours violate the bound: the value may move anywhere
    for first, second, gap in stable + unstable:
        for left, right in itertools.permutations([(0, first), (gap, second)]):
            one = law(mechanism, *left, outputs, shrink, threshold)
            other = law(mechanism, *right, outputs, shrink, threshold)
            worst_found = max(worst_found, hockey_stick(one, other, event.epsilon))
    return worst_found


@pytest.mark.parametrize("bound", [1, 3])
def test_neighbours_are_within_epsilon_and_delta(bound: int) -> None:
    mechanism = ProposeTestRelease(2, "0.001", bound=bound)
    assert worst(mechanism) <= 0.001


def test_a_threshold_lower_by_one_would_break_delta() -> None:
    mechanism = ProposeTestRelease(2, "0.001", bound=1)
    assert worst(mechanism, lower=1) > 0.001


def test_a_stable_pair_meets_epsilon_exactly_so_less_noise_would_break_it() -> None:
    mechanism = ProposeTestRelease(2, "1e-12", bound=2)
    outputs = range(-60, 61)
    assert mechanism.answer is not None
    one = law(mechanism, 0, 3, outputs, Fraction(1), mechanism.threshold)
    other = law(mechanism, 2, 2, outputs, Fraction(1), mechanism.threshold)
    assert float(max(MP.log(one[y] / other[y]) for y in outputs)) == pytest.approx(2, rel=1e-12)
    assert max(MP.log(one[key] / other[key]) for key in one) <= MP.mpf("2") * (1 + MP.mpf("1e-30"))
    weak = law(mechanism, 0, 3, outputs, Fraction(9, 10), mechanism.threshold)
    weak_other = law(mechanism, 2, 2, outputs, Fraction(9, 10), mechanism.threshold)
    assert max(MP.log(weak[key] / weak_other[key]) for key in weak) > 2.2


def test_the_threshold_is_the_least_whole_number_with_a_tail_of_delta() -> None:
    for epsilon, delta in itertools.product(("0.1", 1, 3), ("1e-9", "0.001", "0.3", "0.6")):
        mechanism = ProposeTestRelease(epsilon, delta, bound=1)
        scale = Fraction(2) / Fraction(epsilon)
        tail = upper_tail(scale, mechanism.threshold)
        assert tail <= float(Fraction(delta))
        assert mechanism.threshold == 0 or upper_tail(scale, mechanism.threshold - 1) > float(Fraction(delta))


def test_the_halves_of_epsilon_go_to_test_and_release_and_all_of_it_to_the_test_alone() -> None:
    mechanism = ProposeTestRelease("0.5", "1e-6", bound=3)
    assert mechanism.event == Approximate(Fraction(1, 2), Fraction(1, 10**6))
    assert (mechanism.test.event.sensitivity, mechanism.test.event.scale) == (1, 4)
    assert mechanism.answer is not None
    assert (mechanism.answer.event.sensitivity, mechanism.answer.event.scale) == (3, 12)
    assert mechanism.scale == 12
    exact = ProposeTestRelease("0.5", "1e-6", bound=0)
    assert (exact.answer, exact.test.event.scale, exact.scale) == (None, 2, 0)


def scripted(monkeypatch: pytest.MonkeyPatch, draws: list[int]) -> list[Fraction]:
    scales: list[Fraction] = []

    def draw(scale: Fraction, size: int | None, bits: Any) -> Any:
        scales.append(scale)
        return draws.pop(0) if size is None else np.full(size, draws.pop(0))

    monkeypatch.setattr(noise, "discrete_laplace", draw)
    return scales


def test_it_releases_exactly_when_the_noisy_distance_is_above_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = ProposeTestRelease(1, "0.01", bound=2)
    for distance, test_noise in itertools.product(range(0, 12, 3), range(-3, mechanism.threshold + 4)):
        scales = scripted(monkeypatch, [test_noise, 5])
        answer = mechanism.release(100, distance)
        assert answer == (105 if distance + test_noise > mechanism.threshold else REFUSED)
        assert scales == [2, 4]


def test_a_negative_distance_is_no_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = ProposeTestRelease(1, "0.01", bound=2)
    scripted(monkeypatch, [mechanism.threshold + 1, 0])
    assert mechanism.release(7, -1000) == 7


def test_with_a_bound_of_zero_the_value_itself_leaves_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = ProposeTestRelease(1, "0.01", bound=0)
    scripted(monkeypatch, [0, 0])
    assert mechanism.release("brown", mechanism.threshold + 1) == "brown"
    assert mechanism.release("brown", mechanism.threshold) is REFUSED
    assert mechanism.error("0.9") == 0


def test_reals_and_arrays_are_released_like_by_laplace(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = ProposeTestRelease(1, "0.01", bound=0.5, grid=2**-4)
    scripted(monkeypatch, [10_000, 3])
    assert mechanism.release(1.0, 5) == 1 + 3 / 16
    assert mechanism.scale == Laplace(0.5, "0.5", grid=2**-4).scale
    whole = ProposeTestRelease(1, "0.01", bound=1)
    scripted(monkeypatch, [10_000, 3])
    assert whole.release(np.array([1, 2]), 5).tolist() == [4, 5]


def test_the_chance_to_pass_is_the_tail_of_the_noise() -> None:
    mechanism = ProposeTestRelease(1, "0.001", bound=1)
    for distance in range(0, 60, 5):
        expected = upper_tail(Fraction(2), mechanism.threshold - distance)
        assert mechanism.pass_probability(distance) == pytest.approx(float(expected), rel=1e-12)


def test_the_error_is_that_of_the_noise() -> None:
    assert ProposeTestRelease(1, "0.001", bound=3).error("0.95") == Laplace(3, "0.5").error("0.95")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": math.inf}),
        ("delta", {"delta": 0}),
        ("delta", {"delta": 1}),
        ("bound", {"bound": -1}),
        ("bound", {"bound": math.nan}),
    ],
)
def test_wrong_parameters_are_refused(name: str, wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"epsilon": 1, "delta": "0.01", "bound": 1, **wrong}
    with pytest.raises(ParameterError, match=f"The '{name}' parameter must be"):
        ProposeTestRelease(**arguments)
