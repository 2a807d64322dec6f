"""The last step of an answer: outputs from noisy numbers, then HAVING, ORDER BY and LIMIT. All of it is free.

Promise: only noisy measures and released keys come in, so nothing here can cost privacy or depend on a row. It is
total: whatever the noise was, it raises nothing and warns of nothing, and a value that does not exist is None. An
answer that failed for some noises and not for others would reveal its noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms import Gaussian, KeySelection
from tacit.plan.answers.bends import HALF_A_STEP, largest_step
from tacit.plan.answers.chosen import (
    ONE,
    SEVERAL,
    SHARED,
    among,
    is_count,
    order_by_noise,
    reach,
    rows_by_noise,
    sorted_alone,
    unsure,
    used_totals,
)
from tacit.plan.answers.farthest import farthest
from tacit.plan.answers.floats import as_float, as_floats, as_real, as_whole
from tacit.plan.answers.formulas import Cells, Estimate, Floats, Formula, Linear, Mean, as_it_reads
from tacit.plan.answers.nested import MapFormula
from tacit.plan.answers.summaries import Summed
from tacit.plan.columns import RawKey, read_key
from tacit.plan.plan import KnownKeys, OutputPlan, Plan, UnknownKeys
from tacit.plan.together import unbundled


@dataclass(frozen=True, slots=True)
class Finished:
    """A table: for each output its values, and the standard deviation of their noise (None for what has none)."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    columns: tuple[list[Any], ...]
    deviations: tuple[list[float] | None, ...]
    among: tuple[int, ...]  # among how many noisy values noise chose those of a column (`chosen`)
    above: tuple[int | None, ...]  # where keys were shown by this very count: the count that it is above
    whole: tuple[int, ...]  # whether the noise of a column is in whole numbers (`in_whole_numbers`)
    farthest: tuple[list[float | None] | None, ...]  # how far off each value can be, whatever the noise (`farthest`)


@np.errstate(all="ignore")
def finish(
    plan: Plan,
    keys: Sequence[tuple[RawKey, ...]],
    noisy: Sequence[NDArray[Any]],
    picked: Sequence[Sequence[RawKey]] = (),
) -> Finished:
    """The answer's table. `keys` are the cells as the query gave them; the released measures and picks for them."""
    given = [[key[place] for key in keys] for place in range(len(plan.keys.columns))]
    readable = [
        [read_key(column, raw) for raw in values]
        for column, values in zip(plan.shown_columns, [*given, *picked], strict=True)
    ]
    numbers = [as_floats(column) for column in noisy]
    spreads: list[float | NDArray[np.float64]] = [measure.deviation for measure in plan.measures]
    levels = plan.keys.levels if isinstance(plan.keys, KnownKeys) else None
    left_out: list[NDArray[np.float64]] = []
    if levels is not None:
        for place, measure in enumerate(plan.measures):
            if measure.levels is not None:
                numbers[place] = measure.levels.agreeing(numbers[place], levels)
                spreads[place] = measure.deviation * measure.levels.spread(levels)
        left_out = [levels.left_out(place) for place in range(len(plan.keys.columns))]
    selected: list[int] = []
    if isinstance(plan.keys, UnknownKeys):
        least = plan.keys.selection.reach
        selected = [place for place, each in enumerate(plan.measures) if isinstance(each.mechanism, KeySelection)]
        for place in selected:
            spreads[place] = unsure(numbers[place], least, plan.measures[place].deviation)
    steps = noise_steps(plan)
    cells = Cells(len(keys), unbundled(numbers, plan.bundles), readable, left_out, spreads, steps=steps)
    if plan.having is not None:  # before window functions, which see only the remaining rows
        cells = cells.only(_kept(plan.having, cells), chosen=bool(plan.having.measures))
    rows = _kept(plan.qualify, cells)
    if plan.summary is not None:  # the totals of the remaining rows
        cells = cells.only(rows, chosen=plan.qualify is not None and bool(plan.qualify.measures))
        widest = [float(np.max(each, initial=0.0)) for each in cells.spreads]  # groups are not cells
        rows = _kept(plan.summary.having, cells, plan.summary.size(cells))
        spreads = list(widest)
    else:
        spreads = list(cells.spreads)
    whole = len(rows)
    rows = _sorted(plan, cells, rows)[plan.offset :]
    if plan.limit is not None:
        rows = rows[: plan.limit]
    rows_chosen = rows_by_noise(plan) or (len(rows) < whole and order_by_noise(plan))
    columns, deviations, counts, far = [], [], [], []
    in_whole = [in_whole_numbers(plan, output, cells, selected) for output in plan.outputs]
    heavy = not all(isinstance(each.mechanism, Gaussian) for each in plan.measures)
    for output, exact in zip(plan.outputs, in_whole, strict=True):
        by_count = 2 if output.formula.measures & {*selected} else 1
        own = len(rows) if not selected and sorted_alone(plan, output.formula, spreads) else 0
        counts.append(by_count * among(output.formula, cells, len(keys), rows_chosen=rows_chosen, own=own))
        estimate = output.formula.of(replace(cells, within=reach(0.95, heavy, counts[-1])))
        # their values are the same, however far noise reaches
        plain = isinstance(output.formula, (Linear, Mean))
        values = estimate.value if plain else as_it_reads(output.formula, cells)
        columns.append([_shown(output, value) for value in values[rows].tolist()])
        told = estimate.noisy and not output.picked and output.kind != "boolean"
        spread = deviation_of(output, estimate, spreads, steps, whole=bool(exact)) if told else None
        deviations.append(None if spread is None else spread[rows].tolist())
        far.append(None if spread is None else farthest(output.formula, values[rows]))
    return Finished(
        tuple(output.name for output in plan.outputs),
        tuple(output.kind for output in plan.outputs),
        tuple(columns),
        tuple(deviations),
        tuple(counts),
        tuple(least if selected and is_count(output.formula, selected) else None for output in plan.outputs),
        tuple(in_whole),
        tuple(far),
    )


