"""For every event, one that fits it and whose privacy curve is known exactly: what a lower bound may be computed from.

`attained(event)` promises an event E such that some release described by `event` loses at least as much as E, and the
curve of E in `event_curve` is exact (up to its rounding). Added noise in one dimension, responses, bounds as such and
their Poisson samples attain their own curves. For the others:

- Exponential of range n: the choice between two whose loss is +-n/2, a coin with odds exp(n/2).
- rho-zCDP: Gaussian noise with S^2/(2 sigma^2) = rho.
- Discrete Gaussian in several dimensions: the whole change in one coordinate. For sigma above 256: more noise of
  variance 3 on top, which makes Gaussian noise of variance sigma^2 + 3 up to factors 1 +- 4 exp(-2 pi^2 2.9) (Poisson
  summation).
- Parallel and composed events inside wrappers: the costliest member. A group: one of its units.
- Shuffling and sampling without replacement: nothing; their curves are upper bounds only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import singledispatch

from tacit.loss import events
from tacit.loss.accountants import zcdp
from tacit.loss.events import Event
from tacit.loss.guarantees import replaces
from tacit.loss.numbers.rounding import sqrt_up

_NOTHING = events.Pure(Fraction(0))
_WIDE = 256


@singledispatch
def attained(event: Event) -> Event:
    """An event of exactly known curve that loses no more than some release described by `event`."""
    return event


@attained.register
def _(event: events.Exponential) -> Event:
    return events.Pure(event.range / 2)


@attained.register
def _(event: events.Concentrated) -> Event:
    # A sigma that is a little too large gives a rho that is a little too small.
    return events.Gaussian(Fraction(1), sqrt_up(1 / (2 * event.rho))) if event.rho else _NOTHING


@attained.register
def _(event: events.DiscreteGaussian) -> Event:
    shift = math.isqrt(math.floor(event.sensitivity**2))
    if shift == 0:
        return _NOTHING
    if event.sigma <= _WIDE:
        return events.DiscreteGaussian(Fraction(shift), event.sigma, 1)
    return events.Gaussian(Fraction(shift), sqrt_up(event.sigma**2 + 3))


@attained.register
def _(event: events.PoissonSampled) -> Event:
    return _NOTHING if replaces(event.event) else events.PoissonSampled(attained(event.event), event.rate)


@attained.register(events.SampledWithoutReplacement)
@attained.register(events.Shuffled)
def _(event: Event) -> Event:
    return _NOTHING


@attained.register
def _(event: events.Parallel) -> Event:
    return _costliest(event.parts)


@attained.register
def _(event: events.Composed) -> Event:
    return _costliest(event.events)


@attained.register
def _(event: events.Repeated) -> Event:
    return attained(event.event) if event.count else _NOTHING


@attained.register
def _(event: events.Group) -> Event:
    return attained(event.event)


def _costliest(members: Iterable[Event]) -> Event:
    return attained(max(members, key=lambda member: zcdp.cost(member)[0], default=_NOTHING))
