"""Symmetric continuous laws with falling density, given by what sampling them on a grid needs.

A law speaks of the magnitude |Z| only; the sign is a fair coin. With S(z) = P(|Z| >= z) and f the density of |Z|:

    survival(z)             S in float64, within `band` of the truth for every float z >= 0
    guess(u)                roughly the z with S(z) = u: only speed depends on it
    survival_enclosure      S at a rational z, to any number of digits
    density_ratio           f(z) / f(nearer) for rational z >= nearer >= 0, to any number of digits
    steepness               a bound of -f'/f, so that f(z + h) >= f(z) (1 - steepness * h), wherever z + h <= reach
    reach                   how far out the bound holds, or None for everywhere

Error bands, with u = 2**-53 and numpy's exp, log and arctangents within 8 units in the last place (16u of their value;
the tests measure it): a closed form of arctangents and logarithms of size at most pi that is then divided by pi
carries below 32u (arctangents, exp) and 48u (the logarithm's argument is off by 18u); Student's sum is nested as 1 + x
r_1 (1 + x r_2 (...)), positive throughout, so each of its at most nu/2 steps adds a relative 7u, and the whole is at
most 1. The bands below are 64u, and 8u for each degree of freedom.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.noise.functions import Interval, pi
from tacit.noise.reals import Enclosure
from tacit.parameters import ROUNDOFF

Floats = NDArray[np.float64]

_GUARD_DIGITS = 8
_TABLE_SIZE = 1 << 13
_TABLE_ENDS_AT = 1e-12  # below this an absolute error of 2**-46 makes the table's logarithms too rough


class Law(ABC):
    """The law of a magnitude |Z|."""

    __slots__ = ()

    @property
    def band(self) -> float:
        return 64 * ROUNDOFF

    @property
    def reach(self) -> Fraction | None:
        return None

    @property
    @abstractmethod
    def steepness(self) -> Fraction: ...

    @abstractmethod
    def survival(self, z: Floats) -> Floats: ...

    @abstractmethod
    def guess(self, u: Floats) -> Floats: ...

    @abstractmethod
    def survival_enclosure(self, z: Fraction, precision: int) -> Enclosure: ...

    @abstractmethod
    def density_ratio(self, nearer: Fraction, z: Fraction, precision: int) -> Enclosure: ...


@dataclass(frozen=True, slots=True)
class ContinuousLaplace(Law):
    """Density exp(-|z|)/2: S(z) = exp(-z)."""

    @property
    def steepness(self) -> Fraction:
        return Fraction(1)

    def survival(self, z: Floats) -> Floats:
        return np.asarray(np.exp(-z))

    def guess(self, u: Floats) -> Floats:
        return np.asarray(-np.log(u))

    def survival_enclosure(self, z: Fraction, precision: int) -> Enclosure:
        return _exp(-z, precision)

    def density_ratio(self, nearer: Fraction, z: Fraction, precision: int) -> Enclosure:
        return _exp(nearer - z, precision)


@dataclass(frozen=True, slots=True)
class Cauchy(Law):
    """Density 1 / (pi (1 + z**2)): S(z) = (2/pi) arctan(1/z)."""

    @property
    def steepness(self) -> Fraction:
        return Fraction(1)  # 2z / (1 + z**2)

    def survival(self, z: Floats) -> Floats:
        return np.asarray(np.arctan2(1.0, z) * (2 / math.pi))

    def guess(self, u: Floats) -> Floats:
        return np.asarray(1 / np.tan(u * (math.pi / 2)))

    def survival_enclosure(self, z: Fraction, precision: int) -> Enclosure:
        p = precision + _GUARD_DIGITS
        return (Interval.of(1, p) - Interval.of(2, p) * Interval.of(z, p).arctan() / pi(p)).enclosure

    def density_ratio(self, nearer: Fraction, z: Fraction, precision: int) -> Enclosure:
        return Interval.of((1 + nearer**2) / (1 + z**2), precision).enclosure


@dataclass(frozen=True, slots=True)
class Quartic(Law):
    """Density sqrt(2) / (pi (1 + z**4)).

    S(z) = 1 - ln((z**2 + r z + 1) / (z**2 - r z + 1)) / (2 pi) - (arctan(r z + 1) + arctan(r z - 1)) / pi, r = sqrt(2).
    """

    @property
    def steepness(self) -> Fraction:
        return Fraction(7, 3)  # 4 z**3 / (1 + z**4) is largest at z**4 = 3, where it is 3**(3/4) < 2.28

    def survival(self, z: Floats) -> Floats:
        rooted, raised = math.sqrt(2) * z, z * z + 1
        logarithm = np.log((raised + rooted) / (raised - rooted))
        angles = np.arctan(rooted + 1) + np.arctan(rooted - 1)
        return np.asarray(1 - logarithm * (0.5 / math.pi) - angles * (1 / math.pi))

    def guess(self, u: Floats) -> Floats:
        z = _from_table(self, u)
        density = (math.sqrt(8) / math.pi) / (1 + (z * z) ** 2)
        return _polished(z, self.survival(z) - u, density)

    def survival_enclosure(self, z: Fraction, precision: int) -> Enclosure:
        p = precision + _GUARD_DIGITS
        one, raised = Interval.of(1, p), Interval.of(z * z + 1, p)
        rooted = Interval.of(2 * z * z, p).sqrt()
        logarithm = ((raised + rooted) / (raised - rooted)).ln()
        angles = (rooted + one).arctan() + (rooted - one).arctan()
        return (one - (logarithm / Interval.of(2, p) + angles) / pi(p)).enclosure

    def density_ratio(self, nearer: Fraction, z: Fraction, precision: int) -> Enclosure:
        return Interval.of((1 + nearer**4) / (1 + z**4), precision).enclosure


@dataclass(frozen=True, slots=True)
class Student(Law):
    """Student's t with `degrees` of freedom: density proportional to (1 + z**2 / degrees)**(-(degrees + 1) / 2).

    With t = z / sqrt(degrees) and x = 1 / (1 + t**2),
    even degrees  1 - S = t sqrt(x) (1 + 1/2 x + (1*3)/(2*4) x**2 + ...)                       degrees/2 terms
    odd degrees   1 - S = (2/pi) (arctan t + t x (1 + 2/3 x + (2*4)/(3*5) x**2 + ...))         (degrees - 1)/2 terms
    """

    degrees: int

    @property
    def band(self) -> float:
        return (64 + 8 * self.degrees) * ROUNDOFF

    @property
    def steepness(self) -> Fraction:
        # (degrees + 1) z / (degrees + z**2) is largest at z = sqrt(degrees)
        return Fraction(self.degrees + 1, 2 * math.isqrt(self.degrees))

    def _ratios(self) -> list[Fraction]:
        """Each coefficient over the one before it, from the second one on."""
        if self.degrees % 2 == 0:
            return [Fraction(2 * j - 1, 2 * j) for j in range(1, self.degrees // 2)]
        return [Fraction(2 * j, 2 * j + 1) for j in range(1, (self.degrees - 1) // 2)]

    def survival(self, z: Floats) -> Floats:
        whole = z * z + self.degrees
        x = self.degrees / whole
        total = np.ones_like(z)
        for ratio in reversed(self._ratios()):
            total *= x * float(ratio)
            total += 1
        if self.degrees % 2 == 0:
            return np.asarray(1 - z / np.sqrt(whole) * total)
        angle = np.arctan(z / math.sqrt(self.degrees))
        if self.degrees > 1:
            angle += z / math.sqrt(self.degrees) * x * total
        return np.asarray(1 - angle * (2 / math.pi))

    def guess(self, u: Floats) -> Floats:
        z = _from_table(self, u)
        half = (self.degrees + 1) / 2
        peak = 2 * math.exp(math.lgamma(half) - math.lgamma(self.degrees / 2)) / math.sqrt(self.degrees * math.pi)
        return _polished(z, self.survival(z) - u, peak * np.exp(-half * np.log1p(z * z / self.degrees)))

    def survival_enclosure(self, z: Fraction, precision: int) -> Enclosure:
        p = precision + _GUARD_DIGITS + len(str(self.degrees))
        one, x = Interval.of(1, p), Interval.of(self.degrees / (self.degrees + z * z), p)
        total = one
        for ratio in reversed(self._ratios()):
            total = one + total * x * Interval.of(ratio, p)
        if self.degrees % 2 == 0:
            return (one - Interval.of(z * z / (self.degrees + z * z), p).sqrt() * total).enclosure
        tangent = Interval.of(z * z / self.degrees, p).sqrt()
        angle = tangent.arctan()
        if self.degrees > 1:
            angle = angle + tangent * x * total
        return (one - Interval.of(2, p) * angle / pi(p)).enclosure

    def density_ratio(self, nearer: Fraction, z: Fraction, precision: int) -> Enclosure:
        p = precision + _GUARD_DIGITS + len(str(self.degrees))
        base = Interval.of((self.degrees + nearer * nearer) / (self.degrees + z * z), p)
        return base.power(self.degrees + 1).sqrt().enclosure


def _exp(exponent: Fraction, precision: int) -> Enclosure:
    """exp(exponent); rounding the exponent x moves it by a relative |x| 10**-p, so p grows with the size of x."""
    p = precision + _GUARD_DIGITS + len(str(abs(exponent.numerator) // exponent.denominator))
    return Interval.of(exponent, p).exp().enclosure


@lru_cache(maxsize=32)
def _table(law: Law) -> tuple[Floats, Floats]:
    """-ln S(z) and arsinh z on a grid, to be read backwards. Both grow almost linearly in a heavy tail."""
    grid = np.linspace(0.0, math.asinh(1e12), _TABLE_SIZE)
    survival = law.survival(np.sinh(grid))
    kept = int(np.argmax(survival <= _TABLE_ENDS_AT))
    return -np.log(survival[:kept]), grid[:kept]


def _from_table(law: Law, u: Floats) -> Floats:
    logs, grid = _table(law)
    return np.asarray(np.sinh(np.interp(-np.log(u), logs, grid)))


def _polished(z: Floats, excess: Floats, density: Floats) -> Floats:
    """One step of Newton's towards S(z) = u."""
    return np.asarray(np.maximum(z + excess / density, 0.0))
