"""Junction trees: sets of columns joined to a tree in which every column's sets hang together.

A graph joins two columns where a set holds both. Eliminating columns one by one, each time the one whose neighbourhood
makes the smallest table, gives the cliques; a spanning tree of them with the largest overlaps has the running
intersection property (Lauritzen and Spiegelhalter 1988; Jensen and Jensen 1994). Public sizes and released choices
decide, never rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tacit.synthesis.model.tables import Columns


@dataclass(frozen=True, slots=True)
class Tree:
    """Cliques in an order in which each comes after its parent; the first one is the root."""

    sizes: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]  # -1 for the root
    separators: tuple[Columns, ...]  # what a clique shares with its parent

    @property
    def cells(self) -> int:
        """How many cells the tables of all cliques have."""
        return sum(math.prod(self.sizes[each] for each in clique) for clique in self.cliques)

    def holder(self, columns: Columns) -> int | None:
        """The smallest clique that holds all of these columns."""
        wanted = set(columns)
        found = [place for place, clique in enumerate(self.cliques) if wanted.issubset(clique)]
        return min(found, key=lambda place: math.prod(self.sizes[each] for each in self.cliques[place]), default=None)


def neighbours_of(sets: Iterable[Columns], count: int) -> list[int]:
    """For each column, the columns that share a set with it, and itself, as bits."""
    joined = [1 << each for each in range(count)]
    for each in sets:
        mask = sum(1 << place for place in each)
        for place in each:
            joined[place] |= mask
    return joined


def eliminated(joined: Sequence[int], logs: Sequence[float]) -> list[int]:
    """The cliques (as bits) of the graph after elimination; not all of them maximal."""
    graph = list(joined)
    left = (1 << len(graph)) - 1
    found: list[int] = []
    weights = [_weight(mask, logs) for mask in graph]
    while left:
        best = min((place for place in range(len(graph)) if left >> place & 1), key=lambda place: weights[place])
        mask = graph[best]
        found.append(mask)
        left &= ~(1 << best)
        rest = mask & ~(1 << best)
        place = 0
        bits = rest
        while bits:
            if bits & 1:
                changed = (graph[place] | rest) & ~(1 << best)
                if changed != graph[place]:
                    graph[place] = changed
                    weights[place] = _weight(changed, logs)
            bits >>= 1
            place += 1
    return found


def _weight(mask: int, logs: Sequence[float]) -> float:
    total, place = 0.0, 0
    while mask:
        if mask & 1:
            total += logs[place]
        mask >>= 1
        place += 1
    return total


def _maximal(masks: Iterable[int]) -> list[int]:
    kept: list[int] = []
    for mask in sorted(set(masks), key=lambda each: -each.bit_count()):
        if not any(mask & other == mask for other in kept):
            kept.append(mask)
    return kept


def cells_with(joined: Sequence[int], more: Columns, sizes: Sequence[int]) -> int:
    """How many cells the tree over a graph would have if one more set were measured."""
    graph = list(joined)
    mask = sum(1 << place for place in more)
    for place in more:
        graph[place] |= mask
    logs = [math.log(max(size, 1)) for size in sizes]
    return sum(
        math.prod(sizes[place] for place in range(len(sizes)) if clique >> place & 1)
        for clique in _maximal(eliminated(graph, logs))
    )


def tree_of(sets: Iterable[Columns], sizes: Sequence[int]) -> Tree:
    """A junction tree with a clique around each of the sets, and every column in one."""
    logs = [math.log(max(size, 1)) for size in sizes]
    masks = _maximal(eliminated(neighbours_of(sets, len(sizes)), logs))
    cliques = [tuple(place for place in range(len(sizes)) if mask >> place & 1) for mask in masks]
    # Prim's algorithm on the number of shared columns; the root is the largest clique
    waiting = list(range(1, len(cliques)))
    order, parents = [0], [-1]
    reach = {place: (0, (masks[place] & masks[0]).bit_count()) for place in waiting}
    while waiting:
        nearest = max(waiting, key=lambda place: reach[place][1])
        waiting.remove(nearest)
        parents.append(order.index(reach[nearest][0]))
        order.append(nearest)
        for place in waiting:
            overlap = (masks[place] & masks[nearest]).bit_count()
            if overlap > reach[place][1]:
                reach[place] = (nearest, overlap)
    listed = [cliques[place] for place in order]
    separators = [
        () if parent < 0 else tuple(each for each in clique if each in listed[parent])
        for clique, parent in zip(listed, parents, strict=True)
    ]
    return Tree(tuple(sizes), tuple(listed), tuple(parents), tuple(separators))
