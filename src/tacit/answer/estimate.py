"""What a question will cost and how far its columns will be off, before anything is spent; and why, and what to change.

Promise: made from plans alone, which read no row. The changes that `reasons` names were planned, not guessed.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit import parameters
from tacit.answer.pages import fragment
from tacit.answer.shown import as_decimal, in_html, readable
from tacit.loss import compose
from tacit.plan import Plan, UnitedPlan
from tacit.plan.answers.expected import made_up
from tacit.plan.picks.words import off_by
from tacit.plan.plan import Expected, Measure

EXAMPLES = (100, 1_000, 10_000)
"""Numbers of rows in a cell for which an error is given where the asker named none."""
_KINDS = {
    "count_rows": "count of rows",
    "count": "count of values",
    "count_units": "count of units",
    "count_some_units": "count of units",
    "sum": "sum",
    "histogram": "count in each bin",
}


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """Prints as a small table. `share` is the part of the whole budget that it would take, None where unknown.

    >>> print(clinic.estimate("SELECT count(*) AS n FROM visits", "0.1"))
    Would cost epsilon 0.1, 2 % of the whole budget.
    n: +/- 60 (95 of 100 times)
    """

    plan: Plan | UnitedPlan
    errors: tuple[Expected, ...]
    share: Fraction | None = None

    @property
    def epsilon(self) -> Fraction:
        """The epsilon asked for, or the epsilon that the rho asked for is worth."""
        return worth(self.plan)

    @property
    def cost(self) -> str:
        """What it would cost, as a sentence."""
        delta = f", delta {as_decimal(self.plan.delta)}" if self.plan.delta else ""
        if self.share is None:
            part = ""
        elif self.share > 1:
            part = ", which is more than the whole budget"
        else:
            part = f", {_percent(self.share)} of the whole budget"
        return f"Would cost epsilon {as_decimal(self.epsilon)}{delta}{part}."

    @property
    def picked(self) -> tuple[str, ...]:
        """How far values chosen by rank (quantiles, modes) may be off."""
        return tuple(
            f"{each.columns[0].name}: {off_by(each.mechanism, each.step, each.columns[0].meaning)} (95 of 100 times)"
            for each in self.plan.picks
        )

    @property
    def for_example(self) -> tuple[Expected, ...]:
        """The errors of columns that depend on how many rows a cell has, for some numbers of rows."""
        known = {each.name for each in self.errors}
        wanted = sum(bool(each.formula.measures) and not each.picked for each in self.plan.outputs)
        if len(known) >= wanted:
            return ()
        return tuple(each for rows in EXAMPLES for each in self.plan.errors_at(rows) if each.name not in known)

    @property
    def depending(self) -> tuple[str, ...]:
        """The same in sentences, one for each such column."""
        found: dict[str, list[str]] = {}
        for each in self.for_example:
            found.setdefault(each.name, []).append(f"+/- {each.within_95:.3g} in a cell of {each.rows:,} rows")
        how = "(95 of 100 times, for values spread evenly over their bounds)."
        return tuple(f"{name}: {', '.join(said)} {how}" for name, said in found.items())

    def __str__(self) -> str:
        lines = [f"{each.name}: +/- {each.within_95:.4g} (95 of 100 times){for_which(each)}" for each in self.errors]
        more = [*self.depending, "For another number of rows: estimate(..., rows=...)."] if self.depending else []
        return "\n".join([self.cost, *lines, *self.picked, *more, *(f"{n}." for n in self.plan.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, *rest = str(self).split("\n")
        lines = "".join(f"<p>{in_html(line)}</p>" for line in rest)
        return fragment(f"<p><b>{html.escape(first)}</b></p>{lines}")


def _percent(share: Fraction) -> str:
    """Two digits, rounded up."""
    return f"{readable(parameters.as_text(100 * share), digits=2)} %"


def for_which(expected: Expected) -> str:
    """For which values an error is expected, where it depends on them."""
    if expected.rows is None:
        return ""
    most = "" if expected.at_most_95 is None else f"; at most {expected.at_most_95:.4g} wherever they lie"
    return f" for values spread evenly over their bounds{most}"


def worth(plan: Plan | UnitedPlan) -> Fraction:
    """The epsilon asked for; for a rho, its worth at the delta asked for, rounded up to six decimals."""
    if plan.epsilon is not None:
        return plan.epsilon
    return Fraction(math.ceil(compose([plan.event]).epsilon(plan.delta) * 10**6), 10**6)


def reasons(plan: Plan, rows: int, changes: Iterable[tuple[str, Plan]]) -> str:
    """Why each output is as imprecise as it is, and by how much each change (already planned) would help.

    >>> plan = clinic.plan("SELECT count(*) AS n FROM visits", "0.1")
    >>> print(reasons(plan, 1000, []))
    n is off by +/- 60, 95 of 100 times, in a cell of 1,000 rows.
      100% of its noise is that of the count of rows (one unit can move it by 2).
    """
    alternatives = [(words, {each.name: each.deviation for each in other.errors_at(rows)}) for words, other in changes]
    return "\n".join(
        sentence
        for expected in plan.errors_at(rows)
        for sentence in (*_why(plan, expected, rows), *_helps(expected, alternatives))
    )


def _why(plan: Plan, expected: Expected, rows: int) -> Iterator[str]:
    where = f"in a cell of {rows:,} rows{for_which(expected)}"
    yield f"{expected.name} is off by +/- {expected.within_95:.4g}, 95 of 100 times, {where}."
    output = next(each for each in plan.outputs if each.name == expected.name)
    with np.errstate(all="ignore"):
        slopes = output.formula.of(made_up(plan, rows)).slopes
    with np.errstate(all="ignore"):
        parts = {place: float(np.square(slope[0] * plan.measures[place].deviation)) for place, slope in slopes.items()}
    total = sum(parts.values())
    if total > 0:
        place = max(parts, key=lambda each: parts[each])
        yield f"  {parts[place] / total:.0%} of its noise is that of the {_measure(plan.measures[place])}."


def _measure(measure: Measure) -> str:
    around = f" around {float(measure.centre):.6g}" if measure.centre else ""
    most = measure.l1 if measure.together is None else measure.largest * (measure.l1 // measure.together.size)
    moved = f"one unit can move it by {float(most * measure.step):.6g}"
    bounds = "; bounds half as wide would halve that" if measure.kind == "sum" else ""
    return f"{_KINDS[measure.kind]}{around} ({moved}{bounds})"


def _helps(expected: Expected, alternatives: Iterable[tuple[str, dict[str, float]]]) -> Iterator[str]:
    for words, errors in alternatives:
        after = errors.get(expected.name)
        if after and expected.deviation > 1.05 * after:
            yield f"  {words}: {expected.deviation / after:.1f} times less noise."
