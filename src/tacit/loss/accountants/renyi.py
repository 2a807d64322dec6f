"""Renyi differential privacy: a curve of divergences, order by order, that adds up.

Definition (Mironov 2017). D_a(P||Q) = log E_P exp((a-1) L)/(a-1) with the privacy loss L, for orders a > 1. At one
fixed order the divergences of adaptively chosen mechanisms add, also when their parameters depend on earlier answers
(each step's conditional moment is bounded by its own divergence whatever came before); `at_order` is that number.

- Randomised response, and by domination every pure epsilon e: (log cosh((a-1/2) e) - log cosh(e/2))/(a-1).
- Laplace, t = S/b: log(a/(2a-1) exp((a-1) t) + (a-1)/(2a-1) exp(-a t))/(a-1). Discrete Laplace: a geometric sum.
- Gaussian and discrete Gaussian: a S^2/(2 sigma^2). rho-zCDP: a rho.
- Exponential of range n: at most the two-point loss on t and t - n with p_t = (exp(n) - exp(t))/(exp(n) - 1) on t (a
  convex function of exp(-L), whose mean is 1, is largest on the ends). With c = a - 1 the moment is
  exp(c t)(A - B exp(t))/(exp(n) - 1), A = exp(n) - exp(-c n), B = 1 - exp(-c n), largest at exp(t) = c A/(a B).
- Key selection and (e, d) bounds: d is set aside (told outright), the rest is randomised response.
- Poisson samples: `renyi_sampled`. Other samples and shuffling: the unsampled divergence (joint quasi-convexity), or
  that of the amplified pure bound where it is lower.

Conversion by the best order, see `conversion`. Both directions of every event are covered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import singledispatch

import numpy as np

from tacit.loss import events
from tacit.loss.accountants import conversion, zcdp
from tacit.loss.accountants.renyi_sampled import adding, is_mirrored, removing
from tacit.loss.curves.repeated_response import all_told
from tacit.loss.events import Event
from tacit.loss.guarantees import adds_or_removes, guarantee, replaces
from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, float_up, sum_up
from tacit.loss.simplify import Entries, flatten
from tacit.parameters import refuse

Curve = tuple[Floats, float]
"""(divergence at each order, delta set aside)."""

_ORDERS = np.unique(np.concatenate([np.arange(2.0, 129.0), 1 + np.geomspace(1e-3, 1e6, 241)]))


def at_order(event: Event, order: float) -> tuple[float, float]:
    """(divergence, delta): outside an event of probability delta, the Renyi divergence of this order, rounded up.

    Sound for fully adaptive composition at one fixed order: divergences add, and deltas add.
    """
    if not (math.isfinite(order) and order > 1):
        raise refuse("order", "a finite number above 1", order)
    divergences, aside = curve(event, np.array([float(order)]))
    return float(divergences[0]), aside


@singledispatch
def curve(event: Event, orders: Floats) -> Curve:
    """(divergences, delta) of one event at each of `orders`, rounded up."""
    rho, aside = zcdp.cost(event)
    by_rho = rho * orders * (1 + 4 * STEP_AT_ONE)
    epsilon, delta = guarantee(event)
    if not isinstance(epsilon, Fraction):
        return by_rho, aside
    by_epsilon = pure(float_up(epsilon), orders)
    # Two bounds for one event may be mixed order by order only when they set aside the same delta.
    return (np.minimum(by_rho, by_epsilon), aside) if float_up(delta) == aside else (by_epsilon, float_up(delta))


def pure(epsilon: float, orders: Floats) -> Floats:
    """Every mechanism of this pure epsilon."""
    gap = orders - 1
    wide = (orders - 0.5) * epsilon
    with np.errstate(under="ignore"):
        # log cosh x = x + log(1 + exp(-2 x)) - log 2
        moment = gap * epsilon + np.log1p(np.exp(-2 * wide)) - math.log1p(math.exp(-epsilon))
    return np.minimum(
        _rounded(moment, gap, wide), np.minimum(zcdp.rho_of_pure(epsilon) * orders * (1 + STEP_AT_ONE), epsilon)
    )


def _rounded(moment: Floats, gap: Floats, size: Floats) -> Floats:
    """moment/gap, with 16 units of the numbers it was computed from."""
    return (np.maximum(moment, 0.0) + 16 * STEP_AT_ONE * (size + 2)) / gap * (1 + 2 * STEP_AT_ONE)


@curve.register
def _(event: events.RandomizedResponse, orders: Floats) -> Curve:
    epsilon, gap = float_up(event.epsilon), orders - 1
    with np.errstate(under="ignore"):
        other = np.exp((1 - 2 * orders) * epsilon) + (event.options - 2) * np.exp(-orders * epsilon)
    moment = gap * epsilon - math.log1p((event.options - 1) * math.exp(-epsilon)) + np.log1p(other)
    return np.minimum(_rounded(moment, gap, orders * epsilon), pure(epsilon, orders)), 0.0


@curve.register
def _(event: events.Laplace, orders: Floats) -> Curve:
    ratio, gap, twice = float_up(event.sensitivity / event.scale), orders - 1, 2 * orders - 1
    with np.errstate(under="ignore"):
        moment = gap * ratio + np.log1p(gap / twice * np.expm1(-twice * ratio))
    by_rho = zcdp.cost(event)[0] * orders * (1 + STEP_AT_ONE)
    return np.minimum(_rounded(moment, gap, orders * ratio), np.minimum(by_rho, ratio)), 0.0


@curve.register
def _(event: events.DiscreteLaplace, orders: Floats) -> Curve:
    top, rate = float_up(event.sensitivity / event.scale), float(1 / event.scale)
    gap, twice = orders - 1, 2 * orders - 1
    ratio = math.exp(-rate)
    with np.errstate(under="ignore", over="ignore"):
        # Losses +-s/b on the two tails and (s - 2x)/b between, a geometric sum of ratio exp(-(2a-1)/b).
        between = -np.expm1(-twice * rate * (event.sensitivity - 1)) / np.expm1(twice * rate)
        rest = np.exp(-twice * top) - ratio - math.expm1(-rate) * between
    moment = gap * top + np.log1p(rest / (1 + ratio))
    return np.minimum(_rounded(moment, gap, orders * top), pure(top, orders)), 0.0


@curve.register
def _(event: events.Exponential, orders: Floats) -> Curve:
    width, gap = float_up(event.range), orders - 1
    with np.errstate(under="ignore"):
        log_a = np.log(-np.expm1(-orders * width))  # of A exp(-n)
        log_b = np.log(-np.expm1(-gap * width))
        moment = gap * (np.log(gap) - np.log(orders)) - np.log(orders)
        moment += orders * log_a - gap * log_b + gap * width - math.log(-math.expm1(-width))
    size = orders * (width + np.abs(log_a) + np.abs(log_b) + np.log(orders) + np.abs(np.log(gap)))
    by_rho = zcdp.cost(event)[0] * orders * (1 + STEP_AT_ONE)
    return np.minimum(_rounded(moment, gap, size), np.minimum(by_rho, width)), 0.0


@curve.register(events.Composed)
@curve.register(events.Repeated)
@curve.register(events.KeySelection)
def _(event: Event, orders: Floats) -> Curve:
    return total(flatten(event, 1), orders)


@curve.register
def _(event: events.Parallel, orders: Floats) -> Curve:
    parts = [curve(part, orders) for part in event.parts]
    highest = np.max([part[0] for part in parts], axis=0) if parts else np.zeros_like(orders)
    return highest, max((part[1] for part in parts), default=0.0)


@curve.register
def _(event: events.PoissonSampled, orders: Floats) -> Curve:
    whole, aside = curve(event.event, orders)
    if replaces(event.event) or event.rate == 1:
        return whole, aside
    if event.rate == 0:
        return np.zeros_like(orders), 0.0
    if aside > 0:
        return _or_amplified(event, whole, aside, orders)
    rate = float_up(event.rate)
    sampled = removing(lambda steps: curve(event.event, steps)[0], rate, orders)
    if not is_mirrored(event.event):
        sampled = np.maximum(sampled, adding(whole, rate))
    return _or_amplified(event, np.minimum(whole, sampled), 0.0, orders)


@curve.register(events.SampledWithoutReplacement)
@curve.register(events.Shuffled)
def _(event: events.SampledWithoutReplacement | events.Shuffled, orders: Floats) -> Curve:
    if adds_or_removes(event.event):
        return np.full_like(orders, np.inf), 0.0
    return _or_amplified(event, *curve(event.event, orders), orders)


def _or_amplified(event: Event, divergence: Floats, aside: float, orders: Floats) -> Curve:
    """The lower of a bound and that of the event's own amplified (epsilon, delta)."""
    epsilon, delta = guarantee(event)
    if not isinstance(epsilon, Fraction) or float_up(delta) > aside:
        return divergence, aside
    amplified = pure(float_up(epsilon), orders)
    return (np.minimum(divergence, amplified), 0.0) if aside == 0 else (amplified, float_up(delta))


