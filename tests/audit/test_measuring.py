"""Measured epsilon: never above the truth (but for the stated chance), near it where draws suffice, for any release.

Every bound below is asked for at confidence 1 - 1e-9, so that "not above the truth" fails about once in 1e9 runs; "near
the truth" has margins of more than six sampling errors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit import ParameterError
from tacit.audit import lower_bound
from tacit.audit.draws import draw
from tacit.audit.finders import Place, Score, thresholds
from tacit.audit.readings import Numbers, numbers_in, shape_of
from tacit.audit.zoo.noise import inverse_log, sound_count
from tacit.mechanisms import Gaussian

SURE = 1 - 1e-9


def coin(x: int, *, size: int) -> Any:
    """Randomised response at ln 3."""
    return np.where(np.random.default_rng().random(size) < 0.75, x, 1 - x)


@pytest.mark.statistical
def test_laplace_noise_is_measured_just_below_its_epsilon() -> None:
    bound = lower_bound(sound_count, 0, 1, samples=200_000, confidence=SURE, vectorised=True)
    assert 0.9 < bound.epsilon <= 1
    assert bound.draws >= 100_000
    assert (bound.hits > bound.other_hits) is True


@pytest.mark.statistical
def test_gaussian_noise_is_measured_at_its_delta() -> None:
    noisy = Gaussian(sensitivity=1, epsilon=1, delta="0.05")

    def release(x: int, *, size: int) -> Any:
        return noisy.release(np.full(size, x))

    at_delta = lower_bound(release, 0, 1, samples=200_000, delta="0.05", confidence=SURE, vectorised=True)
    assert 0.65 < at_delta.epsilon <= 1
    pure = lower_bound(release, 0, 1, samples=200_000, confidence=SURE, vectorised=True)
    assert pure.epsilon > 1.2


RELEASES: dict[str, Callable[[int], Any]] = {
    "numbers": float,
    "whole numbers too large for a float": lambda bit: 10**400 if bit else -(10**400),
    "texts": lambda bit: "yes" if bit else "no",
    "None or a text": lambda bit: None if bit else "x",
    "vectors": lambda bit: [0.0, float(bit), 5.0],
    "vectors of different lengths": lambda bit: [1.0] * (2 + bit),
    "tables": lambda bit: {"a": 1, "b": bit},
    "tables of different keys": lambda bit: {"a": 1} if bit else {"b": 1},
    "rows of values": lambda bit: [("F", 3), ("M", 4 + bit)],
    "arrays": lambda bit: np.array([bit, 2]),
    "booleans": bool,
    "objects": lambda bit: frozenset([bit]),
    "NaN or a number": lambda bit: math.nan if bit else 1.0,
}


@pytest.mark.statistical
@pytest.mark.parametrize("kind", RELEASES)
def test_whatever_is_released_the_leak_is_found(kind: str) -> None:
    def mechanism(x: int) -> Any:
        return RELEASES[kind](int(coin(x, size=1)[0]))

    bound = lower_bound(mechanism, 0, 1, samples=1_500, confidence=SURE)
    assert 0.2 < bound.epsilon <= math.log(3)


@pytest.mark.statistical
def test_low_bits_of_float_noise_give_the_input_away() -> None:
    bound = lower_bound(inverse_log, 0, 1, samples=4_000, confidence=SURE, vectorised=True)
    assert bound.epsilon > 2
    assert "lowest bit" in bound.event


@pytest.mark.statistical
def test_it_is_the_same_whichever_input_is_called_the_neighbour() -> None:
    # outcome 2 happens under input 0 only, and rarely: one direction alone would not see it
    def rare(x: int, *, size: int) -> Any:
        return np.where((x == 0) & (np.random.default_rng().random(size) < 0.1), 2, 1)

    there = lower_bound(rare, 0, 1, samples=10_000, confidence=SURE, vectorised=True)
    back = lower_bound(rare, 1, 0, samples=10_000, confidence=SURE, vectorised=True)
    assert there.likelier == "x"
    assert back.likelier == "neighbour"
    assert min(there.epsilon, back.epsilon) > 2


class Noting:
    """A reading that notes which releases it was shown."""

    def __init__(self) -> None:
        self.shown: list[set[int]] = []

    def __call__(self, releases: Any) -> Any:
        self.shown.append({int(each) for each in releases})
        return np.asarray(releases, dtype=float).reshape(-1, 1)


def test_an_event_is_counted_on_draws_that_neither_fitted_nor_chose_it() -> None:
    numbers = itertools.count()
    fitted: list[set[int]] = []
    reading = Noting()

    def finder(first: Any, second: Any) -> list[Score]:
        fitted.extend({int(each) for each in side} for side in (first, second))
        return [Score("the draw itself", reading, Place(0))]

    bound = lower_bound(lambda x: next(numbers), 0, 1, samples=1_000, events=finder)  # no two draws are the same
    parts = [*fitted, *reading.shown]
    assert len(parts) == 6
    assert sum(map(len, parts)) == 2_000
    assert set.union(*parts) == set(range(2_000))
    assert [len(each) for each in reading.shown[2:]] == [bound.draws, bound.draws]
    assert bound.draws >= 500


@pytest.mark.statistical
def test_vectors_whose_numbers_only_tell_together_are_told_apart() -> None:
    # two numbers, each hidden by noise that they share: only the second less three times the first tells
    def shared(x: int, *, size: int) -> Any:
        random = np.random.default_rng()
        noise = random.normal(0, 10, size)
        return np.stack([noise, 3 * noise + x + random.laplace(0, 1, size)], axis=1)

    assert 0.6 < lower_bound(shared, 0, 1, samples=40_000, confidence=SURE, vectorised=True).epsilon <= 1


@pytest.mark.statistical
def test_a_finder_of_ones_own_is_used_and_cannot_make_the_bound_wrong() -> None:
    bound = lower_bound(sound_count, 0, 1, samples=20_000, confidence=SURE, vectorised=True, events=thresholds)
    assert 0.5 < bound.epsilon <= 1
    assert bound.event.startswith("number 1")

    def useless(first: Any, second: Any) -> list[Score]:
        return [Score("nothing", Numbers(1), lambda read: np.zeros(len(read)))]

    assert lower_bound(sound_count, 0, 1, samples=1_000, vectorised=True, events=useless).epsilon == 0
    with pytest.raises(ParameterError, match="at least one score"):
        lower_bound(sound_count, 0, 1, samples=1_000, vectorised=True, events=lambda first, second: [])


def test_draws_that_are_all_alike_bound_nothing() -> None:
    for constant in ("-", None, ()):
        bound = lower_bound(lambda x, constant=constant: constant, 0, 1, samples=200)
        assert bound.epsilon == 0
        assert (bound.hits, bound.other_hits) == (bound.draws, bound.draws)


@pytest.mark.statistical
def test_several_processes_draw_and_the_bound_is_the_same_kind() -> None:
    bound = lower_bound(sound_count, 0, 1, samples=300_000, confidence=SURE, vectorised=True, workers=2)
    assert 0.9 < bound.epsilon <= 1


class Copied:
    """A mechanism with a generator of its own, which travels with its state."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(1)

    def __call__(self, x: int, *, size: int) -> Any:
        return x + self.random.normal(size=size)


