"""How many trials a private choice among private runs makes: random, and never released.

Setting. A run on the data is pure e-differentially private, its outcomes ordered. K is drawn (independently of the
data), K independent runs are made, and the best outcome alone is released.

Theorem. Let g be the probability generating function of K, g(s) = E s**K. Then the release is pure
(e + ln c)-private, c the largest g'(q)/g'(q') over q, q' in [0, 1] with q <= exp(e) q', 1 - q <= exp(e)(1 - q') and the
same with q and q' exchanged.
Proof. With Q the law of one run, the best of K is y with probability g(Q[up to y]) - g(Q[below y]), which is Q(y) times
the mean of g'(q) over q between the two. Q(y) changes by a factor of at most exp(e), and so do Q[up to y], Q[below y]
and all means of them, and their complements to 1.

  * Truncated negative binomial, Pr[K = k] proportional to (1 - stop)**k (shape)(shape + 1)...(shape + k - 1)/k!,
    k >= 1, shape > -1: g'(q) is proportional to (1 - (1 - stop) q)**-(shape + 1), and 1 - (1 - stop) q =
    (1 - q) + stop q changes by a factor of at most exp(e). Cost: (2 + shape) e. Shape 1 is the geometric law, 3 e;
    shape 0 the logarithmic one, 2 e.
  * Poisson (K may be 0): g'(q) = mean exp(-mean (1 - q)), and q - q' <= tanh(e/2) (reached where both constraints
    bind). Cost: e + mean tanh(e/2) <= e (1 + mean/2). It is cheaper only for a mean below 2.

K is drawn exactly: a uniform real is compared with enclosures of the distribution function.

Source: Liu, Talwar 2019; Papernot, Steinke 2022. The pure bound for the Poisson law is derived here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from tacit import parameters
from tacit.noise import BitSource
from tacit.noise.functions import Interval
from tacit.noise.reals import Enclosure, LazyUniform

_MOST_TRIALS = 10_000
LAWS = ("logarithmic", "geometric", "poisson")


class Trials(ABC):
    """A law of the number of trials."""

    @abstractmethod
    def each(self, total: Fraction) -> Fraction:
        """The epsilon that each run may cost, for a release that costs `total`."""

    @property
    @abstractmethod
    def least(self) -> int:
        """The smallest number of trials."""

    @abstractmethod
    def first(self, digits: int) -> Interval:
        """The probability of the smallest number."""

    @abstractmethod
    def ratio(self, k: int) -> Fraction:
        """Pr[K = k + 1] / Pr[K = k]."""

    def draw(self, bits: BitSource) -> int:
        """A number of trials, by comparing a uniform real with the distribution function."""
        uniform, known = LazyUniform(bits), _Cumulative(self)
        k = self.least
        while not uniform.is_below(lambda digits, k=k: known.at(k, digits)):  # type: ignore[misc]
            k += 1
        return k


@dataclass(frozen=True, slots=True)
class NegativeBinomial(Trials):
    """Truncated at one. Shape 1 is geometric, shape 0 logarithmic."""

    shape: Fraction
    stop: Fraction

    def each(self, total: Fraction) -> Fraction:
        """total / (2 + shape)."""
        return total / (2 + self.shape)

    @property
    def least(self) -> int:
        """One trial."""
        return 1

    def first(self, digits: int) -> Interval:
        """shape (1 - stop)/(stop**-shape - 1), and its limit (1 - stop)/-ln(stop) for shape 0."""
        log = Interval.of(self.stop, digits).ln()
        if not self.shape:
            return Interval.of(1 - self.stop, digits) / -log
        grown = (-(Interval.of(self.shape, digits) * log)).exp() - Interval.of(1, digits)
        return Interval.of(self.shape * (1 - self.stop), digits) / grown

    def ratio(self, k: int) -> Fraction:
        """(1 - stop)(k + shape)/(k + 1)."""
        return (1 - self.stop) * (k + self.shape) / (k + 1)


@dataclass(frozen=True, slots=True)
class Poisson(Trials):
    """Poisson: there may be no trial at all."""

    mean: Fraction

    def each(self, total: Fraction) -> Fraction:
        """total / (1 + mean/2)."""
        return total / (1 + self.mean / 2)

    @property
    def least(self) -> int:
        """No trial."""
        return 0

    def first(self, digits: int) -> Interval:
        """exp(-mean)."""
        return Interval.of(-self.mean, digits).exp()

    def ratio(self, k: int) -> Fraction:
        """mean / (k + 1)."""
        return self.mean / (k + 1)


class _Cumulative:
    """Enclosures of Pr[K <= k], kept by the number of digits."""

    def __init__(self, law: Trials) -> None:
        self._law = law
        self._found: dict[int, list[tuple[Interval, Interval]]] = {}

    def at(self, k: int, digits: int) -> Enclosure:
        precision = digits + 10
        found = self._found.setdefault(precision, [])
        if not found:
            first = self._law.first(precision)
            found.append((first, first))
        while len(found) <= k - self._law.least:
            mass, total = found[-1]
            mass = mass * Interval.of(self._law.ratio(self._law.least + len(found) - 1), precision)
            found.append((mass, total + mass))
        return found[k - self._law.least][1].enclosure


def law_of(name: str, mean: parameters.Number) -> Trials:
    """The law of this name with about this mean number of trials."""
    exact = parameters.positive("trials", mean)
    if name not in LAWS:
        raise parameters.refuse("law", f"one of {', '.join(map(repr, LAWS))}", name)
    if not 1 <= exact <= _MOST_TRIALS:
        raise parameters.refuse("trials", f"from 1 to {_MOST_TRIALS:,} on average", mean)
    if name == "poisson":
        return Poisson(exact)
    if exact == 1:
        raise parameters.refuse("trials", "above 1 on average, unless the law is 'poisson'", mean)
    if name == "geometric":
        return NegativeBinomial(Fraction(1), 1 / exact)
    return NegativeBinomial(Fraction(0), _logarithmic_stop(float(exact)))


def _logarithmic_stop(mean: float) -> Fraction:
    """Where (1/stop - 1)/ln(1/stop) is about the mean. Any value is private."""
    low, high = 0.0, 1.0
    for _ in range(50):
        stop = (low + high) / 2
        low, high = (stop, high) if (1 / stop - 1) / -math.log(stop) > mean else (low, stop)
    return Fraction(low if low > 0 else high).limit_denominator(1 << 40)
