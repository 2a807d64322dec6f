"""`aim`: select, measure, fit, again and again: each round measures the table that the model gets most wrong.

Theorem. The release starts with a table of every column, and goes on in rounds of one choice by the exponential
mechanism and one table under rounded normal noise.
  * A table has L2 sensitivity r (`counting`). Scores are whole numbers of sensitivity GRID r w, w the largest weight
    (`scoring`).
  * Before anything is released, its cost is added to what was spent, in exact arithmetic, and it is released only if
    the sum stays within the purse (`Purse.pay` refuses otherwise). Costs are chosen by released numbers alone.
So everything together costs what one release of Gaussian noise does (`purse`); with edges of bins that are bought
(`bought`), their composition. That is charged. The number of rounds, the candidates, their estimates and the annealing
of the noise follow from public numbers and what was released; how long the fitting takes does too.

Neighbours: one unit's rows, added or removed. Assumptions: the columns' facts and the workload are public.
Source: McKenna, Mullins, Sheldon, Miklau 2022 ("AIM"). Different here: rare values are merged after the first tables
(`merging`), which get a share of their own; what noise would do to a table is no more than the table itself in cells
that are smaller than the noise (`noise_of`); the fit stops at the level of the noise (`model.fitting`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.curator.elsewhere import passed_on
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.counts.counting_noise import budget
from tacit.statistics.domains import Bins
from tacit.statistics.source import Opened, Whole, source_of
from tacit.synthesis import scoring
from tacit.synthesis.bought import edges_by_rho
from tacit.synthesis.cells import Layout
from tacit.synthesis.constraints import kept_apart, named_rules, ruled, ruled_layout
from tacit.synthesis.counting import Exact
from tacit.synthesis.merging import merged
from tacit.synthesis.model.fitting import Fitted, alone, fit
from tacit.synthesis.model.marginals import marginal
from tacit.synthesis.model.tables import Columns, Table
from tacit.synthesis.model.trees import cells_with, neighbours_of, tree_of
from tacit.synthesis.mst import known_tables, merged_columns, must_be_small
from tacit.synthesis.purse import Purse, Round, TableNoise, filled
from tacit.synthesis.released import Measurement, Release
from tacit.synthesis.spending import rho_of
from tacit.synthesis.synthetic import Synthetic, synthesised
from tacit.synthesis.workloads import candidates_of

Progress = Callable[[float], None]

# of the purse, for the single columns: half of a small one, which is too small for many pairs; found on a public table
_FIRST: Final = Fraction(30, 100)
_FIRST_OF_LITTLE: Final = Fraction(50, 100)
_LITTLE: Final = Fraction(1, 250)  # mu**2
_ROUNDS: Final = 4  # for each column, at most
_STEPS, _LAST_STEPS = 40, 300
_MEAN_SIZE: Final = math.sqrt(2 / math.pi)  # of normal noise, in deviations
_LAST_ROUNDS: Final = 16  # that many at least share what is left when the noise is lowered
_ANNEAL: Final = 2  # times the share
_UNTIL: Final = 0.6
MOST_CELLS: Final = 1 << 19


def noise_of(estimate: Table, sigma: float) -> float:
    """What noise is expected to do to a table: in each cell its mean size, or the cell's own where that is less.

    A fit keeps counts at 0 or above and their sum, so cells that are smaller than the noise come out small. Without
    this a large table with many empty cells would seem to drown in noise, and would never be measured.
    """
    return _MEAN_SIZE * float(np.minimum(sigma, np.nan_to_num(estimate)).sum())


@passed_on
def aim(
    data: Any,
    *,
    epsilon: Number,
    delta: Number,
    workload: Any = None,
    max_cells: int = MOST_CELLS,
    bins: Mapping[str, Bins] | int | str | None = None,
    bounds: Any = None,
    values: Any = None,
    nulls: Any = None,
    constraints: Any = None,
    prior: Any = None,
    analyst: str | None = None,
    progress: Progress | None = None,
) -> Synthetic:
    """A table made by adaptive rounds: more precise than `mst`, and slower.

    data: rows of a curator, or arrays with `bounds` and `values`. workload: the tables that matter: all pairs where it
    is left out, a number of columns, sets of columns, or a mapping from sets to weights. max_cells: how large the model
    may grow. bins: how columns of many numbers are cut: numbers, edges, or "private" for quantiles that a
    tenth of the budget buys.
    nulls: columns whose missing values are kept, or True for all that may miss one. constraints: public conditions that
    every drawn row keeps. prior: public rows to start from. progress: called with the share of the budget that is used,
    unless the policy lets answers leave at public points in time only: each call would tell how long a round took.

    >>> people = {"sex": ["F", "M", "F"], "ward": ["A", "B", "B"]}
    >>> twin = aim(people, values={"sex": ["F", "M"], "ward": ["A", "B"]}, epsilon=1, delta=1e-6)
    >>> twin.method, twin.probabilities("sex", "ward").shape
    ('aim', (2, 2))
    """
    source = source_of(data, bounds=bounds, values=values)
    told = None if source.is_clocked else progress
    exact_epsilon, exact_delta = budget(epsilon, delta)
    layout, rules, before = ruled_layout(source, bins, values, constraints, prior, nulls)
    must_be_small(layout)
    most = parameters.whole("max_cells", max_cells, least=1)
    candidates = candidates_of(workload, layout.names, layout.sizes)
    edges, left = edges_by_rho(source, layout, rho_of("aim", exact_epsilon, exact_delta))
    total, event = filled(left, exact_epsilon, exact_delta, edges.events)

    def compute(opened: Opened, bits: BitSource) -> Release:
        settled = edges.settled(opened, layout, bits)
        exact = Exact(opened, settled)
        release = adaptive(exact, settled, candidates, total, source.rows_per_unit, most, bits, told)
        return ruled(release, known_tables(release.measured, release.merges), rules, before)

    asked = {
        "study": "synthesis",
        "method": "aim",
        "cells": layout.described(),
        **edges.named(),
        "workload": [[list(columns), weight] for columns, weight in candidates.items()],
        "max_cells": most,
    } | named_rules(rules, before)
    return synthesised(source, asked, Price(event, exact_epsilon, exact_delta), compute, analyst)


def adaptive(
    exact: Exact,
    layout: Layout,
    candidates: Mapping[Columns, int],
    total_cost: Fraction,
    rows: int,
    most: int,
    bits: BitSource,
    progress: Progress | None = None,
) -> Release:
    """The release itself, for so much of mu**2."""
    purse = Purse(total_cost)
    exact.prepare(list(candidates))
    count = len(layout.sizes)
    measured = first_tables(exact, count, purse, rows, bits)
    merges, total = merged_columns(measured, measured[0].sigma)
    merges = kept_apart(merges, layout)
    sizes = [each.size for each in merges]
    known = known_tables(measured, merges)
    model = alone(known, total)
    tables = model.cliques()
    weight = max(candidates.values())
    counts = {columns: merged(exact.table(columns), columns, merges) for columns in candidates}
    share = purse.left / (_ROUNDS * count)
    while purse.left > 0:
        if purse.left < 2 * share:
            share = purse.left  # the last round takes what is left
        this = Round.of(share, rows, weight)
        purse.pay(this.cost)
        room = most * purse.used
        joined = neighbours_of([each.columns for each in known], count)
        scores, estimates = _scores(counts, candidates, model, tables, joined, this.table.scale, room)
        listed = list(scores)
        chosen = listed[
            int(this.choice.choose(list(range(len(listed))), scores=[scores[c] for c in listed], bits=bits))
        ]
        noisy = this.table.release(counts[chosen], bits)
        measured.append(Measurement(chosen, noisy, this.table.scale, merged=True))
        known = known_tables(measured, merges)
        tree = tree_of([each.columns for each in known], sizes)
        last = share == this.cost or purse.left < share / 1000
        model = fit(tree, known, total, before=model, steps=_STEPS, until=_UNTIL)
        tables = model.cliques()
        moved = float(np.abs(marginal(tree, tables, chosen) * total - estimates[chosen]).sum())
        if moved <= noise_of(estimates[chosen], this.table.scale):
            # what was measured is lost in the noise: less of it from here on, and enough left for some more tables
            share = max(share, min(share * _ANNEAL, purse.left / _LAST_ROUNDS))
        if progress is not None:
            progress(purse.used)
        if last:
            break
    model = fit(model.tree, known, total, before=model, steps=_LAST_STEPS, until=_UNTIL)
    return Release("aim", layout.fields, tuple(measured), model, merges, {"spent": purse.used})


def first_tables(exact: Exact, count: int, purse: Purse, rows: int, bits: BitSource) -> list[Measurement]:
    """Every column by itself."""
    share = _FIRST_OF_LITTLE if purse.total < _LITTLE else _FIRST
    noise = TableNoise.of(purse.total * share / count, rows)
    found = []
    for place in range(count):
        purse.pay(noise.cost)
        found.append(Measurement((place,), noise.release(exact.table((place,)), bits), noise.scale))
    return found


def _scores(
    counts: Mapping[Columns, Whole],
    weights: Mapping[Columns, int],
    model: Fitted,
    tables: list[Table],
    joined: Sequence[int],
    sigma: float,
    room: float,
) -> tuple[dict[Columns, int], dict[Columns, Table]]:
    """For each candidate that keeps the model small: how far the model is off, less what its noise would be."""
    tree = model.tree
    scores: dict[Columns, int] = {}
    estimates: dict[Columns, Table] = {}
    for columns, exact in counts.items():
        fits = len(columns) == 1 or tree.holder(columns) is not None or cells_with(joined, columns, tree.sizes) <= room
        if not fits:
            continue
        estimate = marginal(tree, tables, columns) * model.total
        penalty = round(scoring.GRID * noise_of(estimate, sigma))
        estimates[columns] = estimate
        scores[columns] = weights[columns] * (scoring.distance(exact, scoring.on_grid(estimate)) - penalty)
    return scores, estimates
