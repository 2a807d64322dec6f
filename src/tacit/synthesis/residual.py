"""`residual`: the rounds of `aim` for pairs, with tables put together from residuals instead of a graphical model.

Theorem. What is released is what `aim` releases, and is paid from the same purse (`purse`): tables of single columns,
then rounds of one choice and one table of a pair. Only post-processing differs: the estimates in the scores, and the
model at the end.

A graphical model must keep its cliques small, so `aim` may not measure every pair that it gets wrong, and its work
grows with the cliques. Here a pair's table follows from its own residual and its two columns' (`model.residuals`),
whatever else was measured: any pairs may be measured, and a round costs one look at each pair. A measured pair is not
measured again before its noise is halved.

What is kept. The release keeps the measured pairs' tables, consistent and without negative cells: they are the model's
answer about these pairs. For all other tables, and for rows, there is a graphical model of as many of the measured
pairs as its cliques allow, fitted once: a spanning tree of the pairs with the largest dependence first, then those that
the tree gets most wrong. So rows follow fewer of the pairs than the tables do.

Neighbours: one unit's rows, added or removed. Assumptions: the columns' facts are public. Rare values are not merged:
residuals need the same noise in every cell.
Source: Fuentes, Mullins, Xiao, Kifer, Musco, Sheldon 2026 ("Fast private adaptive query answering for large data
domains", AIM+GReM); Mullins et al. 2024. The independent default, the shrinking and the rows are argued here.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.curator.elsewhere import passed_on
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.domains import Bins
from tacit.statistics.source import Opened, Whole, source_of
from tacit.synthesis import scoring
from tacit.synthesis.aim import Progress, first_tables, noise_of
from tacit.synthesis.bought import edges_by_rho, public_and_bought, with_bought
from tacit.synthesis.cells import Layout, layout_of
from tacit.synthesis.counting import Tables
from tacit.synthesis.merging import plain
from tacit.synthesis.model.fitting import Fitted, Measured, fit
from tacit.synthesis.model.marginals import marginal
from tacit.synthesis.model.residuals import Residuals
from tacit.synthesis.model.tables import Columns, Table, beside, shape_of
from tacit.synthesis.model.trees import cells_with, neighbours_of, tree_of
from tacit.synthesis.mst import must_be_small
from tacit.synthesis.purse import Purse, Round, filled
from tacit.synthesis.released import Measurement, Release
from tacit.synthesis.spending import rho_of
from tacit.synthesis.synthetic import Synthetic, synthesised

_ROUNDS: Final = 16  # for each column, at most
_ANNEAL: Final = 2
_LAST_ROUNDS: Final = 16
_TINY: Final = 1e-12
_MOST_CELLS: Final = 1 << 17
_STEPS: Final = 60
_HALVED: Final = 4  # of the variance: a measured pair waits until its table would have this much less noise


@passed_on
def residual(
    data: Any,
    *,
    epsilon: Number,
    delta: Number,
    bins: Mapping[str, Bins] | int | str | None = None,
    bounds: Any = None,
    values: Any = None,
    nulls: Any = None,
    analyst: str | None = None,
    progress: Progress | None = None,
) -> Synthetic:
    """A table made of pairs that are put together from residuals: for many columns that all depend on each other.

    data: rows of a curator, or arrays with `bounds` and `values`. bins: how columns of many numbers are cut: numbers,
    edges, or "private" for quantiles that a tenth of the budget buys. nulls: columns whose missing values are kept, or
    True for all that may miss one. progress: called with the share of the budget that is used, unless the policy lets
    answers leave only at public points in time.

    >>> people = {"sex": ["F", "M", "F"], "ward": ["A", "B", "B"]}
    >>> residual(people, values={"sex": ["F", "M"], "ward": ["A", "B"]}, epsilon=1, delta=1e-6).method
    'residual'
    """
    source = source_of(data, bounds=bounds, values=values)
    told = None if source.is_clocked else progress
    exact_epsilon, exact_delta = parameters.budget(epsilon, delta)
    public, bought = public_and_bought(source, bins)
    layout = with_bought(layout_of(source, public, values, nulls=nulls), bought)
    if len(layout.sizes) < 2:
        raise parameters.refuse("columns", "two or more: of one column, independent is the method", len(layout.sizes))
    must_be_small(layout)
    edges, left = edges_by_rho(source, layout, rho_of("residual", exact_epsilon, exact_delta))
    total, event = filled(left, exact_epsilon, exact_delta, edges.events)

    def compute(opened: Opened, bits: BitSource) -> Release:
        settled = edges.settled(opened, layout, bits)
        return measured_pairs(Tables(opened, settled), settled, total, source.rows_per_unit, bits, told)

    asked = {"study": "synthesis", "method": "residual", "cells": layout.described(), **edges.named()}
    return synthesised(source, asked, Price(event, exact_epsilon, exact_delta), compute, analyst)


def measured_pairs(
    exact: Tables, layout: Layout, total: Fraction, rows: int, bits: BitSource, progress: Progress | None = None
) -> Release:
    """The release itself, for this much of mu**2."""
    purse = Purse(total)
    count = len(layout.sizes)
    pairs: list[Columns] = list(itertools.combinations(range(count), 2))
    exact.prepare(pairs)
    measured = first_tables(exact, layout.sizes, purse, rows, bits)
    known = Residuals(layout.sizes)
    for each in measured:
        known.add(each.columns, each.noisy.astype(np.float64), each.sigma**2)
    counts = {pair: exact.table(pair) for pair in pairs}
    singles = known.singles()
    estimates = {pair: known.pair(pair, singles) for pair in pairs}
    share = purse.left / (_ROUNDS * count)
    while purse.left > 0:
        if purse.left < 2 * share:
            share = purse.left  # the last round takes what is left
        this = Round.of(share, rows, 1)
        purse.pay(this.cost)
        last = share == this.cost or purse.left < share / 1000
        open_pairs = [pair for pair in pairs if _may_be_measured(known, pair, this.table.scale)] or pairs
        chosen = _chosen(this, open_pairs, counts, estimates, bits)
        noisy = this.table.release(counts[chosen], bits)
        measured.append(Measurement(chosen, noisy, this.table.scale))
        known.add(chosen, noisy.astype(np.float64), this.table.scale**2)
        before = estimates[chosen]
        singles = known.singles()
        estimates = _again(known, singles, estimates, chosen)
        if float(np.abs(estimates[chosen] - before).sum()) <= noise_of(before, this.table.scale):
            share = max(share, min(share * _ANNEAL, purse.left / _LAST_ROUNDS))
        if progress is not None:
            progress(purse.used)
        if last:
            break
    return _released(known, measured, layout, {"spent": purse.used})


def _may_be_measured(known: Residuals, pair: Columns, sigma: float) -> bool:
    return pair not in known.weights or known.weights[pair] * sigma**2 <= 1 / _HALVED


def _chosen(
    this: Round,
    pairs: Sequence[Columns],
    counts: Mapping[Columns, Whole],
    estimates: Mapping[Columns, Table],
    bits: BitSource,
) -> Columns:
    """The pair that is furthest off, less what its noise would be, by the exponential mechanism."""
    scores = [pair_score(counts[pair], estimates[pair], this.table.scale) for pair in pairs]
    return pairs[int(this.choice.choose(list(range(len(pairs))), scores=scores, bits=bits))]


def pair_score(exact: Whole, estimate: Table, sigma: float) -> int:
    """How far an estimate is off, less what noise would do: a whole number of sensitivity GRID r (`scoring`)."""
    penalty = round(scoring.GRID * noise_of(estimate, sigma))
    return scoring.distance(exact, scoring.on_grid(estimate)) - penalty


def _again(
    known: Residuals, singles: list[Table], estimates: Mapping[Columns, Table], chosen: Columns
) -> dict[Columns, Table]:
    """Estimates of the pairs that share a column with the one that was measured; the others did not change."""
    touched = set(chosen)
    return {pair: known.pair(pair, singles) if touched & set(pair) else own for pair, own in estimates.items()}


def _released(known: Residuals, measured: Sequence[Measurement], layout: Layout, facts: dict[str, Any]) -> Release:
    pairs = list(dict.fromkeys(each.columns for each in measured if len(each.columns) == 2))
    tables = known.together(pairs)
    total = known.total
    shares = {pair: own / max(float(own.sum()), 1e-30) for pair, own in tables.items()}
    singles = [own / total for own in known.singles()]
    fitted = _grown(_spanning(shares, singles, layout.sizes, total), known, shares, total)
    kept = tuple((pair, own) for pair, own in shares.items())
    merges = tuple(plain(size) for size in layout.sizes)
    return Release("residual", layout.fields, tuple(measured), fitted, merges, facts, kept)


def _spanning(shares: Mapping[Columns, Table], singles: Sequence[Table], sizes: Sequence[int], total: float) -> Fitted:
    """The model of a spanning tree of measured pairs with the largest dependence; other columns stand alone."""

    def dependence(pair: Columns) -> float:
        own = shares[pair]
        return float(np.abs(own - np.multiply.outer(own.sum(axis=1), own.sum(axis=0))).sum())

    part = list(range(len(sizes)))
    edges: list[Columns] = []
    for a, b in sorted(shares, key=dependence, reverse=True):
        if part[a] != part[b]:
            edges.append((a, b))
            part = [part[a] if each == part[b] else each for each in part]
    # log p(a, b) - log p(a) - log p(b) for each edge, and log p(a) for each column
    tree = tree_of(edges, sizes)
    potentials = [np.zeros(shape_of(clique, sizes)) for clique in tree.cliques]
    factors: list[tuple[Columns, Table]] = [((place,), _log(own)) for place, own in enumerate(singles)]
    for edge in edges:
        own = shares[edge]
        factors.append((edge, _log(own) - _log(own.sum(axis=1))[:, None] - _log(own.sum(axis=0))[None, :]))
    for columns, factor in factors:
        place = tree.holder(columns)
        assert place is not None
        potentials[place] = potentials[place] + beside(factor, columns, tree.cliques[place])
    return Fitted(tree, tuple(potentials), total)


def _grown(start: Fitted, known: Residuals, shares: Mapping[Columns, Table], total: float) -> Fitted:
    """The model with more of the pairs, those that it gets most wrong first, as long as its cliques stay small."""
    sizes, tables = start.tree.sizes, start.cliques()

    def off(pair: Columns) -> float:
        return float(np.abs(shares[pair] - marginal(start.tree, tables, pair)).sum())

    kept = list(start.tree.cliques)
    for pair in sorted(shares, key=off, reverse=True):
        if cells_with(neighbours_of(kept, len(sizes)), pair, sizes) <= _MOST_CELLS:
            kept.append(pair)
    tree = tree_of(kept, sizes)
    held = [pair for pair in shares if tree.holder(pair) is not None]
    wanted = [Measured(pair, shares[pair] * total, known.weights[pair]) for pair in held]
    return fit(tree, wanted, total, before=start, steps=_STEPS, until=0.0)


def _log(shares: Table) -> Table:
    return np.log(np.maximum(shares, _TINY))
