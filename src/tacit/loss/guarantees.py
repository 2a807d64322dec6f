"""The (epsilon, delta) guarantee of one event on its own, with no target to aim at.

`guarantee(event)` promises a sound pair under the event's own neighbour relation. Where an event has no finite epsilon
at a fixed delta (Gaussian noise, a bare rho) epsilon is infinite and delta is 0. Amplification by sampling follows
Balle, Barthe and Gaboardi (2018): (log(1 + q (exp(epsilon) - 1)), q delta), for Poisson sampling under add/remove and
for sampling without replacement under replace.

Two neighbour relations meet where one sampler stands inside another. Poisson sampling is stated for adding or removing
a unit, the other two samplers for replacing one. A replace-one event inside Poisson sampling is priced as if it
had not been sampled (joint convexity: a replaced unit is in both samples or in neither). For the other way round
nothing is known, and nothing is promised: epsilon is infinite.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch
from typing import TypeAlias

from tacit.loss import events
from tacit.loss.events import Event
from tacit.loss.numbers import outward
from tacit.loss.simplify import flatten, group_delta

Pair: TypeAlias = tuple[Fraction | float, Fraction]
"""(epsilon, delta); epsilon is a Fraction, or math.inf."""

_NONE: Pair = (math.inf, Fraction(0))


@singledispatch
def guarantee(event: Event) -> Pair:
    """The (epsilon, delta) of `event`."""
    raise TypeError(f"no guarantee is known for events of kind {event.kind!r}")


@guarantee.register
def _(event: events.Pure) -> Pair:
    return event.epsilon, Fraction(0)


@guarantee.register
def _(event: events.Approximate) -> Pair:
    return event.epsilon, event.delta


@guarantee.register
def _(event: events.Concentrated) -> Pair:
    return _NONE if event.rho else (Fraction(0), Fraction(0))


@guarantee.register
def _(event: events.Laplace) -> Pair:
    return event.sensitivity / event.scale, Fraction(0)


@guarantee.register
def _(event: events.DiscreteLaplace) -> Pair:
    return event.sensitivity / event.scale, Fraction(0)


@guarantee.register
def _(event: events.Gaussian) -> Pair:
    return _NONE


@guarantee.register
def _(event: events.DiscreteGaussian) -> Pair:
    # Integer vectors closer than 1 are equal.
    return _NONE if event.sensitivity >= 1 else (Fraction(0), Fraction(0))


@guarantee.register
def _(event: events.Exponential) -> Pair:
    return event.range, Fraction(0)


@guarantee.register
def _(event: events.RandomizedResponse) -> Pair:
    return event.epsilon, Fraction(0)


@guarantee.register
def _(event: events.KeySelection) -> Pair:
    return event.keys_per_unit * event.epsilon, min(Fraction(1), event.keys_per_unit * event.delta)


@guarantee.register
def _(event: events.PoissonSampled) -> Pair:
    inner = guarantee(event.event)
    return inner if replaces(event.event) else _amplified(inner, event.rate)


@guarantee.register
def _(event: events.SampledWithoutReplacement) -> Pair:
    if adds_or_removes(event.event):
        return _NONE
    return _amplified(guarantee(event.event), Fraction(event.drawn, event.population))


@guarantee.register
def _(event: events.Shuffled) -> Pair:
    # What shuffling gains depends on delta: see `shuffling`. One report alone never costs more than unshuffled.
    return _NONE if adds_or_removes(event.event) else guarantee(event.event)


@guarantee.register(events.Composed)
@guarantee.register(events.Repeated)
def _(event: Event) -> Pair:
    return basic_sum([(*guarantee(leaf), count) for leaf, count in flatten(event, 1).items()])


@guarantee.register
def _(event: events.Parallel) -> Pair:
    pairs = [guarantee(part) for part in event.parts]
    return max((pair[0] for pair in pairs), default=Fraction(0)), max((pair[1] for pair in pairs), default=Fraction(0))


@guarantee.register
def _(event: events.Group) -> Pair:
    leaves = flatten(event, 1)
    if event not in leaves:
        return basic_sum([(*guarantee(leaf), count) for leaf, count in leaves.items()])
    epsilon, delta = guarantee(event.event)
    if not isinstance(epsilon, Fraction):
        return _NONE
    return event.size * epsilon, group_delta(epsilon, delta, event.size)


def basic_sum(parts: list[tuple[Fraction | float, Fraction, int]]) -> Pair:
    """Epsilons add and deltas add."""
    epsilon = sum((count * part for part, _, count in parts), start=Fraction(0))
    return epsilon, min(Fraction(1), sum((count * part for _, part, count in parts), start=Fraction(0)))


def _amplified(inner: Pair, rate: Fraction) -> Pair:
    epsilon, delta = inner
    if rate == 0:
        return Fraction(0), Fraction(0)
    if rate == 1 or not isinstance(epsilon, Fraction):
        return inner
    gain = outward.product_up(outward.float_up(rate), outward.expm1_up(outward.float_up(epsilon)))
    smaller = outward.log1p_up(gain)
    return (min(epsilon, Fraction(smaller)) if math.isfinite(smaller) else epsilon), rate * delta


def replaces(event: Event) -> bool:
    """Whether some part of `event` is stated for replacing one unit."""
    return _any_inside(event, (events.SampledWithoutReplacement, events.Shuffled))


def adds_or_removes(event: Event) -> bool:
    """Whether some part of `event` is stated for adding or removing one unit (its two directions differ)."""
    return _any_inside(event, (events.PoissonSampled,))


def _any_inside(event: Event, kinds: tuple[type[Event], ...]) -> bool:
    return isinstance(event, kinds) or any(_any_inside(inner, kinds) for inner in inside(event))


@singledispatch
def inside(event: Event) -> tuple[Event, ...]:
    """The events directly inside an event."""
    return ()


@inside.register(events.PoissonSampled)
@inside.register(events.SampledWithoutReplacement)
@inside.register(events.Shuffled)
@inside.register(events.Repeated)
@inside.register(events.Group)
def _(
    event: events.PoissonSampled | events.SampledWithoutReplacement | events.Shuffled | events.Repeated | events.Group,
) -> tuple[Event, ...]:
    return (event.event,)


@inside.register
def _(event: events.Composed) -> tuple[Event, ...]:
    return event.events


@inside.register
def _(event: events.Parallel) -> tuple[Event, ...]:
    return event.parts
