"""How far off quotients, products and squares of noisy numbers are beyond what their slopes say.

Promise: nothing but noisy numbers and the deviations of their noise comes in, and nothing raises. What comes out is
added to `Estimate.far`: squared slopes, so that a stated number of deviations holds what it says where curves bend.
q below is that number (`Cells.within`); 0 asks for slopes alone, from which an expected deviation is made.

Theorem (a quotient). r = a/b, both noisy, b off by at most q deviations s, g = (q s/b)**2 < 1. a - r b is noise alone,
so the r for which it is at most q of its deviations hold the true one with the probability of q. They lie within
q (o sqrt(g) + sqrt(e (1 - g) + o**2))/(1 - g) of a/b, where o is the part of the deviation d of a/b that moves with b,
and e = d**2 - o**2 the rest. (Fieller 1954, Some problems in interval estimation; noise of any correlation.) One end is
nearer than that, so for a value that no noise chose, of which both ends may be missed, sqrt(d**2 + g o**2)/(1 - g) is
enough: simulated in `tests/plan/answers/test_bends.py`. Where g is 1 or more no bound holds: b may be as near to 0 as
it likes. Then the variance is `ANYTHING`, which an answer shows as a question mark. A mean is bounded by its column,
whatever the count is, and `_MOST` leaves 25 to 50 times the slopes.
Theorem (a variance). With noises A, T, C on the sums of squares and of values and on the count n, mean m, and c the
true count, the error of A/n - (T/n)**2 is linear in the noises, over c instead of n, plus ((T - m C)/c)**2 exactly;
a covariance has the product of two such errors of means. Where these are within q deviations, so is their product
within q**2 times both deviations.
Theorem (steps). f rounds to multiples of a step, up, down or to the nearest: |f(a) - f(b)| is a multiple of the step
and less than |a - b| + step, so it is at most |a - b| rounded up to one. A remainder moves as its dividend does, unless
a multiple of the divisor may lie between; then, with remainders of one sign, it is off by less than the divisor, and
with those of x < 0 <= y by |r(x)| + |r(y)| <= |x| + |y| = y - x, as its dividend is.
Noise in whole steps reaches half a step farther than its deviations tell (`HALF_A_STEP`); a test whether a border lies
within the reach of noise includes that half step, because borders often lie on steps: 2,000 is a multiple of 100, and
for the discrete Gaussian law of deviation 1 the value 2 lies just beyond 1.96.
Theorem (a product). (a + A)(b + B) - a b = a B + b A + A B, and the last is likewise within q**2 times both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Slopes: TypeAlias = Mapping[int, Floats]
Moves: TypeAlias = tuple[Slopes, Slopes]
"""Slopes in measures, and far slopes, squared."""

WITHIN_95, WITHIN_99 = 2.1184, 3.2564
"""Deviations of Laplace noise that hold with these probabilities."""
_MOST = 0.96
UNBOUNDED = 1 - 1e-8
_LEAST = 1e-6  # below it a quotient is straight to the precision of floats
FARTHEST = 1e150
"""The number for "no bound": as large as floats can hold the square of."""
ANYTHING = 1e200
"""The variance of a quotient that may be anything."""
UNKNOWN = 1e90
"""An interval that reaches farther counts as none: no number of an answer is meant to be this far off."""
HALF_A_STEP = 0.26
"""In deviations: how far noise in whole steps may lie beyond a 95 % bound of the continuous law.

