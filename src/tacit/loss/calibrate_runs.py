"""Runs of many steps: how many, at which sampling rate, or with how much noise, for a target.

Promise: the value returned was priced by the tight accountant and is within the target; it is the best one, up to one
part in ten thousand (one step, for `steps`). Parameters of a run are fixed beforehand, so the tight total may be used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tacit import parameters
from tacit.loss import events
from tacit.loss.compose import compose
from tacit.loss.events import Event
from tacit.loss.numbers.edge import least
from tacit.loss.numbers.rounding import float_down
from tacit.parameters import Number

_TOLERANCE = 1e-4
_MOST_STEPS = 2**40


def steps(event: Event, epsilon: Number, delta: Number) -> int:
    """The largest number of repetitions of `event` within (epsilon, delta); 0 when even one is too much."""
    within = _within(epsilon, delta)

    def passes(count: int) -> bool:
        return within(events.Repeated(event, count)) <= 0

    if not passes(1):
        return 0
    enough, too_many = 1, 2
    while passes(too_many):
        enough, too_many = too_many, 2 * too_many
        if too_many > _MOST_STEPS:
            raise parameters.refuse("event", "an event that costs something", event, "It can be repeated for ever.")
    while too_many - enough > 1:
        middle = (enough + too_many) // 2
        if passes(middle):
            enough = middle
        else:
            too_many = middle
    return enough


def sampling_rate(event: Event, steps: int, epsilon: Number, delta: Number) -> Fraction:
    """The largest Poisson sampling rate at which `steps` repetitions of `event` stay within (epsilon, delta)."""
    count = parameters.whole("steps", steps, least=1)
    within = _within(epsilon, delta)

    def excess(inverse: float) -> float:
        return within(events.Repeated(events.PoissonSampled(event, 1 / Fraction(inverse)), count))

    if excess(1.0) <= 0:
        return Fraction(1)
    inverse = least(lambda x: excess(x) if x > 1 else math.inf, 2.0, tolerance=_TOLERANCE, stride=1.0)
    if inverse > 1e12:
        raise parameters.refuse("epsilon", "large enough for some sampling rate above 1e-12", epsilon)
    return 1 / Fraction(inverse)


def noise_multiplier(rate: Number, steps: int, epsilon: Number, delta: Number) -> Fraction:
    """The least sigma (for sensitivity 1) of Gaussian noise on Poisson samples of `rate`, `steps` times over."""
    exact_rate = parameters.probability("rate", rate)
    if exact_rate == 0:
        raise parameters.refuse("rate", "a number above 0 and at most 1", rate)
    count = parameters.whole("steps", steps, least=1)
    within = _within(epsilon, delta)

    def excess(sigma: float) -> float:
        step = events.PoissonSampled(events.Gaussian(Fraction(1), Fraction(sigma)), exact_rate)
        return within(events.Repeated(step, count))

    sigma = least(excess, 1.0, tolerance=_TOLERANCE, stride=1.0)
    if not math.isfinite(sigma):
        raise parameters.refuse("epsilon", "large enough for some noise below 1e300", epsilon)
    return Fraction(sigma)


def _within(epsilon: Number, delta: Number) -> Callable[[Event], float]:
    """How far an event's delta at epsilon is above the target, in logarithms; at most 0 when it passes."""
    exact_epsilon = parameters.positive("epsilon", epsilon)
    target = float_down(parameters.open_probability("delta", delta))
    if target <= 0:
        raise parameters.refuse("delta", "at least 1e-300", delta)

    def excess(event: Event) -> float:
        spent = compose([event]).delta(exact_epsilon)
        if spent <= target:
            return min(math.log(max(spent, 1e-320) / target), -0.0)
        return max(math.log(spent / target), 1e-300)

    return excess
