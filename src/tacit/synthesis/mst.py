"""`mst`: a tree of pairs. All columns are measured, a spanning tree of pairs is chosen, and its tables are measured.

Theorem. With r rows of a unit at most and d columns, the release is the composition of
  * edges of bins, for columns whose bins are bought (`bought`);
  * d tables of single columns under discrete Gaussian noise: each has L2 sensitivity r (`counting`);
  * d - 1 choices by the exponential mechanism, each among pairs of columns that are not connected yet, by whole-number
    scores of sensitivity GRID r (`scoring`): how far the pair's table is from that of independent columns, and what
    follows from earlier choices (`spanning`);
  * d - 1 tables of pairs under discrete Gaussian noise of L2 sensitivity r.
All parameters are public and fixed beforehand; which pairs are candidates, which rare values are merged (`merging`) and
the estimates in the scores follow from released numbers. So the composed event is what is charged, and its noise is the
least for which the accountant says (epsilon, delta). Fitting the model is post-processing.

Neighbours: one unit's rows, added or removed. Assumptions: the columns' facts are public.
Source: McKenna, Miklau, Sheldon 2021 ("Winning the NIST contest"); McKenna, Sheldon, Miklau 2019 (the model).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.curator.elsewhere import passed_on
from tacit.loss import events
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms import Exponential, Gaussian
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.domains import Bins
from tacit.statistics.source import Opened, source_of
from tacit.synthesis import scoring
from tacit.synthesis.bought import Edges, edges_by_rho
from tacit.synthesis.cells import Layout
from tacit.synthesis.constraints import kept_apart, named_rules, ruled, ruled_layout
from tacit.synthesis.counting import Tables
from tacit.synthesis.merging import Merge, merge_rare, merged
from tacit.synthesis.model.fitting import Fitted, Measured, alone, fit, nearest, total_of
from tacit.synthesis.model.tables import Columns
from tacit.synthesis.model.trees import tree_of
from tacit.synthesis.released import Measurement, Release, precision_of
from tacit.synthesis.spanning import chosen_tree
from tacit.synthesis.spending import rho_of, tightened
from tacit.synthesis.synthetic import Synthetic, synthesised

# of rho: for single columns, for choices, for pairs; found on a public table
_SHARES: Final = (Fraction(40, 100), Fraction(12, 100), Fraction(48, 100))
_SHARES_OF_LITTLE: Final = (Fraction(55, 100), Fraction(7, 100), Fraction(38, 100))
_LITTLE: Final = Fraction(1, 500)  # rho: with less, pairs would be mostly noise
_RARE: Final = 3  # deviations of noise, below which a value is merged with others
_MANY: Final = 1 << 60  # tables of any size


@dataclass(frozen=True, slots=True)
class Plan:
    """The noise of each part."""

    single: Gaussian
    choice: Exponential | None
    pair: Gaussian | None
    columns: int
    edges: Edges = field(default_factory=Edges)

    @property
    def event(self) -> events.Event:
        """The composition of all parts."""
        parts: list[events.Event] = [*self.edges.events, events.Repeated(self.single.event, self.columns)]
        if self.choice is not None and self.pair is not None:
            parts += [events.Repeated(each, self.columns - 1) for each in (self.choice.event, self.pair.event)]
        return parts[0] if len(parts) == 1 else events.Composed(tuple(parts))


def plan_mst(
    columns: int,
    rows: int,
    epsilon: Fraction,
    delta: Fraction,
    bought: Callable[[Fraction], tuple[Edges, Fraction]] = lambda rho: (Edges(), rho),
) -> Plan:
    """The noise for a budget, from public numbers. `bought`: how edges are paid from rho, and what is left of it."""
    edges, rho = bought(rho_of("mst", epsilon, delta))

    def made(factor: Fraction) -> Plan:
        return tree_noise(columns, rows, rho, factor, edges)

    return tightened(made, lambda plan: plan.event, epsilon, delta)


def tree_noise(columns: int, rows: int, rho: Fraction, factor: Fraction, edges: Edges | None = None) -> Plan:
    """The noise of each part for a rho, all of it times a factor."""
    paid = Edges() if edges is None else edges
    shares = _SHARES_OF_LITTLE if rho < _LITTLE else _SHARES
    first, choosing, second = shares if columns > 1 else (Fraction(1), Fraction(0), Fraction(0))
    single = gaussian(rows, rho * first / columns, factor)
    if columns == 1:
        return Plan(single, None, None, 1, paid)
    eta = 1 / (sqrt_up((columns - 1) / (8 * rho * choosing)) * factor)
    choice = Exponential(sensitivity=scoring.sensitivity(rows), epsilon=eta)
    return Plan(single, choice, gaussian(rows, rho * second / (columns - 1), factor), columns, paid)


def gaussian(rows: int, rho: Fraction, factor: Fraction) -> Gaussian:
    """Noise for one table at this rho, times a factor."""
    return Gaussian(sensitivity=rows, sigma=rows * sqrt_up(1 / (2 * rho)) * factor, size=_MANY)


@passed_on
def mst(
    data: Any,
    *,
    epsilon: Number,
    delta: Number,
    bins: Mapping[str, Bins] | int | str | None = None,
    bounds: Any = None,
    values: Any = None,
    nulls: Any = None,
    constraints: Any = None,
    prior: Any = None,
    analyst: str | None = None,
) -> Synthetic:
    """A table made of single columns and a tree of pairs: quick, and good where few dependencies matter.

    data: rows of a curator, or arrays with `bounds` and `values`. bins: how columns of many numbers are cut: numbers,
    edges, or "private" for quantiles that a tenth of the budget buys.
    nulls: columns whose missing values are kept, or True for all that may miss one.
    constraints: public conditions that every drawn row keeps. prior: public rows to start from.

    >>> people = {"sex": ["F", "M", "F"], "ward": ["A", "B", "B"]}
    >>> twin = mst(people, values={"sex": ["F", "M"], "ward": ["A", "B"]}, epsilon=1, delta=1e-6)
    >>> twin.columns, twin.receipt["epsilon"]
    (('sex', 'ward'), '1')
    """
    source = source_of(data, bounds=bounds, values=values)
    exact_epsilon, exact_delta = parameters.budget(epsilon, delta)
    layout, rules, before = ruled_layout(source, bins, values, constraints, prior, nulls)
    must_be_small(layout)
    plan = plan_mst(
        len(layout.sizes),
        source.rows_per_unit,
        exact_epsilon,
        exact_delta,
        lambda rho: edges_by_rho(source, layout, rho),
    )

    def compute(opened: Opened, bits: BitSource) -> Release:
        settled = plan.edges.settled(opened, layout, bits)
        release = measured_tree(plan, settled, Tables(opened, settled), bits)
        return ruled(release, known_tables(release.measured, release.merges), rules, before)

    asked = {"study": "synthesis", "method": "mst", "cells": layout.described(), **plan.edges.named()}
    asked |= named_rules(rules, before)
    return synthesised(source, asked, Price(plan.event, exact_epsilon, exact_delta), compute, analyst)


MOST_PAIR: Final = 1 << 22


def must_be_small(layout: Layout) -> None:
    """Refuse columns whose tables of pairs are too large for memory."""
    largest = sorted(layout.sizes)[-2:]
    if len(largest) == 2 and largest[0] * largest[1] > MOST_PAIR:
        hint = "Cut them into fewer bins: bins={...}."
        raise parameters.refuse("cells", f"at most {MOST_PAIR:,} in a table of two columns", largest, hint)


def measured_tree(plan: Plan, layout: Layout, exact: Tables, bits: BitSource) -> Release:
    """The release itself."""
    places = range(len(layout.sizes))
    pairs: list[Columns] = list(itertools.combinations(places, 2))
    exact.prepare([*((place,) for place in places), *pairs])
    measured = [
        Measurement((place,), np.asarray(plan.single.release(exact.table((place,)), bits=bits)), plan.single.scale)
        for place in places
    ]
    merges, total = merged_columns(measured)
    merges = kept_apart(merges, layout)
    known = known_tables(measured, merges)
    first = alone(known, total)
    if plan.choice is not None and plan.pair is not None:
        scores = pair_scores(exact, pairs, merges, first)
        for edge in chosen_tree(plan.choice, scores, len(places), total, bits):
            noisy = plan.pair.release(merged(exact.table(edge), edge, merges), bits=bits)
            measured.append(Measurement(edge, np.asarray(noisy), plan.pair.scale, merged=True))
    known = known_tables(measured, merges)
    tree = tree_of([each.columns for each in known], [each.size for each in merges])
    fitted = fit(tree, known, total, before=first)
    return Release("mst", layout.fields, tuple(measured), fitted, merges)


def merged_columns(measured: Sequence[Measurement]) -> tuple[tuple[Merge, ...], float]:
    """Rare values of single columns put together, and the number of rows."""
    tables = [each.noisy.astype(np.float64) for each in measured]
    total = total_of(
        [Measured(each.columns, own, 1 / each.sigma**2) for each, own in zip(measured, tables, strict=True)]
    )
    merges = [
        merge_rare(own, _RARE * each.sigma, nearest(own, total, each.sigma))
        for each, own in zip(measured, tables, strict=True)
    ]
    return tuple(merges), total


def known_tables(measured: Sequence[Measurement], merges: Sequence[Merge]) -> list[Measured]:
    """What was measured, over merged cells."""
    return [Measured(each.columns, *precision_of(each, merges)) for each in measured]


def pair_scores(exact: Tables, pairs: Sequence[Columns], merges: Sequence[Merge], first: Fitted) -> dict[Columns, int]:
    """For each pair, how far its table is from that of independent columns, in whole numbers."""
    single = {clique[0]: table for clique, table in zip(first.tree.cliques, first.cliques(), strict=True)}
    return {
        (a, b): scoring.distance(
            merged(exact.table((a, b)), (a, b), merges),
            scoring.on_grid(np.multiply.outer(single[a], single[b]) * first.total),
        )
        for a, b in pairs
    }
