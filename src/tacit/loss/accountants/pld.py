"""Privacy-loss distributions: the composition itself, on a grid, bracketed from above and from below.

Theorem (Zhu, Dong and Wang 2022). If every event's curve lies below the curve of a pair (P, Q) at all real epsilon, the
adaptive composition of the events lies below that of the product pairs. So each event's curve (`event_curve`) is put on
one grid from above (`discretise`), the measures are composed by a tilted Fourier transform (`lattice`), and what was
truncated, folded or rounded is added: `epsilon` and `delta` are rigorous upper bounds. The same from below gives
`epsilon_lower`: what some releases described by the events do lose (`attained`). For added noise in
one dimension, pure and (epsilon, delta) bounds, randomised response, and their Poisson samples the two ends are within
parts in a million of each other. Parameters must be fixed in advance: a tight total is not a stopping rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.loss import events
from tacit.loss.accountants import discretise, lattice, planning, zcdp
from tacit.loss.accountants.discretise import Measure
from tacit.loss.accountants.event_curve import is_symmetric
from tacit.loss.accountants.planning import Plan, pure_epsilon
from tacit.loss.curves.directions import Direction
from tacit.loss.events import Event
from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, log_up, up
from tacit.loss.numbers.rounding import sqrt_up
from tacit.loss.simplify import Entries

Discretiser = Callable[[Event, float, Direction, float], Measure]


def epsilon(entries: Entries, delta: float) -> float:
    """An upper bound of the least epsilon at `delta`."""
    merged = _merged(entries)
    known = pure_epsilon(merged, delta)
    if known == 0 or delta <= 0 or delta >= 1:
        return 0.0 if delta >= 1 else known
    plan = planning.for_delta(merged, delta)
    if plan is None:
        return known
    return min(known, max(_Upper.of(merged, plan, side).epsilon(delta) for side in _sides(merged)))


def delta(entries: Entries, epsilon: float) -> float:
    """An upper bound of the least delta at `epsilon` >= 0."""
    merged = _merged(entries)
    if pure_epsilon(merged, 1.0) <= epsilon:
        return zcdp.total(merged)[1]  # all that is left is what was told outright
    plan = planning.for_epsilon(merged, max(epsilon, 0.0))
    if plan is None:
        return 1.0
    return max(_Upper.of(merged, plan, side).delta(max(epsilon, 0.0)) for side in _sides(merged))


def epsilon_lower(entries: Entries, delta: float) -> float:
    """What some releases described by the entries lose at `delta`: a lower bound of every sound epsilon."""
    merged = _merged(entries)
    plan = planning.for_delta(merged, delta) if merged and 0 < delta < 1 else None
    if plan is None:
        return 0.0
    return max(_Lower.of(merged, plan, side).epsilon(delta) for side in _sides(merged))


def delta_curve(entries: Entries, epsilons: Floats, direction: Direction) -> Floats:
    """Upper bounds of delta at many epsilons >= 0, in one direction: the lowest of three tilts."""
    merged = _merged(entries)
    best = np.ones_like(epsilons)
    for target in (1e-1, 1e-4, 1e-10):
        plan = planning.for_delta(merged, target)
        if plan is not None:
            best = np.minimum(best, _Upper.of(merged, plan, direction).deltas(epsilons))
    return best


def _sides(entries: Entries) -> tuple[Direction, ...]:
    return ("remove",) if all(is_symmetric(event) for event in entries) else ("remove", "add")


def _merged(entries: Entries) -> dict[Event, int]:
    """The entries with all Gaussian noise in one: squared sensitivities in standard deviations add."""
    rest = {event: count for event, count in entries.items() if count and not isinstance(event, events.Gaussian)}
    squared = sum(
        (
            count * (event.sensitivity / event.sigma) ** 2
            for event, count in entries.items()
            if isinstance(event, events.Gaussian)
        ),
        start=Fraction(0),
    )
    return {events.Gaussian(sqrt_up(squared), Fraction(1)): 1, **rest} if squared else rest


@dataclass(frozen=True, slots=True)
class _Upper:
    """One direction's composition from above; `fixed` is what lies on infinity or above the top."""

    composed: lattice.Composition
    top: int
    fixed: float

    @classmethod
    def of(cls, entries: Entries, plan: Plan, side: Direction) -> _Upper:
        parts = _parts(entries, plan.step, plan.tail, side, discretise.from_above)
        top = _top(parts, plan)
        above = lattice.Tails.of(parts, plan.probes).above(top * plan.step) if top < lattice.highest(parts) else 0.0
        return cls(lattice.compose(parts, plan.tilt, plan.size), top, lattice.infinite_mass(parts) + above)

    def delta(self, epsilon: float) -> float:
        value, error = self.composed.delta(epsilon, self.top)
        return min(1.0, (value + error + self.fixed) * (1 + 16 * STEP_AT_ONE))

    def deltas(self, epsilons: Floats) -> Floats:
        """At many epsilons, by running sums."""
        composed, step = self.composed, self.composed.step
        if not math.isfinite(composed.relative):
            return np.ones_like(epsilons)
        # Below the lowest the circle is too short to tell, or the tilt is of no use.
        out_of_reach = (composed.log_scale - 300) / (composed.tilt * step)
        lowest = min(max(0, self.top + 1 - len(composed.cells), math.ceil(out_of_reach)), self.top)
        index = np.arange(lowest, self.top + 1)
        losses = step * index
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            weights = np.exp(composed.log_scale - composed.tilt * losses)
            mass = np.maximum(composed.cells[(index - composed.first) % len(composed.cells)], 0.0) * weights
            first = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
            second = np.append(np.cumsum((mass * np.exp(-losses))[::-1])[::-1], 0.0)
            start = np.clip(np.floor(epsilons / step).astype(np.int64) + 1 - lowest, 0, len(index))
            lost = np.exp(np.minimum(epsilons, 700.0)) * second[start]
            spread = np.append(weights, 0.0)[start] / math.sqrt(-math.expm1(-2 * composed.tilt * step))
            value = first[start] - lost + (composed.relative + 8 * len(index) * STEP_AT_ONE) * (first[start] + lost)
            bound = np.clip((value + spread * composed.error + self.fixed) * (1 + 16 * STEP_AT_ONE), 0.0, 1.0)
        # where a weight overflowed, nothing is known: a bound that is NaN is replaced by 1
        return np.where((epsilons < step * lowest) | np.isnan(bound), 1.0, bound)

    def epsilon(self, delta: float) -> float:
        """The least multiple of the step that meets `delta`, then the root inside the cell below it, verified."""
        if self.fixed >= delta:
            return math.inf
        low, high = -1, self.top
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.delta(middle * self.composed.step) > delta else (low, middle)
        if high == 0:
            return 0.0
        right = high * self.composed.step
        left = low * self.composed.step
        # Inside a cell delta is a straight line in exp(epsilon).
        high_delta, low_delta = self.delta(left), self.delta(right)
        share = (high_delta - delta) / (high_delta - low_delta) if high_delta > low_delta else 1.0
        root = left + log_up(1 + share * math.expm1(right - left))
        while root < right and self.delta(root) > delta:
            root = max(up(root), root + (right - root) / 64)
        return min(root, right)


