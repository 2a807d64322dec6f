"""Zero-concentrated differential privacy: one number, rho, that adds up.

Definition (Bun and Steinke 2016). rho-zCDP: the Renyi divergence of every order a > 1 is at most rho a, both ways.
rho adds under adaptive composition, also when the next mechanism's parameters depend on earlier answers.

rho of the kinds:
- Gaussian and discrete Gaussian noise, any dimension: S^2/(2 sigma^2) (Canonne, Kamath and Steinke 2020).
- Pure epsilon: epsilon tanh(epsilon/2) <= epsilon^2/2. The worst mechanism is randomised response, whose divergence is
  (log cosh((a - 1/2) epsilon) - log cosh(epsilon/2))/(a - 1). With u = a (a - 1), (a - 1/2)^2 = u + 1/4 and
  log cosh(epsilon sqrt(x)) is concave in x, so divergence/a falls with a and its limit at a = 1 is the answer.
- Laplace, t = S/b: t - 1 + exp(-t), the limit at a = 1, by the same argument: exp((a - 1) D_a) is
  exp(-t/2)(cosh(t y) + sinh(t y)/(2 y)), y = a - 1/2; as a function of y^2 it has order 1/2 and only negative zeros
  (those of tan(t s) = -2 s at y^2 = -s^2), so its logarithm is concave in y^2.
- Exponential of range n: n^2/8 (Hoeffding's lemma, twice), or the pure bound where that is less.
- An (epsilon, delta) bound: the pure part's rho, and delta set aside; set-aside deltas add.
- A sample of the data: no more than the whole (joint quasi-convexity), nor than its amplified pure bound.

Conversion: the best order of `conversion`, that is delta <= min over a of exp((a-1)(a rho - epsilon) ...).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch

import numpy as np

from tacit.loss import events
from tacit.loss.accountants import conversion
from tacit.loss.curves.repeated_response import all_told
from tacit.loss.events import Event
from tacit.loss.guarantees import adds_or_removes, guarantee, replaces
from tacit.loss.numbers import outward
from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, float_up, product_up, sum_up, up
from tacit.loss.simplify import Entries, flatten

Cost = tuple[float, float]
"""(rho, delta set aside)."""


def rho_of_pure(epsilon: float) -> float:
    """The least rho that every mechanism with this pure epsilon satisfies."""
    return product_up(epsilon, up(math.tanh(epsilon / 2), outward.ULPS))


@singledispatch
def cost(event: Event) -> Cost:
    """(rho, delta) of one event, rounded up: outside an event of probability delta it is rho-zCDP."""
    epsilon, delta = guarantee(event)
    return (rho_of_pure(float_up(epsilon)) if isinstance(epsilon, Fraction) else math.inf), float_up(delta)


@cost.register
def _(event: events.Concentrated) -> Cost:
    return float_up(event.rho), 0.0


@cost.register
def _(event: events.Gaussian) -> Cost:
    return float_up((event.sensitivity / event.sigma) ** 2 / 2), 0.0


@cost.register
def _(event: events.DiscreteGaussian) -> Cost:
    return float_up(Fraction(math.floor(event.sensitivity**2)) / (2 * event.sigma**2)), 0.0


@cost.register
def _(event: events.Laplace) -> Cost:
    ratio = float_up(event.sensitivity / event.scale)
    exact = sum_up([ratio, outward.expm1_up(-ratio)])
    return min(exact, rho_of_pure(ratio)), 0.0


@cost.register
def _(event: events.Exponential) -> Cost:
    return min(float_up(event.range**2 / 8), rho_of_pure(float_up(event.range))), 0.0


@cost.register
def _(event: events.KeySelection) -> Cost:
    return total(flatten(event, 1))


@cost.register
def _(event: events.PoissonSampled) -> Cost:
    return _of_sample(event, event.event) if not replaces(event.event) else cost(event.event)


@cost.register(events.SampledWithoutReplacement)
@cost.register(events.Shuffled)
def _(event: events.SampledWithoutReplacement | events.Shuffled) -> Cost:
    return (math.inf, 0.0) if adds_or_removes(event.event) else _of_sample(event, event.event)


def _of_sample(event: Event, whole: Event) -> Cost:
    epsilon, delta = guarantee(event)
    amplified = (rho_of_pure(float_up(epsilon)) if isinstance(epsilon, Fraction) else math.inf), float_up(delta)
    unsampled = cost(whole)
    # The two set aside different deltas; one may replace the other only where it is smaller in both numbers.
    return amplified if amplified[0] <= unsampled[0] and amplified[1] <= unsampled[1] else unsampled


@cost.register
def _(event: events.Parallel) -> Cost:
    parts = [cost(part) for part in event.parts]
    return max((part[0] for part in parts), default=0.0), max((part[1] for part in parts), default=0.0)


@cost.register(events.Composed)
@cost.register(events.Repeated)
def _(event: Event) -> Cost:
    return total(flatten(event, 1))


@cost.register
def _(event: events.Group) -> Cost:
    leaves = flatten(event, 1)
    if event not in leaves:
        return total(leaves)
    rho, delta = cost(event.event)
    if delta == 0:
        return product_up(float(event.size) ** 2, rho) * (1 + STEP_AT_ONE), 0.0
    pure, told = guarantee(event)
    return (rho_of_pure(float_up(pure)) if isinstance(pure, Fraction) else math.inf), float_up(told)


def total(entries: Entries) -> Cost:
    """Rho summed; the probability that any of the set-aside events happens."""
    costs = [(cost(event), count) for event, count in entries.items() if count]
    rho = sum_up(product_up(float(count), each) for (each, _), count in costs)
    spared = math.fsum(-count * math.log1p(-told) if told < 1 else math.inf for (_, told), count in costs)
    return rho, all_told(-math.expm1(-spared), 1)


def epsilon(entries: Entries, delta: float) -> float:
    """The least epsilon at `delta`, by the best Renyi order."""
    rho, aside = total(entries)
    left = conversion.left_after(aside, delta)
    if left is None:
        return math.inf
    return of_rho(rho, left)


def delta(entries: Entries, epsilon: float) -> float:
    """The least delta at `epsilon`, by the best Renyi order."""
    rho, aside = total(entries)
    inner = float(delta_curve(rho, np.array([max(epsilon, 0.0)]))[0]) if math.isfinite(rho) else 1.0
    return min(1.0, (aside + (1 - aside) * inner) * (1 + 8 * STEP_AT_ONE))


def of_rho(rho: float, delta: float) -> float:
    """The epsilon of rho-zCDP at `delta`, rounded up."""
    if rho == 0:
        return 0.0
    if not math.isfinite(rho) or delta <= 0:
        return math.inf
    if delta >= 1:
        return 0.0
    # Around the order of the simple bound rho + 2 sqrt(rho log(1/delta)).
    centre = max(math.sqrt(-math.log(delta) / rho), 1e-3)
    gaps = centre * np.geomspace(0.05, 20.0, 257)
    for _ in range(6):
        found = conversion.epsilons(rho * (1 + gaps) * (1 + 4 * STEP_AT_ONE), 1 + gaps, math.log(delta))
        best = int(np.argmin(found))
        gaps = np.geomspace(gaps[max(best - 1, 0)], gaps[min(best + 1, 256)], 257)
    return float(np.min(found))


def delta_curve(rho: float, epsilons: Floats) -> Floats:
    """delta of rho-zCDP at each epsilon >= 0, rounded up; also at most the total variation sqrt(rho/2) (Pinsker)."""
    if rho == 0:
        return np.zeros_like(epsilons)
    # The exponent (a-1)(a rho - eps) + (a-1) log(1 - 1/a) - log a is convex in a, with derivative
    # (2 a - 1) rho - eps + log(1 - 1/a): bisect on log(a - 1).
    low, high = np.full_like(epsilons, -50.0), np.full_like(epsilons, 60.0)
    for _ in range(52):
        middle = (low + high) / 2
        gap = np.exp(middle)
        slope = (2 * gap + 1) * rho - epsilons - np.log1p(1 / gap)
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    order = 1 + np.maximum(np.exp(high), 1e-6)
    logs = conversion.log_deltas(rho * order * (1 + 4 * STEP_AT_ONE), order, epsilons)
    variation = math.sqrt(rho / 2) * (1 + 4 * STEP_AT_ONE)
    with np.errstate(under="ignore"):
        return np.minimum(np.minimum(np.exp(logs) * (1 + 16 * STEP_AT_ONE) + 1e-300, variation), 1.0)
