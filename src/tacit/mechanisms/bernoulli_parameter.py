"""The bias of a coin by the exponential mechanism, and by a noisy count to compare it with.

Theorem. Let the units be flips of a coin of bias theta, low < theta < high. The log-likelihood of one flip, ln theta
or ln(1 - theta), lies in [-S, 0] with S = -ln min(low, 1 - high). Drawing theta with density proportional to

    theta**(power * heads) * (1 - theta)**(power * tails)     on (low, high),     power = epsilon / (2 S),

the Beta(1 + power * heads, 1 + power * tails) law cut to (low, high), has a privacy loss of range epsilon when one
flip is replaced by another; with power = epsilon / S when one flip is added or removed (`replace=False`). So it is
epsilon-differentially private.

Proof. The exponential mechanism with the log-likelihood as score: replacing a flip moves it by at most S either way,
adding one lowers it everywhere, by at most S. Here theta is a public grid point i / 2**grid_bits inside (low, high),
and the same proof holds for that list of candidates. `power` is rounded down to a rational.

Figure: low = 0.1, high = 0.9, epsilon = 0.1 gives S = -ln 0.1 = 2.303 and power 0.0217.

The noisy count (`LaplaceProportion`): with n flips, n public, (heads + discrete Laplace noise of scale 1/epsilon)/n
is epsilon-differentially private when one flip is replaced. Its noise has variance about 2/(epsilon n)**2, while the
draw above has variance about theta (1 - theta)/(power n): O(1/n**2) against O(1/n), so the count is better for all
but few flips.

Source: McSherry and Talwar 2007 (exponential mechanism); the example is folklore.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit import parameters
from tacit.loss.events import Event, Exponential
from tacit.loss.numbers.rounding import dyadic_down
from tacit.mechanisms.base import ordinary
from tacit.mechanisms.laplace import Laplace
from tacit.noise import BitSource, secure
from tacit.noise.beta import float_weights, truncated_beta
from tacit.noise.reals import log_enclosure

_DIGITS = 40
_LARGEST_EXPONENT = 1 << 40  # what the sampler takes


@dataclass(frozen=True, slots=True, init=False)
class BernoulliParameter:
    """Draws the bias of a coin, between public bounds, from its tempered posterior.

    >>> BernoulliParameter("0.5").event.to_json()
    '{"kind":"exponential","range":"1/2"}'
    """

    epsilon: Fraction
    low: Fraction
    high: Fraction
    grid_bits: int
    power: Fraction

    def __init__(
        self,
        epsilon: parameters.Number,
        bounds: tuple[parameters.Number, parameters.Number] = ("0.1", "0.9"),
        *,
        replace: bool = True,
        grid_bits: int = 14,
    ) -> None:
        exact = parameters.positive("epsilon", epsilon)
        low, high = (parameters.open_probability("bounds", end) for end in bounds)
        if not low < high:
            raise parameters.refuse("bounds", "two numbers between 0 and 1, the lower one first", bounds)
        width = parameters.whole("grid_bits", grid_bits, least=1)
        if not 1 <= width <= 20 or math.floor(low * 2**width) + 1 > math.ceil(high * 2**width) - 1:
            raise parameters.refuse(
                "grid_bits", "from 1 to 20, with a point i / 2**grid_bits between the bounds", grid_bits
            )
        sensitivity = -Fraction(log_enclosure(min(low, 1 - high), _DIGITS)[0])
        put = object.__setattr__
        put(self, "epsilon", exact)
        put(self, "low", low)
        put(self, "high", high)
        put(self, "grid_bits", width)
        put(self, "power", ordinary("epsilon", dyadic_down(exact / (sensitivity * (2 if replace else 1))), epsilon))

    @property
    def event(self) -> Event:
        """The one number that leaves."""
        return Exponential(self.epsilon)

    @property
    def scale(self) -> float:
        """1 / power: this many flips count as one."""
        return float(1 / self.power)

    def standard_deviation(self, heads: int, tails: int) -> float:
        """The standard deviation of a release from these flips, which are public and made up."""
        first, last = math.floor(self.low * 2**self.grid_bits) + 1, math.ceil(self.high * 2**self.grid_bits) - 1
        weights = float_weights(float(heads * self.power), float(tails * self.power), first, last, self.grid_bits)
        masses = np.exp(weights - weights.max())
        masses /= masses.sum()
        theta = np.arange(first, last + 1) * 2.0**-self.grid_bits
        return math.sqrt(float(masses @ (theta - masses @ theta) ** 2))

    def release(self, heads: int, tails: int, *, bits: BitSource | None = None) -> float:
        """A bias between the bounds. The two counts are private; below zero they are read as zero."""
        # counts beyond what the sampler takes are clamped to a public bound, which moves none of them apart
        most = math.floor(_LARGEST_EXPONENT / self.power)
        a, b = (self.power * min(max(_whole(count), 0), most) for count in (heads, tails))
        drawn = truncated_beta(a, b, self.low, self.high, self.grid_bits, None, secure() if bits is None else bits)
        return math.ldexp(drawn, -self.grid_bits)


@dataclass(frozen=True, slots=True, init=False)
class LaplaceProportion:
    """The share of heads among a public number of flips, by a noisy count; one flip is replaced.

    >>> LaplaceProportion("0.5").event.to_json()
    '{"kind":"discrete-laplace","scale":"2","sensitivity":1}'
    """

    count: Laplace

    def __init__(self, epsilon: parameters.Number) -> None:
        object.__setattr__(self, "count", Laplace(1, epsilon))

    @property
    def event(self) -> Event:
        """The noisy count."""
        return self.count.event

    @property
    def scale(self) -> float:
        """The scale of the noise on the count."""
        return self.count.scale

    def standard_deviation(self, flips: int) -> float:
        """The deviation of the share's noise: discrete Laplace noise has variance 2a/(1 - a)**2, a = exp(-1/scale)."""
        rate = 1 / self.scale
        return math.sqrt(2) * math.exp(-rate / 2) / -math.expm1(-rate) / parameters.whole("flips", flips, least=1)

    def error(self, confidence: parameters.Number, flips: int) -> float:
        """The smallest t that the noise on the share exceeds with probability at most 1 - confidence."""
        return self.count.error(confidence) / parameters.whole("flips", flips, least=1)

    def release(self, heads: int, flips: int, *, bits: BitSource | None = None) -> float:
        """The share of heads, cut to [0, 1]; `heads` is private, `flips` public."""
        total = parameters.whole("flips", flips, least=1)
        noisy: int = self.count.release(_whole(heads), bits=bits)
        return min(max(noisy, 0), total) / total


def _whole(count: object) -> int:
    """A private count; errors speak of its type alone."""
    if isinstance(count, (int, np.integer)) and not isinstance(count, bool):
        return int(count)
    raise parameters.refuse("heads and tails", "whole numbers", f"a value of type {type(count).__name__}")
