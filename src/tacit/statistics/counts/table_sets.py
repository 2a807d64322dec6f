"""A set of overlapping tables, released together with the least noise for the set, and made to agree.

    tables(clinic, [("visits.sex", "visits.ward"), ("visits.ward", "visits.age")], epsilon=1, delta=1e-6)

Privacy. All measured numbers are one whole vector under one mechanism: discrete Laplace noise by its L1 sensitivity, or
discrete Gaussian noise by its L2 sensitivity where delta allows it (`measuring` has both, and the proof). Neighbours:
one unit with at most r rows, added or removed. Everything after the noise is post-processing.

Rows. The same rows are counted in all tables: those that have a cell in every column, none of which is missing or
beyond the bins. So the true tables agree, which the theorem of `projection` needs.

What comes out: the best unbiased linear estimate (consistent by construction, `marginals`), made non-negative with the
total kept (`projection`), then whole (`whole_tables`, where that is possible; the notes say so).

Errors that are reported, as expected total squared error over all cells of all asked tables: "separate" is every asked
table under its own share of noise, "consistent" is the linear estimate; both are exact, for any data. What follows only
brings the shares of the total nearer to the truth (theorem of `projection`), and rounding moves the set by the reported
distance.

Intervals. Each cell of the linear estimate has the same known variance inside a table. Its noise is a sum of
independent noises, of which Laplace noise is the one with the heaviest tails: an interval is the wider one of a Laplace
and a normal one with that variance, and it is normal for Gaussian noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from scipy.special import ndtri

from tacit import parameters
from tacit.curator import Curator
from tacit.mechanisms import Gaussian
from tacit.noise import BitSource
from tacit.statistics.counts.counting_noise import named, price_of, variance_of
from tacit.statistics.counts.covers import MOST_JOINT_CELLS, cover
from tacit.statistics.counts.marginals import Columns, Lattice, Table, cells, marginal
from tacit.statistics.counts.measuring import Strategy, asked_tables, best, joint_table, residual_tables, tables_of
from tacit.statistics.counts.projection import possible
from tacit.statistics.counts.table import count_name, described, domains_of, label_columns, must_be_listable
from tacit.statistics.counts.whole_tables import whole_tables
from tacit.statistics.domains import Bins, Domain, counts_of
from tacit.statistics.finding import Column, Content, Finding, column
from tacit.statistics.source import Opened, Whole, source_of

STRATEGIES: Final = {"best": best, "asked": asked_tables, "joint": joint_table, "residuals": residual_tables}
_SCAN_CELLS = 1 << 17
_MOST_COLUMNS = 12  # of a set: it has 4,096 subsets then


def tables(
    data: Any,
    sets: Sequence[Sequence[str]],
    *,
    epsilon: parameters.Number,
    delta: parameters.Number = 0,
    bins: Mapping[str, Bins] | None = None,
    measure: str = "best",
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """Tables over each of the `sets` of columns, whole, non-negative, and with the same margins wherever they overlap.

    measure: what gets the noise. "best" compares all ways by their expected error, from public facts; "asked" is every
    asked table, "joint" the table of all columns, "residuals" what each set of columns adds to its subsets.
    Each table is an array by the names of its columns, in the order in which they first came: `found["by sex,ward"]`.

    >>> facts = {"sex": ["F", "M"], "ward": ["A", "B"]}
    >>> data = {"sex": ["F", "M", "F"], "ward": ["A", "B", "B"]}
    >>> tables(data, [["sex"], ["ward"]], values=facts, epsilon=1).names
    ('table', 'sex', 'ward', 'count')
    """
    chosen = _checked_sets(sets)
    listed = list(dict.fromkeys(name for each in chosen for name in each))
    source = source_of(data, listed, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    exact, exact_delta = parameters.budget(epsilon, delta)
    confidence = parameters.level("level", level)
    names = [name.rpartition(".")[2] for name in listed] if isinstance(data, Curator) else listed
    domains = domains_of(source, names, bins)
    asked = tuple(dict.fromkeys(tuple(sorted(listed.index(name) for name in each)) for each in chosen))
    for each in asked:
        if len(each) > _MOST_COLUMNS:
            hint = "One table of more columns: use table."
            raise parameters.refuse("sets", f"of at most {_MOST_COLUMNS} columns each", f"{len(each)} columns", hint)
        must_be_listable([domains[place] for place in each])
    strategy = _strategy(
        measure, Lattice(asked, tuple(d.size for d in domains)), source.rows_per_unit, exact, exact_delta
    )
    separate = asked_tables(strategy.lattice, source.rows_per_unit, exact, exact_delta)
    before = variance_of(separate.noise) * sum(cells(each, strategy.lattice.sizes) for each in asked)
    errors = before, strategy.expected()

    def compute(opened: Opened, bits: BitSource) -> Content:
        vector = strategy.vector(_exact_tables(opened, strategy, domains))
        noisy = strategy.noise.release(vector, bits=bits)
        return _content(strategy, domains, tables_of(strategy, noisy), float(confidence), errors)

    question = {
        "study": "tables",
        "cells": described(domains),
        "sets": [list(each) for each in asked],
        "measured": [[list(part.columns), part.residual, part.weight] for part in strategy.parts],
    }
    price = price_of(exact, exact_delta, strategy.noise.event)
    return source.release(question, price, compute, level=level, analyst=analyst)


def _checked_sets(sets: Any) -> list[tuple[str, ...]]:
    allowed = 'a list of sets of column names, e.g. [("sex", "ward"), ("ward", "age")]'
    if isinstance(sets, str) or not hasattr(sets, "__iter__"):
        raise parameters.refuse("sets", allowed, sets)
    found = [(each,) if isinstance(each, str) else tuple(map(str, each)) for each in sets]
    if not found or not all(each and len(set(each)) == len(each) for each in found):
        raise parameters.refuse("sets", f"{allowed}; no set empty, no column twice in a set", sets)
    return found


def _strategy(measure: str, lattice: Lattice, rows: int, epsilon: Fraction, delta: Fraction) -> Strategy:
    if measure not in STRATEGIES:
        raise parameters.refuse("measure", f"one of {', '.join(STRATEGIES)}", measure)
    if measure == "joint" and math.prod(lattice.sizes) > MOST_JOINT_CELLS:
        found = f"{math.prod(lattice.sizes):,} cells"
        raise parameters.refuse("measure", f"'joint' only up to {MOST_JOINT_CELLS:,} cells in all", found)
    return STRATEGIES[measure](lattice, rows, epsilon, delta)


def _exact_tables(opened: Opened, strategy: Strategy, domains: Sequence[Domain]) -> Callable[[Columns], Whole]:
    """Exact tables of the measured sets: few scans, each over a union of them, and sums of those."""
    scans: dict[Columns, Whole] = {
        block: counts_of(opened, [domains[place] for place in block], also=domains)
        # where only the total is measured, no column is scanned
        for block in cover([part.columns for part in strategy.parts], strategy.lattice.sizes, _SCAN_CELLS) or [()]
    }

    def table_over(columns: Columns) -> Whole:
        block = min((each for each in scans if set(columns) <= set(each)), key=lambda each: scans[each].size)
        return marginal(scans[block], block, columns)

    return table_over


def _content(
    strategy: Strategy,
    domains: Sequence[Domain],
    estimated: Mapping[Columns, Table],
    level: float,
    errors: tuple[float, float],
) -> Content:
    lattice = strategy.lattice
    real = possible(lattice, estimated)
    whole = whole_tables(lattice, real)
    shown: Mapping[Columns, Any] = real if whole is None else whole
    reaches = {each: _reach(strategy, each, level) for each in lattice.asked}
    moved = math.sqrt(sum(float(np.sum((shown[each] - real[each]) ** 2)) for each in lattice.asked))
    notes = [
        "Intervals cover the noise in each cell.",
        f"Expected total squared error over all {sum(t.size for t in real.values()):,} cells: {errors[0]:.4g} if every "
        f"table had its own share of noise, {errors[1]:.4g} for these, measured together ({_measured(strategy)}) and "
        "made consistent. Making them non-negative keeps the total and brings shares of it only nearer to the truth.",
        f"Rounding to whole numbers moved the set by {moved:.4g} in all."
        if whole is not None
        else "Real numbers: whole tables with all these margins need not exist. They agree exactly, and no cell is "
        f"below {min(0.0, min(float(t.min()) for t in real.values())):.2g}.",
    ]
    names = [",".join(domains[place].name for place in each) for each in lattice.asked]
    arrays: dict[str, Any] = {f"by {name}": shown[each] for name, each in zip(names, lattice.asked, strict=True)}
    arrays["squared_error"] = np.array(errors)
    columns = _long(lattice.asked, domains, names, estimated, shown, reaches)
    return Content(f"{len(names)} tables", columns, tuple(notes), arrays)


def _measured(strategy: Strategy) -> str:
    words = {
        "asked": "the asked tables",
        "joint": "the table of all columns",
        "unions": f"{len(strategy.parts)} tables over unions of the sets",
        "residuals": "what each set adds to its subsets",
    }
    return f"{words[strategy.name]}, {named(strategy.noise)} noise"


def _reach(strategy: Strategy, columns: Columns, level: float) -> float:
    """Half the width of a cell's interval."""
    spread = math.sqrt(strategy.cell_variance(columns))
    normal = float(ndtri((1 + level) / 2)) * spread
    if isinstance(strategy.noise, Gaussian):
        return normal
    return max(normal, -math.log(1 - level) * spread / math.sqrt(2))


