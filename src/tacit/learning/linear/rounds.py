"""Rounds of noisy sums in whole numbers: what one row adds depends on that row and on released numbers alone.

Everything that touches a row is exact. Coordinates are whole numbers of `FINE` to the unit (`grid_rows`); a row is
shrunk to a ball in whole numbers, and the bound is checked (`balls`); scores are sums of products below 2**53, which
floating point adds exactly in any order; residuals are looked up in tables of whole numbers, or divided as whole
numbers. Roots and quotients of single numbers are correctly rounded on every machine. So no row's part changes because
another row came or went, and sensitivities are facts about whole numbers.

Layout: one line for each coordinate, one column for each row, so that a block of rows is worked on coordinate by
coordinate. Coordinates are kept in 16 bits: they lie between -2 FINE and 2 FINE.

Theorem (sums by class). A row adds (B, y) to its class, with |y| <= R: the L2 norm is at most (B**2 + R**2)**(1/2).
Theorem (products). A row adds v_i v_j, i <= j, for v = (C, z), |z| <= R. With weights 29 on squares and 41 on products
the L2 norm is at most 29 (C**2 + R**2), as 41**2 <= 2 29**2; with weights 1 the L1 norm is at most (|v|_1**2 +
|v|_2**2)/2.
Theorem (a round). A row adds the products of (C, z), |z| <= R, with its residuals q, |q| <= Q: the L2 norm is at
most Q (C**2 + R**2)**(1/2); the L1 norm of (C, z) is at most C + R d**(1/2), that of k residuals Q k**(1/2).
r rows of a unit move any of them r times as far, by the triangle inequality.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.learning.balls import shrunk
from tacit.learning.calibrated import Part
from tacit.learning.columns import Feature, Reals
from tacit.learning.linear.margin_losses import FINE, Loss
from tacit.statistics.source import Whole

Short: TypeAlias = NDArray[np.int16]

WEIGHT = 1 << 10  # of a weight of 1
SQUARE, PRODUCT = 29, 41
_MOST_WEIGHT = 1 << 24
BLOCK = 1 << 13  # rows: sums of products of a block stay below 2**53, and a block stays near the processor
_MOST_BITS = 48
_LOOKED_UP = 1 << 18  # codes: columns with at most this many are read from a table
_READ = 1 << 15  # rows of a column at a time


def grid_rows(
    columns: Sequence[NDArray[Any]], features: Sequence[Feature], meanings: Sequence[str], out: Short | None = None
) -> Short:
    """The rows' vectors, in whole numbers from -FINE to FINE: one line for each coordinate.

    columns: the codes of each feature, in whole numbers of any width; read a block at a time. out: where to write.
    """
    shape = (sum(each.size for each in features), len(columns[0]))
    rows = np.empty(shape, dtype=np.int16) if out is None else out
    assert rows.shape == shape
    at = 0
    for column, each, meaning in zip(columns, features, meanings, strict=True):
        table = _on_grid(np.arange(each.width + 1, dtype=np.int64), each.width) if _is_looked_up(each) else None
        for start in range(0, len(column), _READ):
            part = slice(start, start + _READ)
            if each.options is not None:
                found = each.places(column[part], meaning)
                for option in range(each.size):
                    np.multiply(found == option, FINE, out=rows[at + option, part], casting="unsafe")
                continue
            left = np.subtract(column[part], each.low, dtype=np.int64)  # in whole words: a narrow one may not hold it
            if table is not None:
                np.take(table, left, out=rows[at, part], mode="clip")  # beyond the bounds: the nearest of them
            else:
                rows[at, part] = _on_grid(np.clip(left, 0, each.width), each.width)
        at += each.size
    return rows


def _is_looked_up(feature: Feature) -> bool:
    return feature.options is None and feature.width < _LOOKED_UP


def _on_grid(left: Whole, width: int) -> Short:
    """Codes 0 to `width` as the nearest whole numbers from -FINE to FINE: always rounding down would change slopes.

    The quotient of a number by the width is off by less than 2**-40, so no result is beyond FINE.
    """
    spare = max(0, width.bit_length() - _MOST_BITS)  # so that floating point has every code
    z = (left >> spare).astype(np.float64) * (2 * FINE / (width >> spare))
    z -= FINE
    return np.asarray(np.rint(z, out=z).astype(np.int16))


def blocks(rows: Short) -> Iterator[tuple[slice, Reals]]:
    """The rows, a block at a time, as numbers that floating point adds exactly. Each takes the last one's place."""
    place = np.empty((len(rows), min(BLOCK, rows.shape[1])))
    for start in range(0, rows.shape[1], BLOCK):
        part = slice(start, start + BLOCK)
        block = place[:, : min(BLOCK, rows.shape[1] - start)]
        np.copyto(block, rows[:, part])
        yield part, block


