"""The model's table over any columns, in one clique or spread over several.

Only the part of the tree that connects the columns counts. From its leaves inwards every clique hands on the
probabilities of the wanted columns below it given its separator; the topmost one multiplies its own table with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit.synthesis.model.tables import Columns, Table, beside, shape_of, summed
from tacit.synthesis.model.trees import Tree

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def marginal(tree: Tree, tables: Sequence[Table], columns: Columns) -> Table:
    """The probabilities of the cells over `columns` (ascending), from those of every clique."""
    holder = tree.holder(columns)
    if holder is not None:
        return summed(tables[holder], tree.cliques[holder], columns)
    needed, top = _connecting(tree, columns)
    messages: dict[int, list[tuple[Columns, Table]]] = {place: [] for place in needed}
    for place in sorted(needed, reverse=True):
        clique, separator = tree.cliques[place], tree.separators[place]
        own = tuple(each for each in clique if each in columns)
        kept = set(own) | {each for held, _ in messages[place] for each in held if each in clique}
        if place != top:
            kept |= set(separator)
        inner = tuple(sorted(kept))
        table = summed(tables[place], clique, inner)
        if place != top:
            shared = beside(summed(table, inner, separator), separator, inner)
            table = np.divide(table, shared, out=np.zeros_like(table), where=shared > 0)
        last = set(columns) if place == top else set(separator) | set(columns)
        found_columns, found = inner, table
        for below, message in messages[place]:
            found_columns, found = _product(found_columns, found, below, message, last | _still(messages[place], below))
        wanted = tuple(each for each in found_columns if each in last)
        found = summed(found, found_columns, wanted)
        if place == top:
            assert wanted == columns
            return found
        messages[tree.parents[place]].append((wanted, found))
    raise AssertionError("a tree has a top")


def _still(messages: Sequence[tuple[Columns, Table]], done: Columns) -> set[int]:
    """Columns that later messages are about."""
    places = [place for place, (columns, _) in enumerate(messages) if columns is done]
    return {each for columns, _ in messages[places[0] + 1 :] for each in columns}


def _product(first: Columns, left: Table, second: Columns, right: Table, kept: set[int]) -> tuple[Columns, Table]:
    """The product of two tables, summed over what is not kept."""
    every = sorted(set(first) | set(second))
    letter = dict(zip(every, _LETTERS, strict=False))
    result = tuple(each for each in every if each in kept)
    terms = ["".join(letter[each] for each in part) for part in (first, second, result)]
    return result, np.einsum(f"{terms[0]},{terms[1]}->{terms[2]}", left, right, optimize=True)


def _connecting(tree: Tree, columns: Columns) -> tuple[set[int], int]:
    """The cliques that connect these columns, and the topmost of them."""
    wanted = set(columns)
    needed = set(range(len(tree.cliques)))
    children = [0] * len(tree.cliques)
    for parent in tree.parents[1:]:
        children[parent] += 1
    for place in range(len(tree.cliques) - 1, 0, -1):  # leaves that hold nothing that their parent does not
        if children[place] == 0 and wanted.isdisjoint(set(tree.cliques[place]) - set(tree.separators[place])):
            needed.discard(place)
            children[tree.parents[place]] -= 1
    top = 0
    while True:  # a root with one child, that holds nothing that the child does not
        below = [place for place in needed if tree.parents[place] == top]
        if len(below) != 1 or not wanted.isdisjoint(set(tree.cliques[top]) - set(tree.cliques[below[0]])):
            return needed, top
        needed.discard(top)
        top = below[0]


def cells_of(columns: Columns, sizes: Sequence[int]) -> int:
    """How many cells a table has."""
    return math.prod(shape_of(columns, sizes))
