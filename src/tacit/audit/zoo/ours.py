"""All of our own mechanisms, as claims about the worst neighbours of their theorems. None may be flagged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.audit.verdicts import Claim
from tacit.loss import compose
from tacit.mechanisms import (
    AboveThreshold,
    BernoulliParameter,
    Exponential,
    Extreme,
    Gaussian,
    KeySelection,
    Laplace,
    LaplaceProportion,
    Mode,
    NoisyMax,
    PermuteAndFlip,
    PosteriorSampling,
    ProposeTestRelease,
    Quantiles,
    RandomizedResponse,
    SampleAndAggregate,
    Smooth,
    Staircase,
)
from tacit.parameters import Number

FEW, MANY = 2_000, 50_000


@dataclass(frozen=True, slots=True)
class Sound:
    """A claim that holds, and how many samples of it are affordable.

    >>> from tacit.audit import zoo
    >>> zoo.twins()[0].claim.epsilon
    Fraction(1, 1)
    """

    claim: Claim
    samples: int = FEW


def _whole(mechanism: Any, name: str, change: int, epsilon: Number, delta: Number = 0) -> Sound:
    """Noise on one whole number, moved by the sensitivity; an array is many releases."""

    def releases(x: int, *, size: int) -> Any:
        return mechanism.release(np.full(size, x))

    return Sound(Claim(releases, 0, change, epsilon, delta, name=name, vectorised=True), MANY)


def _one(name: str, release: Callable[[Any], Any], x: Any, neighbour: Any, epsilon: Number, delta: Number = 0) -> Sound:
    return Sound(Claim(release, x, neighbour, epsilon, delta, name=name))


def _counted(values: Sequence[int]) -> tuple[Any, Any, Any, int]:
    """Values with the rows below and at each, as `Quantiles.choose` takes them."""
    found, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    return found, np.cumsum(counts) - counts, counts, len(values)


def _smooth(kind: str, epsilon: Number, delta: Number | None = None) -> Sound:
    mechanism = Smooth(epsilon=epsilon, delta=delta, kind=kind)
    grown = 10 * math.exp(float(mechanism.smoothness)) * (1 - 1e-9)
    claimed = compose([mechanism.event]).epsilon(0 if delta is None else delta) if delta is None else epsilon
    return _one(
        f"Smooth, {kind}",
        lambda pair: mechanism.release(*pair),
        (0, 10.0),
        (10, grown),
        claimed,
        0 if delta is None else compose([mechanism.event]).delta(Fraction(epsilon)),
    )


def _numbers() -> list[Sound]:
    laplace_vector = Laplace(sensitivity=2, epsilon=1)
    laplace_real = Laplace(sensitivity=0.5, epsilon=1)
    gaussian_vector = Gaussian(sensitivity=2, epsilon=1, delta="1e-3", size=3)
    by_rho = Gaussian(sensitivity=1, rho="0.1")
    stable = ProposeTestRelease(epsilon=1, delta="0.01", bound=1)
    counts = KeySelection(epsilon=1, delta="0.01")
    share = LaplaceProportion(epsilon=1)
    return [
        _whole(Laplace(sensitivity=1, epsilon=1), "Laplace", 1, 1),
        _whole(Laplace(sensitivity=1, epsilon="0.1"), "Laplace, small epsilon", 1, "0.1"),
        _whole(Gaussian(sensitivity=1, epsilon=1, delta="1e-5"), "Gaussian", 1, 1, "1e-5"),
        _whole(by_rho, "Gaussian by rho", 1, compose([by_rho.event]).epsilon("1e-3"), "1e-3"),
        _one("Laplace on reals", laplace_real.release, 0.0, 0.5, 1),
        _one("Laplace on a vector", laplace_vector.release, [3, 5, 1], [4, 4, 1], 1),
        _one("Gaussian on a vector", gaussian_vector.release, [3, 5, 1], [3, 7, 1], 1, "1e-3"),
        _one("Staircase", Staircase(sensitivity=3, epsilon=1).release, 0, 3, 1),
        _smooth("cauchy", 1),
        _smooth("quartic", 1),
        _smooth("student", 1),
        _smooth("laplace", 1, "0.01"),
        _one("ProposeTestRelease", lambda pair: stable.release(*pair), (50, 8), (51, 7), 1, "0.01"),
        _one("LaplaceProportion", lambda heads: share.release(heads, 5), 2, 3, 1),
        Sound(
            Claim(
                lambda x, *, size: np.stack(counts.release_counts(np.full(size, x)), axis=1),
                2,
                3,
                1,
                "0.01",
                name="KeySelection with counts",
                vectorised=True,
            ),
            MANY,
        ),
    ]


def _choices() -> list[Sound]:
    exponential = Exponential(sensitivity=1, epsilon=1)
    monotone = Exponential(sensitivity=1, epsilon=1, monotone=True)
    flip = PermuteAndFlip(sensitivity=1, epsilon=1)
    noisy = NoisyMax(sensitivity=1, epsilon=1)
    mode = Mode(4, 1, 1)
    median = Quantiles(16, [Fraction(1, 2)], 1, 1)
    thirds = Quantiles(16, [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)], 1, 1)
    greatest = Extreme(16, True, 1, 1)
    keys = KeySelection(epsilon=1, delta="0.01")
    four = RandomizedResponse(options=4, epsilon=1)
    names, first, second = ["a", "b", "c", "d"], [0, 1, 1, 1], [1, 0, 0, 0]
    some, more = [3, 5, 5, 9], [3, 5, 5, 9, 15]
    vectorised: list[tuple[str, Any, Any, Any, Number, Number]] = [
        ("RandomizedResponse", RandomizedResponse(epsilon=1).release, 0, 1, 1, 0),
        ("RandomizedResponse among four", four.release, 0, 3, 1, 0),
        ("KeySelection", keys.choose, 3, 4, 1, "0.01"),
    ]
    return [
        *(
            Sound(Claim(_many(release), x, y, epsilon, delta, name=name, vectorised=True), MANY)
            for name, release, x, y, epsilon, delta in vectorised
        ),
        _one("Exponential", lambda scores: exponential.choose(names, scores=scores), first, second, 1),
        _one(
            "Exponential, monotone", lambda scores: monotone.choose(names, scores=scores), [2, 2, 2, 2], [3, 2, 2, 2], 1
        ),
        _one(
            "Exponential on an interval",
            lambda scores: exponential.choose_real(0, 1, edges=[0.25, 0.5], scores=scores),
            [0, 1, 1],
            [1, 0, 0],
            1,
        ),
        _one("PermuteAndFlip", lambda scores: flip.choose(names, scores=scores), first, second, 1),
        _one("NoisyMax", lambda scores: noisy.choose(names, scores=scores), first, second, 1),
        _one("Mode", lambda counts: mode.choose([0, 1, 2, 3], counts), [2, 2, 2, 2], [3, 2, 2, 2], 1),
        _one("Quantiles, median", lambda rows: median.choose(*_counted(rows)), some, more, 1),
        _one("Quantiles, three", lambda rows: thirds.choose(*_counted(rows)), some, more, 1),
        _one("Extreme", lambda rows: greatest.choose(*_counted(rows)), some, more, 1),
        _one("AboveThreshold", lambda values: AboveThreshold(1, 1, 0).scan(values).tolist(), [0, 1], [1, 0], 1),
        _one(
            "AboveThreshold, monotone",
            lambda values: AboveThreshold(1, 1, 0, fires=2, monotone=True).scan(values).tolist(),
            [0, 0, 0],
            [1, 1, 1],
            1,
        ),
    ]


def _many(release: Callable[[Any], Any]) -> Callable[..., Any]:
    def releases(x: int, *, size: int) -> Any:
        return release(np.full(size, x))

    return releases


def _models() -> list[Sound]:
    blocks = SampleAndAggregate(epsilon=1, blocks=3, bounds=(0, 10))
    means = SampleAndAggregate(epsilon=1, blocks=3, bounds=(0, 10), aggregator="mean")
    biases = PosteriorSampling([0.25, 0.5, 0.75], epsilon=1, bounds=(-2, 0))
    coin = BernoulliParameter(epsilon=1)
    flips = np.log([[0.25, 0.5, 0.75]])
    return [
        _one("SampleAndAggregate", lambda rows: blocks.release(_mean, rows), [0] * 6, [0] * 6 + [60], 1),
        _one("SampleAndAggregate, mean", lambda rows: means.release(_mean, rows), [0] * 6, [0] * 6 + [60], 1),
        _one("PosteriorSampling", biases.choose, np.repeat(flips, 2, axis=0), np.repeat(flips, 3, axis=0), 1),
        _one("BernoulliParameter", lambda heads: coin.release(heads, 5 - heads), 2, 3, 1),
    ]


def _mean(rows: Sequence[float]) -> float:
    return sum(rows) / max(len(rows), 1)


def our_mechanisms() -> tuple[Sound, ...]:
    """Every mechanism of `tacit.mechanisms`, each kind of release at least once.

    >>> [each.claim.name for each in our_mechanisms()][:2]
    ['Laplace', 'Laplace, small epsilon']
    """
    return (*_numbers(), *_choices(), *_models())
