"""The variance of a column, with the number of rows unknown or public.

Theorem, number of rows unknown (add or remove one unit). The sums of a**2, 2ab and b**2 with a = value - low and
b = high - value are released together (`one_column`, degree 2): a row moves them by W**2 in L1, a unit by r W**2. The
count, the mean and the variance follow. To first order the error of the variance is the combination of the three
noises that (share - m)**2 - v has in these parts, over n.

Theorem, `size` public (replace one row, arrays only). n * (sum of squares) - (sum)**2 is the sum over pairs of
(x_i - x_j)**2, so replacing one row changes it by at most (n - 1) W**2: noise of scale (n - 1) W**2/epsilon on it.

The variance is that of the rows (divided by n), and that is what the interval holds, with probability `level`. For a
public size it is that of the noise itself. Otherwise, with X the noises of the parts, N their noisy sum, v' the
released variance at the released mean m' and h = N (m' - m), as in the theorem of `matrices` for one column,
    N (v' - v) = ((1 - m)**2 - v) X_1 - (m (1 - m) + v) X_2 + (m**2 - v) X_3 - h**2/N,
which is drawn with m' in place of m and the ends of the interval in place of v.
Source: Bernstein's form of a polynomial; the sensitivity of the variance is folklore, proved above.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.moments.additive import Additive, laplace
from tacit.statistics.moments.bounded import Bounded, bounded
from tacit.statistics.moments.known_size import LEFT_OUT, NOTE, one_replaced, public_size
from tacit.statistics.moments.one_column import Moments, opened_parts, plan, release
from tacit.statistics.moments.plausible import draws_of, tails
from tacit.statistics.source import Opened, source_of

_DRAWS = 4_000
_STEPS = 3


def variance(
    data: Any,
    columns: Any = None,
    *,
    epsilon: Number,
    delta: Number = 0,
    bounds: Any = None,
    rows_per_unit: int | None = None,
    size: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The variance of a column. `size`: the number of rows, where it is public.

    >>> found = variance([20, 30, 40, 50], bounds=(0, 100), epsilon=1)
    >>> found.title, found.value >= 0
    ('Variance of x', True)
    """
    source = source_of(data, columns, bounds=bounds, rows_per_unit=rows_per_unit)
    known = bounded(source.only)
    exact_epsilon, exact_delta = parameters.budget(epsilon, delta)
    confidence = parameters.level("level", level)
    asked = {"study": "variance", "size": size}
    if size is not None:
        rows = public_size(source, size, least=2)
        noise = laplace(4 * (rows - 1) * known.width**2, exact_epsilon)

        def of_known_size(opened: Opened, bits: BitSource) -> Content:
            (noisy,) = noise.release([pairs(opened, known, rows)], bits)
            share = _of_pairs(noisy, rows, known)
            reach = _of_pairs(int(noise.mechanism.error(confidence)), rows, known)
            return _content(known, share, share - reach, share + reach, {"count": float(rows)}, NOTE)

        return one_replaced(source.release(asked, noise.price, of_known_size, level=level, analyst=analyst))

    noise = plan(known, 2, source.rows_per_unit, exact_epsilon, exact_delta)

    def compute(opened: Opened, bits: BitSource) -> Content:
        moments = release(known, 2, noise, opened_parts(opened, known, 2), bits)
        low, high = _interval(moments, noise, known, float(confidence))
        facts = {"count": moments.count, "mean": known.value(moments.mean)}
        return _content(known, moments.variance, low, high, facts, "")

    return source.release(asked, noise.price, compute, level=level, analyst=analyst)


def pairs(opened: Opened, known: Bounded, size: int) -> int:
    """The exact sum over pairs of rows of (2 x_i - 2 x_j)**2, a missing value counting as mid-way."""
    count, (total, squares) = opened.totals([(known.name,), (known.name,) * 2], {known.name: known.low})
    missing = size - count
    first = 2 * total + missing * known.width
    second = 4 * squares + missing * known.width**2
    return size * second - first * first


def _of_pairs(total: int, size: int, known: Bounded) -> float:
    return float(Fraction(total, 4 * (size * known.width) ** 2))


def _interval(moments: Moments, noise: Additive, known: Bounded, level: float) -> tuple[float, float]:
    if not moments.enough:
        return 0.0, 0.25
    noise_draws = draws_of(noise, 3, _DRAWS, float(known.width) ** 2)
    count, mean = moments.count, (moments.parts[0] + moments.parts[1] / 2) / moments.count
    found = moments.parts[0] / count - mean * mean
    shifts = noise_draws @ np.array([1 - mean, 0.5 - mean, -mean])
    weights = np.array([(1 - mean) ** 2, -mean * (1 - mean), mean * mean])
    errors = noise_draws @ weights - shifts * shifts / count
    together = noise_draws.sum(axis=1)
    low = high = min(max(found, 0.0), 0.25)
    for _ in range(_STEPS):
        low = min(max(found - float(tails(errors - low * together, level)[1]) / count, 0.0), 0.25)
        high = min(max(found - float(tails(errors - high * together, level)[0]) / count, 0.0), 0.25)
    return min(low, moments.variance), max(high, moments.variance)


def _content(known: Bounded, share: float, low: float, high: float, facts: dict[str, float], note: str) -> Content:
    value, least, most = (min(max(each, 0.0), 0.25) * known.span**2 for each in (share, low, high))
    words = "The variance of the rows, each value clamped to its bounds. The interval covers the noise."
    notes = (words, note or LEFT_OUT)
    arrays = {**facts, "deviation": math.sqrt(value)}
    return Content(f"Variance of {known.name}", (column("variance", [value], [least], [most]),), notes, arrays)
