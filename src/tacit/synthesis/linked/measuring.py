"""What is measured of two linked tables: parents with the number of their children, and children with their parents.

Theorem. A unit has one row of the parents' table, and at most r rows of the children's. Two tables are counted:
  * units: the parents' rows, each with the number n of its children. Adding or removing a unit adds or removes its one
    row, and changes no other: a table over any columns moves by 1 in L1 and L2, a score by GRID (`scoring`).
  * joined rows: the children's rows, each with its parent's columns and n. The unit's children are joined to its own
    parent alone, so at most r rows come or go, and no other row changes: a table moves by at most r in L1 and in L2
    (all of them may share a cell), a score by GRID r.
Both follow from the planner's promise for the two SELECTs (`plan.row_plan`: rows of a unit, which depend on that unit's
rows alone); the planner's bounds 1 and r are the sensitivities that are used. The release is the composition of
  * `mst` of the units, with sensitivity 1;
  * of the joined rows, for each of the children's k columns: its table under discrete Gaussian noise of sensitivity r,
    one choice by the exponential mechanism, and the chosen table of a pair under noise of sensitivity r.
All parameters are public and fixed beforehand; candidates, merged values and estimates follow from released numbers. So
the composed event is what is charged, once, for both tables together.

Choices. Parents' columns (n among them) count as already connected, so each choice connects one more of the children's
columns, to a parent's column or to a child's. The chosen pairs form a forest that hangs from the parents' columns, and
P(children | parent) is the product of its conditional tables.

Source: McKenna, Miklau, Sheldon 2021 for the spanning tree; the counts of children, the contracted parents and the
joint model are argued here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from tacit.loss import events
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms import Exponential, Gaussian
from tacit.noise import BitSource
from tacit.synthesis import scoring
from tacit.synthesis.cells import Layout
from tacit.synthesis.counting import Tables
from tacit.synthesis.linked.joining import Edge, joint_model, oriented, tilted_columns
from tacit.synthesis.merging import Merge, merged
from tacit.synthesis.model.fitting import Fitted, fit, nearest
from tacit.synthesis.model.tables import Columns
from tacit.synthesis.model.trees import tree_of
from tacit.synthesis.mst import Plan, gaussian, known_tables, merged_columns, tree_noise
from tacit.synthesis.released import Measurement, Release
from tacit.synthesis.spending import rho_of, tightened

# of rho: for the units; the joined rows, whose noise is larger, get the rest
_UNITS: Final = Fraction(1, 3)
# of what the joined rows get: for the children's columns, for choices, for pairs
_SHARES: Final = (Fraction(35, 100), Fraction(15, 100), Fraction(50, 100))


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """The noise of each part of the joined rows."""

    single: Gaussian
    choice: Exponential
    pair: Gaussian
    columns: int

    @property
    def event(self) -> events.Event:
        """All of it: each part once for each of the children's columns."""
        parts = (self.single.event, self.choice.event, self.pair.event)
        return events.Composed(tuple(events.Repeated(each, self.columns) for each in parts))


@dataclass(frozen=True, slots=True)
class LinkedPlan:
    """The release of both tables."""

    units: Plan
    joined: ChildPlan

    @property
    def event(self) -> events.Event:
        """The one charge."""
        return events.Composed((self.units.event, self.joined.event))


def plan_linked(units: int, children: int, rows: int, epsilon: Fraction, delta: Fraction) -> LinkedPlan:
    """The noise for a budget: of this many columns of units and of children, with at most `rows` children of a unit."""
    rho = rho_of("linked", epsilon, delta)

    def made(factor: Fraction) -> LinkedPlan:
        first, choosing, second = (rho * (1 - _UNITS) * share / children for share in _SHARES)
        eta = 1 / (sqrt_up(1 / (8 * choosing)) * factor)
        choice = Exponential(sensitivity=scoring.sensitivity(rows), epsilon=eta)
        joined = ChildPlan(gaussian(rows, first, factor), choice, gaussian(rows, second, factor), children)
        return LinkedPlan(tree_noise(units, 1, rho * _UNITS, factor), joined)

    return tightened(made, lambda plan: plan.event, epsilon, delta)


def measured_children(
    plan: ChildPlan, layout: Layout, exact: Tables, units: Release, counted: int, bits: BitSource
) -> Release:
    """The release of the joined rows, and the model of them. `counted` is the place of n among the units' columns."""
    many, every = len(units.fields), len(layout.fields)
    own = range(many, every)
    pairs: list[Columns] = [(a, b) for b in own for a in range(b)]
    exact.prepare([*((place,) for place in own), *pairs])
    measured = [
        Measurement((place,), np.asarray(plan.single.release(exact.table((place,)), bits=bits)), plan.single.scale)
        for place in own
    ]
    merges, total = merged_columns(measured)
    both = (*units.merges, *merges)
    first = _independent(units, counted, measured, both, total)
    scores = _scores(exact, pairs, both, first)
    edges: list[Edge] = []
    for a, b in _chosen(plan.choice, scores, many, every, bits):
        noisy = plan.pair.release(merged(exact.table((a, b)), (a, b), both), bits=bits)
        measured.append(Measurement((a, b), np.asarray(noisy), plan.pair.scale, merged=True))
        edges.append((a, b))
    known = known_tables(measured, both)
    forest = tree_of([each.columns for each in known], [each.size for each in both])
    fitted = fit(forest, known, total, before=first)
    ordered = oriented(edges, many)
    model = joint_model(units.fitted, counted, fitted, ordered)
    return Release("linked", layout.fields, tuple(measured), model, both, {"edges": [list(each) for each in ordered]})


def _independent(
    units: Release, counted: int, measured: list[Measurement], merges: tuple[Merge, ...], total: float
) -> Fitted:
    """Independent columns over the joined rows: parents' as the units' model has them, a parent of n children n times;
    children's as measured."""
    parents = tilted_columns(units.fitted, counted)
    children = [
        nearest(each.noisy, total, float(np.mean(np.asarray(each.precision) ** -0.5))) / total
        for each in known_tables(measured, merges)
    ]
    columns = [*parents, *children]
    tree = tree_of([(place,) for place in range(len(columns))], [len(own) for own in columns])
    return Fitted(tree, tuple(np.log(np.maximum(columns[clique[0]], 1e-30)) for clique in tree.cliques), total)


def _scores(exact: Tables, pairs: list[Columns], merges: tuple[Merge, ...], first: Fitted) -> dict[Columns, int]:
    """For each pair, how far its table is from that of independent columns, in whole numbers."""
    single = {clique[0]: table for clique, table in zip(first.tree.cliques, first.cliques(), strict=True)}
    return {
        pair: scoring.distance(
            merged(exact.table(pair), pair, merges),
            scoring.on_grid(np.multiply.outer(single[pair[0]], single[pair[1]]) * first.total),
        )
        for pair in pairs
    }


def _chosen(choice: Exponential, scores: Mapping[Columns, int], many: int, every: int, bits: BitSource) -> list[Edge]:
    """A pair for each of the children's columns; the parents' columns are one part from the start."""
    part = [0] * many + list(range(1, every - many + 1))
    edges: list[Edge] = []
    while len(edges) < every - many:
        left = [(a, b) for a, b in scores if part[a] != part[b]]
        a, b = left[int(choice.choose(list(range(len(left))), scores=[scores[each] for each in left], bits=bits))]
        edges.append((a, b))
        part = [part[a] if each == part[b] else each for each in part]
    return edges