def in_whole_numbers(plan: Plan, output: OutputPlan, cells: Cells, selected: Sequence[int] = ()) -> int:
    """Whether an output and its noise are whole numbers, or are rounded to them: 0, ONE, SEVERAL or SHARED.

    A count, the bins of a histogram; sums and differences of counts, and totals of them over the rows of an answer.
    """
    if isinstance(output.formula, MapFormula):
        return ONE
    formula: Formula | None = output.formula
    if isinstance(formula, Summed):
        totals = used_totals(formula)
        plain = _unit_terms(formula.inside) and not cells.chosen
        formula = totals[0].argument if plain and [each.function for each in totals] == ["sum"] else None
    if output.kind != "integer" or formula is None or not _unit_terms(formula) or formula.measures & {*selected}:
        return 0
    bundled = {place for each in plan.bundles for place in each.places}
    levelled = {place for place in formula.measures if plan.measures[place].levels is not None}
    if formula.measures & (bundled | levelled):
        return SHARED
    alone = isinstance(formula, Linear) and len(formula.terms) == 1 and formula is output.formula
    return ONE if alone else SEVERAL


def _unit_terms(formula: Formula) -> bool:
    """Whether it only adds up or subtracts measures."""
    return isinstance(formula, Linear) and bool(formula.terms) and all(abs(factor) == 1 for _, factor in formula.terms)


def deviation_of(
    output: OutputPlan, estimate: Estimate, spreads: Sequence[float | Floats], steps: Sequence[float], *, whole: bool
) -> Floats:
    """The deviation that is stated for an output, with half a step where its noise is not in whole numbers.

    `steps` are the `noise_steps` of the plan.
    """
    spread = estimate.deviation(spreads)
    if whole:
        return spread
    largest = np.asarray(largest_step(estimate.steps or estimate.slopes, steps))
    if output.kind == "integer":  # rounded up, an interval has a step of 1 more already
        largest = np.where(largest > 1, largest, 0.0)
    return np.asarray(spread + HALF_A_STEP * largest)


def noise_steps(plan: Plan) -> list[float]:
    """For each measure the largest step of its noise; for measures released together, that of the parts' noises."""
    steps = [1.0] * len(plan.measures)
    for each in plan.bundles:
        for place, row in zip(each.places, each.matrix, strict=True):
            steps[place] = as_float(max(map(abs, row)))
    return steps


def _kept(condition: Formula | None, cells: Cells, size: int | None = None) -> list[int]:
    if condition is None:
        return list(range(cells.size if size is None else size))
    return [int(row) for row in np.flatnonzero(condition.of(cells).value == 1.0)]


def _sorted(plan: Plan, cells: Cells, rows: list[int]) -> list[int]:
    # sorted by the last criterion first: the sort is stable
    for formula, descending, nulls_first in reversed(plan.order):
        values = as_it_reads(formula, cells)
        present = [row for row in rows if not _missing(values[row])]
        absent = [row for row in rows if _missing(values[row])]
        present.sort(key=lambda row: values[row], reverse=descending)
        rows = absent + present if nulls_first else present + absent
    return rows


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _shown(output: OutputPlan, value: Any) -> Any:
    if _missing(value):
        return None
    if isinstance(value, tuple):
        return tuple(_of_kind(output.kind.removesuffix("[]"), item) for item in value)
    if isinstance(value, dict):
        return {label: as_whole(number) for label, number in value.items()}
    return _of_kind(output.kind, value)


def _of_kind(kind: str, value: Any) -> Any:
    if kind == "boolean":
        return bool(value)
    if not isinstance(value, (float, int, Fraction)):
        return value
    return as_whole(value) if kind == "integer" else as_real(value)
