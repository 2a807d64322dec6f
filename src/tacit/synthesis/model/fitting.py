"""Fitting a model to noisy tables: the distribution whose tables are nearest to what was measured.

Loss. With y_i the measured table over the columns A_i, sigma_i the deviation of its noise and N the total,
    L(p) = sum_i |N p(A_i) - y_i|**2 / (2 sigma_i**2),
the log-likelihood of normal noise. Among distributions that fit equally well, the one of largest entropy is a graphical
model on the measured sets, so potentials on the cliques of their junction tree are all that is needed (McKenna,
Sheldon, Miklau 2019).

Method. Accelerated mirror descent with entropy as the distance (Auslender and Teboulle 2006, as McKenna et al. use it):
gradients are taken at a mixture y of the averaged tables x and the model's own z; z moves in the potentials, x in the
tables. Where a step does not decrease the loss the momentum starts anew at x; where not even the first steps do, they
are shortened.

When to stop. The truth itself has an expected loss of half the number of measured cells. Going far below that fits
the noise: the descent starts at independent columns, or at the earlier model, and stops a little below that level
(`until` times it). On sparse tables this is up to a quarter nearer to the truth than the least loss.

All of it is post-processing: released numbers decide how many steps are taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.mechanisms.simplex import lowering
from tacit.synthesis.model.beliefs import beliefs
from tacit.synthesis.model.marginals import marginal
from tacit.synthesis.model.tables import Columns, Table, beside, shape_of, summed
from tacit.synthesis.model.trees import Tree, tree_of


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A released table: counts, and the precision (1/variance) of the noise: of each cell, or the same for all."""

    columns: Columns
    noisy: Table
    precision: float | Table


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A model: a tree, potentials on its cliques, and the number of rows."""

    tree: Tree
    potentials: tuple[Table, ...]
    total: float

    def cliques(self) -> list[Table]:
        """The probabilities of every clique's cells."""
        return beliefs(self.tree, self.potentials)


def total_of(measured: Sequence[Measured]) -> float:
    """The number of rows: the mean of the tables' sums, weighted by their precision; at least 1."""
    weights = [1 / float(np.sum(1 / np.broadcast_to(each.precision, each.noisy.shape))) for each in measured]
    sums = [float(each.noisy.sum()) for each in measured]
    found = sum(weight * own for weight, own in zip(weights, sums, strict=True)) / sum(weights)
    return max(found, 1.0)


def started(tree: Tree, before: Fitted | None = None) -> list[Table]:
    """Potentials to begin with: flat, or those of another model, or of what it says about the cliques."""
    if before is None:
        return [np.zeros(shape_of(clique, tree.sizes)) for clique in tree.cliques]
    holders = [tree.holder(clique) for clique in before.tree.cliques]
    if None in holders:  # columns were eliminated in another order: an earlier clique is in none of the present ones
        tables = before.cliques()
        return potentials_of(tree, [marginal(before.tree, tables, clique) for clique in tree.cliques])
    found = [np.zeros(shape_of(clique, tree.sizes)) for clique in tree.cliques]
    for clique, own, place in zip(before.tree.cliques, before.potentials, holders, strict=True):
        assert place is not None
        found[place] += beside(own, clique, tree.cliques[place])
    return found


def alone(measured: Sequence[Measured], total: float) -> Fitted:
    """The model of independent columns: each one's measured table, made non-negative, with the given total."""
    tables = {
        columns[0]: nearest(noisy, total, 1 / math.sqrt(float(np.mean(weight))))
        for columns, noisy, weight in _together([each for each in measured if len(each.columns) == 1])
    }
    sizes = tuple(len(tables[place]) for place in range(len(tables)))
    tree = tree_of([(place,) for place in range(len(sizes))], sizes)
    return Fitted(tree, tuple(np.log(tables[clique[0]] / total) for clique in tree.cliques), total)


def nearest(noisy: Table, total: float, sigma: float) -> Table:
    """The nearest non-negative numbers with this total; in place of 0 they have a small part of the noise."""
    found = np.maximum(noisy - lowering(noisy, total), min(sigma, total / len(noisy)) / 100)
    return np.asarray(found * (total / found.sum()))


