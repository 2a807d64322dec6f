"""Posterior sampling, checked by enumerating small data sets with log-likelihoods at the ends of their bounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import noise
from tacit.errors import ParameterError
from tacit.loss.events import Exponential
from tacit.mechanisms.posterior_sampling import PosteriorSampling
from tacit.noise import SeededBitsForTestsOnly
from tests.effort import tried

MP = mpmath.mp.clone()
MP.dps = 30


def law(mechanism: PosteriorSampling, units: list[list[float]], shrink: float = 1.0) -> list[Any]:
    """The exact law over the candidates, from the whole totals and the factor that the race is given."""
    totals = mechanism.totals(np.array(units, dtype=np.float64).reshape(-1, len(mechanism.candidates)))
    exact = mechanism.choice.factor
    factor = MP.mpf(exact.numerator) / exact.denominator / shrink
    prior = mechanism.prior or (1.0,) * len(mechanism.candidates)
    weights = [weight * MP.exp(factor * int(total)) for weight, total in zip(prior, totals, strict=True)]
    return [weight / MP.fsum(weights) for weight in weights]


def losses(one: list[Any], other: list[Any]) -> list[float]:
    return [float(MP.log(a / b)) for a, b in zip(one, other, strict=True)]


UNITS = [list(ends) for ends in itertools.product((-3.0, 0.0), repeat=3)] + [[-1.0, -2.5, -0.5]]


def worst(mechanism: PosteriorSampling, replace: bool, shrink: float = 1.0) -> tuple[float, float]:
    """The largest loss, and the largest range of it, over neighbours with up to two other units."""
    largest, widest = 0.0, 0.0
    for others in ([], [UNITS[1]], [UNITS[3], UNITS[8]], [UNITS[4]] * 9):
        for unit in UNITS:
            changed = [[*others, other] for other in UNITS] if replace else [others]
            for neighbour in changed:
                found = losses(law(mechanism, [*others, unit], shrink), law(mechanism, neighbour, shrink))
                largest = max(largest, *(abs(loss) for loss in found))
                widest = max(widest, max(found) - min(found))
    return largest, widest


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("prior", [None, (1.0, 0.2, 3.0)])
def test_the_loss_has_range_epsilon_and_a_hotter_posterior_would_pass_it(replace: bool, prior: Any) -> None:
    epsilon = 0.8
    mechanism = PosteriorSampling([1, 2, 3], epsilon, (-3, 0), prior=prior, replace=replace)
    assert mechanism.event == Exponential(Fraction(epsilon))
    largest, widest = worst(mechanism, replace)
    assert largest <= epsilon
    assert widest == pytest.approx(epsilon, rel=1e-9)
    assert worst(mechanism, replace, shrink=0.9)[1] > epsilon * 1.1


def test_add_or_remove_allows_twice_the_temper_of_replace() -> None:
    assert float(PosteriorSampling([1, 2], 1, (-4, 0)).temper) == pytest.approx(1 / 4)
    assert float(PosteriorSampling([1, 2], 1, (-4, 0), replace=True).temper) == pytest.approx(1 / 8)
    assert PosteriorSampling([1, 2], 1, (-4, 0)).scale == pytest.approx(4)
    # and replacing a unit at the temper of add or remove costs twice as much
    assert worst(PosteriorSampling([1, 2, 3], 1, (-3, 0)), True)[1] == pytest.approx(2)


def test_at_a_large_epsilon_it_is_the_posterior_itself_and_cheaper() -> None:
    for replace, spent in [(False, 3), (True, 6)]:
        mechanism = PosteriorSampling([1, 2, 3], 100, (-3, 0), replace=replace)
        assert mechanism.temper == 1
        assert mechanism.event == Exponential(Fraction(spent))
        assert worst(mechanism, replace)[1] == pytest.approx(spent)


def test_the_law_is_the_tempered_posterior() -> None:
    mechanism = PosteriorSampling(["a", "b", "c"], "0.6", (-2, 0), prior=(0.5, 0.3, 0.2))
    units = [[-0.25, -1.5, -0.75], [-1.0, -0.5, -1.25]]
    weights = [
        p * math.exp(0.3 * sum(column)) for p, column in zip((0.5, 0.3, 0.2), zip(*units, strict=True), strict=True)
    ]
    expected = [weight / sum(weights) for weight in weights]
    assert [float(chance) for chance in law(mechanism, units)] == pytest.approx(expected, rel=1e-6)


def test_the_race_gets_the_totals_the_factor_and_the_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def race(scores: Any, factor: Fraction, bits: Any, prior: Any = None) -> int:
        asked.append((scores.tolist(), factor, None if prior is None else prior.tolist()))
        return 1

    monkeypatch.setattr(noise, "exponential_race", race)
    mechanism = PosteriorSampling(["a", "b"], 1, (-4, 0), prior=(1, 2), grid="1/2")
    assert mechanism.choose([[-4.0, -1.0], [-2.0, 0.0]]) == "b"
    # steps of 1/2 above -4, and epsilon/8 a step
    assert asked == [([4, 14], Fraction(1, 8), [1.0, 2.0])]
    assert mechanism.choose_by_totals([3, 4]) == "b"
    assert asked[1][0] == [3, 4]


def test_log_likelihoods_are_clamped_and_what_is_no_number_is_the_lowest() -> None:
    mechanism = PosteriorSampling(range(6), 1, (-4, 0), grid=1)
    found = mechanism.totals(np.array([[-math.inf, math.inf, math.nan, -9.0, 7.0, -1.0]]))
    assert found.tolist() == [0, 4, 0, 0, 4, 3]


@given(st.lists(st.lists(st.floats(allow_nan=True), min_size=3, max_size=3), min_size=1, max_size=12), st.randoms())
@settings(max_examples=tried(100), deadline=None)
def test_totals_do_not_depend_on_the_order_of_units_and_one_unit_moves_them_within_the_span(
    units: list[list[float]], random: Any
) -> None:
    mechanism = PosteriorSampling([1, 2, 3], 1, (-0.3, 0.7))
    totals = mechanism.totals(np.array(units))
    shuffled = list(units)
    random.shuffle(shuffled)
    assert mechanism.totals(np.array(shuffled)).tolist() == totals.tolist()
    without = mechanism.totals(np.array(units[1:]).reshape(-1, 3))
    span = 1 / mechanism.choice.factor  # epsilon 1 over the span
    assert ((totals - without) >= 0).all()
    assert ((totals - without) <= span).all()


def test_no_units_at_all_give_the_prior() -> None:
    mechanism = PosteriorSampling([1, 2], 1, (-4, 0), prior=(1, 3))
    assert [float(chance) for chance in law(mechanism, [])] == pytest.approx([0.25, 0.75])
    assert mechanism.choose(np.zeros((0, 2)), bits=SeededBitsForTestsOnly(1)) in (1, 2)


@pytest.mark.parametrize("prior", [None, (1.0, 0.2, 3.0)])
def test_the_draw_is_rarely_further_below_the_best_than_the_error(prior: Any) -> None:
    mechanism = PosteriorSampling([1, 2, 3], 2, (-3, 0), prior=prior)
    error = mechanism.error("0.9")
    for best, worse in itertools.permutations(range(3), 2):
        units = [[-3.0 if place == worse else 0.0 if place == best else -1.5 for place in range(3)]] * 20
        totals = [sum(column) for column in zip(*units, strict=True)]
        chances = law(mechanism, units)
        far = sum(chance for chance, total in zip(chances, totals, strict=True) if total <= max(totals) - error)
        assert far <= 0.1


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": math.nan}),
        ("bounds", {"bounds": (0, 0)}),
        ("bounds", {"bounds": (-math.inf, 0)}),
        ("candidates", {"candidates": []}),
        ("candidates", {"candidates": np.array([1, 2])}),
        ("prior", {"prior": (1.0,)}),
        ("prior", {"prior": (0.0, 0.0)}),
        ("prior", {"prior": (-1.0, 2.0)}),
        ("prior", {"prior": (math.nan, 2.0)}),
        ("grid", {"grid": 3}),
        ("grid", {"grid": 1024}),
    ],
)
def test_wrong_parameters_are_refused(name: str, wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"candidates": [1, 2], "epsilon": 1, "bounds": (-4, 0), **wrong}
    with pytest.raises(ParameterError, match=f"The '{name}' parameter must be"):
        PosteriorSampling(**arguments)


def test_log_likelihoods_of_the_wrong_shape_are_refused() -> None:
    for wrong in (np.zeros(2), np.zeros((3, 3)), np.zeros((1, 2, 2))):
        with pytest.raises(ParameterError, match="log_likelihoods"):
            PosteriorSampling([1, 2], 1, (-4, 0)).choose(wrong)


def test_totals_too_large_for_64_bits_are_clamped_and_never_wrap() -> None:
    fine = PosteriorSampling(["a", "b"], 1, (0.0, 1.0), grid=2.0**-62)
    assert fine.totals(np.array([[1.0, 0.0]] * 3)).tolist() == [2**63 - 1, 0]
    assert fine.totals(np.array([[1.0, 0.0]])).tolist() == [2**62, 0]
