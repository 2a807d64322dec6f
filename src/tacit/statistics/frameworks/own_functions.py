"""What the frameworks for anyone's function have in common: the rows they show it, and the bounds of what it gives.

Rows reach a function as a matrix of floats, a line for each unit and a column for each variable, sorted, so that their
order says nothing. Numbers are what they mean (dates: days, times: microseconds, since 1970), texts the place of the
value in its list. A unit has one row: more are refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.parameters import Number
from tacit.statistics.source import Opened, Source, source_of

Rows: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PaidLook:
    """Data, and what is paid for a look at them."""

    source: Source
    epsilon: Fraction
    delta: Fraction
    level: Fraction

    def rows(self, opened: Opened) -> Rows:
        """The rows in an order that follows from the rows alone."""
        variables = self.source.variables
        codes = opened.values(*(each.name for each in variables))
        steps = np.array([float(each.step) for each in variables])
        with np.errstate(all="ignore"):  # rows too large for a float are infinite, without a warning
            matrix: Rows = codes.astype(np.float64) * steps
        order = np.lexsort(matrix.T[::-1]) if len(matrix) else np.arange(0)
        return np.asarray(matrix[order])


def asked(
    study: str,
    data: Any,
    columns: Any,
    *,
    epsilon: Number,
    delta: Number,
    bounds: Any,
    values: Any,
    rows_per_unit: int | None,
    level: Number,
) -> PaidLook:
    """The request; refused where a unit may have more than one row."""
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    source.one_row_each(study)
    slip = parameters.slip("delta", delta)
    exact = parameters.level("level", level)
    return PaidLook(source, parameters.price("epsilon", epsilon), slip, exact)


@dataclass(frozen=True, slots=True)
class Output:
    """The public bounds of one number that a function gives."""

    low: Fraction
    high: Fraction

    @property
    def middle(self) -> Fraction:
        """What stands for a result that is missing."""
        return (self.low + self.high) / 2

    @property
    def width(self) -> Fraction:
        """high - low."""
        return self.high - self.low

    @property
    def grid(self) -> Fraction:
        """A power of two, 2**-40 of the width."""
        return Fraction(2) ** (math.frexp(float(self.width))[1] - 40)

    def read(self, value: float | None, default: Fraction | None = None) -> Fraction:
        """A result within the bounds; what is missing or no number is the default."""
        if value is None or not math.isfinite(value):
            return self.middle if default is None else default
        return min(max(Fraction(value), self.low), self.high)


def outputs(bounds: Any) -> tuple[Output, ...]:
    """One pair of numbers, or a list of pairs."""
    allowed = "(low, high), or a list of such pairs, the lower one first"
    try:
        listed = list(bounds)
        pairs = [listed] if len(listed) == 2 and not hasattr(listed[0], "__len__") else [list(each) for each in listed]
    except TypeError:
        raise parameters.refuse("output_bounds", allowed, bounds) from None
    found = []
    for pair in pairs:
        if len(pair) != 2:
            raise parameters.refuse("output_bounds", allowed, pair)
        low, high = (parameters.rational("output_bounds", end, allowed) for end in pair)
        if low >= high:
            raise parameters.refuse("output_bounds", allowed, (float(low), float(high)))
        found.append(Output(low, high))
    if not found:
        raise parameters.refuse("output_bounds", allowed, bounds)
    return tuple(found)


def name_of(function: Any) -> str:
    """What a finding calls a function."""
    return str(getattr(function, "__name__", "function"))
