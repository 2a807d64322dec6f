"""Staircase noise: the least expected error of all pure mechanisms for one whole number.

Theorem. Let f(x) be one integer that changes by at most D between neighbours, b = exp(-epsilon), and r a whole number
from 1 to D. Noise of mass proportional to b**floor((|k| + D - r)/D) on the integers k is pure epsilon-differentially
private.
Proof. For an output o and neighbours, |o - f(x)| and |o - f(y)| differ by at most D, so the two floors differ by at
most 1 and the masses by a factor of at most exp(epsilon).

Among all mechanisms that add noise to one integer, some staircase has the least expected |noise|, and r is chosen for
that from D and epsilon alone (`tacit.noise.staircase`). It gains over Laplace noise when epsilon is large and D above
1; at D = 1 the two are the same, the geometric mechanism.

Error. With t + 1 = r + (j - 1) D + i, 0 <= i < D (j = 0: t + 1 < r), the masses beyond t sum to
2 b**j ((r + j D - 1 - t)(1 - b) + D b) / ((2 r - 1)(1 - b) + 2 D b).

Assumptions. One number: steps in several coordinates would each cost a factor of b, so at D > 1 longer arrays are
refused. At D = 1 only one coordinate of an array can change, and any number may be released. The caller's sensitivity
holds under the caller's neighbour relation (add or remove one unit by default). The noise is exact.

Source: Geng, Viswanath 2014 (the discrete case).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit import noise, parameters
from tacit.loss import events
from tacit.mechanisms.base import ordinary, quantile
from tacit.mechanisms.whole_numbers import WholeNumbers
from tacit.noise.functions import Interval
from tacit.noise.reals import Enclosure, exp_enclosure
from tacit.noise.staircase import optimal_inner_width, staircase
from tacit.parameters import Number


@dataclass(frozen=True, slots=True, init=False)
class Staircase:
    """Staircase noise for a whole number of this sensitivity, at this epsilon.

    >>> Staircase(10, 5).error("0.9") < 5  # Laplace noise of this price is within 5
    True
    """

    event: events.Pure
    sensitivity: int
    inner: int
    lattice: WholeNumbers

    def __init__(self, sensitivity: int, epsilon: Number) -> None:
        width = parameters.whole("sensitivity", sensitivity, least=1)
        exact = parameters.positive("epsilon", epsilon)
        ordinary("epsilon", 1 / exact, epsilon)
        ordinary("epsilon", width / exact, epsilon)
        object.__setattr__(self, "event", events.Pure(exact))
        object.__setattr__(self, "sensitivity", width)
        object.__setattr__(self, "inner", optimal_inner_width(width, exact))
        object.__setattr__(self, "lattice", WholeNumbers(None if width == 1 else 1))

    @property
    def scale(self) -> float:
        """The distance over which the noise falls by a factor of e: sensitivity/epsilon, as for Laplace noise."""
        return float(self.sensitivity / self.event.epsilon)

    def error(self, confidence: Number) -> int:
        """The smallest t that the noise exceeds with probability at most 1 - confidence."""
        return quantile(self._tail, 1 - parameters.open_probability("confidence", confidence))

    def release(self, values: Any, *, bits: noise.BitSource | None = None) -> Any:
        """The value with noise."""
        source = noise.secure() if bits is None else bits
        width, epsilon, inner = self.sensitivity, self.event.epsilon, self.inner
        return self.lattice.release(values, lambda size: staircase(width, epsilon, size, source, inner))

    def _tail(self, t: int, precision: int) -> Enclosure:
        """Pr[|noise| > t]."""
        step = (t + self.sensitivity - self.inner) // self.sensitivity
        left = self.inner + step * self.sensitivity - 1 - t

        def number(exact: int) -> Interval:
            return Interval.of(exact, precision)

        def power(exponent: Fraction) -> Interval:
            return Interval(*exp_enclosure(-exponent, precision), precision)

        b = power(self.event.epsilon)
        beyond = number(2 * left) * (number(1) - b) + number(2 * self.sensitivity) * b
        total = number(2 * self.inner - 1) * (number(1) - b) + number(2 * self.sensitivity) * b
        return (power(step * self.event.epsilon) * beyond / total).enclosure
