"""Timing: a sampler that works longer for larger noise shows how large the noise was.

The naive sampler draws geometric noise by flipping coins until one falls: as many flips as the noise is large. An
attacker who sees the answer and its time subtracts the noise. tacit draws in batches whose work depends neither on data
nor on the draw that leaves.

A trial is a sum that is 0, or the most one person can add. The attacker first times draws of their own, fits a
straight line of time against size of the noise, and then names the sum whose implied noise fits the time better, or the
nearer sum where time says nothing (a flat line).
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.audit.attacks.attempt import Attempt, Rates, attempted
from tacit.mechanisms import Laplace
from tacit.parameters import Number

Clock: TypeAlias = Callable[[], int]
Release: TypeAlias = Callable[[int], int]
Coin: TypeAlias = Callable[[], int]
Sizes: TypeAlias = NDArray[np.float64]
_PERSON = 20  # the most one person adds to the sum
_WORD = 2**32


def secure_coin() -> int:
    """32 random bits."""
    return secrets.randbits(32)


def timing(
    epsilon: Number = "1/2", *, trials: int = 2_000, clock: Clock = time.perf_counter_ns, coin: Coin = secure_coin
) -> Attempt:
    """Distinguish the sums 0 and 20 by how long their noise took; `clock` and `coin` let a test count, not time.

    >>> done = timing(epsilon="1/2", trials=20)
    >>> done.guessing, round(done.ceiling, 2)  # how well it does depends on the machine
    (0.5, 0.62)
    """

    def run() -> Rates:
        truth = np.array([secrets.randbits(1) for _ in range(trials)])
        scale = _PERSON / float(parameters.positive("epsilon", epsilon))
        ours = Laplace(sensitivity=_PERSON, epsilon=epsilon)
        naive = _attack(lambda value: value + coin_by_coin(scale, coin), truth, clock, scale)
        private = _attack(lambda value: int(ours.release(value)), truth, clock, scale)
        words = (
            f"Rank correlation of time and size of the noise: {naive[1]:.2f} for the naive sampler, "
            f"{private[1]:.2f} for tacit's."
        )
        return Rates(naive[0], private[0], 0.5, trials, words)

    return attempted("timing", "tell a sum of 0 from one with a person's most", run, epsilon=epsilon)


def coin_by_coin(scale: float, coin: Coin = secure_coin) -> int:
    """Two-sided geometric noise, one flip for each step: its running time is its size. Broken on purpose."""
    stay = round(_WORD * math.exp(-1 / scale))
    while True:
        sign = coin() & 1
        steps = 0
        while coin() < stay:
            steps += 1
        if steps or sign:  # zero is drawn with either sign, and must not count twice
            return steps if sign else -steps


def _attack(release: Release, truth: NDArray[Any], clock: Clock, scale: float) -> tuple[float, float]:
    """The share of right guesses, and the rank correlation of time and noise in the attacker's own draws."""
    # own draws and the victim's take turns, so that a change in the machine's speed hits both
    turns = np.column_stack([np.zeros_like(truth), truth * _PERSON]).reshape(-1)
    seen, took = _timed(release, turns, clock)
    sizes, own_times, answers, times = np.abs(seen[::2]), took[::2], seen[1::2], took[1::2]
    correlation = _rank_correlation(sizes, own_times)
    expected, spread = _line(sizes, own_times)
    # log likelihood of both sums: the noise's own law, and how far the time is off as a ratio (a machine slows down all
    # flips alike)
    likelier = [
        -noise / scale - np.abs(np.log(np.maximum(times, 1) / expected(noise))) / spread
        for noise in (np.abs(answers), np.abs(answers - _PERSON))
    ]
    return float(np.mean((likelier[1] > likelier[0]) == (truth == 1))), correlation


def _timed(release: Release, values: NDArray[Any], clock: Clock) -> tuple[Sizes, Sizes]:
    answers, times = [], []
    for value in values.tolist():
        start = clock()
        answers.append(release(value))
        times.append(clock() - start)
    return np.array(answers, dtype=np.float64), np.array(times, dtype=np.float64)


def _line(sizes: Sizes, times: Sizes) -> tuple[Callable[[Sizes], Sizes], float]:
    """Expected time for a size, and the typical ratio by which it is missed; medians, because machines pause."""
    middle = np.median(sizes)
    small, large = times[sizes <= middle], times[sizes > middle]
    run = float(np.median(sizes[sizes > middle]) - np.median(sizes[sizes <= middle])) if large.size else 0.0
    slope = max(0.0, float(np.median(large) - np.median(small)) / run) if run else 0.0
    level = max(1.0, float(np.median(times - slope * sizes)))

    def expected(size: Sizes) -> Sizes:
        return np.asarray(level + slope * size)

    return expected, max(1e-3, float(np.median(np.abs(np.log(np.maximum(times, 1) / expected(sizes))))))


def _rank_correlation(left: Sizes, right: Sizes) -> float:
    ranks = [np.argsort(np.argsort(each)).astype(np.float64) for each in (left, right)]
    if not np.ptp(right):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
