"""One contingency table over any number of columns, under noise, with cells below zero repaired.

Theorem. A row has one cell, so a unit with r rows moves the table by at most r in L1, however many columns it has:
discrete Laplace noise of scale r/epsilon on each cell is epsilon-differentially private. Neighbours: one unit's rows,
added or removed. Source: Dwork, McSherry, Nissim, Smith 2006; Barak et al. 2007 for the repair of such tables.

Repair. Cells below zero are repaired and the total is kept, in whole numbers: as shares of the total, real cells only
come nearer to the truth (`projection`), and rounding moves each by less than 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.mechanisms import Laplace
from tacit.noise import BitSource
from tacit.statistics.counts.counting_noise import price_of, variance_of
from tacit.statistics.counts.histogram import interval_ends
from tacit.statistics.counts.projection import whole_simplex
from tacit.statistics.domains import MOST_CELLS, Bins, Domain, counts_of, domain_of
from tacit.statistics.finding import Column, Content, Finding, column
from tacit.statistics.source import Opened, Source, source_of


def table(
    data: Any,
    columns: str | Sequence[str] | None = None,
    *,
    epsilon: parameters.Number,
    bins: Mapping[str, Bins] | None = None,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The table of counts over the columns' cells: whole, none below zero. `bins` cuts columns of many numbers.

    The array "table" has one axis for each column, "noisy" is the table before repair, and "squared_error" the expected
    total squared error before it.

    >>> facts = {"sex": ["F", "M"], "ward": ["A", "B"]}
    >>> found = table({"sex": ["F", "M", "F"], "ward": ["A", "B", "B"]}, values=facts, epsilon=1)
    >>> list(zip(found["sex"], found["ward"]))
    [('F', 'A'), ('F', 'B'), ('M', 'A'), ('M', 'B')]
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    exact = parameters.price("epsilon", epsilon)
    parameters.level("level", level)
    domains = domains_of(source, [each.name for each in source.variables], bins)
    size = must_be_listable(domains)
    mechanism = Laplace(sensitivity=source.rows_per_unit, epsilon=exact)
    reach = mechanism.error(level)
    expected = size * variance_of(mechanism)

    def compute(opened: Opened, bits: BitSource) -> Content:
        noisy = mechanism.release(counts_of(opened, domains), bits=bits)
        shown = whole_simplex(noisy)
        low, high = interval_ends(noisy, shown, reach, non_negative=True)
        notes = (
            "Intervals cover the noise in each cell.",
            f"Expected total squared error before repair: {expected:.4g}. Repair keeps the total, and as shares of the "
            "total the cells only come nearer to the truth, but for rounding by less than 1.",
        )
        names = label_columns(domains)
        counts = column(count_name(domains), shown.reshape(-1), low.reshape(-1), high.reshape(-1))
        arrays = {"table": shown, "noisy": noisy, "squared_error": np.array([expected])}
        return Content(f"Table of {' x '.join(each.name for each in domains)}", (*names, counts), notes, arrays)

    asked = {"study": "table", "cells": described(domains)}
    return source.release(asked, price_of(exact, Fraction(0), mechanism.event), compute, level=level, analyst=analyst)


def domains_of(source: Source, names: Sequence[str], bins: Mapping[str, Bins] | None) -> tuple[Domain, ...]:
    """The columns' cells; bins that name no column are refused."""
    cut = {str(name).rpartition(".")[2].casefold(): each for name, each in (bins or {}).items()}
    known = {name.casefold() for name in names}
    for name in cut:
        if name not in known:
            raise parameters.refuse("bins", f"given for columns among {', '.join(names)}", name)
    return tuple(domain_of(source.variable(name), cut.get(name.casefold())) for name in names)


def must_be_listable(domains: Sequence[Domain]) -> int:
    """The number of cells; refused where there are too many to release one by one."""
    size = math.prod(each.size for each in domains)
    if size > MOST_CELLS:
        names = " x ".join(f"{each.name} ({each.size:,})" for each in domains)
        hint = "Take fewer columns, or cut them into fewer bins."
        raise parameters.refuse(f"table {names}", f"one of at most {MOST_CELLS:,} cells", f"{size:,} cells", hint)
    return size


def label_columns(domains: Sequence[Domain]) -> tuple[Column, ...]:
    """One column for each axis, with the label of every cell of the flat table."""
    places = np.indices(tuple(each.size for each in domains)).reshape(len(domains), -1)
    return tuple(
        column(each.name, [each.cell_names[at] for at in axis])
        for each, axis in zip(domains, places.tolist(), strict=True)
    )


def count_name(domains: Sequence[Domain]) -> str:
    """The name of the column of counts, which must not be that of an axis."""
    taken = {each.name.casefold() for each in domains}
    name = "count"
    while name in taken:
        name += "_"
    return name


def described(domains: Sequence[Domain]) -> list[list[str]]:
    """What shapes the cells, for the study's key."""
    return [
        [each.name, *(str(part) for part in (each.edges if each.edges is not None else each.labels))]
        for each in domains
    ]
