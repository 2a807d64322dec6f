"""The bias of a coin: the exact law on the grid, its figures, and the noisy count it is compared with.

Statistical test: false-alarm rate below 1e-9 a run.
"""

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
from tacit.loss.events import DiscreteLaplace, Exponential
from tacit.mechanisms import bernoulli_parameter
from tacit.mechanisms.bernoulli_parameter import BernoulliParameter, LaplaceProportion
from tacit.noise import SeededBitsForTestsOnly
from tests.noise.doubles import chance_at_most

MP = mpmath.mp.clone()
MP.dps = 30


def law(mechanism: BernoulliParameter, heads: int, tails: int, shrink: float = 1.0) -> dict[Fraction, Any]:
    """The exact law over the grid points inside the bounds."""
    width = 2**mechanism.grid_bits
    thetas = [Fraction(i, width) for i in range(width) if mechanism.low < Fraction(i, width) < mechanism.high]
    power = MP.mpf(mechanism.power.numerator) / mechanism.power.denominator / shrink
    weights = {theta: MP.exp(power * (heads * MP.log(_mp(theta)) + tails * MP.log(_mp(1 - theta)))) for theta in thetas}
    norm = MP.fsum(weights.values())
    return {theta: weight / norm for theta, weight in weights.items()}


def _mp(exact: Fraction) -> Any:
    return MP.mpf(exact.numerator) / exact.denominator


def loss_range(one: dict[Fraction, Any], other: dict[Fraction, Any]) -> tuple[float, float]:
    found = [float(MP.log(one[theta] / other[theta])) for theta in one]
    return max(abs(loss) for loss in found), max(found) - min(found)


def test_the_worked_figure_of_a_tenth() -> None:
    mechanism = BernoulliParameter("0.1")
    assert (mechanism.low, mechanism.high) == (Fraction(1, 10), Fraction(9, 10))
    assert float(mechanism.power) == pytest.approx(0.0217, abs=5e-5)
    assert float(mechanism.power) == pytest.approx(0.1 / (2 * -math.log(0.1)), rel=1e-12)
    assert float(mechanism.power) <= 0.1 / (2 * math.log(10)) * (1 + 1e-15)
    assert mechanism.event == Exponential(Fraction(1, 10))
    assert mechanism.scale == pytest.approx(20 * math.log(10))


COUNTS = [(0, 1), (1, 0), (5, 5), (60, 3), (400, 600), (0, 50)]


def test_replacing_a_flip_stays_within_epsilon_and_a_power_a_ninth_larger_would_not() -> None:
    mechanism = BernoulliParameter(2, grid_bits=8)
    pairs = [((h, t), (h + 1, t - 1)) for h, t in COUNTS if t]
    losses = [loss_range(law(mechanism, *one), law(mechanism, *other)) for one, other in pairs]
    assert max(largest for largest, _ in losses) <= 2
    # (2/ln 10) ln 9, less a little for the ends of the grid
    assert 1.88 < max(width for _, width in losses) <= 2
    weak = [loss_range(law(mechanism, *one, 0.9), law(mechanism, *other, 0.9)) for one, other in pairs]
    assert max(width for _, width in weak) > 2


def test_adding_or_removing_a_flip_stays_within_epsilon_at_twice_the_power() -> None:
    mechanism = BernoulliParameter(2, replace=False, grid_bits=8)
    assert mechanism.power >= BernoulliParameter(2, grid_bits=8).power * Fraction(199, 100)
    pairs = [((h, t), more) for h, t in COUNTS for more in ((h + 1, t), (h, t + 1))]
    losses = [loss_range(law(mechanism, *one), law(mechanism, *other)) for one, other in pairs]
    assert max(largest for largest, _ in losses) <= 2
    assert 1.88 < max(width for _, width in losses) <= 2
    weak = [loss_range(law(mechanism, *one, 0.9), law(mechanism, *other, 0.9)) for one, other in pairs]
    assert max(width for _, width in weak) > 2


def test_bounds_that_are_not_symmetric_take_the_nearer_end() -> None:
    for bounds in (("0.05", "0.5"), ("0.5", "0.95")):
        assert float(BernoulliParameter(1, bounds).power) == pytest.approx(1 / (2 * math.log(20)), rel=1e-12)


