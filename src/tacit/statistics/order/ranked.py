"""Median, quartiles, any quantiles, the least and the greatest value of a column.

The quantile q of n rows is the one of rank ceil(q n) in ascending order (for the median the lower of two middle rows;
numpy calls it inverted_cdf). Neighbours: all rows of one unit, at most r, added or removed; or, for arrays and on
request, one row replaced, which makes the number of rows public and a missing value mid-way between the bounds.

Methods, each with its theorem in `methods` and `windows`:
  "exponential"  a value of the grid between the bounds, chosen by its rank. Pure epsilon. No assumption on the data.
  "smooth"       the exact quantile plus noise for its smooth sensitivity. Pure epsilon, or with a delta less noise.
  "ptr"          the exact quantile plus noise for a `bound` that you propose, if a private test agrees. Needs delta.
  "best"         the first or the second, by public parameters only (`methods.best`).
`interval_share` of epsilon buys intervals for the first two; 0 switches them off. The third has intervals at no extra
cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypedDict, Unpack

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.plan.row_plan import Variable
from tacit.statistics.domains import limits_of, reading
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.moments.known_size import one_replaced
from tacit.statistics.order.methods import (
    FINEST_BITS,
    ByRank,
    BySmooth,
    ByTest,
    Found,
    Frame,
    Method,
    best,
    bits_for,
    bits_of,
)
from tacit.statistics.order.windows import MOST_PARTS
from tacit.statistics.smooth_interval import INTERVAL_SHARE, read_share
from tacit.statistics.source import ArraySource, Opened, Source, source_of

METHODS = ("best", "exponential", "smooth", "ptr")
NEIGHBOURS = ("add_remove", "replace")


@dataclass(frozen=True, slots=True)
class Ranked:
    """One numeric column whose order is asked for, with everything that is public about it."""

    source: Source
    variable: Variable
    frame: Frame
    epsilon: Fraction
    delta: Fraction
    level: Fraction

    @property
    def stated(self) -> dict[str, Any]:
        """What shapes every result."""
        how = NEIGHBOURS[self.frame.replaced]
        return {"epsilon": str(self.epsilon), "delta": str(self.delta), "neighbours": how}

    def codes(self, opened: Opened) -> Any:
        """The sorted codes, within the bounds."""
        codes = np.clip(opened.values(self.variable.name)[:, 0], self.frame.low, self.frame.high)
        return np.sort(codes)

    def finished(self, finding: Finding) -> Finding:
        """The finding with its own neighbours."""
        return one_replaced(finding) if self.frame.replaced else finding


def ranked(
    source: Source,
    *,
    epsilon: Number,
    delta: Number,
    level: Number,
    neighbours: str,
    resolution: Number | None = None,
) -> Ranked:
    """The column, refused where it has no order or no bounds."""
    variable = source.only
    if variable.meaning in ("text", "boolean"):
        raise parameters.refuse(f"column {variable.name!r}", "one of numbers, dates or times", variable.meaning)
    low, high = limits_of(variable)
    exact, slip = parameters.price("epsilon", epsilon), parameters.slip("delta", delta)
    if neighbours not in NEIGHBOURS:
        raise parameters.refuse("neighbours", " or ".join(map(repr, NEIGHBOURS)), neighbours)
    replaced = neighbours == "replace"
    if replaced:
        if not isinstance(source, ArraySource):
            allowed = "'add_remove' with a curator: its ledger is about adding or removing units"
            raise parameters.refuse("neighbours", allowed, neighbours)
        source = _filled(source, (low + high) // 2)
    bits = bits_for(exact)
    if resolution is not None:
        bits = _bits_of(parameters.positive("resolution", resolution), variable, high - low)
    frame = Frame(low, high, source.rows_per_unit, replaced, bits, variable.step, variable.rounded, variable.meaning)
    return Ranked(source, variable, frame, exact, slip, parameters.level("level", level))


def _bits_of(resolution: Fraction, variable: Variable, span: int) -> int:
    """The grid for a resolution; refused where it is finer than the values are known, or than is possible."""
    finest = variable.step * max(1, 1 << max(span.bit_length() - FINEST_BITS, 0))
    if resolution < finest and (variable.rounded or finest > variable.step):
        hint = f"Values of {variable.name!r} are told apart from a distance of {float(finest):.3g} on."
        raise parameters.refuse(
            "resolution", f"at least {float(finest):.3g} between these bounds", float(resolution), hint
        )
    return bits_of(resolution / variable.step, span)


def _filled(source: ArraySource, middle: int) -> ArraySource:
    """Missing values as mid-way between the bounds, so that the number of rows is the same for all neighbours."""
    columns = {name: np.where(source.missing[name], middle, codes) for name, codes in source.columns.items()}
    return replace(source, columns=columns, missing={name: np.zeros_like(m) for name, m in source.missing.items()})


class Options(TypedDict, total=False):
    """The options of every order statistic, in addition to its epsilon."""

    delta: Number
    method: str
    bound: Number | None  # the proposed one of "ptr", in the unit of the column
    interval_share: Number  # the part of epsilon that buys intervals; "ptr" has them anyway
    resolution: Number | None  # how fine a choice by rank needs to be, in the unit of the column
    neighbours: str
    bounds: Any
    values: Any
    rows_per_unit: int | None
    level: Number
    analyst: str | None


def median(data: Any, columns: Any = None, *, epsilon: Number, **options: Unpack[Options]) -> Finding:
    """The median.

    >>> found = median([20, 30, 40, 50], bounds=(0, 100), epsilon=1)
    >>> 0 <= found.value <= 100
    True
    """
    return _released(data, columns, (Fraction(1, 2),), "median", epsilon=epsilon, **options)


def quartiles(data: Any, columns: Any = None, *, epsilon: Number, **options: Unpack[Options]) -> Finding:
    """The quartiles, chosen together.

    >>> found = quartiles([20, 30, 40, 50], bounds=(0, 100), epsilon=1)
    >>> found.names, len(found)
    (('quantile', 'value'), 3)
    """
    shares = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    return _released(data, columns, shares, "quartiles", epsilon=epsilon, **options)


def quantile(data: Any, columns: Any = None, *, q: Number, epsilon: Number, **options: Unpack[Options]) -> Finding:
    """One quantile, 0 <= q <= 1.

    >>> found = quantile([20, 30, 40, 50], q="0.9", bounds=(0, 100), epsilon=1)
    >>> found.names
    ('quantile',)
    """
    return _released(data, columns, (_share(q),), "quantile", epsilon=epsilon, **options)


def quantiles(
    data: Any, columns: Any = None, *, q: Sequence[Number], epsilon: Number, **options: Unpack[Options]
) -> Finding:
    """Several quantiles, in ascending order, chosen together.

    >>> found = quantiles([20, 30, 40, 50], q=["0.1", "0.9"], bounds=(0, 100), epsilon=1)
    >>> found["value"][0] <= found["value"][1]
    True
    """
    wanted = tuple(map(_share, q))
    if not wanted or list(wanted) != sorted(set(wanted)):
        raise parameters.refuse("q", "different numbers in ascending order", [float(share) for share in wanted])
    return _released(data, columns, wanted, "quantiles", epsilon=epsilon, **options)


def _share(q: Number) -> Fraction:
    """A share as it is written: 0.9 is nine tenths, though the float is a little more."""
    exact = parameters.probability("q", q)
    if exact.denominator <= MOST_PARTS:
        return exact
    plain = exact.limit_denominator(MOST_PARTS)
    if isinstance(q, float) and float(plain) == q:
        return plain
    raise parameters.refuse("q", "a number of at most six decimals", q)


def minimum(data: Any, columns: Any = None, *, epsilon: Number, **options: Unpack[Options]) -> Finding:
    """About the least value. By rank: one that few rows lie below; how few is public and stands in the notes.

    >>> 0 <= minimum([20, 30, 40, 50], bounds=(0, 100), epsilon=1).value <= 100
    True
    """
    return _released(data, columns, (Fraction(0),), "minimum", epsilon=epsilon, **options)


def maximum(data: Any, columns: Any = None, *, epsilon: Number, **options: Unpack[Options]) -> Finding:
    """About the greatest value. By rank: one that few rows lie above; how few is public and stands in the notes.

    >>> 0 <= maximum([20, 30, 40, 50], bounds=(0, 100), epsilon=1).value <= 100
    True
    """
    return _released(data, columns, (Fraction(1),), "maximum", epsilon=epsilon, **options)


def _released(
    data: Any,
    columns: Any,
    shares: tuple[Fraction, ...],
    name: str,
    *,
    epsilon: Number,
    delta: Number = 0,
    method: str = "best",
    bound: Number | None = None,
    interval_share: Number = INTERVAL_SHARE,
    resolution: Number | None = None,
    neighbours: str = "add_remove",
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    asked = ranked(source, epsilon=epsilon, delta=delta, level=level, neighbours=neighbours, resolution=resolution)
    bought = read_share(interval_share)
    plan = _planned(asked, shares, method, bound, bought)
    variable = asked.variable
    single = name not in ("quantiles", "quartiles")  # those are tables, whatever the number of rows

    def compute(opened: Opened, bits: BitSource) -> Content:
        found = plan.find(asked.codes(opened), bits)
        released = column(name if single else "value", *_columns(variable, found))
        keys = () if single else (column("quantile", [float(share) for share in shares]),)
        return Content(f"{name.capitalize()} of {variable.name}", (*keys, released), (plan.note(asked.level),))

    text = {
        **asked.stated,
        "study": name,
        "q": [str(share) for share in shares],
        "method": type(plan).__name__,  # the method that "best" stood for
        "bound": str(bound),
        "interval_share": str(bought),
        "points": asked.frame.points,
    }
    price = Price(plan.event, asked.epsilon, plan.delta)
    return asked.finished(asked.source.release(text, price, compute, level=asked.level, analyst=analyst))


def _planned(
    asked: Ranked, shares: tuple[Fraction, ...], method: str, bound: Number | None, bought: Fraction
) -> Method:
    if method not in METHODS:
        raise parameters.refuse("method", "one of " + ", ".join(map(repr, METHODS)), method)
    if (bound is not None) != (method == "ptr"):
        raise parameters.refuse("bound", "given for method 'ptr', and for no other", bound)
    frame, epsilon, delta = asked.frame, asked.epsilon, asked.delta
    if method == "ptr":
        if not delta:
            raise parameters.refuse("delta", "above 0 for method 'ptr'", 0)
        steps = parameters.positive("bound", bound) / asked.variable.step
        return ByTest.of(frame, shares, epsilon, delta, max(int(steps), 1), asked.level)
    if method == "best":
        method = best(shares, frame.moved, epsilon * (1 - bought), delta, replaced=frame.replaced)
    if method == "exponential":
        return ByRank.of(frame, shares, epsilon, bought, asked.level)
    return BySmooth.of(frame, shares, epsilon, delta, bought, asked.level)


def _columns(variable: Variable, found: list[Found]) -> tuple[list[Any], list[Any] | None, list[Any] | None]:
    """Values and ends of intervals in the unit of the column."""
    read = [(None, None, None) if each is None else tuple(reading(variable, code) for code in each) for each in found]
    values, low, high = (list(part) for part in zip(*read, strict=True))
    if all(each is None for each in low):
        return values, None, None
    return values, low, high
