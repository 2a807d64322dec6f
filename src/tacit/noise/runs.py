"""Choosing from runs: long rows of candidates whose log-weights fall by the same step from one to the next.

Run i has `length_i` candidates; its j-th one (counted from its heaviest) has log-weight top_i - j * step_i. A candidate
of all runs together is chosen with probability proportional to exp(log-weight), exactly, without listing them.

Method. The weight of a run is exp(top) * G(step, length), G the geometric sum (1 - exp(-step length))/(1 - exp(-step)),
or `length` where the step is zero. A race over the runs (`race.run`) chooses one: its float weights are off by a few
units in the last place, far less than what the race allows for, and the exact ones are enclosed to any number of
digits. Inside a run, halves are chosen the same way until one candidate is left; a flat run is cut uniformly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.noise import race
from tacit.noise.bits import BitSource
from tacit.noise.reals import Enclosure, digits, exp_enclosure, log_enclosure, power_of_ten, quotient, widened
from tacit.noise.uniform import uniform_below

_AT_ONCE = 2
Drawing: TypeAlias = Callable[[BitSource, int], Iterator[tuple[int, int]]]
"""This many choices, independent of each other. A choice that is not used is not drawn to its end."""


def drawing_from_runs(
    tops: NDArray[np.int64], steps: NDArray[np.int64], lengths: NDArray[np.int64], factor: Fraction
) -> Drawing:
    """Choices of (run, place in it). Tops (at most 0) and steps (at least 0) are whole numbers, worth `factor` each."""
    scale = float(factor)
    floats = tops.astype(np.float64) * scale + _log_sums(steps.astype(np.float64) * scale, lengths)

    def weight(index: int, precision: int) -> Enclosure:
        return _enclosed(factor * int(tops[index]), factor * int(steps[index]), int(lengths[index]), precision)

    def draw(bits: BitSource, count: int) -> Iterator[tuple[int, int]]:
        for start in range(0, count, _AT_ONCE):
            for run in race.run_again(floats, weight, bits, min(_AT_ONCE, count - start)):
                step = int(steps[run])
                yield run, _place(factor * step if step else Fraction(0), int(lengths[run]), bits)

    return draw


def _place(step: Fraction, length: int, bits: BitSource) -> int:
    """j below `length` with probability proportional to exp(-step j)."""
    if step == 0:
        return int(uniform_below(length, None, bits))
    first = 0
    while length > 1:
        half = length // 2
        sizes, tops = (half, length - half), (Fraction(0), -step * half)
        floats = np.array(
            [float(top) + _log_sum(float(step), size) for top, size in zip(tops, sizes, strict=True)], dtype=np.float64
        )
        later = race.run(floats, _halves(tops, step, sizes), bits, gumbel=True)
        first, length = (first + half, length - half) if later else (first, half)
    return first


def _halves(tops: Sequence[Fraction], step: Fraction, sizes: Sequence[int]) -> Callable[[int, int], Enclosure]:
    return lambda index, precision: _enclosed(tops[index], step, sizes[index], precision)


def _log_sums(steps: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.log(lengths.astype(np.float64))
    falling = (steps > 0) & (lengths > 1)
    step, count = steps[falling], lengths[falling].astype(np.float64)
    found[falling] = np.log(-np.expm1(-step * count)) - np.log(-np.expm1(-step))
    return found


def _log_sum(step: float, length: int) -> float:
    return math.log(-math.expm1(-step * length)) - math.log(-math.expm1(-step)) if length > 1 else 0.0


def _enclosed(top: Fraction, step: Fraction, length: int, precision: int) -> Enclosure:
    """The log-weight of a run."""
    context = digits(precision + 12)
    value = quotient(top, context)
    low, high = widened(value, power_of_ten(-precision - 8), context)
    if length == 1:
        return low, high
    if step == 0:
        sum_low, sum_high = log_enclosure(Fraction(length), precision)
        return context.add(low, sum_low), context.add(high, sum_high)
    # 1 - exp(-step) has as many leading zeros as the step itself
    fine = precision + 15 + max(0, math.ceil(-math.log10(float(step))))
    one_low, one_high = (1 - Fraction(end) for end in reversed(exp_enclosure(-step, fine)))
    all_low, all_high = (1 - Fraction(end) for end in reversed(exp_enclosure(-step * length, fine)))
    return (
        context.add(low, log_enclosure(all_low / one_high, precision)[0]),
        context.add(high, log_enclosure(all_high / one_low, precision)[1]),
    )
