"""A privacy curve turned into a privacy-loss distribution on a uniform grid, from above and from below.

Any measure w on losses has the curve F(x) = sum of w(l)(1 - exp(x - l))_+. In a = exp(x) it is convex and piecewise
linear with kinks at the losses, and the slope grows by q(l) = exp(-l) w(l) at each. Curves that are ordered at all x
stay ordered under composition, also when the measures do not sum to one:  F of v * w at x is sum of v(l) F_w(x - l).

From above (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "connect the dots"): join the curve's values on the
grid by chords in a. A convex function lies below its chords. Beyond the last point the curve is taken constant: mass on
infinity. Negative losses are read off the opposite direction's curve, delta(-x) = 1 - exp(-x) + exp(-x) delta'(x),
which maps chords to chords and keeps small masses accurate. Rounding is added to every mass. Values that are upper
bounds need not be convex; a dent gives a negative mass, and dropping that only raises F.

From below: a convex function lies above the extensions of the chords next door, so within a cell it is at most
width * q q'/(q + q') below its chord (q, q' the slope jumps at the ends). Values lowered by that much at both ends are
joined by chords that stay below, after taking the convex hull. A negative mass that rounding leaves is balanced by
removing as much at the next higher losses.
Curves are granted a relative overstatement of 2^-26 here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.loss.accountants import event_curve
from tacit.loss.accountants.attained import attained
from tacit.loss.curves.directions import OTHER, Direction
from tacit.loss.events import Event
from tacit.loss.guarantees import guarantee
from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, float_up

_OVERSTATED = 2.0**-26
_FAR = 1e6


@dataclass(frozen=True, slots=True)
class Measure:
    """Masses on the losses step * (start, start + 1, ...), and a mass on infinity. `step` is a short binary number."""

    step: float
    start: int
    masses: Floats
    infinite: float

    @property
    def losses(self) -> Floats:
        return self.step * np.arange(self.start, self.start + len(self.masses), dtype=np.float64)


def short_binary(step: float) -> float:
    """`step` with 30 binary digits, rounded down: its multiples up to 2^22 are exact doubles."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.floor(mantissa * 2**30), exponent - 30)


def from_above(event: Event, step: float, direction: Direction, tail: float) -> Measure:
    """A measure whose curve is nowhere below the event's."""
    right, left = _values(event, step, direction, tail), _values(event, step, OTHER[direction], tail)
    right[0] = left[0] = min(right[0], left[0])
    return _connected(right, left, step, float(right[-1]), sign=1)


def from_below(event: Event, step: float, direction: Direction, tail: float) -> Measure:
    """A measure whose curve is nowhere above that of some release described by `event`."""
    event = attained(event)
    right, left = _values(event, step, direction, tail), _values(event, step, OTHER[direction], tail)
    right[0] = left[0] = min(right[0], left[0])
    told = float(event_curve.delta_curve(event, np.array([_FAR]), direction)[0])
    back = float(event_curve.delta_curve(event, np.array([_FAR]), OTHER[direction])[0])
    growth = math.expm1(step)
    middle = max(0.0, _middle(right, left, growth, sign=1))
    low_right, low_left = (
        _lowered(values, _gap(np.insert(_jumps(values, growth, 1), 0, middle), growth), floor)
        for values, floor in ((right, told), (left, back))
    )
    low_right[0] = low_left[0] = min(low_right[0], low_left[0])
    return _connected(_hull(low_right, step), _hull(low_left, step), step, float(low_right[-1]), sign=-1)


def _values(event: Event, step: float, direction: Direction, tail: float) -> Floats:
    """The curve at 0, step, 2 step, ... as far as it is above `tail`; never rising."""
    cells = max(1, math.ceil(_reach(event, direction, tail) / step))
    points = step * np.arange(cells + 1, dtype=np.float64)
    values: Floats = np.minimum.accumulate(event_curve.delta_curve(event, points, direction))
    return values


def _reach(event: Event, direction: Direction, tail: float) -> float:
    """Where the curve has come down to `tail`, or has no further to go."""
    epsilon, _ = guarantee(event)
    highest = float_up(epsilon) if isinstance(epsilon, Fraction) else math.inf
    floor = max(tail, float(event_curve.delta_curve(event, np.array([_FAR]), direction)[0]))

    def is_above(point: float) -> bool:
        return float(event_curve.delta_curve(event, np.array([point]), direction)[0]) > floor * (1 + 1e-9)

    if highest < math.inf and is_above(highest / 2):
        return highest
    high = 1e-6
    while high < min(highest, _FAR) and is_above(high):
        high *= 2
    low = high / 2
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if is_above(middle) else (low, middle)
    return min(high, highest)


