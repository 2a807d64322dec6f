"""A search for the worst neighbours: which two inputs, one entry apart, does a mechanism distinguish best?

The mechanism takes a list of numbers within public bounds (or one number). Privacy leaks at the edges: all entries at
one end and one at the other, an empty list against one entry, an entry that is removed, added or replaced by either
end, at the first, a middle or the last place. These pairs are all tried with few draws, the best quarter of them again
with twice as many, and so on; the last one standing is measured with fresh draws, so its bound holds as if the pair had
been known from the start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tacit import parameters
from tacit.audit.bounds import Bound
from tacit.audit.draws import Mechanism
from tacit.audit.measuring import LEAST_SAMPLES, lower_bound
from tacit.parameters import Number

Pair: TypeAlias = tuple[Any, Any]
_SCREENED = "0.9"  # with few draws, pairs can only be ranked at a low confidence
Relation = Literal["add or remove", "replace"]


@dataclass(frozen=True, slots=True)
class WorstNeighbour:
    """The pair that was distinguished best, its bound, and how many pairs were tried.

    >>> found = worst_neighbour(lambda x: x, (0, 1), samples=500)
    >>> found.tried > 0
    True
    """

    x: Any
    neighbour: Any
    bound: Bound
    tried: int


def worst_neighbour(
    mechanism: Mechanism,
    bounds: tuple[Number, Number],
    *,
    size: int | None = None,
    relation: Relation = "add or remove",
    samples: int = 100_000,
    delta: Number = 0,
    confidence: Number = "0.999",
    vectorised: bool = False,
    workers: int = 1,
    pairs: Sequence[Pair] = (),
) -> WorstNeighbour:
    """Search among inputs of `size` numbers (None: one number, not a list) within `bounds`; `pairs` are tried too.

    >>> def raw(x):
    ...     return sum(x)
    >>> found = worst_neighbour(raw, (0, 1), size=2, samples=500)
    >>> found.bound.epsilon > 3
    True
    """
    if relation not in ("add or remove", "replace"):
        raise parameters.refuse("relation", "'add or remove' or 'replace'", relation)
    low, high = (parameters.rational("bounds", end) for end in bounds)
    if low >= high:
        raise parameters.refuse("bounds", "a lower and a higher end", bounds)
    ends = (_plain(low), _plain((low + high) / 2), _plain(high))
    if size is None:
        made = [(ends[0], ends[2]), (ends[0], ends[1]), (ends[1], ends[2])]
    else:
        made = list(_pairs(ends, parameters.whole("size", size, least=1), relation))
    field = [*pairs, *made]
    tried = len(field)
    draws = max(2 * LEAST_SAMPLES, samples // 20)

    def found(pair: Pair, count: int, sure: Number) -> Bound:
        return lower_bound(
            mechanism,
            *pair,
            samples=count,
            delta=delta,
            confidence=sure,
            vectorised=vectorised,
            workers=workers,
        )

    while len(field) > 1:
        ranked = sorted(field, key=lambda pair: -found(pair, draws, _SCREENED).epsilon)
        field = ranked[: math.ceil(len(ranked) / 4)]
        draws = min(2 * draws, samples)
    x, neighbour = field[0]
    return WorstNeighbour(x, neighbour, found(field[0], samples, confidence), tried)


def _plain(number: Any) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _pairs(ends: tuple[Any, Any, Any], size: int, relation: Relation) -> Iterator[Pair]:
    low, middle, high = ends
    seen: set[tuple[tuple[Any, ...], tuple[Any, ...]]] = set()
    for data in _inputs(low, middle, high, size):
        for place in sorted({0, len(data) // 2, len(data) - 1} & set(range(len(data)))):
            without = data[:place] + data[place + 1 :]
            if relation == "add or remove":
                others = [without, *([*data[:place], end, *data[place:]] for end in (low, high))]
            else:
                others = [[*data[:place], end, *data[place + 1 :]] for end in (low, high)]
            for other in others:
                key = (tuple(data), tuple(other))
                if data != other and key not in seen:
                    seen.add(key)
                    yield list(data), other


def _inputs(low: Any, middle: Any, high: Any, size: int) -> Iterator[list[Any]]:
    half = size // 2
    yield [low] * size
    yield [high] * size
    yield [low] * (size - half) + [high] * half
    yield [middle] * size
    yield [low] * (size - 1) + [high]
    yield [high] * (size - 1) + [low]
    yield [low]
    yield [high]
