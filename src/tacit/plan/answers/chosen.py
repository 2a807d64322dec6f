"""Values that their own noise chose: the greatest of many, the first rows of a sorted answer, rows that HAVING kept.

If one of many noisy numbers is shown because it is the greatest, its noise was probably large, so an interval made for
a number that was named beforehand covers it too seldom.

Theorem. Let each of m noisy values be off by at most q deviations with probability at least 1 - a/m. With probability
at least 1 - a all of them are, and then
    whichever of them is shown, and whatever chose it, is off by at most q of its deviations;
    max x_i is off by at most max(q d_top, max(x_i + q d_i) - max x_i), as the greatest true value, and as the true
    value of the cell that has it; so is the least, turned round;
    a sum of values that noise chose is off by at most q times the sum of their deviations.
So `among` = m is kept with such values, and their intervals are made for 1 - a/m (`reach`). Nothing is assumed about
how noises depend on each other.

Theorem (places in the order). Let m values x_i = t_i + Z_i be sorted by themselves, every Z_i above q with probability
at most p, and below -q likewise. Of the values at k places that follow each other, none is off by more than q, but with
probability at most (m + k) p.
Proof. Let x_j stand at place r from the top, and T be the r greatest true values. If Z_j < -q, some i in T has
Z_i < -q: j itself, if it is in T; else one of the r members of T does not stand before j, and x_i <= x_j < t_j - q <=
t_i - q. The T of the places o + 1 to o + k lie within each other, so this has probability at most (o + k) p. Turned
round, Z_j > q has at most (m - o) p, with the least true values. Two-sided bounds for all would allow for 2 m p. So
where noise is symmetric and of one deviation, m stands for half of m + k, rounded up. For max x_i with different
deviations, x_top + q d >= x_i + q d_i for the i whose true value is greatest. So it is too low only where that one
noise is, and too high only where one of at most m noises is: the same number, with k = 1.
Where all true values are equal the bound is reached, up to the product of two events. Where they lie far apart, the
first one was never in doubt, and the interval holds more often than it says. Which case holds is private.

Theorem (keys that are not known). A noisy count x = n + X with X Laplace of scale b is shown where x > k. If n <= k,
P(X >= x - n | shown) = exp(-(x - k)/b), whatever n is; if n > k it is at most that of X >= x - n times 2. So with
w = b ln(2/a), the interval x +/- w, and from 0 where x - k < w, misses the exact count of a key that is shown with
probability at most a: above at most a/2, and below at most a/2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.plan.answers.applied import Extreme
from tacit.plan.answers.cases import Choice
from tacit.plan.answers.conditions import comparisons
from tacit.plan.answers.formulas import Cells, Floats, Formula, KeyFormula, Linear, Mean
from tacit.plan.answers.summaries import Summed, Total
from tacit.plan.answers.windows import RANKS, Window

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


ONE, SEVERAL, SHARED = 1, 2, 3
"""Which noise a whole number has: of one measure; of several, added up; or fractions of such noises, rounded."""


ROWS_BY_NOISE = (
    "Noisy values decide which rows are shown: +/- holds for all rows that could be shown at once, "
    "and nothing is said about the others"
)
"""The note of an answer whose rows noise chose."""


def reach(level: float, heavy_tailed: bool, among: int = 1) -> float:
    """How many standard deviations hold this share of the noise, or of `among` noises all at once."""
    missing = (1 - level) / among
    normal = -NormalDist().inv_cdf(missing / 2)
    return max(normal, -math.log(missing) / math.sqrt(2)) if heavy_tailed else normal


def whole_reach(
    deviation: float, level: float, heavy_tailed: bool, among: int = 1, *, several: bool = False, shared: bool = False
) -> float:
    """How far off one noise in whole numbers of this deviation is at most: the least whole number that holds.

    Theorem. 0, where the variance is at most the probability m that may be missed: noise that is not 0 is 1 or more in
    size, so its probability is at most the variance, whatever the law.
    The discrete Laplace law of the ratio a has P(|X| > k) = 2 a**(k + 1)/(1 + a) and the variance 2 a/(1 - a)**2; so k
    is the least whole number of at least ln(m (1 + a)/2)/ln(a) - 1.
    The discrete Gaussian law, whose sigma `deviation` is: k steps have about the mass of the normal law from k - 1/2 to
    k + 1/2, so k holds what the normal law holds up to k + 1/2, and ceil(q d - 1/2) holds the level; below a deviation
    of 1 its few points are summed up as well, and the larger of the two is taken.
    Several such noises added up (`several`): their sum lies between the law of one of them and the normal law, so
    ceil(q d - 1/2) holds with the larger q of the two; below a deviation of 1, ceil(q d).
    Several noises in fractions (`shared`: a count that is released together with a sum is the sum of two noises over
    the width W), rounded to the nearest whole number: it is off by more than k only if the noise is k + 1/2 or more in
    size, which has probability at most 4 d**2 for k = 0 (Chebyshev). On steps of 1/W, k + 1/2 itself is a step where W
    is even, and has the mass from 1/(2 W) before it on: a quarter of a whole step for W = 2, and less for others. So
    ceil(q d - 1/4) holds, and below a deviation of 1, ceil(q d).
    All of it is summed up point by point in `tests/plan/answers/test_chosen.py`.
    """
    allowed = (1 - level) / among
    if (4 if shared else 1) * deviation**2 <= allowed:
        return 0
    if not math.isfinite(deviation):
        return math.inf
    far = reach(level, heavy_tailed, among) * deviation
    rounded = math.ceil(far - (0.25 if shared else 0.5))
    if (several or shared) and deviation < 1:
        rounded = math.ceil(far)
    if heavy_tailed:
        variance = deviation**2
        ratio = variance / (variance + 1 + math.sqrt(2 * variance + 1))  # of 2 a/(1 - a)**2 = variance
        # the last term: the error of floats where a is near 1
        single = max(0, math.ceil(math.log(allowed * (1 + ratio) / 2) / math.log(ratio) - 1 - 1e-9))
        return max(single, rounded) if several or shared else single
    return rounded if deviation >= 1 else max(rounded, _summed_up(deviation, allowed))


def _summed_up(sigma: float, allowed: float) -> int:
    """The least k that the discrete Gaussian law of a sigma below 1 exceeds with at most this probability."""
    weights = [math.exp(-((k / sigma) ** 2) / 2) for k in range(1, 40)]
    whole, tail, k = 1 + 2 * sum(weights), 2 * sum(weights), 0
    while tail > allowed * whole * (1 - 1e-9) and k < len(weights):
        tail, k = 2 * sum(weights[k + 1 :]), k + 1
    return k


def rows_by_noise(plan: Plan) -> bool:
    """Whether noisy values decide which rows are shown, apart from LIMIT."""
    conditions = [plan.having, plan.qualify, None if plan.summary is None else plan.summary.having]
    return any(each is not None and each.measures for each in conditions)


def order_by_noise(plan: Plan) -> bool:
    """Whether noisy values decide which rows come first."""
    return any(formula.measures for formula, _, _ in plan.order)


def placed(everything: int, shown: int = 1) -> int:
    """The m of the theorem above for this many values, where some are shown at their own places among them."""
    return (everything + shown + 1) // 2


def sorted_alone(plan: Plan, formula: Formula, spreads: Sequence[float | Floats]) -> bool:
    """Whether LIMIT chose its rows by this column alone, and its noise is symmetric and the same in all cells."""
    if rows_by_noise(plan) or plan.summary is not None or not isinstance(formula, Linear) or not plan.order:
        return False
    alike = all(np.ptp(np.asarray(spreads[measure])) == 0 for measure in formula.measures)
    return alike and bool(formula.measures) and plan.order[0][0] == formula


def among(formula: Formula, cells: Cells, everything: int, *, rows_chosen: bool, own: int = 0) -> int:
    """The number of noisy values among which noise chose those of this column; 1 where it chose none.

    `own`: how many rows are shown that were chosen by the places of these very values (`sorted_alone`), if they were.
    """
    if not formula.measures:
        return 1
    if rows_chosen and own:
        return placed(everything, own)
    local, times = everything if rows_chosen else 1, 1
    for part in _parts(formula):
        if isinstance(part, Extreme):
            times *= max(1, sum(bool(each.measures) for each in part.parts))
        elif isinstance(part, Choice) and any(each.measures for each in part.conditions):
            noisy = sum(bool(each.measures) for each in part.values) + sum(map(comparisons, part.conditions))
            noisy = noisy if part is formula else max(2, noisy)  # chosen together with the rest
            local, times = everything, times * noisy
        elif isinstance(part, Window):
            local = max(local, _in_window(part, cells, everything))
        elif isinstance(part, Summed):
            local = max(local, _in_totals(part, cells, everything))
    return max(1, local) * times


def _in_window(window: Window, cells: Cells, everything: int) -> int:
    if window.function in RANKS or window.argument is None or not window.argument.measures:
        return 1
    if cells.chosen or window.by_noise:
        return everything
    return cells.size if window.function in ("min", "max") else 1


def _in_totals(summed: Summed, cells: Cells, everything: int) -> int:
    noisy = [total for total in used_totals(summed) if total.measures and total.function != "count"]
    if noisy and cells.chosen:
        return everything
    extremes = [total for total in noisy if total.function in ("min", "max")]
    if not extremes:
        return 1
    largest = max((len(rows) for rows in summed.grouping.of(cells)[0]), default=1)
    if len(noisy) == 1 and isinstance(noisy[0].argument, Linear) and isinstance(summed.inside, Linear):
        return placed(largest)  # of symmetric noise
    return largest * len(extremes) + (len(noisy) > len(extremes))


def used_totals(summed: Summed) -> list[Total]:
    """The totals that a column is computed from."""
    return [summed.totals[place] for place in sorted(summed.inside.measures)]


def _parts(formula: Any) -> Iterator[Any]:
    """The formula and everything it is made of."""
    yield formula
    if type(formula) in _WITHOUT_PARTS:
        return
    if isinstance(formula, Summed):  # which holds the totals of all columns
        for part in (formula.inside, *used_totals(formula)):
            yield from _parts(part)
    elif is_dataclass(formula) and not isinstance(formula, type):
        for each in fields(formula):
            value = getattr(formula, each.name)
            for part in value if isinstance(value, tuple) else (value,):
                if is_dataclass(part) and not isinstance(part, type):
                    yield from _parts(part)


_WITHOUT_PARTS = frozenset({Linear, Mean, KeyFormula})
"""Most formulas, which have only numbers and places."""


def is_count(formula: Formula, measures: Sequence[int]) -> bool:
    """Whether a column is one of these counts itself."""
    if not isinstance(formula, Linear) or len(formula.terms) != 1:
        return False
    measure, factor = formula.terms[0]
    return measure in measures and factor == 1


def unsure(noisy: Floats, least: int, deviation: float) -> Floats:
    """The deviations of counts by which keys were shown: for a count that barely passed, nothing is known below."""
    most = reach(0.95, True, 2)
    return np.where(noisy - least < most * deviation, np.maximum(deviation, noisy / most), deviation)


def is_chosen(formula: Formula) -> bool:
    """Whether noise can decide which of several noisy values a column shows, whatever the rows are."""
    return any(_chooses(part) for part in _parts(formula))


def _chooses(part: Any) -> bool:
    if isinstance(part, Extreme):
        return sum(bool(each.measures) for each in part.parts) > 1
    if isinstance(part, Choice):
        return any(each.measures for each in part.conditions) and any(each.measures for each in part.values)
    if isinstance(part, Window):
        noisy = part.function not in RANKS and part.argument is not None and bool(part.argument.measures)
        return noisy and (part.by_noise or part.function in ("min", "max"))
    return isinstance(part, Total) and part.function in ("min", "max") and bool(part.measures)


def is_place(formula: Formula) -> bool:
    """Whether a column is a place in an order, or a number of rows, that noise decides."""
    if isinstance(formula, Window):
        return bool(formula.measures) and formula.function in (*RANKS, "percent_rank", "cume_dist")
    if isinstance(formula, Summed):
        totals = used_totals(formula)
        return bool(totals) and all(each.function == "count" for each in totals)
    return False


def picked(formula: Formula, keys: int) -> bool:
    """Whether a picked value (such as a quantile) is part of it; places below `keys` are those of keys."""
    return any(isinstance(part, KeyFormula) and part.place >= keys for part in _parts(formula))