def sums_by_class(rows: Short, classes: Whole, many: int, constant: int, reach: int) -> Whole:
    """For each class the sum of (constant, row shrunk to `reach`)."""
    total = np.zeros((many, len(rows) + 1), dtype=np.int64)
    total[:, 0] = constant * np.bincount(classes, minlength=many)
    for part, block in blocks(rows):
        own = (classes[part] == np.arange(many)[:, None]).astype(np.float64)
        total[:, 1:] += (own @ shrunk(block, reach).T).astype(np.int64)
    return total


def moved(
    rows: Short, centre: Whole, reach: int, constant: int, stretch: float = 1.0, out: Short | None = None
) -> Short:
    """`stretch` times the rows less the centre, shrunk to `reach`, below a coordinate that all of them share.

    out: where to write; the rows themselves may be its later lines, as each block is read before it is written.
    """
    shape = (len(rows) + 1, rows.shape[1])
    found = np.empty(shape, dtype=np.int16) if out is None else out
    assert found.shape == shape
    found[0] = constant
    shift = centre.astype(np.float64)[:, None]
    for part, block in blocks(rows):
        block -= shift
        if stretch != 1:
            block *= stretch
            np.rint(block, out=block)
        found[1:, part] = shrunk(block, reach)
    return found


def products(rows: Short) -> Whole:
    """The sums of all products of two coordinates."""
    total = np.zeros((len(rows), len(rows)), dtype=np.int64)
    for _, block in blocks(rows):
        total += (block @ block.T).astype(np.int64)  # exact: below 2**30, of at most 2**13 rows
    return total


def gradient(rows: Short, classes: Whole, weights: Reals, scale: int, loss: Loss) -> Whole:
    """The sum over rows of (row times residuals). `rows` have their constant; a score of 1 is `scale` WEIGHT."""
    whole = np.clip(np.rint(weights * WEIGHT), -_MOST_WEIGHT, _MOST_WEIGHT)
    total = np.zeros(weights.shape, dtype=np.int64)
    for part, block in blocks(rows):
        scores = whole.T @ block  # exact: products below 2**38, and at most 2**10 of them
        found = loss.residuals(scores, classes[part], scale * WEIGHT)
        total += (block @ found.T).astype(np.int64)  # exact: below 2**27, of at most 2**13 rows
    return total


def sums_part(r: int, constant: int, reach: int, coordinates: int, classes: int, share: Fraction) -> Part:
    """The sums by class as a part of the budget, where a unit has r rows."""
    taxicab, squared = _norms(constant, reach, coordinates)
    return Part(r * taxicab, r * r * squared, (coordinates + 1) * classes, share)


def products_part(r: int, constant: int, reach: int, coordinates: int, share: Fraction) -> Part:
    """The sums of products as a part of the budget."""
    taxicab, squared = _norms(constant, reach, coordinates)
    pairs = (coordinates + 1) * (coordinates + 2) // 2
    return Part(r * ((taxicab**2 + squared) // 2 + 1), (r * SQUARE * squared) ** 2, pairs, share, weight=PRODUCT)


def gradients_part(
    r: int, constant: int, reach: int, coordinates: int, scores: int, longest: int, share: Fraction, count: int
) -> Part:
    """Gradients as a part of the budget, where a row's residuals are at most `longest` long."""
    taxicab, squared = _norms(constant, reach, coordinates)
    several = math.isqrt(scores - 1) + 1  # at least the root
    return Part(r * longest * several * taxicab, (r * longest) ** 2 * squared, (coordinates + 1) * scores, share, count)


def _norms(constant: int, reach: int, coordinates: int) -> tuple[int, int]:
    """The L1 norm and the squared L2 norm of (constant, row), at most: a row of d coordinates has d**(1/2) reach."""
    root = math.isqrt(coordinates - 1) + 1
    return constant + root * reach, constant**2 + reach**2
