"""The interquartile range, the distance of the upper quartile from the lower, in three ways.

Exponential. Both quartiles chosen by rank (`methods`), subtracted: post-processing. Their intervals hold at once,
and the least and the greatest difference of two numbers in them are the ends of the range's.

Smooth. One unit moves the range by at most as much as it moves the two quartiles together, so the sum of their smooth
sensitivities, each b-smooth, is a b-smooth bound. The interval is that of `smooth_interval`.

Propose-test-release (Dwork and Lei). The positive whole numbers are cut into bins [c**k, c**(k+1)), c = `ratio` public,
and 0 is a bin of its own; what is released is the bin of the range, in codes, if it is the same for all data sets
nearby. Let d be the least number of rows, added and removed, with which the quartiles could take the range out of its
bin (each quartile as far as it goes by itself, so d is no more than the truth), and r the rows of a unit. The distance
max(ceil(d/r) - 1, 0) changes by at most 1 between neighbours, since d changes by at most r, and is 0 if a neighbour has
another bin. So `ProposeTestRelease` with bound 0 applies. A range near the edge of a bin is never stable, so a second
set of bins, moved by half a bin, gets its own half of epsilon and delta. What leaves is exact: the range certainly lies
in the bin.

Neighbours: one unit's rows, added or removed.
Source: Dwork and Lei 2009.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.loss import events
from tacit.mechanisms import ProposeTestRelease, Refused
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.order.methods import ByRank, Found, Frame, best
from tacit.statistics.order.ranked import METHODS, ranked
from tacit.statistics.order.smooth_choice import choose_smooth
from tacit.statistics.order.windows import REACH, Sorted, Whole, smooth_sensitivity
from tacit.statistics.smooth_interval import INTERVAL_SHARE, SmoothInterval, read_share
from tacit.statistics.source import Opened, source_of

QUARTILES = (Fraction(1, 4), Fraction(3, 4))


def interquartile_range(
    data: Any,
    columns: Any = None,
    *,
    epsilon: Number,
    delta: Number = 0,
    method: str = "best",
    ratio: Number = 2,
    interval_share: Number = INTERVAL_SHARE,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The interquartile range. `ratio` is that of the ends of a bin, for method "ptr", which needs a delta.

    `interval_share` of epsilon buys the interval; the bins of "ptr" need none of it.

    >>> found = interquartile_range([20, 30, 40, 50], bounds=(0, 100), epsilon=1)
    >>> found.title, found.value >= 0
    ('Interquartile range of x', True)
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    asked = ranked(source, epsilon=epsilon, delta=delta, level=level, neighbours="add_remove")
    if method not in METHODS:
        raise parameters.refuse("method", "one of " + ", ".join(map(repr, METHODS)), method)
    bought = read_share(interval_share)
    own = asked.epsilon * (1 - bought)
    if method == "best":
        method = best(QUARTILES, asked.frame.moved, own, asked.delta)
    frame, step = asked.frame, asked.variable.step
    if method == "ptr":
        bins = _Bins.of(frame, asked.epsilon, asked.delta, parameters.positive("ratio", ratio))
        price = Price(bins.event, asked.epsilon, asked.delta)
    elif method == "smooth":
        chosen = choose_smooth(own, asked.delta)
        smooth = SmoothInterval.of(chosen.noise(), asked.epsilon * bought, asked.level)
        price = Price(smooth.event, asked.epsilon, chosen.spent_delta)
    else:
        choice = ByRank.of(frame, QUARTILES, asked.epsilon, bought, asked.level, together=True)
        price = Price(choice.event, asked.epsilon)

    def compute(opened: Opened, bits: BitSource) -> Content:
        codes = asked.codes(opened)
        low: int | None = None
        high: int | None = None
        if method == "ptr":
            low, high = bins.find(codes, bits)
            value = None if low is None or high is None else math.sqrt(low * max(high - 1, 0))
            note = "The range lies in the interval for sure; without one, no bin passed the private test."
        elif method == "smooth":
            found, low, high = smooth_range(frame, codes, smooth, bits)
            value = float(found)
            note = "Noise follows the data's own smooth sensitivity, which is private."
        else:
            lower, upper = (each for each in choice.find(codes, bits) if each is not None)
            value, (low, high) = float(upper[0] - lower[0]), _between(lower, upper)
            note = choice.note(asked.level).partition(". ")[0] + "."
        if method != "ptr":
            note += " The interval encloses the rows' own range." if bought else " interval_share=0: no interval."
        ends = [None if each is None else float(each * step) for each in (value and Fraction(value), low, high)]
        shown = column("interquartile_range", [0.0 if value == 0 else ends[0]], *_interval(ends[1], ends[2]))
        return Content(f"Interquartile range of {asked.variable.name}", (shown,), (note,))

    shaped = {"method": method, "ratio": str(ratio), "interval_share": str(bought)}
    text = {**asked.stated, "study": "interquartile_range", **shaped}
    return asked.source.release(text, price, compute, level=asked.level, analyst=analyst)


def _interval(low: float | None, high: float | None) -> tuple[list[float], list[float]] | tuple[None, None]:
    return (None, None) if low is None or high is None else ([low], [high])


def _between(lower: Found, upper: Found) -> tuple[int, int] | tuple[None, None]:
    """The least and the greatest distance of two quartiles, each within its interval."""
    if lower is None or upper is None or lower[1] is None or upper[1] is None:
        return None, None
    return max(upper[1] - lower[2], 0), upper[2] - lower[1]


def quartiles_of(frame: Frame, codes: Whole) -> tuple[Sorted, Sorted]:
    """The sorted codes with the lower and with the upper quartile wanted."""
    return frame.line(codes, QUARTILES[0]), frame.line(codes, QUARTILES[1])


def smooth_range(
    frame: Frame, codes: Whole, smooth: SmoothInterval, bits: BitSource
) -> tuple[int, int, int] | tuple[int, None, None]:
    """The range with noise for the sum of the quartiles' smooth sensitivities, and its ends, from 0 to the width."""
    lower, upper = quartiles_of(frame, codes)
    bounds = [smooth_sensitivity(lower, b) + smooth_sensitivity(upper, b) for b in smooth.smoothnesses]
    return replace(frame, low=0, high=frame.high - frame.low).clamped(
        *smooth.release(upper.value - lower.value, bounds, bits)
    )


