"""What an accountant needs of a dominating pair: its log moment, and bounds on everything that is lost on the way.

A release is dominated by a pair of measures (P, Q) when its privacy curve lies below that of the pair for every
epsilon, negative ones too; dominating pairs compose, also when later mechanisms are chosen after seeing earlier
answers (Zhu, Dong and Wang, 2022). With L = log dP/dQ, a `Transform` gives

    log_moment(z) = log E_P[exp(z L); L finite],   Re z > 0,

for one pair, and what an accountant needs to bound its own errors:

- `variance`     mu^2 of a Gaussian factor split off the pair; `log_moment` is that of the remaining factor only.
- `infinite`     P-mass where Q has none.
- `log_surplus`  the logarithm of the total P-mass where that may exceed 1.
- `greatest`     the supremum of the finite losses, rounded up (a pure epsilon when `infinite` is 0).
- `roundoff(c, T)`  (fixed, slope): log_moment computed on Re z = c, 0 <= Im z <= T is the logarithm of a number within
                 2^-53 (fixed + slope |z|) E_P[exp(c L)] of the true moment.
- `real_bound(c)` an upper bound of log E_P[exp(c L)] of the remaining factor for real c, and `axis_roundoff`, the
                 coefficients of 1, c, c^2 that bound its error in units of 2^-53.
- `concentration` a rho: the remaining factor is rho-zCDP, and nothing is known of it off the real axis.
- `spread(c)`    a `Spread`: what makes the moment decay up the line Re z = c.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.parameters import ROUNDOFF

Array: TypeAlias = npt.NDArray[Any]

TINY = 1e-290
"""Added before a logarithm so that an exact zero of a moment stays finite; far below every error bound."""

FIXED = 64.0
SLOPE = 16.0
"""Units of 2^-53 claimed for a closed form: FIXED + SLOPE |z| (greatest + 1/(2c + 1)); tests hold a quarter of it."""


_ROWS = 32


def raised(value: float, units: int = 8) -> float:
    """`value` moved up by a relative `units` * ROUNDOFF."""
    return value + abs(value) * units * ROUNDOFF


def slices(length: int) -> Iterable[slice]:
    """Rows a few at a time, so that a table of rows by nodes stays in the cache."""
    return (slice(start, start + _ROWS) for start in range(0, length, _ROWS))


def even_step(z: Array) -> float:
    """The spacing of nodes c + i j step, j = 0, 1, ..., or 0 where z is not such a line."""
    if np.isrealobj(z) or len(z) < 2 * _ROWS:
        return 0.0
    step = float(z[1].imag)
    is_even = np.array_equal(z.imag, step * np.arange(len(z))) and bool(np.all(z.real == z[0].real))
    return step if is_even else 0.0


def exponentials(rates: Array, z: Array) -> Array:
    """exp(rates x z) as a table of rates by nodes.

    On an even line exp(i (m B + n) step r) = exp(i m B step r) exp(i n step r): two small tables and their products.
    """
    step = even_step(z)
    if step == 0.0:
        return np.asarray(np.exp(np.multiply.outer(rates, z)))
    starts = float(z[0].real) + 1j * (step * np.arange(0, len(z), _ROWS))
    far = np.exp(np.multiply.outer(rates, starts))
    near = np.exp(np.multiply.outer(rates, 1j * (step * np.arange(_ROWS))))
    return np.asarray((far[:, :, None] * near[:, None, :]).reshape(len(rates), -1)[:, : len(z)])


def log_product(factors: Array, times: Array) -> Array:
    """The sum over rows of log(factors), each row as often as `times` says, on any branch (counts are whole).

    Factors are of the order of 1 and rows are few, so where all count once their product neither over- nor underflows.
    """
    if np.all(times == 1.0):
        return np.asarray(np.log(np.prod(factors, axis=0) + TINY))
    return np.asarray((np.log(factors + TINY) * times[:, None]).sum(axis=0))


def total_log_moment(pairs: Sequence[Transform], counts: Sequence[int], z: Array) -> Array:
    """The sum of the log moments of many pairs (real bounds, where z is real), kind by kind."""
    kinds: dict[type[Transform], tuple[list[Transform], list[int]]] = {}
    for pair, count in zip(pairs, counts, strict=True):
        members, times = kinds.setdefault(type(pair), ([], []))
        members.append(pair)
        times.append(count)
    total = np.zeros_like(z)
    for kind, (members, times) in kinds.items():
        total += kind.sum_of(members, times, z)
    return total


class Spread(NamedTuple):
    """Facts about the loss under P tilted by exp(c L).

    It has a component of this `mass` that is uniform on an interval of this `width`, and a density of this total
    `variation`; 0, 0 and infinity say nothing.
    """

    mass: float = 0.0
    width: float = 0.0
    variation: float = math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Transform:
    """A pair that reveals nothing: the root of the others, and their defaults.

    Totals count equal pairs together, so equality is by value where a pair is a few numbers and by identity elsewhere.
    """

    @property
    def variance(self) -> float:
        return 0.0

    @property
    def concentration(self) -> float:
        return 0.0

    @property
    def infinite(self) -> float:
        return 0.0

    @property
    def log_surplus(self) -> float:
        return 0.0

    @property
    def greatest(self) -> float:
        return 0.0

    @property
    def highest_tilt(self) -> float:
        """The largest Re z for which `log_moment` is computed."""
        return math.inf

    def work(self, height: float) -> float:
        """How long a log moment on a line of this height takes for each node, a closed form being 1."""
        return 1.0

    @property
    def has_rest(self) -> bool:
        """Whether anything is left once the Gaussian factor is split off."""
        return False

    def log_moment(self, z: Array) -> Array:
        return np.zeros_like(z)

    def real_bound(self, orders: Array) -> Array:
        return self.log_moment(orders)

    @classmethod
    def sum_of(cls, pairs: Sequence[Self], counts: Sequence[int], z: Array) -> Array:
        """The sum of log moments (of real bounds, where z is real), each as often as counted."""
        total = np.zeros_like(z)
        for pair, count in zip(pairs, counts, strict=True):
            total += count * (pair.real_bound(z) if np.isrealobj(z) else pair.log_moment(z))
        return total

    def roundoff(self, tilt: float, height: float) -> tuple[float, float]:
        return FIXED, SLOPE * (self.greatest + 1.0 / (2.0 * tilt + 1.0))

    @property
    def axis_roundoff(self) -> tuple[float, float, float]:
        return FIXED, SLOPE * (self.greatest + 1.0), 0.0

    def spread(self, tilt: float) -> Spread:
        return Spread()


@dataclass(frozen=True, slots=True)
class GaussianShift(Transform):
    """Gaussian noise with mu = sensitivity/sigma, densities known up to a factor exp(+-slack).

    If p <= exp(slack) p' and q >= exp(-slack) q' with (p', q') the Gaussian pair, then (p - a q)_+ is at most that of
    the measures (exp(slack) p', exp(-slack) q'), whose loss is the Gaussian one plus 2 slack under a mass of
    exp(slack). On the real axis the moment may be known to be that of a smaller mu, whose square is `axis_mu_squared`.
    """

    mu_squared: float
    slack: float = 0.0
    axis_mu_squared: float = math.inf

    @property
    def variance(self) -> float:
        return self.mu_squared

    @property
    def log_surplus(self) -> float:
        return self.slack

    @property
    def greatest(self) -> float:
        return math.inf if self.mu_squared else 0.0

    @property
    def has_rest(self) -> bool:
        return self.slack > 0.0

    def log_moment(self, z: Array) -> Array:
        return self.slack * (1.0 + 2.0 * z)

    def roundoff(self, tilt: float, height: float) -> tuple[float, float]:
        return 1.0, 4.0 * self.slack

    def real_bound(self, orders: Array) -> Array:
        if self.axis_mu_squared >= self.mu_squared:
            return self.log_moment(orders)
        return orders * (orders + 1.0) * ((self.axis_mu_squared - self.mu_squared) / 2.0)

    @property
    def axis_roundoff(self) -> tuple[float, float, float]:
        return 1.0, 4.0 * (self.slack + self.mu_squared), 4.0 * self.mu_squared


@dataclass(frozen=True, slots=True)
class RealAxisOnly(Transform):
    """A rho-zCDP release: E[exp(c L)] <= exp(rho c (c + 1)) for real c > 0, and nothing is known off the axis.

    It is not dominated by the Gaussian pair of the same rho: the Renyi bound leaves room for heavier short-range
    losses.
    """

    rho: float

    @property
    def concentration(self) -> float:
        return self.rho

    @property
    def greatest(self) -> float:
        return math.inf if self.rho else 0.0

    def real_bound(self, orders: Array) -> Array:
        return orders * (orders + 1.0) * self.rho

    @property
    def axis_roundoff(self) -> tuple[float, float, float]:
        return 0.0, 4.0 * self.rho, 4.0 * self.rho
