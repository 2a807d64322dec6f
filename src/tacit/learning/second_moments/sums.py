"""Exact sums of products of columns, in whole numbers: added up inside the engine, or from codes by matrix products.

Promise: both ways give the same whole numbers. A code counts from the lower bound of its column; a listed value is 1
or 0. Which way is taken depends on the number of columns and on where the rows are, both public.

Matrix products in floating point are exact while no partial sum can reach 2**53, in whichever order they are added:
codes are cut into limbs below 2**18, and rows into blocks of 2**16, so that sums stay below 2**52.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.learning.columns import Feature
from tacit.statistics.source import EngineRows, Opened, Whole

_LIMB, _BLOCK = 18, 1 << 16
_MOST_PUSHED_DOWN = 48  # coordinates: about 1,200 sums in one query


def exact_sums(opened: Opened, features: Sequence[Feature], products: bool) -> NDArray[Any]:
    """The matrix of sums of products of (1, codes and indicators), as Python's own integers.

    Without `products` only those with the constant and the squares are there; the others are 0.
    """
    if isinstance(opened, EngineRows) and is_pushed_down(features):
        return _pushed_down(opened, features, products)
    codes = opened.values(*(each.name for each in features))
    whole = matrix_products(codes, features, opened.meanings(*(each.name for each in features)))
    if not products:
        kept = np.eye(len(whole), dtype=bool)
        kept[0] = kept[:, 0] = True
        whole = np.where(kept, whole, 0)
    return whole


def is_pushed_down(features: Sequence[Feature]) -> bool:
    """Whether an engine adds up the products of this many columns."""
    return sum(each.size for each in features) <= _MOST_PUSHED_DOWN


def _pushed_down(opened: Opened, features: Sequence[Feature], products: bool) -> NDArray[Any]:
    terms = [term for each in features for term in each.terms]
    owner = [place for place, each in enumerate(features) for _ in range(each.size)]
    listed = [features[place].options is not None for place in owner]
    wanted = [(i, i) for i in range(len(terms)) if not listed[i]]
    if products:
        wanted += [(i, j) for i in range(len(terms)) for j in range(i + 1, len(terms)) if owner[i] != owner[j]]
    asked = [(term,) for term in terms] + [(terms[i], terms[j]) for i, j in wanted]
    centres = {each.name: each.low for each in features if each.options is None}
    count, sums = opened.totals(asked, centres, [each.name for each in features])
    table = np.zeros((len(terms) + 1, len(terms) + 1), dtype=object)
    table[0, 0] = count
    for place, total in enumerate(sums[: len(terms)], start=1):
        table[0, place] = table[place, 0] = total
        if listed[place - 1]:
            table[place, place] = total
    for (i, j), total in zip(wanted, sums[len(terms) :], strict=True):
        table[i + 1, j + 1] = table[j + 1, i + 1] = total
    return table


def matrix_products(codes: Whole, features: Sequence[Feature], meanings: Sequence[str]) -> NDArray[Any]:
    """The same from rows of codes."""
    limbs = [1 if each.options is not None else -(-each.width.bit_length() // _LIMB) for each in features]
    width = 1 + sum(each.size * count for each, count in zip(features, limbs, strict=True))
    total = np.zeros((width, width), dtype=object)
    for start in range(0, len(codes), _BLOCK):
        block = _limbs(codes[start : start + _BLOCK], features, meanings, limbs, width)
        total += (block @ block.T).astype(np.int64).astype(object)
    return _joined(total, features, limbs)


def _limbs(
    codes: Whole, features: Sequence[Feature], meanings: Sequence[str], limbs: Sequence[int], width: int
) -> NDArray[np.float64]:
    """One line for each limb, one column for each row."""
    block = np.zeros((width, len(codes)))
    block[0] = 1.0
    at = 1
    for place, (each, meaning, count) in enumerate(zip(features, meanings, limbs, strict=True)):
        if each.options is not None:
            found = each.places(codes[:, place], meaning)
            there = np.flatnonzero(found >= 0)
            block[at + found[there], there] = 1.0
            at += each.size
            continue
        left = np.clip(codes[:, place] - each.low, 0, each.width)
        for _ in range(count):
            block[at] = left & ((1 << _LIMB) - 1)
            left >>= _LIMB
            at += 1
    return block


def _joined(total: NDArray[Any], features: Sequence[Feature], limbs: Sequence[int]) -> NDArray[Any]:
    """Limbs put together again: each coordinate is the sum of its limbs times powers of 2**18."""
    if all(count == 1 for count in limbs):
        return total
    owners, powers = [0], [1]
    size = 1
    for each, count in zip(features, limbs, strict=True):
        for coordinate in range(each.size):
            owners += [size + coordinate] * count
            powers += [1 << (_LIMB * limb) for limb in range(count)]
        size += each.size
    mixing = np.zeros((size, len(owners)), dtype=object)
    for place, (owner, power) in enumerate(zip(owners, powers, strict=True)):
        mixing[owner, place] = power
    return np.asarray(mixing @ total @ mixing.T)