class _Bins:
    """Two sets of bins, each with its test."""

    def __init__(self, frame: Frame, test: ProposeTestRelease, ratio: float) -> None:
        self._frame, self._test = frame, test
        width = frame.high - frame.low
        count = math.ceil(math.log(width + 1) / math.log(ratio)) + 1
        self._edges = tuple(
            sorted({0, 1, width + 1} | {min(math.ceil(ratio ** (k + shift)), width + 1) for k in range(count)})
            for shift in (0.0, 0.5)
        )

    @staticmethod
    def of(frame: Frame, epsilon: Fraction, delta: Fraction, ratio: Fraction) -> _Bins:
        if not delta:
            raise parameters.refuse("delta", "above 0 for method 'ptr'", 0)
        if not Fraction(101, 100) <= ratio <= 1000:
            raise parameters.refuse("ratio", "a number from 1.01 to 1000", float(ratio))
        return _Bins(frame, ProposeTestRelease(epsilon / 2, delta / 2, bound=0), float(ratio))

    @property
    def event(self) -> events.Event:
        """Two tests."""
        return events.Repeated(self._test.event, 2)

    def find(self, codes: Whole, bits: BitSource) -> tuple[int, int] | tuple[None, None]:
        """The ends of the first bin that passes its test."""
        lower, upper = quartiles_of(self._frame, codes)
        passed = []
        for edges in self._edges:
            place = int(np.searchsorted(edges, upper.value - lower.value, side="right")) - 1
            units = stable_units(lower, upper, edges[place], edges[place + 1])
            answer = self._test.release(place, units, bits=bits)
            if not isinstance(answer, Refused):
                passed.append((edges[answer], edges[answer + 1]))
        return passed[0] if passed else (None, None)


def stable_units(lower: Sorted, upper: Sorted, first: int, stop: int) -> int:
    """One less than the units that must change before the range could leave [first, stop); from 0 to REACH."""

    def leaves(distance: int) -> bool:
        at = np.array([distance])
        least = int(upper.lowest(at)[0]) - int(lower.highest(at)[0])
        most = int(upper.highest(at)[0]) - int(lower.lowest(at)[0])
        return least < first or most >= stop

    # at low it stays; at high it leaves, or leaving needs no more, or (by convention) the count ends
    low, high = 0, min((REACH + 1) * lower.rows, max(lower.codes.size, 1))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if leaves(middle) else (middle, high)
    return max(-(-high // lower.rows) - 1, 0)