class _Loss:
    """L and its gradient on the tables of the cliques, in probabilities; the weights of all tables add up to 1."""

    def __init__(self, tree: Tree, measured: Sequence[Measured], total: float) -> None:
        self._tree = tree
        self._parts: list[list[tuple[Columns, Table, float | Table]]] = [[] for _ in tree.cliques]
        together = _together(measured)
        whole = sum(float(np.max(weight)) for _, _, weight in together)
        for columns, noisy, weight in together:
            place = tree.holder(columns)
            assert place is not None
            self._parts[place].append((columns, noisy / total, weight / whole))
        # the expected loss of the truth: one half for every measured cell
        self.noise = sum(noisy.size for _, noisy, _ in together) / (2 * total**2 * whole)

    def at(self, tables: Sequence[Table]) -> tuple[float, list[Table | None]]:
        """The loss, and its slope on each clique."""
        value = 0.0
        slopes: list[Table | None] = []
        for clique, table, parts in zip(self._tree.cliques, tables, self._parts, strict=True):
            slope: Table | None = None
            for columns, aim, weight in parts:
                off = summed(table, clique, columns) - aim
                pulled = weight * off
                value += float(np.vdot(off, pulled)) / 2
                own = beside(pulled, columns, clique)
                slope = own if slope is None else slope + own
            slopes.append(slope)
        return value, slopes


def _together(measured: Sequence[Measured]) -> list[tuple[Columns, Table, float | Table]]:
    """One table for each set of columns: several of one set averaged by their precision."""
    sums: dict[Columns, tuple[Table, float | Table]] = {}
    for each in measured:
        own = each.noisy * each.precision
        before = sums.get(each.columns)
        sums[each.columns] = (own, each.precision) if before is None else (before[0] + own, before[1] + each.precision)
    return [(columns, table / weight, weight) for columns, (table, weight) in sums.items()]


_SMOOTH = 0.05  # of the weights of all tables together, a step that is always safe
_TINY = 1e-30
_UNTIL = 0.93


def potentials_of(tree: Tree, tables: Sequence[Table]) -> list[Table]:
    """Potentials of the model whose cliques have these tables, which must agree on the separators."""
    found = []
    for clique, separator, table in zip(tree.cliques, tree.separators, tables, strict=True):
        shared = beside(summed(table, clique, separator), separator, clique)
        found.append(np.log(np.maximum(table, _TINY)) - np.log(np.maximum(shared, _TINY)))
    return found


def fit(
    tree: Tree,
    measured: Sequence[Measured],
    total: float,
    *,
    before: Fitted | None = None,
    steps: int = 500,
    until: float = _UNTIL,
) -> Fitted:
    """The model on this tree that is nearest to the measured tables, as far as their noise can show."""
    loss = _Loss(tree, measured, total)
    theta = started(tree, before)
    x = z = beliefs(tree, theta)
    value, _ = loss.at(x)
    smooth, mixing = _SMOOTH, 1.0
    for _ in range(steps):
        if value <= until * loss.noise:
            break
        share = 2 / (mixing + 1)
        y = [(1 - share) * own + share * new for own, new in zip(x, z, strict=True)]
        _, slopes = loss.at(y)
        length = (mixing + 1) / (2 * smooth)
        moved = [own if slope is None else own - length * slope for own, slope in zip(theta, slopes, strict=True)]
        new_z = beliefs(tree, moved)
        new_x = [(1 - share) * own + share * new for own, new in zip(x, new_z, strict=True)]
        new_value, _ = loss.at(new_x)
        if new_value > value:
            if mixing <= 3:  # not even the first steps go down: they are too long
                smooth *= 2
            mixing = 1.0
            theta, z = potentials_of(tree, x), x
            continue
        theta, z, x, value = moved, new_z, new_x, new_value
        mixing += 1
    return Fitted(tree, tuple(potentials_of(tree, x)), total)