def _long(
    asked: Sequence[Columns],
    domains: Sequence[Domain],
    names: Sequence[str],
    estimated: Mapping[Columns, Table],
    shown: Mapping[Columns, Any],
    reaches: Mapping[Columns, float],
) -> tuple[Column, ...]:
    """All tables one below the other: which table, the cell in its columns, the count."""
    labels: dict[int, list[Any]] = {place: [] for place in range(len(domains))}
    which: list[str] = []
    counts, low, high = [], [], []
    for each, name in zip(asked, names, strict=True):
        own = label_columns([domains[place] for place in each])
        which += [name] * estimated[each].size
        for place, column_labels in labels.items():
            inside = place in each
            column_labels.extend(own[each.index(place)].values if inside else [None] * estimated[each].size)
        value, middle = shown[each].reshape(-1), estimated[each].reshape(-1)
        counts.append(value)
        low.append(np.minimum(np.ceil(np.maximum(middle - reaches[each], 0.0)), value))
        high.append(np.maximum(np.floor(np.maximum(middle + reaches[each], 0.0)), value))
    keys = tuple(column(domains[place].name, column_labels) for place, column_labels in labels.items())
    count = column(count_name(domains), np.concatenate(counts), np.concatenate(low), np.concatenate(high))
    return (column("table", which), *keys, count)
