"""Several releases, one after the other, charged together: how much noise each of them gets.

Theorem. Each part is a vector of whole numbers that one unit moves by at most `taxicab` in the L1 norm and by at most
the root of `squared` in the L2 norm, whatever was released before it. Without a delta a part gets Laplace noise for
epsilon * share / count, `count` times; the shares add up to 1, so by basic composition all of it costs epsilon. With a
delta the parts get Gaussian noise, their shares being those of the sum of squared quotients (sensitivity/deviation);
the composed event is what is charged, and its noise is about the least for which the accountant says (epsilon,
delta). Public numbers alone decide which of the two is taken.

Source: Dwork et al. 2006 (Laplace noise); Bun, Steinke 2016 (composition of Gaussian noise).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from tacit.curator import Price
from tacit.loss import calibrate, compose, events
from tacit.loss.numbers.rounding import dyadic_up, sqrt_up
from tacit.mechanisms import Gaussian, Laplace

Noise: TypeAlias = Laplace | Gaussian
_MORE_NOISE = Fraction(1, 1_000_000)  # more than the least, where the accountant accepts it


@dataclass(frozen=True, slots=True)
class Part:
    """A vector of at most `size` whole numbers that is released `count` times, with this share of the budget.

    Where its numbers are multiplied before they get Gaussian noise, `weight` says by how much.
    """

    taxicab: int
    squared: int
    size: int
    share: Fraction
    count: int = 1
    weight: int = 1


def calibrated(parts: Sequence[Part], epsilon: Fraction, delta: Fraction) -> tuple[tuple[Noise, ...], Price]:
    """The noise of each part, and the price of all of them."""
    pure = tuple(Laplace(sensitivity=each.taxicab, epsilon=epsilon * each.share / each.count) for each in parts)
    price = Price(_event(parts, pure), epsilon)
    if delta == 0:
        return pure, price
    least = calibrate.gaussian_sigma(1, epsilon, delta)

    def enough(more: Fraction) -> tuple[tuple[Noise, ...], events.Event] | None:
        round_ones = tuple(_gaussian(each, dyadic_up(least * (1 + more))) for each in parts)
        event = _event(parts, round_ones)
        return (round_ones, event) if compose([event]).delta(epsilon) <= delta else None

    # with small noise, whole numbers need more of it than the continuous law: a bracket is found, then halved
    less, more = Fraction(0), _MORE_NOISE
    found = enough(more)
    while found is None:
        less, more = more, 4 * more
        found = enough(more)
    while more - less > max(_MORE_NOISE, more / 64):
        middle = (less + more) / 2
        better = enough(middle)
        less, more, found = (middle, more, found) if better is None else (less, middle, better)
    if _spread(pure) < _spread(found[0]) - math.fsum(math.log(each.weight) for each in parts):
        return pure, price
    return found[0], Price(found[1], epsilon, delta)


def deviation(noise: Noise) -> float:
    """The standard deviation of one number's noise."""
    return noise.scale * (math.sqrt(2) if isinstance(noise, Laplace) else 1.0)


def _gaussian(part: Part, base: Fraction) -> Gaussian:
    root = math.isqrt(part.squared)
    sensitivity = Fraction(root) if root * root == part.squared else sqrt_up(Fraction(part.squared))
    return Gaussian(
        sensitivity=sensitivity, sigma=sensitivity * base * sqrt_up(Fraction(part.count) / part.share), size=part.size
    )


def _event(parts: Sequence[Part], noises: Sequence[Noise]) -> events.Event:
    found: list[events.Event] = []
    for part, noise in zip(parts, noises, strict=True):
        found.append(noise.event if part.count == 1 else events.Repeated(noise.event, part.count))
    return found[0] if len(found) == 1 else events.Composed(tuple(found))


def _spread(noises: Sequence[Noise]) -> float:
    """How large the noise is, in the geometric mean over the parts."""
    return math.fsum(math.log(deviation(each)) for each in noises)
