"""Where to look for a composition's privacy loss: the tilt, the window and the grid, planned from Renyi divergences.

A plan decides how tight the answer of `pld` is and what it costs, never whether it is valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.loss.accountants import conversion, discretise, renyi
from tacit.loss.guarantees import basic_sum, guarantee
from tacit.loss.numbers.outward import Floats, float_up
from tacit.loss.simplify import Entries

_ORDERS = 1 + np.geomspace(1e-4, 1e7, 331)
_SMALL = 1e-8  # what truncation and folding may cost, relative to the delta in question


@dataclass(frozen=True, slots=True)
class Plan:
    """Where to look: the tilt, the highest loss of interest, the circle, the grid, and what may be truncated."""

    tilt: float
    top: float
    circle: float
    step: float  # the pure epsilons lie on multiples of it, or slightly below, where they have a common measure
    step_below: float  # here on multiples, or slightly above
    tail: float
    probes: Floats  # tilts for Chernoff bounds

    @property
    def size(self) -> int:
        return int(2 ** math.ceil(math.log2(self.circle / self.step)))


def for_delta(entries: Entries, delta: float) -> Plan | None:
    """A plan to find epsilon at `delta`; none where no Renyi divergence is finite."""
    divergence, aside = renyi.total(entries, _ORDERS)
    if not np.isfinite(divergence).any() or aside >= 1:
        return None
    found = conversion.epsilons(divergence, _ORDERS, math.log(delta))
    return _plan(entries, divergence, int(np.argmin(found)), float(np.min(found)), math.log(delta))


def for_epsilon(entries: Entries, epsilon: float) -> Plan | None:
    """A plan to find delta at `epsilon`."""
    divergence, aside = renyi.total(entries, _ORDERS)
    if not np.isfinite(divergence).any() or aside >= 1:
        return None
    found = conversion.log_deltas(divergence, _ORDERS, epsilon)
    return _plan(entries, divergence, int(np.argmin(found)), epsilon, max(float(np.min(found)), -650.0))


def _plan(entries: Entries, divergence: Floats, best: int, epsilon: float, log_delta: float) -> Plan:
    gaps = _ORDERS - 1
    moments = gaps * divergence
    tilt = float(gaps[min(best, len(gaps) - 32)])  # some orders of the grid stay above it
    needed = -(log_delta + math.log(_SMALL))
    tops = (moments + needed) / gaps
    top = max(float(np.nanmin(tops)), epsilon)
    # Heavy upper tails want less tilt than the saddle point: any tilt is valid, so take the one with the least circle.
    circles = [
        (_circle(gaps, divergence, part * tilt, epsilon, top, needed), part) for part in (1, 0.8, 0.6, 0.45, 0.3)
    ]
    circle, part = min(circles)
    tilt *= part
    pure = pure_epsilon(entries, 1.0)
    top, circle = min(top, pure), min(circle, 2.2 * pure)
    total = sum(entries.values())
    # The cost of a cell in accuracy grows with the number of releases, its cost in time with the number of kinds.
    cells = 2 ** (14 if total < 16 or len(entries) > 64 else 18 if total >= 64 and len(entries) <= 4 else 16)
    step = _on_atoms(entries, circle / cells)
    steps = discretise.short_binary(step * (1 + 2.0**-28)), discretise.short_binary(step * (1 - 2.0**-28))
    at_top = gaps[int(np.nanargmin(tops))]
    probes = np.concatenate([at_top * np.array([0.75, 1.0, 1.3]), tilt * np.array([1.3, 2.0, 4.0])])
    return Plan(tilt, top, circle, *steps, math.exp(log_delta) * _SMALL / total, probes)


def _circle(gaps: Floats, divergence: Floats, tilt: float, epsilon: float, top: float, needed: float) -> float:
    """Long enough that folding is worth less than exp(-needed), by the Renyi bounds of both tails."""
    higher = gaps > tilt * 1.01
    with np.errstate(invalid="ignore"):
        above = (gaps * (divergence - 0.8 * epsilon) + needed)[higher] / (gaps - tilt)[higher]
    circle = max(float(np.nanmin(above)), 1.5 * (top - epsilon), 1e-300)
    # E exp(-s L) = exp((s - 1) D_s of the swapped pair), s = gaps + 1 the order.
    for _ in range(400):
        low = float(np.nanmin(gaps * divergence + (gaps + 1) * (top - circle)))
        if tilt * circle - min(0.0, low) >= needed:
            break
        circle *= 1.05
    return circle


def _on_atoms(entries: Entries, step: float) -> float:
    """A step not above `step` that divides the pure epsilons, when they have a common measure that is not too fine."""
    common = Fraction(0)
    for event in entries:
        epsilon, _ = guarantee(event)
        if isinstance(epsilon, Fraction) and epsilon:
            scaled = math.gcd(common.numerator * epsilon.denominator, epsilon.numerator * common.denominator)
            common = Fraction(scaled, common.denominator * epsilon.denominator)
    if common < step:
        return step
    return float(common / math.ceil(common / Fraction(step)))


def pure_epsilon(entries: Entries, delta: float) -> float:
    """The sum of the epsilons, where all are finite and the deltas add up to no more than `delta`."""
    pure, told = basic_sum([(*guarantee(event), count) for event, count in entries.items()])
    return float_up(pure) if isinstance(pure, Fraction) and told <= Fraction(max(delta, 0.0)) else math.inf
