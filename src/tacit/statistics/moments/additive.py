"""The noise of a vector of whole numbers: Laplace or Gaussian, whichever has the smaller deviation for the budget.

Theorem. A vector of L1 sensitivity `taxicab` gets Laplace noise of scale taxicab/epsilon in each coordinate, pure
epsilon; one of L2 sensitivity `euclidean` gets Gaussian noise by the exact condition for (epsilon, delta). Which of the
two is decided by public numbers alone. Coordinates are released one by one as Python integers, so that none is cut off
at the width of a machine word; the noise is independent, so this is the vector release that the event states.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.curator import Price
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms import Gaussian, Laplace
from tacit.noise import BitSource


@dataclass(frozen=True, slots=True)
class Additive:
    """A mechanism for a vector, what it costs, and its noise in floating point for later computations."""

    mechanism: Laplace | Gaussian
    price: Price

    @property
    def is_laplace(self) -> bool:
        """Whether the noise is Laplace's."""
        return isinstance(self.mechanism, Laplace)

    @property
    def deviation(self) -> float:
        """The standard deviation of one coordinate's noise."""
        return self.mechanism.scale * (math.sqrt(2) if self.is_laplace else 1.0)

    def release(self, exact: Sequence[int], bits: BitSource) -> list[int]:
        """The vector with noise."""
        return [int(self.mechanism.release(int(each), bits=bits)) for each in exact]


def laplace(taxicab: int, epsilon: Fraction) -> Additive:
    """Laplace noise."""
    mechanism = Laplace(sensitivity=taxicab, epsilon=epsilon)
    return Additive(mechanism, Price(mechanism.event, epsilon))


def gaussian(euclidean_squared: int, size: int, epsilon: Fraction, delta: Fraction) -> Additive:
    """Gaussian noise, for the square of the L2 sensitivity."""
    root = math.isqrt(euclidean_squared)
    sensitivity = Fraction(root) if root * root == euclidean_squared else sqrt_up(Fraction(euclidean_squared))
    mechanism = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta, size=size)
    return Additive(mechanism, Price(mechanism.event, epsilon, delta))


def least_noise(taxicab: int, euclidean: int, size: int, epsilon: Fraction, delta: Fraction) -> Additive:
    """The one of the two with the smaller deviation; without a delta, Laplace noise."""
    first = laplace(taxicab, epsilon)
    if delta == 0:
        return first
    second = gaussian(euclidean * euclidean, size, epsilon, delta)
    return second if second.deviation < first.deviation else first
