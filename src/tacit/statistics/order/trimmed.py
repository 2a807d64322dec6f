"""Trimmed and winsorised means by smooth sensitivity.

What is meant. Q(u) is the quantile function of the n rows (row i on ((i-1)/n, i/n]). The trimmed mean is the mean of
Q(u) over u in [t, 1 - t]: rows at the two ends of that stretch count with the part of them that lies inside, all else
is left out; where t n is whole it is the usual one. The winsorised mean also counts what is left out, each part as the
nearest row that is kept: Q at t (from the right) and Q(1 - t), each with weight t. Of no rows both are mid-way between
the bounds.

Theorem. Neighbours differ by at most r rows, added or removed. For a < n - r let

    U(a) = r/(n - a) * (x[h] - x[n + 1 - h]) / (1 - 2t),   h = ceil((1 - t)(n + a + r)),

x beyond the ends being the bounds; else, and where it is less, let U(a) = high - low. Then the trimmed mean moves by at
most U(a) between y and a neighbour of y, if y is made of x by adding and removing `a` rows; and max over a of
exp(-b a/r) U(a) is a b-smooth bound.
Proof. Let y be the smaller of two neighbours, of k rows, and z have s <= r rows more: F_z = (k F_y + c)/(k + s) with
0 <= c <= s, so |F_z - F_y| <= s/(k + s). The integrals of Q_y and Q_z over [t, 1 - t] differ by at most the area
between F_y and F_z cut to that stretch, which is empty where both are at most t or both at least 1 - t. What is left
lies between the least of Q(t from the right) and the greatest of Q(1 - t) of the two. k + s >= n - a as one of the two
has at least n - a rows, and both are made of x with a + r rows, so their Q(1 - t) are at most x[h], and mirrored
(`windows`). U(a; x) <= U(a + r; x') for neighbours, as n changes by at most r; U(0) bounds the local sensitivity.
The winsorised mean is (1 - 2t) times the trimmed one and t times two order statistics, each with a smooth sensitivity
of its own: their sum, so weighted, is a b-smooth bound.

Numbers. The mean is an exact fraction of whole numbers, rounded to a public grid of 2**-40 of the range; the noise is
`tacit.mechanisms.Smooth`, which provides for that rounding and for the floating point of the bound. A share of epsilon
buys an interval (`smooth_interval`).
Source: Nissim, Raskhodnikova, Smith 2007; Bun and Steinke 2019 (trimmed means). The bound is argued here.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.mechanisms import Smooth
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.order.methods import Frame
from tacit.statistics.order.ranked import Ranked, ranked
from tacit.statistics.order.windows import Rank, Sorted, Whole, smooth_sensitivity
from tacit.statistics.smooth_interval import INTERVAL_SHARE, SmoothInterval, read_share
from tacit.statistics.source import Opened, source_of

_FINENESS = 40
_NOTE = "Noise follows the data's own smooth sensitivity, which is private."
Value: TypeAlias = Callable[[Frame, Whole, Fraction], Fraction]
Bound: TypeAlias = Callable[[Frame, Whole, Fraction, Fraction], float]


def trimmed_mean(
    data: Any,
    columns: Any = None,
    *,
    trim: Number = "0.1",
    epsilon: Number,
    delta: Number = 0,
    interval_share: Number = INTERVAL_SHARE,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The mean without the part `trim` of the rows at each end. `interval_share` of epsilon buys its interval.

    >>> trimmed_mean([20, 30, 40, 50], bounds=(0, 100), epsilon=1).title
    'Trimmed mean of x'
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    asked = ranked(source, epsilon=epsilon, delta=delta, level=level, neighbours="add_remove")
    return _released(asked, "trimmed_mean", trim, interval_share, trimmed_value, trimmed_bound, analyst)


def winsorised_mean(
    data: Any,
    columns: Any = None,
    *,
    trim: Number = "0.1",
    epsilon: Number,
    delta: Number = 0,
    interval_share: Number = INTERVAL_SHARE,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The mean with the part `trim` of the rows at each end moved in to the next row; else as `trimmed_mean`.

    >>> winsorised_mean([20, 30, 40, 50], bounds=(0, 100), epsilon=1).title
    'Winsorised mean of x'
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    asked = ranked(source, epsilon=epsilon, delta=delta, level=level, neighbours="add_remove")
    return _released(asked, "winsorised_mean", trim, interval_share, winsorised_value, winsorised_bound, analyst)


def _released(
    asked: Ranked, name: str, trim: Number, share_of: Number, value: Value, bound: Bound, analyst: str | None
) -> Finding:
    share = parameters.rational("trim", trim)
    if not 0 < share < Fraction(1, 2) or share.denominator > 10**6:
        raise parameters.refuse("trim", "a number of at most six decimals strictly between 0 and 0.5", trim)
    frame = asked.frame
    if asked.variable.meaning != "number":
        raise parameters.refuse(f"column {asked.variable.name!r}", "one of numbers", asked.variable.meaning)
    grid = Fraction(2) ** ((frame.high - frame.low).bit_length() - _FINENESS)
    bought = read_share(share_of)
    own = asked.epsilon * (1 - bought)
    noise = Smooth(own, asked.delta, grid=grid) if asked.delta else Smooth(own, kind="quartic", grid=grid)
    smooth = SmoothInterval.of(noise, asked.epsilon * bought, asked.level)

    def compute(opened: Opened, bits: BitSource) -> Content:
        codes = asked.codes(opened)
        bounds = [bound(frame, codes, share, smoothness) for smoothness in smooth.smoothnesses]
        released = smooth.release(value(frame, codes, share), bounds, bits)
        inside = (
            min(max(Fraction(each), Fraction(frame.low)), Fraction(frame.high)) for each in released if each is not None
        )
        shown, *ends = ([float(each * asked.variable.step)] for each in inside)
        title = f"{name.replace('_', ' ').capitalize()} of {asked.variable.name}"
        covered = f"The interval covers the noise on the rows' own {name.replace('_', ' ')}."
        notes = (_NOTE, covered if bought else "interval_share=0: no interval.")
        return Content(title, (column(name, shown, *ends),), notes)

    text = {**asked.stated, "study": name, "trim": str(share), "interval_share": str(bought)}
    price = Price(smooth.event, asked.epsilon, asked.delta)
    return asked.source.release(text, price, compute, level=asked.level, analyst=analyst)


def trimmed_value(frame: Frame, codes: Whole, trim: Fraction) -> Fraction:
    """The trimmed mean, in codes."""
    n, p, d = codes.size, trim.numerator, trim.denominator
    if n == 0:
        return Fraction(frame.low + frame.high, 2)
    first, last = (p * n) // d + 1, -((-(d - p) * n) // d)  # the rows that count at all
    inside = codes[first - 1 : last] - frame.low
    # a row counts d, less what is cut off the first and the last
    cut_low, cut_high = p * n - (first - 1) * d, last * d - (d - p) * n
    total = d * _sum(inside) - cut_low * int(inside[0]) - cut_high * int(inside[-1])
    return frame.low + Fraction(total, (d - 2 * p) * n)


def winsorised_value(frame: Frame, codes: Whole, trim: Fraction) -> Fraction:
    """The winsorised mean, in codes."""
    if codes.size == 0:
        return Fraction(frame.low + frame.high, 2)
    lower, upper = _ends(frame, codes, trim)
    return (1 - 2 * trim) * trimmed_value(frame, codes, trim) + trim * (upper.value - lower.value)


def trimmed_bound(frame: Frame, codes: Whole, trim: Fraction, smoothness: Fraction) -> float:
    """max over a of exp(-b a/r) U(a)."""
    n, r, span = codes.size, frame.rows, float(frame.high - frame.low)
    rate = float(smoothness / r)
    distance = np.arange(max(n - r, 0))
    lower, upper = _ends(frame, codes, trim)
    # in floats: r times a width may be wider than a word
    width = upper.highest(distance + r).astype(float) + lower.highest(distance + r)
    moved = np.minimum(r * width / ((n - distance) * float(1 - 2 * trim)), span)
    worst = float((moved * np.exp(-rate * distance)).max(initial=0.0))
    return max(worst, span * float(np.exp(-rate * distance.size)))


def winsorised_bound(frame: Frame, codes: Whole, trim: Fraction, smoothness: Fraction) -> float:
    """The smooth bounds of the parts, added up."""
    ends = sum(smooth_sensitivity(each, smoothness) for each in _ends(frame, codes, trim))
    return float(1 - 2 * trim) * trimmed_bound(frame, codes, trim, smoothness) + float(trim) * ends


def _ends(frame: Frame, codes: Whole, trim: Fraction) -> tuple[Sorted, Sorted]:
    """Q(t) from the right, as the upper end of the negated rows; and Q(1 - t)."""
    share = Rank(1 - trim)
    return (
        Sorted(-codes[::-1], -frame.high, -frame.low, share, frame.rows),
        Sorted(codes, frame.low, frame.high, share, frame.rows),
    )


def _sum(values: Whole) -> int:
    """The exact sum of numbers from 0 to 2**62: in halves, which stay far from the end of a word."""
    half = 31
    return (int((values >> half).sum()) << half) + int((values & ((1 << half) - 1)).sum())
