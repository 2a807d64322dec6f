"""`aim`: it selects, measures and fits in rounds, each of which measures the table that the model gets most wrong.

Theorem. The release starts with a table of every column, and goes on in rounds of one choice by the exponential
mechanism and one table under rounded normal noise.
  * A table has L2 sensitivity r (`counting`). Scores are whole numbers of sensitivity GRID r w, w the largest weight
    (`scoring`).
  * Before anything is released, its cost is added to what was spent, in exact arithmetic, and it is released only if
    the sum stays within the purse (`Purse.pay` refuses otherwise). Costs are chosen by released numbers alone.
So everything together costs what one release of Gaussian noise does (`purse`); with edges of bins that are bought
(`bought`), their composition. That is charged. The number of rounds, the candidates, their estimates and the annealing
of the noise follow from public numbers and what was released; so does the time that the fitting takes.

How much noise each table gets. Noise of deviation s costs 1/s**2 and moves about k s rows, in a table where k cells
are larger than it. For one sum of costs the rows moved in several tables are the fewest where s is proportional to
k**(-1/3), so a table's share is proportional to k**(2/3) (`_want`). For the first tables k is the number of cells, for
candidates it is what the model says (`noise_of`): these are public or released numbers, so the shares may follow them.

Neighbours: one unit's rows, added or removed. Assumptions: the columns' facts and the workload are public.
Source: McKenna, Mullins, Sheldon, Miklau 2022 ("AIM"). Different here: rare values are merged after the first tables
(`merging`), which get a share of their own; tables have unequal noise; in cells that are smaller than the noise, the
noise counts as the cell's own size (`noise_of`); the fit stops at the level of the noise (`model.fitting`).
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
from tacit.statistics.domains import Bins
from tacit.statistics.source import Opened, Whole, source_of
from tacit.synthesis import scoring
from tacit.synthesis.bought import edges_by_rho
from tacit.synthesis.cells import Layout
from tacit.synthesis.constraints import kept_apart, named_rules, ruled, ruled_layout
from tacit.synthesis.counting import Tables
from tacit.synthesis.merging import merged
from tacit.synthesis.model.fitting import Fitted, alone, fit
from tacit.synthesis.model.marginals import marginal
from tacit.synthesis.model.tables import Columns, Table
from tacit.synthesis.model.trees import cells_with, neighbours_of, tree_of
from tacit.synthesis.mst import known_tables, merged_columns, must_be_small
from tacit.synthesis.purse import CHOOSING, Purse, TableNoise, choice_of, filled
from tacit.synthesis.released import Measurement, Release
from tacit.synthesis.spending import rho_of
from tacit.synthesis.synthetic import Synthetic, synthesised
from tacit.synthesis.workloads import candidates_of

Progress = Callable[[float], None]

# of the purse, for the single columns: half of a small one, which is too small for many pairs; found on a public table
_FIRST: Final = Fraction(30, 100)
_FIRST_OF_LITTLE: Final = Fraction(50, 100)
_LITTLE: Final = Fraction(1, 250)  # mu**2
# of a round, for the choice: a large purse needs a smaller share for choices that are precise enough
_CHOOSING_OF_MUCH: Final = Fraction(3, 100)
_POWER: Final = 2 / 3
_MOST_WANTED: Final = Fraction(4)  # times the share of a round, at most
_ROUNDS: Final = 5  # for each column, at most
_STEPS, _LAST_STEPS = 40, 300
_MEAN_SIZE: Final = math.sqrt(2 / math.pi)  # of normal noise, in deviations
_LAST_ROUNDS: Final = 24  # at least this many share the rest when the noise is lowered
_ANNEAL: Final = 2  # times the share
_UNTIL: Final = 0.6
MOST_CELLS: Final = 1 << 20


def noise_of(estimate: Table, sigma: float) -> float:
    """What noise is expected to do to a table: in each cell its mean size, or the cell's own size where that is less.

    A fit keeps counts at 0 or above and their sum, so cells that are smaller than the noise come out small. Without
    this a large table with many empty cells would seem to be lost in noise, and would never be measured.
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
    unless the policy lets answers leave only at public points in time: each call would show how long a round took.

    >>> people = {"sex": ["F", "M", "F"], "ward": ["A", "B", "B"]}
    >>> twin = aim(people, values={"sex": ["F", "M"], "ward": ["A", "B"]}, epsilon=1, delta=1e-6)
    >>> twin.method, twin.probabilities("sex", "ward").shape
    ('aim', (2, 2))
    """
    source = source_of(data, bounds=bounds, values=values)
    told = None if source.is_clocked else progress
    exact_epsilon, exact_delta = parameters.budget(epsilon, delta)
    layout, rules, before = ruled_layout(source, bins, values, constraints, prior, nulls)
    must_be_small(layout)
    most = parameters.whole("max_cells", max_cells, least=1)
    candidates = candidates_of(workload, layout.names, layout.sizes)
    edges, left = edges_by_rho(source, layout, rho_of("aim", exact_epsilon, exact_delta))
    total, event = filled(left, exact_epsilon, exact_delta, edges.events)

    def compute(opened: Opened, bits: BitSource) -> Release:
        settled = edges.settled(opened, layout, bits)
        exact = Tables(opened, settled)
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
    exact: Tables,
    layout: Layout,
    candidates: Mapping[Columns, int],
    total_cost: Fraction,
    rows: int,
    most: int,
    bits: BitSource,
    progress: Progress | None = None,
) -> Release:
    """The release itself, for this much of mu**2."""
    purse = Purse(total_cost)
    exact.prepare(list(candidates))
    count = len(layout.sizes)
    measured = first_tables(exact, layout.sizes, purse, rows, bits)
    merges, total = merged_columns(measured)
    merges = kept_apart(merges, layout)
    sizes = [each.size for each in merges]
    known = known_tables(measured, merges)
    model = alone(known, total)
    tables = model.cliques()
    weight = max(candidates.values())
    counts = {columns: merged(exact.table(columns), columns, merges) for columns in candidates}
    choosing = CHOOSING if total_cost < _LITTLE else _CHOOSING_OF_MUCH
    share = purse.left / (_ROUNDS * count)
    while purse.left > 0:
        last = purse.left < 2 * share  # the last round takes what is left
        share = purse.left if last else share
        choice, cost = choice_of(share * choosing, rows, weight)
        purse.pay(cost)
        room = most * purse.used
        joined = neighbours_of([each.columns for each in known], count)
        estimates = _estimates(counts, model, tables, joined, room)
        noises = _noises(estimates, share * (1 - choosing), rows)
        scores = _scores(counts, candidates, estimates, noises)
        listed = list(scores)
        chosen = listed[int(choice.choose(list(range(len(listed))), scores=[scores[c] for c in listed], bits=bits))]
        noise = noises[chosen]
        if last or noise.cost > purse.left:
            noise = TableNoise.of(purse.left, rows)
        purse.pay(noise.cost)
        measured.append(Measurement(chosen, noise.release(counts[chosen], bits), noise.scale, merged=True))
        known = known_tables(measured, merges)
        tree = tree_of([each.columns for each in known], sizes)
        model = fit(tree, known, total, before=model, steps=_STEPS, until=_UNTIL)
        tables = model.cliques()
        moved = float(np.abs(marginal(tree, tables, chosen) * total - estimates[chosen]).sum())
        if moved <= noise_of(estimates[chosen], noise.scale):
            # the table was lost in the noise: from here on there is less noise, and enough is left for some more tables
            share = max(share, min(share * _ANNEAL, purse.left / _LAST_ROUNDS))
        if progress is not None:
            progress(purse.used)
        if last or purse.left < share / 1000:
            break
    model = fit(model.tree, known, total, before=model, steps=_LAST_STEPS, until=_UNTIL)
    return Release("aim", layout.fields, tuple(measured), model, merges, {"spent": purse.used})


def first_tables(exact: Tables, sizes: Sequence[int], purse: Purse, rows: int, bits: BitSource) -> list[Measurement]:
    """Every column by itself."""
    share = purse.total * (_FIRST_OF_LITTLE if purse.total < _LITTLE else _FIRST)
    wants = [_want(size) for size in sizes]
    found = []
    for place, want in enumerate(wants):
        noise = TableNoise.of(share * want / sum(wants), rows)
        purse.pay(noise.cost)
        found.append(Measurement((place,), noise.release(exact.table((place,)), bits), noise.scale))
    return found


def _want(cells: float) -> Fraction:
    """The share of the purse for a table of this many cells, up to a factor."""
    return Fraction(max(round(1024 * cells**_POWER), 1), 1024)


def _estimates(
    counts: Mapping[Columns, Whole], model: Fitted, tables: list[Table], joined: Sequence[int], room: float
) -> dict[Columns, Table]:
    """The model's table for each candidate that keeps the model small."""
    tree = model.tree
    return {
        columns: marginal(tree, tables, columns) * model.total
        for columns in counts
        if len(columns) == 1 or tree.holder(columns) is not None or cells_with(joined, columns, tree.sizes) <= room
    }


def _noises(estimates: Mapping[Columns, Table], share: Fraction, rows: int) -> dict[Columns, TableNoise]:
    """The noise of each candidate: of the share on average, and less for tables that noise hurts in more cells."""
    scale = TableNoise.of(share, rows).scale
    wants = {columns: _want(noise_of(own, scale) / scale) for columns, own in estimates.items()}
    mean = sum(wants.values(), Fraction(0)) / len(wants)
    return {columns: TableNoise.of(share * min(want / mean, _MOST_WANTED), rows) for columns, want in wants.items()}


def _scores(
    counts: Mapping[Columns, Whole],
    weights: Mapping[Columns, int],
    estimates: Mapping[Columns, Table],
    noises: Mapping[Columns, TableNoise],
) -> dict[Columns, int]:
    """For each candidate how far the model is off, less what its noise would be."""
    return {
        columns: weights[columns]
        * (
            scoring.distance(counts[columns], scoring.on_grid(own))
            - round(scoring.GRID * noise_of(own, noises[columns].scale))
        )
        for columns, own in estimates.items()
    }
