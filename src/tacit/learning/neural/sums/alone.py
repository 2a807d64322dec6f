"""`exact=True`: each person is computed alone, clipped and added in whole numbers; nothing is assumed of kernels.

Theorem. A person's vector of whole numbers is made from that person's rows and public weights alone, and its squared
length is compared with R**2 as a whole number; one that is longer counts as nothing. So the sum of any sample moves by
at most R = ceil(units C) + ceil(sqrt(d)) with one person, in exact arithmetic, whatever floating point did before. (The
length after clipping in float64 is below units C, and rounding adds at most sqrt(d)/2: no vector is longer.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import torch

from tacit.learning.neural.floats import units_for
from tacit.learning.neural.gradients.forms import Form, PerPerson
from tacit.learning.neural.sums.clipping import weights
from tacit.learning.neural.sums.grid import Grid
from tacit.loss.numbers.rounding import dyadic_up

_WORD: Final = 1 << 62


def reach(clip: Fraction, coordinates: int, exponent: int) -> int:
    """R, in steps of the grid."""
    return math.ceil(Fraction(2) ** exponent * clip) + math.isqrt(coordinates - 1) + 1


def exact_grid(clip: Fraction, multiplier: Fraction, coordinates: int) -> Grid:
    """The grid of a run whose people are computed alone."""
    exponent = units_for(clip, multiplier, coordinates)
    return Grid(exponent, dyadic_up(multiplier * reach(clip, coordinates, exponent), 40), coordinates)


def exact_sum(forms: Sequence[Form], clip: Fraction, kind: str, grid: Grid) -> tuple[np.ndarray[Any, Any], Any]:
    """The sum of everyone's whole numbers, and bounds of their norms."""
    most = reach(clip, grid.coordinates, grid.exponent)
    total = np.zeros(grid.coordinates, dtype=np.int64)
    kept: list[Any] = [each.own for each in forms if isinstance(each, PerPerson)]
    lengths = []
    for form in zip(*kept, strict=True):
        own: list[Form] = [PerPerson(each[None]) for each in form]
        weight, length = weights(own, float(clip), kind)
        lengths.append(length)
        if bool(torch.isfinite(length).all()):
            flat = torch.cat([each.rows()[0].double() for each in own]) * float(weight[0])
            whole = torch.round(flat * 2.0**grid.exponent).numpy().astype(np.int64)
            if squared_length(whole) <= most * most:
                total += whole
    return total, torch.cat(lengths)


def squared_length(whole: np.ndarray[Any, Any]) -> int:
    """The sum, exact whatever the size of the numbers."""
    largest = int(np.abs(whole).max(initial=0))
    if largest * largest * len(whole) < _WORD:
        return int(whole @ whole)
    return sum(int(each) * int(each) for each in whole)