def test_it_draws_the_truncated_beta_law(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def draw(*arguments: Any) -> int:
        asked.append(arguments[:-1])
        return 3000

    monkeypatch.setattr(bernoulli_parameter, "truncated_beta", draw)
    mechanism = BernoulliParameter("0.1")
    assert mechanism.release(700, 300) == 3000 / 2**14
    mechanism.release(np.int64(7), -5)
    mechanism.release(10**30, 0)
    power = mechanism.power
    ends = (Fraction(1, 10), Fraction(9, 10), 14, None)
    assert asked[0] == (700 * power, 300 * power, *ends)
    assert asked[1] == (7 * power, 0, *ends)
    assert asked[2][0] <= 2**40


def test_counts_of_any_size_are_answered_between_the_bounds() -> None:
    mechanism = BernoulliParameter(1)
    for heads, tails in [(0, 0), (10**40, 0), (0, 10**40), (10**9, 10**9), (-4, -4)]:
        assert 0.1 < mechanism.release(heads, tails, bits=SeededBitsForTestsOnly(1)) < 0.9


def test_the_standard_deviation_is_that_of_the_law() -> None:
    mechanism = BernoulliParameter("0.5", grid_bits=9)
    for heads, tails in [(0, 0), (70, 30), (700, 300)]:
        exact = law(mechanism, heads, tails)
        mean = sum(_mp(theta) * mass for theta, mass in exact.items())
        variance = sum((_mp(theta) - mean) ** 2 * mass for theta, mass in exact.items())
        assert mechanism.standard_deviation(heads, tails) == pytest.approx(float(MP.sqrt(variance)), rel=1e-9)


def test_the_variance_falls_as_one_over_n_against_one_over_n_squared_by_a_noisy_count() -> None:
    draw, count = BernoulliParameter("0.1", grid_bits=16), LaplaceProportion("0.1")
    flips = [10**5, 10**6, 10**7]
    drawn = [draw.standard_deviation(n * 3 // 10, n * 7 // 10) ** 2 for n in flips]
    counted = [count.standard_deviation(n) ** 2 for n in flips]
    for more, fewer in itertools.pairwise(drawn):
        assert more / fewer == pytest.approx(10, rel=0.02)
    for more, fewer in itertools.pairwise(counted):
        assert more / fewer == pytest.approx(100, rel=1e-9)
    # theta (1 - theta)/(power n), and 2/(epsilon n)**2
    assert drawn[1] == pytest.approx(0.21 / (0.0217147 * 10**6), rel=0.01)
    assert counted[1] == pytest.approx(2 / (0.1 * 10**6) ** 2, rel=0.01)


# -- the noisy count ------------------------------------------------------------------------------------


def test_the_noisy_count_has_the_scale_of_one_flip(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = LaplaceProportion("0.1")
    assert mechanism.event == DiscreteLaplace(1, Fraction(10))
    assert mechanism.scale == 10
    for drawn, expected in [(5, 0.35), (-100, 0.0), (500, 1.0)]:
        monkeypatch.setattr(noise, "discrete_laplace", lambda scale, size, bits, drawn=drawn: drawn)
        assert mechanism.release(30, 100) == expected


def test_its_standard_deviation_and_error_are_those_of_discrete_laplace_noise() -> None:
    mechanism = LaplaceProportion("0.5")
    a = MP.exp(-MP.mpf("0.5"))
    masses = {x: (1 - a) / (1 + a) * a ** abs(x) for x in range(-300, 301)}
    variance = sum(x * x * mass for x, mass in masses.items())
    assert mechanism.standard_deviation(10) == pytest.approx(float(MP.sqrt(variance)) / 10, rel=1e-12)
    width = round(mechanism.error("0.95", 10) * 10)
    assert sum(mass for x, mass in masses.items() if abs(x) > width) <= 0.05
    assert sum(mass for x, mass in masses.items() if abs(x) > width - 1) > 0.05


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("epsilon", lambda: BernoulliParameter(0)),
        ("epsilon", lambda: BernoulliParameter(math.inf)),
        ("epsilon", lambda: BernoulliParameter(Fraction(1, 10**400))),
        ("bounds", lambda: BernoulliParameter(1, (0, "0.9"))),
        ("bounds", lambda: BernoulliParameter(1, ("0.9", "0.1"))),
        ("grid_bits", lambda: BernoulliParameter(1, grid_bits=0)),
        ("grid_bits", lambda: BernoulliParameter(1, grid_bits=25)),
        ("grid_bits", lambda: BernoulliParameter(1, ("0.51", "0.52"), grid_bits=2)),
        ("epsilon", lambda: LaplaceProportion(-1)),
        ("flips", lambda: LaplaceProportion(1).release(3, 0)),
    ],
)
def test_wrong_parameters_are_refused(name: str, build: Any) -> None:
    with pytest.raises(ParameterError, match=f"The '{name}' parameter must be"):
        build()


def test_counts_that_are_not_whole_are_refused_without_being_quoted() -> None:
    for release in (lambda: BernoulliParameter(1).release(12.5, 3), lambda: LaplaceProportion(1).release(True, 3)):  # type: ignore[arg-type]
        with pytest.raises(ParameterError) as refused:
            release()
        assert "12.5" not in str(refused.value)


@pytest.mark.statistical
def test_draws_follow_the_exact_law() -> None:
    mechanism = BernoulliParameter(20, grid_bits=4)
    exact = law(mechanism, 6, 3)
    bits = SeededBitsForTestsOnly(4)
    drawn = [mechanism.release(6, 3, bits=bits) for _ in range(4000)]
    observed = np.array([drawn.count(float(theta)) for theta in exact])
    assert observed.sum() == 4000
    assert chance_at_most(observed, [float(mass) for mass in exact.values()]) > 1e-10
