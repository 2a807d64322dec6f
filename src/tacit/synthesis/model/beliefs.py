"""Message passing: from potentials on the cliques of a tree to the probabilities of each clique's cells.

A model has probability proportional to exp(sum over cliques of the potential at the row's cell). One pass from the
leaves to the root takes the logarithms of sums, and keeps each clique's probabilities given its separator; one pass
back multiplies them by the separators' probabilities. Sums of exponentials are taken after the largest exponent of each
sum is subtracted, so no size of potential overflows or divides by zero. A clique whose separator value cannot occur
keeps whatever conditional it has there, times 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.synthesis.model.tables import Table, beside, others, summed
from tacit.synthesis.model.trees import Tree


def beliefs(tree: Tree, potentials: Sequence[Table]) -> list[Table]:
    """The probabilities of the cells of each clique."""
    given, _ = conditionals(tree, potentials)
    return joints(tree, given)


def conditionals(tree: Tree, potentials: Sequence[Table]) -> tuple[list[Table], float]:
    """Each clique's probabilities given its separator, and the logarithm of the sum over all cells."""
    held: list[Table | None] = [None] * len(tree.cliques)
    given: list[Table] = [np.zeros(0)] * len(tree.cliques)
    level = 0.0
    for place in range(len(tree.cliques) - 1, -1, -1):
        clique, separator = tree.cliques[place], tree.separators[place]
        incoming = held[place]
        exponents = potentials[place] if incoming is None else incoming
        axes = others(clique, separator)
        most = exponents.max(axis=axes, keepdims=True)
        most = np.where(np.isfinite(most), most, 0.0)  # where every cell is impossible
        weights = np.exp(exponents - most)
        total = weights.sum(axis=axes, keepdims=True)
        safe = np.where(total > 0, total, 1.0)
        weights /= safe
        given[place] = weights
        with np.errstate(divide="ignore"):
            message = np.log(total) + most
        parent = tree.parents[place]
        if parent < 0:
            level = float(message.reshape(-1)[0])
            continue
        above = held[parent]
        shaped = beside(message.reshape(tuple(tree.sizes[each] for each in separator)), separator, tree.cliques[parent])
        if above is None:
            held[parent] = potentials[parent] + shaped
        else:
            above += shaped
    return given, level


def joints(tree: Tree, given: Sequence[Table]) -> list[Table]:
    """The probabilities of each clique's cells, from those given the separators. The argument is overwritten."""
    found: list[Table] = []
    for place, clique in enumerate(tree.cliques):
        parent, separator = tree.parents[place], tree.separators[place]
        if parent < 0:
            found.append(given[place])
            continue
        shared = summed(found[parent], tree.cliques[parent], separator)
        table = given[place]
        table *= beside(shared, separator, clique)
        found.append(table)
    return found
