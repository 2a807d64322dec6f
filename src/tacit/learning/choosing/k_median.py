"""`k_median`: k of some public places, so that rows are near the nearest of them.

First k places are chosen greedily, by how much nearer they bring the rows. Then places are swapped, one pair a round,
with weights exp(-e cost) over all pairs (and over changing nothing). Of all sets of k places met on the way, the last
choice takes one, by its cost.

Theorem. The cost of k places is the sum over rows of the distance to the nearest, in whole numbers up to `longest`, the
largest distance of any row between the bounds to any place. Adding a unit of r rows raises the costs of all sets of
places by 0 to r longest, and gains too: monotone scores. Each of k + swaps + 1 choices costs e
(`tacit.mechanisms.exponential`), together (k + swaps + 1) e, or what an accountant composes them to.
A distance is a function of its row alone: whole coordinates, exact squares, and a correctly rounded root.

Neighbours: one unit's rows, added or removed. Assumptions: bounds and places are public.
Source: Gupta, Ligett, McSherry, Roth, Talwar 2010 (local search by exponential weights, from any start; there 6 k ln n
swaps). Starting greedily, which needs far fewer swaps, is our own choice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit import parameters
from tacit.errors import QuestionError
from tacit.learning.choosing.greedy import plan_greedy
from tacit.learning.clusters.lloyd import own_sizes, scaled_rows
from tacit.learning.columns import Feature, features_of
from tacit.mechanisms import Exponential
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened, Whole, source_of

_MOST_PLACES = 256
_BLOCK = 1 << 14


def k_median(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    places: Sequence[Sequence[float]],
    k: int,
    epsilon: parameters.Number,
    delta: parameters.Number = 0,
    swaps: int | None = None,
    bounds: Any = None,
    rows_per_unit: int | None = None,
    analyst: str | None = None,
) -> Finding:
    """k of the places, each a point with a number for every column; distances are Euclidean, in the columns' units.

    swaps: how many rounds follow the greedy ones, k where left out.

    >>> found = k_median([[1.0], [9.0]], places=[[0], [10]], k=1, bounds=(0, 10), epsilon=1)
    >>> found.receipt["epsilon"], len(found)
    ('1', 1)
    """
    source = source_of(data, columns, bounds=bounds, rows_per_unit=rows_per_unit)
    features = features_of(source.variables)
    if any(each.options is not None for each in features):
        raise QuestionError("k_median is for numbers between bounds; leave columns with listed values out.")
    points = read_places(places, features)
    wanted = parameters.whole("k", k, least=1)
    if wanted > len(points):
        raise parameters.refuse("k", f"at most {len(points)}, the number of places", wanted)
    rounds = wanted if swaps is None else parameters.whole("swaps", swaps, least=0)
    exact, slip = parameters.budget(epsilon, delta)
    sizes = own_sizes(features)
    spots = scaled_places(points, features, sizes)
    longest = longest_distance(spots, sizes)
    plan = plan_greedy(wanted + rounds + 1, source.rows_per_unit, exact, slip, most=longest, submodular=False)
    names = [each.name for each in features]

    def compute(opened: Opened, bits: BitSource) -> Content:
        rows = scaled_rows(opened.values(*names), features, sizes)
        apart = distances(rows, spots)
        chosen = search(apart, wanted, rounds, plan.each, bits)
        where = [column(name, [points[place][at] for place in chosen]) for at, name in enumerate(names)]
        table = (column("place", chosen), *where)
        return Content(f"{wanted}-median of {', '.join(names)}", table)

    asked = {"study": "k-median", "k": wanted, "swaps": rounds, "epsilon": str(exact), "delta": str(slip)}
    asked |= {"places": spots.tolist(), "each": str(plan.each.factor)}
    return source.release(asked, plan.price, compute, analyst=analyst)


def search(apart: Any, k: int, swaps: int, each: Exponential, bits: BitSource) -> list[int]:
    """k places: k greedy choices, then swaps, then one of the sets met on the way."""
    everywhere = list(range(apart.shape[1]))
    chosen: list[int] = []
    for _ in range(k):
        left = [place for place in everywhere if place not in chosen]
        costs = [cost(apart, [*chosen, place]) for place in left]
        chosen.append(int(each.choose(left, losses=np.array(costs), bits=bits)))
    met = [sorted(chosen)]
    for _ in range(swaps):
        others = [place for place in everywhere if place not in chosen]
        options = [(None, None), *itertools.product(chosen, others)]
        losses = [cost(apart, chosen), *swap_costs(apart, chosen, others)]
        out, into = options[int(each.choose(list(range(len(options))), losses=np.array(losses), bits=bits))]
        chosen = chosen if into is None else [*(place for place in chosen if place != out), into]
        met.append(sorted(chosen))
    last = each.choose(list(range(len(met))), losses=np.array([cost(apart, some) for some in met]), bits=bits)
    return met[int(last)]


def cost(apart: Any, some: Sequence[int]) -> int:
    """The sum over rows of the distance to the nearest of these places."""
    return int(apart[:, list(some)].min(axis=1).sum())


def swap_costs(apart: Any, chosen: Sequence[int], others: Sequence[int]) -> list[int]:
    """The costs after each swap: of the first chosen place for every other one, of the second, and so on."""
    found: list[int] = []
    for out in chosen:
        kept = [place for place in chosen if place != out]
        near = apart[:, kept].min(axis=1, initial=np.iinfo(np.int32).max)
        found += [int(np.minimum(near, apart[:, into]).sum()) for into in others]
    return found


def distances(rows: Whole, spots: Whole) -> Any:
    """How far each row is from each place, rounded down."""
    found = np.empty((len(rows), len(spots)), dtype=np.int32)  # below 2**17 times the root of 2**10 columns
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        for place, spot in enumerate(spots):
            squares = np.square(block - spot).sum(axis=1)
            found[start : start + _BLOCK, place] = np.floor(np.sqrt(squares.astype(np.float64)))
    return found


def longest_distance(spots: Whole, sizes: Sequence[int]) -> int:
    """The largest distance of a point between the bounds to any place, rounded up."""
    reach = np.abs(spots) + np.array(sizes, dtype=np.int64)
    return max(math.isqrt(int(sum(int(each) ** 2 for each in line))) + 1 for line in reach)


def scaled_places(points: Sequence[Sequence[float]], features: Sequence[Feature], sizes: Sequence[int]) -> Whole:
    """The places on the rows' grid, within the bounds."""
    shares = [[(value - each.middle) / each.half for value, each in zip(p, features, strict=True)] for p in points]
    return np.asarray(np.rint(np.clip(np.array(shares), -1.0, 1.0) * np.array(sizes)), dtype=np.int64)


def read_places(places: Any, features: Sequence[Feature]) -> list[tuple[float, ...]]:
    """The public places as points, or a refusal."""
    allowed = f"a list of points of {len(features)} numbers"
    if not isinstance(places, (list, tuple)) or not places:
        raise parameters.refuse("places", allowed, type(places).__name__, "They are public; rows are not looked at.")
    if len(places) > _MOST_PLACES:
        raise parameters.refuse("places", f"at most {_MOST_PLACES:,}", len(places))
    found = []
    for each in places:
        point = each if isinstance(each, (list, tuple)) else (each,)
        if len(point) != len(features):
            raise parameters.refuse("places", allowed, each)
        found.append(tuple(float(parameters.rational("places", value, allowed)) for value in point))
    return found