@dataclass(frozen=True, slots=True)
class _Lower:
    """One direction's composition from below; `told` is the mass on infinity."""

    composed: lattice.Composition
    tails: lattice.Tails
    top: int
    told: float

    @classmethod
    def of(cls, entries: Entries, plan: Plan, side: Direction) -> _Lower:
        parts = _parts(entries, plan.step_below, plan.tail, side, discretise.from_below)
        composed = lattice.compose(parts, plan.tilt, plan.size)
        top = _top(parts, plan)
        return cls(composed, lattice.Tails.of(parts, plan.probes), top, lattice.infinite_mass_down(parts))

    def delta(self, epsilon: float) -> float:
        value, error = self.composed.delta(epsilon, self.top)
        circle, top = len(self.composed.cells) * self.composed.step, self.top * self.composed.step
        folded = self.tails.folded(self.composed.tilt, epsilon, top, circle)
        return max(0.0, (value - error - folded) * (1 - 16 * STEP_AT_ONE)) + self.told

    def epsilon(self, delta: float) -> float:
        """The bound is good near the tilt's own epsilon only, so walk down from the top until it is above `delta`."""
        top = high = low = self.top * self.composed.step
        away = 2.0**-30
        while self.delta(low) <= delta:
            if away > 0.9:
                return 0.0
            high, low, away = low, top * (1 - away), 1.2 * away
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return low


def _parts(entries: Entries, step: float, tail: float, side: Direction, put: Discretiser) -> list[tuple[Measure, int]]:
    return [(put(event, step, side, tail), count) for event, count in entries.items()]


def _top(parts: lattice.Parts, plan: Plan) -> int:
    """The cell of the plan's top, or the highest one where that is hardly further away."""
    planned, highest = math.ceil(plan.top / parts[0][0].step), lattice.highest(parts)
    return highest if highest <= 1.05 * planned + 2 else planned