def _jumps(values: Floats, growth: float, sign: int) -> Floats:
    """exp(x) times the slope's jump at all points but the first, the curve constant after the last; rounded by sign."""
    falls = values[:-1] - values[1:]
    after = np.append(falls[1:], 0.0)
    exact: Floats = (falls * (1 + growth) - after) / growth
    # The values are what they are; only differences and quotients round, each relative to itself.
    error: Floats = 8 * STEP_AT_ONE * (np.abs(falls) * (1 + growth) + np.abs(after)) / growth
    return exact + sign * error


def _connected(right: Floats, left: Floats, step: float, infinite: float, sign: int) -> Measure:
    growth = math.expm1(step)
    above = _jumps(right, growth, sign)
    with np.errstate(under="ignore"):
        shrink = np.exp(-step * np.arange(1, len(left)))
    below = _jumps(left, growth, sign) * shrink * (1 + sign * 8 * STEP_AT_ONE)
    masses = np.concatenate([below[::-1], [_middle(right, left, growth, sign)], above])
    if sign > 0:
        masses = np.maximum(masses, 0.0)
    elif np.any(masses < 0):
        masses = _made_up_higher(masses)
    return Measure(step, -len(below), masses, max(0.0, infinite))


def _made_up_higher(masses: Floats) -> Floats:
    """Negative masses set to zero, and as much taken from the next higher losses."""
    owed = 0.0
    kept = masses.tolist()
    for index, mass in enumerate(kept):
        owed = -min(rest := mass - owed * (1 + 4 * STEP_AT_ONE), 0.0)
        kept[index] = max(rest, 0.0)
    if owed > 0:  # nothing is left: a tiny mass on the lowest loss is below every curve
        kept = [1e-300, *[0.0] * (len(kept) - 1)]
    return np.array(kept)


def _lowered(values: Floats, gaps: Floats, floor: float) -> Floats:
    """Values lowered at both ends of every cell by its gap; the floor from the first cell on that would pass it."""
    lowered: Floats = values - np.maximum(np.append(gaps, 0.0), np.insert(gaps, 0, 0.0))
    short = np.flatnonzero(values[1:] - gaps < floor)
    lowered[int(short[0]) if len(short) else -1 :] = floor
    return lowered * (1 - _OVERSTATED)


def _middle(right: Floats, left: Floats, growth: float, sign: int) -> float:
    """The mass on the loss 0, where the two sides meet; rounded by sign."""
    exact = 1 - ((right[0] - right[1]) + (right[0] - left[1])) / growth - right[0]
    size = 1 + (abs(right[0] - right[1]) + abs(right[0] - left[1])) / growth
    return float(exact + sign * 16 * STEP_AT_ONE * size)


def _gap(masses: Floats, growth: float) -> Floats:
    """How far the chord of each cell of one side may overstate; `masses` stand on the points 0, 1, ..."""
    here, there = np.maximum(masses[:-1], 0.0), np.maximum(masses[1:], 0.0) / (1 + growth)
    both = here + there
    cell: Floats = np.where(both > 0, growth * here * there / np.where(both > 0, both, 1.0), 0.0)
    return cell * (1 + 2.0**-20)


def _hull(values: Floats, step: float) -> Floats:
    """The greatest function below `values` that is convex in exp(loss), at the points 0, step, 2 step, ..."""
    heights = values.tolist()
    corners: list[int] = []
    for index, height in enumerate(heights):
        while len(corners) > 1:
            near, last = corners[-2], corners[-1]
            before = (heights[last] - heights[near]) / -math.expm1(-(last - near) * step)
            after = (height - heights[last]) / _expm1((index - last) * step)
            if before < after:
                break
            corners.pop()
        corners.append(index)
    points = np.arange(len(heights))
    place = np.clip(np.searchsorted(corners, points, side="right") - 1, 0, max(0, len(corners) - 2))
    left, right = np.array(corners)[place], np.array(corners)[np.minimum(place + 1, len(corners) - 1)]
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        share = np.exp((points - right) * step) * np.expm1((left - points) * step) / np.expm1((left - right) * step)
    share = np.where(right > left, share, 0.0)
    joined = values[left] + share * (values[right] - values[left])
    # Interpolation may round up; slightly lower values stay below, and lost convexity is repaired.
    return np.where(points == left, values, joined * (1 - 8 * STEP_AT_ONE))


def _expm1(value: float) -> float:
    return math.expm1(value) if value < 700 else math.inf
