"""How far outputs will be off, before anything is spent: the same formulas, on a made-up cell.

The made-up cell has a number of rows that the asker names, its values spread evenly over their bounds.
Sums and counts are off by the same amount in every cell; means and variances are off by less where there are more rows,
and by more where the values lie away from the middle of their bounds (the noise of the count then matters too). How
much more at most is found from extreme cells: all rows at one value, or at two, from bound to bound.

A root is off by no more than the root of its argument's error: |sqrt(v + e) - sqrt(v)| <= sqrt(|e|). That bounds it
where the variance is zero and the slope has no bound.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from tacit.mechanisms import Gaussian, KeySelection, Laplace
from tacit.plan.answers.chosen import (
    SEVERAL,
    SHARED,
    among,
    order_by_noise,
    reach,
    rows_by_noise,
    sorted_alone,
    whole_reach,
)
from tacit.plan.answers.farthest import range_of
from tacit.plan.answers.finish import deviation_of, in_whole_numbers, noise_steps
from tacit.plan.answers.floats import as_float
from tacit.plan.answers.formulas import Cells, Floats, Formula, Linear, Mean, Variance
from tacit.plan.answers.nested import MapFormula
from tacit.plan.answers.roots import Root
from tacit.plan.columns import read_key
from tacit.plan.plan import Expected, KnownKeys, Measure, OutputPlan, Plan
from tacit.plan.together import Shape

_STEPS = tuple(Fraction(step, 4) for step in range(-4, 5))  # from one bound to the other
_EXTREMES = tuple(
    (mean, mean * mean + apart * (1 - mean * mean))
    for mean in _STEPS
    for apart in (Fraction(0), Fraction(1, 2), Fraction(1))
)
"""The mean of the values and of their squares, between -1 and 1: all rows at one value, or at two."""
_NORMAL_95 = NormalDist().inv_cdf(0.975)


@np.errstate(all="ignore")
def expected_errors(plan: Plan, rows: int | None) -> tuple[Expected, ...]:
    """One for each output that is noisy; without `rows`, outputs that depend on it have a deviation of infinity."""
    deviations, steps = [measure.deviation for measure in plan.measures], noise_steps(plan)
    found = []
    cells: Cells | None = None
    for output in plan.outputs:
        if not output.formula.measures or output.picked:
            continue
        if plan.summary is not None and not isinstance(plan.keys, KnownKeys):
            continue  # how many rows are added up is not known beforehand
        fixed = isinstance(output.formula, (Linear, MapFormula))
        if not fixed and rows is None:
            continue
        cells = made_up(plan, rows or 1) if cells is None else cells
        plain = output.kind == "integer" or len(output.formula.measures) != 1 or plan.summary is not None
        spread = float(deviation_of(output, output.formula.of(cells), deviations, steps, whole=plain)[0])
        many = _candidates(plan, output.formula, cells)
        told = _told_95(plan, output, cells, deviations, steps, many)
        if told is None:
            continue  # it is shown without +/-
        straight = _within_95(plan, output.formula, spread, many)
        within = max(straight, told)
        most = within if fixed else _at_most_95(plan, output.formula, rows or 1, deviations, many)
        if not fixed and most is not None and 0 < straight < math.inf:
            most = max(most * (within / straight), within)  # bends and steps add nearly as much elsewhere
        ends = range_of(output.formula)
        if ends is not None:  # nothing is off by more than from one end to the other
            within, most = min(within, ends[1] - ends[0]), None if most is None else min(most, ends[1] - ends[0])
        found.append(Expected(output.name, None if fixed else rows, spread, within, most))
    return tuple(found)


def _told_95(
    plan: Plan, output: OutputPlan, cells: Cells, deviations: list[float], steps: list[float], many: int
) -> float | None:
    """What the answer would state for such a cell, with bends and half steps; None where it states nothing."""
    heavy = not all(isinstance(each.mechanism, Gaussian) for each in plan.measures)
    far = reach(0.95, heavy, many)
    estimate = output.formula.of(replace(cells, within=far, steps=steps))
    if not estimate.noisy or output.kind == "boolean":
        return None
    kept = in_whole_numbers(plan, output, cells)
    spread = float(deviation_of(output, estimate, deviations, steps, whole=bool(kept))[0])
    if not kept or not math.isfinite(spread):
        return far * spread
    return float(whole_reach(spread, 0.95, heavy, many, several=kept == SEVERAL, shared=kept == SHARED))


def _at_most_95(plan: Plan, formula: Formula, rows: int, deviations: list[float], many: int) -> float | None:
    """A size that 95 of 100 errors stay below, wherever the values lie between their bounds."""
    if isinstance(formula, Root):
        inside = _at_most_95(plan, formula.inside, rows, deviations, many)
        return None if inside is None else math.sqrt(inside)
    if not isinstance(formula, (Mean, Variance)):
        return None
    sums = [_extreme_sums(each.typical, each.shape, rows) for each in plan.measures]
    cells = Cells(len(_EXTREMES), sums, [[None] * len(_EXTREMES) for _ in plan.shown_columns])
    spreads = formula.of(cells).deviation(deviations)
    return _within_95(plan, formula, max(0.0, *(float(spread) for spread in spreads)), many)


@lru_cache(maxsize=1_024)
def _extreme_sums(typical: Fraction, shape: Shape | None, rows: int) -> Floats:
    """What this many rows add to a measure, in cells of each extreme kind. `typical` is what a row adds by itself."""
    means = [typical if shape is None else shape.mean(first, second) for first, second in _EXTREMES]
    found = np.array([float(rows * mean) for mean in means])
    found.flags.writeable = False
    return found


def made_up(plan: Plan, rows: int) -> Cells:
    """The made-up cell."""
    if plan.summary is not None and isinstance(plan.keys, KnownKeys):
        return _all_cells(plan, plan.keys, rows)
    sums = [np.full(_shape(measure), as_float(rows * measure.typical)) for measure in plan.measures]
    spreads = [measure.deviation for measure in plan.measures]
    return Cells(1, sums, [[None] for _ in plan.shown_columns], spreads=spreads)


def _shape(measure: Measure) -> tuple[int, ...]:
    return (1,) if measure.bins is None else (1, len(measure.bins.values))


def _all_cells(plan: Plan, keys: KnownKeys, rows: int) -> Cells:
    """All cells are made up: a sum of several of them is as far off as they are together."""
    cells = len(keys.cells)
    sums = [np.full(cells, as_float(rows * measure.typical)) for measure in plan.measures]
    shown = [[read_key(column, cell[place]) for cell in keys.cells] for place, column in enumerate(keys.columns)]
    spreads = [measure.deviation for measure in plan.measures]
    return Cells(cells, sums, [*shown, *([None] * cells for _ in plan.shown_columns[len(shown) :])], spreads=spreads)


def _candidates(plan: Plan, formula: Formula, cells: Cells) -> int:
    """The number of noisy values among which noise will choose the shown ones, as far as it is known beforehand."""
    everything = len(plan.keys.cells) if isinstance(plan.keys, KnownKeys) else 1
    cut = (plan.limit is not None and plan.limit < everything) or plan.offset > 0
    rows_chosen = rows_by_noise(plan) or (cut and order_by_noise(plan))
    most = everything if plan.limit is None else min(plan.limit, everything)
    own = most if sorted_alone(plan, formula, cells.spreads) else 0
    chosen = replace(cells, chosen=True) if rows_by_noise(plan) else cells
    return among(formula, chosen, everything, rows_chosen=rows_chosen, own=own)


def _within_95(plan: Plan, formula: object, spread: float, many: int) -> float:
    """A size that 95 of 100 errors stay below: exact for one measure alone, by the normal law for several."""
    if many > 1:
        return spread * reach(0.95, not all(isinstance(each.mechanism, Gaussian) for each in plan.measures), many)
    alone = isinstance(formula, Linear) and len(formula.terms) == 1
    if isinstance(formula, Linear) and alone and plan.measures[formula.terms[0][0]].together is None:
        place, factor = formula.terms[0]
        return _error_95(plan.measures[place].mechanism) * abs(as_float(factor))
    if isinstance(formula, MapFormula):
        return _error_95(plan.measures[formula.measure].mechanism)
    several = len(plan.measures) > 1 and not all(isinstance(each.mechanism, Gaussian) for each in plan.measures)
    # a sum of a few Laplace numbers has heavier tails than the normal law: ln(20)/sqrt 2 = 2.12 deviations at the most
    return spread * (2.1184 if several else _NORMAL_95)


@lru_cache(maxsize=1_024)
def _error_95(mechanism: Laplace | Gaussian | KeySelection) -> float:
    """The exact size that 95 of 100 errors of one noisy number stay below. Many questions have the same noise."""
    return as_float(mechanism.error("0.95"))
