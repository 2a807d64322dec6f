"""The privacy curve delta(epsilon) of one event: exact where a formula is known, an upper bound everywhere.

`delta_curve(event, epsilons, direction)` promises, at every real epsilon it is given,

    at least  sup over events E of  P(E) - exp(epsilon) Q(E)

for all neighbours of the event's relation; in direction "remove" P is the output with the unit and Q without it, in
"add" they are swapped. A curve that is above the true one at all real epsilon belongs to a pair that dominates, so it
may be composed (Zhu, Dong and Wang 2022). Below zero the curve follows from the opposite direction above zero,
delta(-x) = 1 - exp(-x) + exp(-x) delta'(x), so each kind states only epsilon >= 0 (`above`).

- Pure e, and d told outright on top: (exp(e) - exp(x))_+/(1 + exp(e)), then d + (1 - d) of it (Kairouz et al. 2015).
- Randomised response among m: (exp(e) - exp(x))_+/(exp(e) + m - 1).
- Exponential, range n: the loss lies in [t - n, t]. As exp(-loss) has mean 1 and delta is convex in it, the two-point
  loss on the ends is worst: p_t = (exp(n) - exp(t))/(exp(n) - 1) on t. Then delta = max over t of
  p_t (1 - exp(x - t)), at t = (n + x)/2:  (exp(n/2) - exp(x/2))^2/(exp(n) - 1).
- Poisson sampling at rate q turns P into (1-q) Q + q P. Remove: q delta(x0), exp(x) = 1 + q (exp(x0) - 1).
  Add: w delta'(log(exp(x) q/w)), w = 1 - exp(x)(1 - q), and 0 where w <= 0 (Balle et al. 2018; joint convexity over
  the other units' presence).
- Sampling m of n without replacement, replace-one: q delta(x0) with q = m/n.
- A group of k: delta (1 + exp(x/k) + ... + exp((k-1) x/k)) at x/k. Parallel: the largest part. Composition: `pld`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch

import numpy as np

from tacit.loss import events
from tacit.loss.accountants import zcdp
from tacit.loss.curves import discrete_gaussian, gaussian, laplace
from tacit.loss.curves.directions import OTHER, Direction
from tacit.loss.curves.repeated_response import RepeatedResponse, with_delta
from tacit.loss.curves.shuffled_bits import shuffled_bits
from tacit.loss.curves.shuffling import Clones, shuffled
from tacit.loss.events import Event
from tacit.loss.guarantees import adds_or_removes, guarantee, replaces
from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, float_down, float_up
from tacit.loss.simplify import flatten

_ROUND = 1 + 32 * STEP_AT_ONE


def delta_curve(event: Event, epsilons: Floats, direction: Direction = "remove") -> Floats:
    """An upper bound of the privacy curve of `event` at each of `epsilons`, which may be negative."""
    points = np.asarray(epsilons, dtype=np.float64)
    result = np.empty_like(points)
    positive = points >= 0
    with np.errstate(under="ignore", over="ignore", invalid="ignore", divide="ignore"):
        result[positive] = above(event, points[positive], direction)
        if not positive.all():
            mirrored = -points[~positive]
            result[~positive] = -np.expm1(-mirrored) + np.exp(-mirrored) * above(event, mirrored, OTHER[direction])
            result[~positive] *= _ROUND
    # a bound that came out as NaN says nothing, so it is 1
    return np.where(np.isnan(result), 1.0, np.clip(result, 0.0, 1.0))


def is_symmetric(event: Event) -> bool:
    """Whether the two directions are the same."""
    return not adds_or_removes(event)


@singledispatch
def above(event: Event, epsilons: Floats, direction: Direction) -> Floats:
    """The curve at epsilons >= 0."""
    raise TypeError(f"no privacy curve is known for events of kind {event.kind!r}")


def _pure(epsilon: Fraction, epsilons: Floats, others: int = 1) -> Floats:
    top = float_up(epsilon)
    with np.errstate(under="ignore"):
        value = -np.expm1(np.minimum(epsilons - top, 0.0)) / (1 + others * math.exp(-top))
    return np.where(epsilons < top, value * _ROUND, 0.0)


@above.register
def _(event: events.Pure, epsilons: Floats, direction: Direction) -> Floats:
    return _pure(event.epsilon, epsilons)


@above.register
def _(event: events.Approximate, epsilons: Floats, direction: Direction) -> Floats:
    return with_delta(_pure(event.epsilon, epsilons), float_up(event.delta), 1)


@above.register
def _(event: events.RandomizedResponse, epsilons: Floats, direction: Direction) -> Floats:
    return _pure(event.epsilon, epsilons, event.options - 1)


@above.register
def _(event: events.KeySelection, epsilons: Floats, direction: Direction) -> Floats:
    rules = RepeatedResponse.of(float_up(event.epsilon), event.keys_per_unit)
    return with_delta(rules.delta(epsilons), float_up(event.delta), event.keys_per_unit)


@above.register
def _(event: events.Exponential, epsilons: Floats, direction: Direction) -> Floats:
    top = float_up(event.range)
    with np.errstate(under="ignore"):
        root = np.expm1(np.minimum(epsilons - top, 0.0) / 2)
    return root * root / -math.expm1(-top) * _ROUND


@above.register
def _(event: events.Concentrated, epsilons: Floats, direction: Direction) -> Floats:
    return zcdp.delta_curve(float_up(event.rho), epsilons)


@above.register
def _(event: events.Laplace, epsilons: Floats, direction: Direction) -> Floats:
    return laplace.delta_curve(event.sensitivity, event.scale, epsilons)


@above.register
def _(event: events.DiscreteLaplace, epsilons: Floats, direction: Direction) -> Floats:
    return laplace.discrete_delta_curve(event.sensitivity, event.scale, epsilons)


@above.register
def _(event: events.Gaussian, epsilons: Floats, direction: Direction) -> Floats:
    return gaussian.delta_curve(float_up(event.sensitivity / event.sigma), epsilons)


@above.register
def _(event: events.DiscreteGaussian, epsilons: Floats, direction: Direction) -> Floats:
    exact = discrete_gaussian.delta_curve(event.sensitivity, event.sigma, event.dimensions, epsilons)
    rho = Fraction(math.floor(event.sensitivity**2)) / (2 * event.sigma**2)
    return np.minimum(exact, zcdp.delta_curve(float_up(rho), epsilons))


@above.register
def _(event: events.PoissonSampled, epsilons: Floats, direction: Direction) -> Floats:
    if replaces(event.event) or event.rate == 1:
        return above(event.event, epsilons, direction)
    if event.rate == 0:
        return np.zeros_like(epsilons)
    rate = float_up(event.rate)
    if direction == "remove":
        return rate * delta_curve(event.event, _before_sampling(epsilons, rate), direction) * _ROUND
    with np.errstate(over="ignore", invalid="ignore"):
        grown, plus = rate * np.exp(epsilons), np.expm1(epsilons)
        weight = grown - plus + 16 * STEP_AT_ONE * (grown + plus)
    inside = np.isfinite(weight) & (weight > 0)
    at, some = epsilons[inside], np.minimum(weight[inside], rate)
    inner = at + np.log(rate) - np.log(some)
    inner -= 16 * STEP_AT_ONE * (at + np.abs(np.log(rate)) + np.abs(np.log(some)))
    result = np.zeros_like(epsilons)
    result[inside] = some * delta_curve(event.event, inner, direction) * _ROUND
    return result


def _before_sampling(epsilons: Floats, rate: float) -> Floats:
    """log(1 + (exp(x) - 1)/rate), rounded down."""
    with np.errstate(over="ignore"):
        small = np.log1p(np.expm1(np.minimum(epsilons, 30.0)) / rate)
        # Beyond 30 the ones no longer matter: log((exp(x) - (1 - q))/q) >= x - log q - 2 exp(-x).
        large = epsilons - math.log(rate) - 2 * np.exp(-np.minimum(epsilons, 700.0))
    return np.where(epsilons < 30, small, large) * (1 - 32 * STEP_AT_ONE)


@above.register
def _(event: events.SampledWithoutReplacement, epsilons: Floats, direction: Direction) -> Floats:
    if adds_or_removes(event.event):
        return np.ones_like(epsilons)
    if event.drawn == 0:
        return np.zeros_like(epsilons)
    rate = float_up(Fraction(event.drawn, event.population))
    return np.minimum(1.0, rate * delta_curve(event.event, _before_sampling(epsilons, rate), direction) * _ROUND)


@above.register
def _(event: events.Shuffled, epsilons: Floats, direction: Direction) -> Floats:
    if adds_or_removes(event.event):
        return np.ones_like(epsilons)
    bounds = [delta_curve(event.event, epsilons, direction)]
    bounds += [shuffled(clones, event.population, epsilons) for clones in _clones(event.event)]
    if isinstance(event.event, events.RandomizedResponse) and event.event.options == 2 and event.event.epsilon <= 50:
        bounds.append(shuffled_bits(float_up(event.event.epsilon), event.population, epsilons))
    return np.asarray(np.min(bounds, axis=0))


@singledispatch
def _clones(event: Event) -> tuple[Clones, ...]:
    """What is known of a local randomiser; nothing where it has no ordinary pure epsilon."""
    epsilon, delta = guarantee(event)
    usable = isinstance(epsilon, Fraction) and delta == 0 and 0 < epsilon <= 50
    return (Clones.of_pure(float_up(Fraction(epsilon))),) if usable else ()


@_clones.register
def _(event: events.RandomizedResponse) -> tuple[Clones, ...]:
    epsilon = float_up(event.epsilon)
    return (Clones.of_response(epsilon, event.options), Clones.of_pure(epsilon)) if epsilon <= 50 else ()


@above.register
def _(event: events.Parallel, epsilons: Floats, direction: Direction) -> Floats:
    parts = [delta_curve(part, epsilons, direction) for part in event.parts]
    return np.max(parts, axis=0) if parts else np.zeros_like(epsilons)


@above.register
def _(event: events.Group, epsilons: Floats, direction: Direction) -> Floats:
    leaves = flatten(event, 1)
    if event not in leaves:
        return _composed(leaves, epsilons, direction)
    each = epsilons / event.size * (1 - 2 * STEP_AT_ONE)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        steps = np.where(epsilons > 0, np.expm1(epsilons) / np.expm1(each), event.size)
        value = delta_curve(event.event, each, direction) * steps * _ROUND
    return np.clip(np.nan_to_num(value, nan=1.0, posinf=1.0), 0.0, 1.0)


@above.register(events.Composed)
@above.register(events.Repeated)
def _(event: Event, epsilons: Floats, direction: Direction) -> Floats:
    return _composed(flatten(event, 1), epsilons, direction)


def _composed(leaves: dict[Event, int], epsilons: Floats, direction: Direction) -> Floats:
    if not leaves:
        return np.zeros_like(epsilons)
    if list(leaves.values()) == [1]:
        return above(next(iter(leaves)), epsilons, direction)
    # A composition inside a wrapper: its curve is what the discretised distribution computes from this module.
    from tacit.loss.accountants import pld

    return pld.delta_curve(leaves, epsilons, direction)


def smallest_epsilon(event: Event, delta: float) -> float:
    """An epsilon >= 0 at which both directions of `event`'s curve are at most `delta`; infinity where none is found."""
    target = float_down(Fraction(delta))

    def excess(epsilon: float) -> bool:
        directions: tuple[Direction, ...] = ("remove",) if is_symmetric(event) else ("remove", "add")
        return any(not float(delta_curve(event, np.array([epsilon]), side)[0]) <= target for side in directions)

    if not excess(0.0):
        return 0.0
    high = 1.0
    while excess(high):
        high *= 2
        if high > 1e9:
            return math.inf
    low = 0.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) else (low, middle)
    return high
