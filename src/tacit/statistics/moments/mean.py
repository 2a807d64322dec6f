"""The mean of a column, with the number of rows unknown or public.

Theorem, number of rows unknown (add or remove one unit). The sums of (value - low) and of (high - value) are released
together (`one_column`, degree 1), with noise of scale r W/epsilon each, W the width and r the rows of a unit; their sum
is W times the count, and their quotient the mean. With m the mean's share of the way between the bounds, the error is
((1 - m) X - m Y)/n, of deviation sqrt(2 (m**2 + (1 - m)**2)) r W/(epsilon n): from 1 r W/(epsilon n) at the middle to
1.41 at the bounds, which is what a *known* number of rows costs under replacement.

Theorem, `size` public (replace one row, arrays only). The sum changes by at most W: noise of scale W/epsilon on it.

Interval. For the true m, (1 - m) A' - m B' is (1 - m) X - m Y, whose law is known: the values that this does not reject
are the interval, so it holds the mean of the clamped rows with the stated probability. The law is worked out for the
continuous Laplace or Gaussian law, and one code is added for the difference to the whole-number noise: |noise| of the
two, drawn with the same tail probability, differ by at most one.

Source: Dwork, McSherry, Nissim, Smith 2006; see `one_column` for releasing both sums together.
"""

from __future__ import annotations

from typing import Any

from tacit import parameters
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.moments.additive import laplace
from tacit.statistics.moments.bounded import Bounded, bounded
from tacit.statistics.moments.inversion import not_rejected
from tacit.statistics.moments.known_size import LEFT_OUT, NOTE, one_replaced, public_size
from tacit.statistics.moments.one_column import Moments, opened_parts, plan, release
from tacit.statistics.source import Opened, source_of


def mean(
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
    """The mean of a column. `size`: the number of rows, where it is public; neighbours then have one row replaced.

    >>> found = mean([20, 30, 40, 50], bounds=(0, 100), epsilon=1)
    >>> found.title, found.receipt["epsilon"], len(found.intervals()["mean"])
    ('Mean of x', '1', 1)
    """
    source = source_of(data, columns, bounds=bounds, rows_per_unit=rows_per_unit)
    known = bounded(source.only)
    exact_epsilon, exact_delta = parameters.budget(epsilon, delta)
    confidence = parameters.level("level", level)
    asked = {"study": "mean", "size": size}
    if size is not None:
        rows = public_size(source, size)
        noise = laplace(2 * known.width, exact_epsilon)
        reach = float(noise.mechanism.error(confidence)) / (2 * rows * known.width)

        def of_known_size(opened: Opened, bits: BitSource) -> Content:
            count, (total,) = opened.totals([(known.name,)], {known.name: known.low})
            (noisy,) = noise.release([2 * total + (rows - count) * known.width], bits)
            share = noisy / (2 * rows * known.width)
            return _content(known, share, share - reach, share + reach, float(rows), NOTE)

        return one_replaced(source.release(asked, noise.price, of_known_size, level=level, analyst=analyst))

    noise = plan(known, 1, source.rows_per_unit, exact_epsilon, exact_delta)

    def compute(opened: Opened, bits: BitSource) -> Content:
        moments = release(known, 1, noise, opened_parts(opened, known, 1), bits)
        low, high = interval(moments, 1 / known.width, float(confidence))
        return _content(known, moments.mean, low, high, moments.count, "")

    return source.release(asked, noise.price, compute, level=level, analyst=analyst)


def interval(moments: Moments, code: float, level: float) -> tuple[float, float]:
    """Between which shares the mean of the rows lies; all of them, where the count does not stand out of its noise."""
    if not moments.enough:
        return 0.0, 1.0

    def chance(share: float) -> float:
        return moments.noise_of_centred(share).beyond(abs(moments.centred(share)) - code)

    return not_rejected(chance, level, moments.mean, 0.0, 1.0)


def _content(known: Bounded, share: float, low: float, high: float, count: float, note: str) -> Content:
    inside = [min(max(each, 0.0), 1.0) for each in (share, low, high)]
    value, least, most = (known.value(each) for each in inside)
    words = "The interval covers the noise: it holds the mean of the rows, each value clamped to its bounds."
    notes = (words, note or LEFT_OUT)
    return Content(f"Mean of {known.name}", (column("mean", [value], [least], [most]),), notes, {"count": count})
