"""Rounds of noisy gradients in whole numbers: what one row adds depends on that row and on released numbers alone.

Everything that touches a row is exact. Coordinates are whole numbers of `FINE` to the unit (`grid_rows`); a row is
shrunk to a ball in whole numbers, and the bound is checked (`shrunk`); scores are sums of products below 2**53, which
floating point adds exactly in any order; probabilities are looked up in a table of whole numbers, or divided as whole
numbers. Roots and quotients of single numbers are correctly rounded on every machine. So no row's part changes because
another row came or went, and sensitivities are facts about whole numbers.

Theorem (sums by class). A row adds (B, y) to its class, with |y| <= R: the L2 norm is at most (B**2 + R**2)**(1/2).
Theorem (a round). A row adds the products of (C, z), |z| <= R, with its residual q, |q| <= FINE: the L2 norm is at most
FINE (C**2 + R**2)**(1/2).
r rows of a unit move either r times as far, by the triangle inequality.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.learning.columns import Feature
from tacit.statistics.source import Whole

FINE = 1 << 12
WEIGHT = 1 << 10  # of a weight of 1
_MOST_WEIGHT = 1 << 24
_DOWN = 1 - 2.0**-40  # far more than a root and a quotient can be off
_STEPS, _REACH = 256, 16  # scores are looked up in steps of 1/256, up to 16
_BLOCK = 1 << 16
_EXPONENTIALS: NDArray[np.int64] = np.floor(
    (1 << 20) * np.exp(-np.arange(_STEPS * _REACH + 1, dtype=np.float64) / _STEPS)
).astype(np.int64)


def grid_rows(codes: Whole, features: Sequence[Feature], meanings: Sequence[str]) -> Whole:
    """The rows' vectors, in whole numbers from -FINE to FINE."""
    width = sum(each.size for each in features)
    rows = np.zeros((len(codes), width), dtype=np.int64)
    at = 0
    for place, (each, meaning) in enumerate(zip(features, meanings, strict=True)):
        if each.options is not None:
            found = each.places(codes[:, place], meaning)
            there = np.flatnonzero(found >= 0)
            rows[there, at + found[there]] = FINE
        else:
            z = 2 * np.clip(codes[:, place] - each.low, 0, each.width) - each.width
            rows[:, at] = np.sign(z) * (np.abs(z) * FINE // each.width)
        at += each.size
    return rows


def shrunk(rows: Whole, reach: int) -> Whole:
    """The rows, each at most `reach` long: a fact, as it is checked."""
    squares = (rows * rows).sum(axis=1)
    factors = np.where(squares > reach * reach, reach / np.sqrt(np.maximum(squares, 1).astype(np.float64)) * _DOWN, 1.0)
    cut = np.trunc(rows * factors[:, None]).astype(np.int64)
    inside = (cut * cut).sum(axis=1) <= reach * reach
    return np.where(inside[:, None], cut, 0)


def sums_by_class(rows: Whole, classes: Whole, many: int, constant: int) -> Whole:
    """For each class the sum of (constant, row)."""
    total = np.zeros((many, rows.shape[1] + 1), dtype=np.int64)
    for label in range(many):
        own = rows[classes == label]
        total[label, 0] = constant * len(own)
        total[label, 1:] = own.sum(axis=0)
    return total


def gradient(rows: Whole, classes: Whole, weights: NDArray[np.float64], scale: int) -> Whole:
    """The sum over rows of (row times residual). `rows` have their constant; a score of 1 is `scale` WEIGHT."""
    whole = np.clip(np.rint(weights * WEIGHT), -_MOST_WEIGHT, _MOST_WEIGHT)
    total = np.zeros(weights.shape, dtype=np.int64)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float64)
        scores = (block @ whole).astype(np.int64)  # exact: products below 2**40, and at most 2**10 of them
        found = residuals(scores, classes[start : start + _BLOCK], scale * WEIGHT)
        total += (block.T @ found.astype(np.float64)).astype(np.int64)  # exact: below 2**28, of at most 2**16 rows
    return total


def residuals(scores: Whole, classes: Whole, one: int) -> Whole:
    """Probability less truth, in whole numbers of FINE to 1, each row at most FINE long. A score of 1 is `one`."""
    below = scores.max(axis=1, keepdims=True) - scores
    exponentials = _EXPONENTIALS[np.minimum(below // max(one // _STEPS, 1), _STEPS * _REACH)]
    found = exponentials * FINE // exponentials.sum(axis=1, keepdims=True)
    found[np.arange(len(found)), classes] -= FINE
    return shrunk(found, FINE)
