"""Auditing in one run: many canaries, each of which is in or out by its own coin, and guesses of which were in.

Theorem (Steinke, Nasr, Jagielski 2023). Let m canaries be included independently with probability 1/2, let a trainer
see the included ones, and let someone who sees only its result guess "in" or "out" for r of them and abstain from the
others. If the trainer is epsilon-differentially private when one canary is added or removed, then the number W of
right guesses is stochastically below Binomial(r, q), q = exp(epsilon)/(1 + exp(epsilon)). If it is
(epsilon, delta)-private, then with B ~ Binomial(r, q)

    P[W >= v]  <=  P[B >= v] + 2 m delta max_{1 <= i <= v} P[v - i <= B < v]/i.

Proof of the first part. Fix the result, and so all guesses, and reveal the coins one after the other. Given the
result and the coins before it, the odds of a coin are those of the result under "in" against "out", averaged over the
coins that follow: a ratio of averages of laws that are within exp(epsilon) of each other pairwise. So each guess is
right with probability at most q whatever was revealed before, and r such guesses are below r independent ones.

A bound follows by inversion: the largest epsilon at which P[W >= v] for the v that was seen is at most 1 - confidence.
How many guesses are best is not known beforehand; several numbers are tried, and share the failure probability.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from tacit import parameters
from tacit.parameters import Number

_HALVINGS = 6
_MOST_EPSILON = 50.0


@dataclass(frozen=True, slots=True)
class OneRun:
    """epsilon is at least `epsilon` at `delta`: of `guesses` guesses about the canaries, `right` were right.

    >>> OneRun(1.5, 0.0, 0.999, 100, 50, 45, 0.1).right
    45
    """

    epsilon: float
    delta: float
    confidence: float
    canaries: int
    guesses: int
    right: int
    seconds: float


def one_run(
    trainer: Callable[[list[Any]], Any],
    score: Callable[[Any, Any], float],
    canaries: Sequence[Any],
    *,
    delta: Number = 0,
    confidence: Number = "0.999",
    guesses: int | None = None,
) -> OneRun:
    """Run `trainer(included)` once, and guess by `score(result, canary)`, high for a canary that seems to be in.

    The `guesses` most extreme scores are guessed, half "in" and half "out"; without it several numbers are tried.

    >>> run = one_run(lambda included: set(included), lambda result, canary: float(canary in result), range(200))
    >>> run.epsilon > 1  # whoever releases who was in tells all of it
    True
    """
    count = len(canaries)
    if count < 2:
        raise parameters.refuse("canaries", "at least 2", count)
    allowed = float(parameters.probability("delta", delta))
    failure = float(1 - parameters.open_probability("confidence", confidence))
    start = time.monotonic()
    included = np.array([bool(secrets.randbits(1)) for _ in range(count)])
    result = trainer([canary for canary, is_in in zip(canaries, included, strict=True) if is_in])
    scores = np.array([float(score(result, canary)) for canary in canaries])
    if guesses is None:
        tried = sorted({max(2, count >> halving) for halving in range(_HALVINGS)})
    else:
        tried = [parameters.whole("guesses", guesses, least=1)]
        if tried[0] > count:
            raise parameters.refuse("guesses", f"at most {count}, the number of canaries", guesses)
    best = (-1.0, 0, 0)
    for made in tried:
        right = _right(scores, included, made)
        best = max(best, (epsilon_from_guesses(count, made, right, allowed, failure / len(tried)), made, right))
    took = time.monotonic() - start
    return OneRun(best[0], allowed, 1 - failure, count, best[1], best[2], took)


def _right(scores: NDArray[np.float64], included: NDArray[np.bool_], guesses: int) -> int:
    """How many guesses are right; the scores alone decide which are made."""
    order = np.argsort(scores, kind="stable")
    out, into = order[: guesses // 2], order[len(order) - (guesses - guesses // 2) :]
    return int(np.count_nonzero(~included[out]) + np.count_nonzero(included[into]))


def epsilon_from_guesses(canaries: int, guesses: int, right: int, delta: float, failure: float) -> float:
    """The largest epsilon that is refuted by `right` of `guesses` right ones; 0 where none is."""
    if chance_of(canaries, guesses, right, 0.0, delta) > failure:
        return 0.0
    low, high = 0.0, _MOST_EPSILON
    while high - low > 1e-6:
        middle = (low + high) / 2
        if chance_of(canaries, guesses, right, middle, delta) <= failure:
            low = middle
        else:
            high = middle
    return low


def chance_of(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """The most that P[at least `right` guesses are right] can be under (epsilon, delta)."""
    if right == 0:
        return 1.0
    hit = float(special.expit(epsilon))
    chance = float(stats.binom.sf(right - 1, guesses, hit))
    if delta > 0:
        masses = stats.binom.pmf(np.arange(right - 1, -1, -1), guesses, hit)
        worst = float(np.max(np.cumsum(masses) / np.arange(1, right + 1)))
        chance += 2 * canaries * delta * worst
    return min(chance, 1.0)