def test_processes_that_draw_the_same_are_refused() -> None:
    with pytest.raises(ParameterError, match="copied with its state"):
        lower_bound(Copied(), 0, 1, samples=300_000, vectorised=True, workers=2)


def test_what_cannot_be_sent_to_another_process_is_refused() -> None:
    with pytest.raises(ParameterError, match="workers=1"):
        lower_bound(lambda x: x, 0, 1, samples=5_000, workers=2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"samples": 99},
        {"samples": 1e5},
        {"delta": -1},
        {"delta": 2},
        {"confidence": 1},
        {"confidence": 0},
        {"workers": 0},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        lower_bound(sound_count, 0, 1, **{"vectorised": True, "samples": 100, **wrong})


def test_a_mechanism_that_gives_another_number_of_releases_is_refused() -> None:
    with pytest.raises(ParameterError, match="size=100"):
        lower_bound(lambda x, *, size: [x], 0, 1, samples=100, vectorised=True)


def test_draws_come_in_order_and_all_of_them() -> None:
    numbers = itertools.count()
    told: list[int] = []
    found = draw(lambda x: (x, next(numbers)), "ab", 2_500, vectorised=False, workers=1, told=told.append)
    assert [list(each) for each in found] == [
        [("a", number) for number in range(2_500)],
        [("b", number) for number in range(2_500, 5_000)],
    ]
    assert sum(told) == 5_000


def test_a_bar_is_drawn_for_whoever_watches(capsys: pytest.CaptureFixture[str]) -> None:
    lower_bound(sound_count, 0, 1, samples=100, vectorised=True, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""


def test_every_kind_of_release_is_read() -> None:
    assert numbers_in([1, None, "a", 2.5]) == pytest.approx([1, math.nan, math.nan, 2.5], nan_ok=True)
    assert numbers_in({"b": 2, "a": 1}) == [1, 2]
    assert numbers_in(10**400) == [math.inf]
    assert numbers_in(-(10**400)) == [-math.inf]
    assert numbers_in("text") == numbers_in(None) == []
    assert shape_of({"b": 2, "a": 1}) == "dict 'a', 'b'"
    assert shape_of((1, 2)) == "tuple of 2"
