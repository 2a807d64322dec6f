"""Lloyd's rounds with noisy counts and sums, in whole numbers.

Coordinates are in the data's own units, scaled so that the longest column has FINE steps from its middle to its end.
A row belongs to the nearest of k released centres (the first of several), by exact products of whole numbers.

Theorem (whole rows). A row adds (constant, row) to its cluster: the L1 norm is at most constant + S, S the sum of the
columns' sizes, the squared L2 norm at most constant**2 + Q, Q the sum of their squares. With constant = S (for Gaussian
noise the root of Q) counts and sums have half of a round's budget each: epsilon/(2 T) in T rounds.
Theorem (steps). A row adds (constant, y) to its cluster, y its distance from the centre, shrunk to a ball of a radius
that was released before and put on a grid of LENGTH to that radius: |y| <= LENGTH, in the L1 norm for Laplace noise
and in the L2 norm for Gaussian noise. The norm of what it adds is at most constant + LENGTH, or its square at most
constant**2 + LENGTH**2, whatever the radius is.
r rows of a unit move either r times as far, by the triangle inequality.

Source: Lloyd 1982; Blum, Dwork, McSherry, Nissim 2005 (noisy counts and sums). Clipped steps around released centres
are our own choice: near the end a row is close to its centre, and noise for the whole box is not needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit.learning.balls import shrunk_rows
from tacit.learning.columns import Feature, Reals
from tacit.statistics.source import Whole

FINE = 1 << 16
LENGTH = 1 << 12
_BLOCK = 1 << 15


def scaled_rows(codes: Whole, features: Sequence[Feature], sizes: Sequence[int]) -> Whole:
    """The rows' vectors: numbers from -size to size between their bounds, a listed value `size` where the row has it.

    `codes` of listed columns are places, -1 where the row has none of the values.
    """
    rows = np.zeros((len(codes), sum(each.size for each in features)), dtype=np.int64)
    at = 0
    for place, (each, size) in enumerate(zip(features, sizes, strict=True)):
        own = codes[:, place]
        if each.options is not None:
            there = np.flatnonzero(own >= 0)
            rows[there, at + own[there]] = size
        else:
            z = 2 * np.clip(own - each.low, 0, each.width) - each.width
            rows[:, at] = np.sign(z) * (np.abs(z) * size // each.width)
        at += each.size
    return rows


def own_sizes(features: Sequence[Feature]) -> tuple[int, ...]:
    """The length of each column in the data's own units, FINE for the longest; a listed value is 1 long."""
    own = [each.half if each.options is None else 1.0 for each in features]
    longest = max(own)
    return tuple(max(math.floor(FINE * each / longest), 1) for each in own)


def nearest(rows: Whole, centres: Whole) -> Whole:
    """Which centre is nearest to each row."""
    whole = centres.astype(np.float64)
    squares = np.square(whole).sum(axis=1)
    found = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float64)
        # exact: coordinates are at most 2**16 long, and there are at most 2**10 of them
        found[start : start + _BLOCK] = np.argmin(squares - 2.0 * (block @ whole.T), axis=1)
    return found


def whole_sums(rows: Whole, homes: Whole, clusters: int, constant: int) -> Whole:
    """For each cluster the sum of (constant, row)."""
    found = np.zeros((clusters, rows.shape[1] + 1), dtype=np.int64)
    found[:, 0] = constant * np.bincount(homes, minlength=clusters)
    for cluster in range(clusters):
        found[cluster, 1:] = rows[homes == cluster].sum(axis=0)
    return found


def steps(rows: Whole, homes: Whole, centres: Whole, radius: int, taxicab: bool) -> Whole:
    """The way from its centre to each row, shrunk to the radius, of which LENGTH is one."""
    ways = rows - centres[homes]
    inside = shrunk_taxicab(ways, radius) if taxicab else shrunk_rows(ways, radius)
    return np.asarray(np.sign(inside) * (np.abs(inside) * LENGTH // radius))


def shrunk_taxicab(rows: Whole, reach: int) -> Whole:
    """The rows, each of an L1 norm of at most `reach`."""
    norms = np.maximum(np.abs(rows).sum(axis=1), reach)
    return np.asarray(np.sign(rows) * (np.abs(rows) * reach // norms[:, None]))


def moved_centres(centres: Whole, sums: Reals, constant: int, radius: int, deviation: float) -> Whole:
    """The centres after a round of steps, each held back as far as noise alone would move it."""
    moved = centres.astype(np.float64)
    for place, found in enumerate(sums):
        count = float(found[0]) / constant
        if count <= 2 * deviation / constant:
            continue
        step = found[1:] / (count * LENGTH) * radius
        noise = len(step) * (deviation / (count * LENGTH) * radius) ** 2
        size = float(step @ step)
        moved[place] += step * (max(0.0, 1 - noise / size) if size > 0 else 0.0)
    return np.clip(np.rint(moved), -FINE, FINE).astype(np.int64)
