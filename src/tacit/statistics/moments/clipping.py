"""Rows clipped to an L1 or an L2 ball, in whole numbers, so that the bound on their norm is exact.

Each column's bounds are first mapped to -1 and 1, and then to whole numbers from -FINE to FINE: y = trunc(z FINE/W)
with z = 2 (code - low) - W, exact integer arithmetic. A row whose norm is above K = floor(radius FINE) is shrunk by a
factor that floating point rounds down by more than its own error, and cut towards zero. What the clipping promises is
then checked in whole numbers, row by row: a row that did not pass would be replaced by zeros.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.statistics.moments.bounded import Bounded

FINE = 1 << 20
DOWN = 1 - 2.0**-40
"""A factor that shrinks by far more than the few units in the last place by which a root and a quotient can be off."""
_CHUNK = 1 << 18

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ball:
    """The ball of all rows with at most this norm. `reach` is the radius in whole numbers."""

    norm: Literal["l1", "l2"]
    reach: int
    columns: int

    @property
    def radius(self) -> float:
        """The radius in units in which a column's bounds are -1 and 1."""
        return self.reach / FINE

    @property
    def taxicab(self) -> int:
        """The largest L1 norm of a row."""
        return self.reach if self.norm == "l1" else math.isqrt(self.columns * self.reach * self.reach)


def ball_of(norm: Any, radius: Any, columns: int) -> Ball | None:
    """The ball that was asked for, or None: the rows stay in the box of their bounds."""
    if norm is None and radius is None:
        return None
    if norm not in ("l1", "l2"):
        raise parameters.refuse("norm", "'l1' or 'l2', with a radius; or left out, together with it", norm)
    exact = parameters.positive("radius", radius, "It is in units in which each column's bounds are -1 and 1.")
    farthest = Fraction(columns) if norm == "l1" else Fraction(math.isqrt(columns * FINE * FINE) + 1, FINE)
    reach = math.floor(min(exact, farthest) * FINE)
    if reach < 1024:
        raise parameters.refuse("radius", f"at least {1024 / FINE:.2g}", radius)
    return Ball(norm, reach, columns)


def clipped(codes: Whole, columns: tuple[Bounded, ...], ball: Ball) -> Whole:
    """The rows' whole numbers, clipped."""
    out = np.empty(codes.shape, dtype=np.int64)
    for start in range(0, len(codes), _CHUNK):
        part = slice(start, start + _CHUNK)
        out[part] = _clip(_scaled(codes[part], columns), ball)
    return out


def _scaled(codes: Whole, columns: tuple[Bounded, ...]) -> Whole:
    out = np.empty(codes.shape, dtype=np.int64)
    for place, each in enumerate(columns):
        z = 2 * (codes[:, place] - each.low) - each.width
        if each.width < 1 << 40:  # |z| FINE fits a word
            out[:, place] = np.sign(z) * (np.abs(z) * FINE // each.width)
        else:
            exact = np.abs(z).astype(object) * FINE // each.width
            out[:, place] = np.sign(z) * exact.astype(np.int64)
    return np.clip(out, -FINE, FINE)


def _clip(rows: Whole, ball: Ball) -> Whole:
    sizes = np.abs(rows).sum(axis=1) if ball.norm == "l1" else np.sqrt((rows * rows).sum(axis=1).astype(np.float64))
    factor = np.where(sizes > ball.reach, ball.reach / np.maximum(sizes, 1) * DOWN, 1.0)
    shrunk = np.trunc(rows * factor[:, None]).astype(np.int64)
    if ball.norm == "l1":
        inside = np.abs(shrunk).sum(axis=1) <= ball.reach
    else:
        inside = (shrunk * shrunk).sum(axis=1) <= ball.reach * ball.reach
    return np.where(inside[:, None], shrunk, 0)


def clipped_totals(rows: Whole) -> tuple[int, list[int], list[list[int]]]:
    """The number of rows, the sums, and the sums of products, exactly."""
    width = rows.shape[1]
    sums = [0] * width
    products = [[0] * width for _ in range(width)]
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]  # |entries| <= 2**20: sums of 2**18 products stay below 2**58
        for i in range(width):
            sums[i] += int(part[:, i].sum())
            for j in range(i, width):
                products[i][j] += int((part[:, i] * part[:, j]).sum())
    return len(rows), sums, products