def total(entries: Entries, orders: Floats) -> Curve:
    """Divergences summed order by order; the probability that any of the set-aside events happens."""
    divergence = np.zeros_like(orders)
    spared: list[float] = []
    for event, count in entries.items():
        if count:
            each, aside = curve(event, orders)
            divergence = divergence + count * each
            spared.append(-count * math.log1p(-aside) if aside < 1 else math.inf)
    return divergence * (1 + 2 * (len(entries) + 1) * STEP_AT_ONE), all_told(-math.expm1(-sum_up(spared)), 1)


def epsilon(entries: Entries, delta: float) -> float:
    """The least epsilon at `delta`, over all orders."""
    aside = total(entries, np.array([2.0]))[1]
    left = conversion.left_after(aside, delta)
    if left is None:
        return math.inf
    if left >= 1:
        return 0.0
    if left == 0:  # only the order infinity, whose divergence is the pure epsilon, says something about delta 0
        pairs = [(guarantee(event)[0], count) for event, count in entries.items()]
        return sum_up(count * float_up(part) if isinstance(part, Fraction) else math.inf for part, count in pairs)
    log_delta = math.log(left) * (1 + 4 * STEP_AT_ONE)
    return _over_orders(lambda orders: conversion.epsilons(total(entries, orders)[0], orders, log_delta))


def delta(entries: Entries, epsilon: float) -> float:
    """The least delta at `epsilon` >= 0, over all orders."""
    aside = total(entries, np.array([2.0]))[1]
    least = max(epsilon, 0.0)
    log_delta = _over_orders(lambda orders: conversion.log_deltas(total(entries, orders)[0], orders, least))
    return min(1.0, (aside + (1 - aside) * math.exp(log_delta)) * (1 + 16 * STEP_AT_ONE) + 1e-300)


def _over_orders(bound: Callable[[Floats], Floats]) -> float:
    """The least bound found: the best of a wide grid, refined around it."""
    orders = _ORDERS
    found = bound(orders)
    least = math.inf
    for _ in range(4):
        best = int(np.argmin(found))
        least = min(least, float(found[best]))
        near = orders[max(best - 1, 0)], orders[min(best + 1, len(orders) - 1)]
        orders = 1 + np.geomspace(near[0] - 1, near[1] - 1, 17)
        found = bound(orders)
    return min(least, float(np.min(found)))