k steps have the probability of the continuous law from k - 1/2 to k + 1/2, and a bound that is half a step farther
holds at least as much. A running total is on the same steps. Where several noises are added up, half of the largest
step among them is enough (`tests/plan/test_half_a_step.py` sums them up point by point): 10 X + Y is hardly finer than
10 X. For noise in whole numbers there is a better bound (`chosen.whole_reach`).
"""


def variance_of(slopes: Slopes, far: Slopes, spreads: Sequence[float | Floats]) -> Floats | float:
    """The variance that noise of these deviations gives a value."""
    near = [np.square(slope * spreads[measure]) for measure, slope in slopes.items()]
    return sum((*near, *(part * np.square(spreads[measure]) for measure, part in far.items())), np.float64(0.0))


def largest_step(slopes: Slopes, steps: Sequence[float | Floats]) -> Floats:
    """The largest step that a value with these slopes makes, as far as the steps of its noises are known."""
    largest: Floats = np.zeros(1)
    for measure, slope in slopes.items() if steps else ():
        largest = np.maximum(largest, np.abs(slope) * steps[measure])
    return largest


def reach_of(
    of: Moves, spreads: Sequence[float | Floats], within: float, steps: Sequence[float | Floats] = ()
) -> Floats:
    """How far off a value with these slopes and far slopes may be: this many deviations, and half a step."""
    with np.errstate(all="ignore"):
        deviation = np.sqrt(variance_of(*of, spreads))
        return np.asarray(within * (deviation + HALF_A_STEP * largest_step(of[0], steps)))


def reaching(
    of: Moves,
    reach: Floats,
    spreads: Sequence[float | Floats],
    within: float,
    steps: Sequence[float | Floats] = (),
    among: Iterable[int] = (),
) -> dict[int, Floats]:
    """The `far` that makes `within` deviations and half a step reach this far, put in one of its measures or of these.

    A reach that is already as large stays.
    """
    slopes, far = of
    noisy = sorted({*slopes, *far, *among})
    if not spreads or not within or not noisy:
        return dict(far)
    with np.errstate(all="ignore"):
        whole = np.asarray(variance_of(slopes, far, spreads))
        half = HALF_A_STEP * largest_step(slopes, steps)
        more = np.square(np.maximum(np.minimum(reach, FARTHEST) / within - half, 0.0)) - whole
        return _added(
            far, next((each for each in noisy if np.all(np.asarray(spreads[each]) > 0)), noisy[0]), more, spreads
        )


def quotient(
    of: Moves,
    divisor: tuple[Floats, Slopes, Slopes],
    spreads: Sequence[float | Floats],
    within: float,
    most: float = _MOST,
) -> dict[int, Floats]:
    """The `far` of a quotient with these slopes and far slopes: its own, and what dividing by a noisy number adds."""
    slopes, far = of
    value, by, beyond = divisor
    noisy = sorted({*by, *beyond})
    if not spreads or not within or not noisy:
        return dict(far)
    with np.errstate(all="ignore"):
        squared = np.asarray(variance_of(by, beyond, spreads))
        whole = np.asarray(variance_of(slopes, far, spreads))
        shared = sum((slopes[each] * by[each] * np.square(spreads[each]) for each in by if each in slopes), 0.0 * value)
        own = np.minimum(np.where(squared > 0, np.square(shared) / squared, 0.0), whole)
        share = np.minimum(within**2 * squared / np.square(value), most)
        if within > WITHIN_95:
            reached = np.square(np.sqrt(own * share) + np.sqrt((whole - own) * (1 - share) + own))
        else:
            reached = whole + own * share
        more = np.where(share > _LEAST, reached / np.square(1 - share) - whole, 0.0)
        more = np.where(share >= UNBOUNDED, np.maximum(more, ANYTHING), more)
        return _added(far, noisy[0], more, spreads)


def product(
    of: Moves, left: Moves, right: Moves, spreads: Sequence[float | Floats], within: float
) -> dict[int, Floats]:
    """The `far` of a value with these slopes: its own, and what two noises add that are multiplied with each other.

    Their product is equally likely to have either sign, so variances add up. In a value that noise chose it may have
    the sign of the rest, so deviations add up.
    """
    slopes, far = of
    noisy = sorted({*left[0], *left[1]})
    if not spreads or not within or not noisy or not (right[0] or right[1]):
        return dict(far)
    with np.errstate(all="ignore"):
        both = np.asarray(variance_of(*left, spreads)) * np.asarray(variance_of(*right, spreads))
        more = within**2 * both
        if within > WITHIN_95:
            more = more + 2 * within * np.sqrt(both * np.asarray(variance_of(slopes, far, spreads)))
        return _added(far, noisy[0], more, spreads)


def stepped(
    of: Moves, step: float, spreads: Sequence[float | Floats], within: float, steps: Sequence[float | Floats] = ()
) -> dict[int, Floats]:
    """The `far` of a value that is rounded to multiples of a step."""
    return _following(of, lambda reach: np.ceil(reach / step) * step, spreads, within, steps)


def wrapped(
    of: Moves,
    dividend: Floats,
    divisor: Floats,
    spreads: Sequence[float | Floats],
    within: float,
    steps: Sequence[float | Floats] = (),
) -> dict[int, Floats]:
    """The `far` of a remainder."""

    def remainder(reach: Floats) -> Floats:
        size = np.abs(divisor)
        same = np.trunc((dividend - reach) / size) == np.trunc((dividend + reach) / size)
        return np.where(same, reach, np.maximum(reach, size))

    return _following(of, remainder, spreads, within, steps)


def flipped(
    of: Moves,
    value: Floats,
    spreads: Sequence[float | Floats],
    within: float,
    steps: Sequence[float | Floats] = (),
) -> dict[int, Floats]:
    """The `far` of a sign: it may be the other one where noise reaches zero."""
    return _following(
        of, lambda reach: np.where(np.abs(value) > reach, reach, np.maximum(reach, 2.0)), spreads, within, steps
    )


def _following(
    of: Moves,
    reached: Callable[[Floats], Floats],
    spreads: Sequence[float | Floats],
    within: float,
    steps: Sequence[float | Floats],
) -> dict[int, Floats]:
    """The `far` of a value whose reach follows from that of the number which it is made of."""
    if not spreads or not within:
        return dict(of[1])
    with np.errstate(all="ignore"):
        reach = reached(reach_of(of, spreads, within, steps))
    return reaching(of, reach, spreads, within, steps)


def _added(far: Slopes, measure: int, variance: Floats, spreads: Sequence[float | Floats]) -> dict[int, Floats]:
    """This much more variance, as a squared slope in one of the measures."""
    unit = np.square(spreads[measure])
    more = np.where(unit > 0, variance / np.where(unit > 0, unit, 1.0), 0.0)
    more = np.where(np.isnan(more), 0.0, np.maximum(more, 0.0))
    return {**far, measure: far[measure] + more if measure in far else more}
