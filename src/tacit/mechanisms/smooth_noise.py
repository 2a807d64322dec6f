"""The laws of smooth-sensitivity noise: each can be drawn exactly at a rational scale, and tells how heavy its tails
are.

`draw(scale, bits)` is round(scale * Z); `survival(z)` is P(|Z| > z) in float64, within 1e-12 (for error bars, not for
privacy).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from tacit.noise import BitSource
from tacit.noise.heavy import cauchy_like, rounded_laplace, student_t
from tacit.noise.laplace_log_normal import laplace_log_normal
from tacit.noise.laws import Cauchy, Quartic, Student

_NORMAL_STEP = 1 / 64  # the trapezoid rule on a normal density converges faster than any power of the step
_NORMAL_REACH = 9.0


class SmoothNoise(Protocol):
    """A symmetric continuous law."""

    def draw(self, scale: Fraction, bits: BitSource) -> int:
        """round(scale * Z)."""

    def survival(self, z: float) -> float:
        """P(|Z| > z)."""


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Density exp(-|z|)/2."""

    def draw(self, scale: Fraction, bits: BitSource) -> int:
        return rounded_laplace(scale, None, bits)

    def survival(self, z: float) -> float:
        return math.exp(-z)


@dataclass(frozen=True, slots=True)
class CauchyNoise:
    """Density proportional to 1/(1 + z**2)."""

    def draw(self, scale: Fraction, bits: BitSource) -> int:
        return cauchy_like(scale, 2, None, bits)

    def survival(self, z: float) -> float:
        return float(Cauchy().survival(np.array([z]))[0])


@dataclass(frozen=True, slots=True)
class QuarticNoise:
    """Density proportional to 1/(1 + z**4)."""

    def draw(self, scale: Fraction, bits: BitSource) -> int:
        return cauchy_like(scale, 4, None, bits)

    def survival(self, z: float) -> float:
        return float(Quartic().survival(np.array([z]))[0])


@dataclass(frozen=True, slots=True)
class StudentNoise:
    """Student's t: density proportional to (1 + z**2/degrees)**(-(degrees + 1)/2)."""

    degrees: int

    def draw(self, scale: Fraction, bits: BitSource) -> int:
        return student_t(scale, self.degrees, None, bits)

    def survival(self, z: float) -> float:
        return float(Student(self.degrees).survival(np.array([z]))[0])


@dataclass(frozen=True, slots=True)
class LogNormalNoise:
    """X exp(sigma Y), X with density exp(-|x|)/2 and Y standard normal."""

    sigma: Fraction

    def draw(self, scale: Fraction, bits: BitSource) -> int:
        return laplace_log_normal(scale, self.sigma, None, bits)

    def survival(self, z: float) -> float:
        """E exp(-z exp(-sigma Y))."""
        y = np.arange(-_NORMAL_REACH, _NORMAL_REACH, _NORMAL_STEP)
        with np.errstate(under="ignore", over="ignore"):
            weights = np.exp(-y * y / 2 - z * np.exp(-float(self.sigma) * y))
        return float(weights.sum()) * _NORMAL_STEP / math.sqrt(2 * math.pi)
