"""What all mechanisms promise, asserted for every one of them: one that joins the room is held to it as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tacit import mechanisms
from tacit.errors import ParameterError
from tacit.loss import compose, events
from tacit.loss.budget import Budget
from tacit.loss.filters import choose_filter
from tacit.loss.spent import Spent

DELTA = Fraction(1, 10**6)
PURE: Mapping[str, Callable[[Any], Any]] = {
    "AboveThreshold": lambda epsilon: mechanisms.AboveThreshold(1, epsilon, 10),
    "BernoulliParameter": lambda epsilon: mechanisms.BernoulliParameter(epsilon),
    "Exponential": lambda epsilon: mechanisms.Exponential(1, epsilon),
    "Extreme": lambda epsilon: mechanisms.Extreme(8, True, 1, epsilon),
    "Laplace": lambda epsilon: mechanisms.Laplace(1, epsilon),
    "LaplaceProportion": lambda epsilon: mechanisms.LaplaceProportion(epsilon),
    "Mode": lambda epsilon: mechanisms.Mode(8, 1, epsilon),
    "NoisyMax": lambda epsilon: mechanisms.NoisyMax(1, epsilon),
    "PermuteAndFlip": lambda epsilon: mechanisms.PermuteAndFlip(1, epsilon),
    "PosteriorSampling": lambda epsilon: mechanisms.PosteriorSampling(
        mechanisms.declared_public(["a", "b"]), epsilon, (-1.0, 0.0)
    ),
    "Quantiles": lambda epsilon: mechanisms.Quantiles(8, ["1/2"], 1, epsilon),
    "RandomizedResponse": lambda epsilon: mechanisms.RandomizedResponse(2, epsilon),
    "SampleAndAggregate": lambda epsilon: mechanisms.SampleAndAggregate(epsilon, 10, (0, 1)),
    "Staircase": lambda epsilon: mechanisms.Staircase(1, epsilon),
}
WITH_DELTA: Mapping[str, Callable[[Any], Any]] = {
    "Gaussian": lambda epsilon: mechanisms.Gaussian(1, epsilon, DELTA),
    "KeySelection": lambda epsilon: mechanisms.KeySelection(epsilon, DELTA),
    "ProposeTestRelease": lambda epsilon: mechanisms.ProposeTestRelease(epsilon, DELTA, bound=1),
    "Smooth": lambda epsilon: mechanisms.Smooth(epsilon, DELTA),
}
ALL = {**PURE, **WITH_DELTA}
NO_MECHANISMS = {"Mechanism", "Refused", "declared_public"}
BAD: tuple[Any, ...] = (0, -1, "0", float("nan"), float("inf"), "many", True, None, [1])


def test_every_mechanism_is_here() -> None:
    assert set(ALL) == set(mechanisms.__all__) - NO_MECHANISMS


@pytest.mark.parametrize("name", PURE)
def test_ten_times_a_tenth_fit_in_one_and_the_eleventh_does_not(name: str) -> None:
    rule = choose_filter(Budget(1))
    cost = rule.price(PURE[name]("0.1").event)
    assert cost is not None
    assert Spent(10 * cost.loss, cost.delta).within(rule.limit)
    assert not Spent(11 * cost.loss, cost.delta).within(rule.limit)


@pytest.mark.parametrize("name", ALL)
def test_the_event_costs_no_more_than_was_asked(name: str) -> None:
    event = ALL[name](Fraction(1, 2)).event
    rounded_up = DELTA * (1 + Fraction(1, 10**8))  # as whatever an accountant says
    assert compose([event]).delta(Fraction(1, 2)) <= (0 if name in PURE else rounded_up)


@pytest.mark.parametrize("name", ALL)
def test_every_way_to_write_a_tenth_is_the_same_price(name: str) -> None:
    tenth = ALL[name]("0.1").event
    for same in ("1/10", Decimal("0.1"), Fraction(1, 10)):
        assert ALL[name](same).event == tenth


@pytest.mark.parametrize("name", ALL)
def test_the_event_is_a_text_and_comes_back_from_it(name: str) -> None:
    event = ALL[name](1).event
    assert events.from_json(event.to_json()) == event


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bad", BAD, ids=str)
def test_a_bad_epsilon_is_refused_in_a_sentence(name: str, bad: Any) -> None:
    with pytest.raises(ParameterError, match=r"must be .* Got .* instead\."):
        ALL[name](bad)


@pytest.mark.parametrize("name", ALL)
def test_a_mechanism_is_frozen_and_equal_to_one_of_the_same_parameters(name: str) -> None:
    made, again = ALL[name](1), ALL[name](1)
    assert made.event == again.event
    assert repr(made.event) == repr(again.event)
    with pytest.raises((AttributeError, TypeError)):
        made.event = again.event


def test_the_names_of_the_room_are_frozen() -> None:
    assert mechanisms.__all__ == [
        "AboveThreshold",
        "BernoulliParameter",
        "Exponential",
        "Extreme",
        "Gaussian",
        "KeySelection",
        "Laplace",
        "LaplaceProportion",
        "Mechanism",
        "Mode",
        "NoisyMax",
        "PermuteAndFlip",
        "PosteriorSampling",
        "ProposeTestRelease",
        "Quantiles",
        "RandomizedResponse",
        "Refused",
        "SampleAndAggregate",
        "Smooth",
        "Staircase",
        "declared_public",
    ]
    for name in mechanisms.__all__:
        assert getattr(mechanisms, name).__doc__


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.Laplace(1, 1),
        mechanisms.Laplace(1.0, 1),
        mechanisms.Gaussian(1, 1, 1e-6),
        mechanisms.Staircase(3, 1),
    ],
)
def test_noise_on_numbers_keeps_the_common_contract(mechanism: mechanisms.Mechanism) -> None:
    assert mechanism.scale > 0
    assert mechanism.error(0.95) >= 0
    assert isinstance(mechanism.release(7), (int, float))
    assert mechanism.event.to_json()
