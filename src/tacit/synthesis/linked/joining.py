"""The model of joined rows: a parent with n children counts n times, and children's columns hang from the parents'.

With P the units' model over the parents' columns and n, and P(c | g) the conditional tables of a forest that hangs from
the parents' columns, a joined row has the probability
    n P(parent, n) prod P(c | g) / sum n P(parent, n),
which is a graphical model on the units' cliques and the forest's edges: no clique grows. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tacit.synthesis.model.drawing import Codes, drawn_given
from tacit.synthesis.model.fitting import Fitted
from tacit.synthesis.model.marginals import marginal
from tacit.synthesis.model.tables import Columns, Table, beside
from tacit.synthesis.model.trees import Tree, tree_of

Edge: TypeAlias = tuple[int, int]
_TINY = 1e-30


def expected_children(units: Fitted, counted: int) -> float:
    """How many children a unit has on average."""
    share = marginal(units.tree, units.cliques(), (counted,))
    return float(share @ np.arange(len(share)))


def tilted_columns(units: Fitted, counted: int) -> list[Table]:
    """Each of the units' columns by itself, over joined rows: a unit with n children counts n times."""
    tables = units.cliques()
    found = []
    for place in range(len(units.tree.sizes)):
        columns = tuple(sorted({place, counted}))
        table = marginal(units.tree, tables, columns)
        weights = np.arange(units.tree.sizes[counted], dtype=np.float64)
        tilted = table * beside(weights, (counted,), columns)
        alone = tilted if len(columns) == 1 else tilted.sum(axis=1 - columns.index(place))
        sum_of = float(alone.sum())
        found.append(alone / sum_of if sum_of > 0 else np.full(len(alone), 1 / len(alone)))
    return found


def oriented(edges: Sequence[Edge], many: int) -> list[Edge]:
    """The same edges as (given, child), in an order in which `given` is known: parents' places are below `many`."""
    left, known, found = list(edges), set(range(many)), list[Edge]()
    while left:
        for a, b in left:
            if a in known or b in known:
                given, child = (a, b) if a in known else (b, a)
                found.append((given, child))
                known.add(child)
                left.remove((a, b))
                break
        else:
            raise AssertionError("every edge hangs from the parents")
    return found


def conditional(model: Fitted, tables: Sequence[Table], edge: Edge) -> Table:
    """P(child | given) as a table with a line for each given cell."""
    columns = tuple(sorted(edge))
    table = marginal(model.tree, tables, columns)
    lines = table if columns == edge else table.T
    sums = lines.sum(axis=1, keepdims=True)
    return np.asarray(np.where(sums > _TINY, lines / np.maximum(sums, _TINY), 1 / lines.shape[1]))


def joint_model(units: Fitted, counted: int, forest: Fitted, edges: Sequence[Edge]) -> Fitted:
    """The model of joined rows, with as many rows as the units' model has children."""
    sizes = forest.tree.sizes
    sets: list[Columns] = [*units.tree.cliques, *(tuple(sorted(edge)) for edge in edges)]
    tree = tree_of(sets, sizes)
    potentials = [np.zeros(tuple(sizes[place] for place in clique)) for clique in tree.cliques]
    for clique, own in zip(units.tree.cliques, units.potentials, strict=True):
        _add(tree, potentials, clique, own)
    with np.errstate(divide="ignore"):
        _add(tree, potentials, (counted,), np.log(np.arange(sizes[counted], dtype=np.float64)))
    tables = forest.cliques()
    for given, child in edges:
        lines = np.log(np.maximum(conditional(forest, tables, (given, child)), _TINY))
        _add(tree, potentials, tuple(sorted((given, child))), lines if given < child else lines.T)
    total = max(units.total * expected_children(units, counted), 1.0)
    return Fitted(tree, tuple(potentials), total)


def _add(tree: Tree, potentials: list[Table], columns: Columns, own: Table) -> None:
    place = tree.holder(columns)
    assert place is not None
    potentials[place] = potentials[place] + beside(own, columns, tree.cliques[place])


def drawn_children(
    model: Fitted, tables: Sequence[Table], edges: Sequence[Edge], parents: Codes, generator: np.random.Generator
) -> Codes:
    """Children's cells for rows of parents' cells, one child for each row."""
    rows = np.zeros((len(parents), len(model.tree.sizes)), dtype=np.int64)
    rows[:, : parents.shape[1]] = parents
    for edge in edges:
        rows[:, edge[1]] = drawn_given(rows[:, edge[0]], conditional(model, tables, edge), generator)
    return rows
