"""Discrete Gaussian noise in shares: what the sum of h clients' shares hides, and what it costs.

Setting. Every client adds to its vector of whole numbers, of squared L2 norm at most S2, independent noise of mass
proportional to exp(-k**2/(2 v)) in each place. Only the sum is opened, modulo a modulus. At least h of the clients
whose vectors are in the sum are honest and keep their noise to themselves; all others may reveal theirs.
Neighbours: one client's vector is replaced by zeros.

Theorem. The opened sum is a post-processing of two mechanisms on the same data:
    discrete Gaussian noise of variance parameter h v on integers of L2 sensitivity sqrt(S2), and
    one that tells everything with probability eta = 1 - exp(-t), and else nothing: (0, eta)-differential privacy,
    t = D sum_(k=1)^(h-1) log(M(v k/(k+1))/m(v k/(k+1))),      D places at most not 0,
where M(w) and m(w) are the largest and smallest value over a of sum_x exp(-(x - a)**2/(2 w)), x a whole number.

Proof. A sum of discrete Gaussians is NOT one. Let Q_k be the discrete Gaussian of parameter k v, G = Q_1 and P_k the
law of a sum of k draws of G. The mass of Q_k * G at z is proportional to exp(-z**2/(2 (k+1) v)) times
sum_x exp(-(x - a_z)**2/(2 w)), w = v k/(k+1): complete the square. The first factor is that of Q_(k+1), the second lies
in [m(w), M(w)]; so the mass of Q_k * G is at least m(w)/M(w) times that of Q_(k+1), everywhere. If P_k is at least c_k
Q_k everywhere, then P_(k+1) = P_k * G is at least c_k Q_k * G, at least c_k m/M Q_(k+1). So P_h >= exp(-t/D) Q_h.
In D places at once P >= exp(-t) Q: P is Q with probability exp(-t) and something else with probability 1 - exp(-t),
whatever the data are. Places where neighbours do not differ carry equal laws and drop out; a vector of integers of
squared norm S2 has at most S2 places that are not 0, so D <= S2. The noise of more honest clients, of others, and the
modulus, are post-processing.

M and m. By Poisson summation sum_x exp(-(x - a)**2/(2 w)) = sqrt(2 pi w) (1 + 2 sum_(j>=1) r**(j**2) cos(2 pi j a)),
r = exp(-2 pi**2 w). So log(M/m) <= log(1 + 2 r/(1 - r**3)) - log(1 - 2 r) for r < 1/2, as j**2 >= 1 + 3 (j - 1).

Kairouz, Liu, Steinke 2021 (the distributed discrete Gaussian) bound the same ratio by 10 r for each step; this is the
argument itself, about 4 r. Noise is drawn exactly (`tacit.noise.discrete_gaussian`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit import noise, parameters
from tacit.loss import calibrate
from tacit.loss.compose import compose
from tacit.loss.events import Approximate, Composed, DiscreteGaussian, Event
from tacit.loss.numbers.rounding import dyadic_up, float_down, float_up, sqrt_up
from tacit.parameters import Number

_SLACK = 1 + 1e-9  # of the float sums below: their relative error is under 1e-12
_TWO_PI_SQUARED = 19.739208802178  # rounded down: a smaller exponent makes a larger bound
_SET_ASIDE = Fraction(1, 1000)  # of delta, for the sum not being a discrete Gaussian
_STEPS_AT_ONCE = 1 << 20
_LEAST_FAILURE = 1e-300  # a bound is never zero, even where a float has no smaller number
_A_LITTLE_MORE = Fraction(1025, 1024)


def distance(variance: Fraction, clients: int) -> float:
    """t for one place: an upper bound of the log ratio between the sum of shares and the Gaussian it stands for."""
    v, total = float_down(variance), 0.0
    for start in range(1, clients, _STEPS_AT_ONCE):
        k = np.arange(start, min(clients, start + _STEPS_AT_ONCE), dtype=np.float64)
        r = np.exp(-_TWO_PI_SQUARED * v * (k / (k + 1)))
        if float(r.max()) >= 0.49:
            return math.inf
        total += float((np.log1p(2 * r / (1 - r**3)) - np.log1p(-2 * r)).sum())
    return total * _SLACK


@dataclass(frozen=True, slots=True)
class NoiseShares:
    """What each client adds: discrete Gaussian noise of this variance parameter in each of `size` places.

    `norm_squared` bounds the squared L2 norm of a client's vector, and `places` how many of its numbers are not 0;
    At least `honest` clients keep their noise to themselves.

    >>> shares = NoiseShares.for_price(2, 5, 10, Fraction(1), Fraction(1, 1000))
    >>> shares.honest
    10
    """

    norm_squared: int
    size: int
    honest: int
    variance: Fraction
    places: int = 0

    def __post_init__(self) -> None:
        for name in ("norm_squared", "size", "honest"):
            parameters.whole(name, getattr(self, name), least=1)
        parameters.positive("variance", self.variance)
        most = min(self.size, self.norm_squared)
        if not 0 <= parameters.whole("places", self.places) <= most:
            raise parameters.refuse("places", f"at most {most}", self.places)
        object.__setattr__(self, "places", self.places or most)
        if not self.failure < 1:
            allowed = "large enough that a sum of shares is nearly a discrete Gaussian"
            raise parameters.refuse("variance", allowed, float(self.variance), "Take a finer grid.")

    @classmethod
    def for_price(
        cls,
        norm_squared: int,
        size: int,
        honest: int,
        epsilon: Number,
        delta: Number,
        *,
        rounds: int = 1,
        places: int = 0,
    ) -> NoiseShares:
        """The shares for each of several rounds that meet (epsilon, delta) together, by `tacit.loss.compose`."""
        price = parameters.price("epsilon", epsilon)
        slip = parameters.open_probability("delta", parameters.slip("delta", delta))
        times, many = parameters.whole("rounds", rounds, least=1), parameters.whole("honest", honest, least=1)
        squared, wide = parameters.whole("norm_squared", norm_squared, least=1), parameters.whole("size", size, least=1)
        return _for_price(squared, wide, many, price, slip, times, places or min(wide, squared))

    @property
    def failure(self) -> float:
        """eta: the probability with which the sum is counted as telling everything."""
        if self.honest == 1:
            return 0.0
        return min(1.0, max(self.places * distance(self.variance, self.honest), _LEAST_FAILURE))

    @property
    def event(self) -> Event:
        """What the opened sum tells, if one client's vector is replaced by zeros."""
        spread = _root_down(self.variance * self.honest)
        gaussian = DiscreteGaussian(sqrt_up(Fraction(self.norm_squared)), spread, self.places)
        if self.honest == 1:
            return gaussian
        return Composed((gaussian, Approximate(Fraction(0), Fraction(self.failure))))

    def draw(self, bits: noise.BitSource | None = None) -> NDArray[np.int64]:
        """One client's noise."""
        return noise.discrete_gaussian(self.variance, self.size, noise.secure() if bits is None else bits)


@lru_cache(maxsize=64)  # a pure function of public numbers, which takes up to seconds
def _for_price(
    squared: int, size: int, honest: int, price: Fraction, slip: Fraction, times: int, places: int
) -> NoiseShares:
    root, aside = sqrt_up(Fraction(squared)), slip * _SET_ASIDE
    if times == 1:
        first = calibrate.discrete_gaussian_sigma(root, price, slip - aside, places) ** 2 / honest
    else:  # as if all rounds were one round of a longer vector: exact for continuous noise, a first guess here
        first = times * calibrate.gaussian_sigma(root, price, slip - aside) ** 2 / honest
    variance = _wide_enough(dyadic_up(first), honest, places, aside / times)
    found = NoiseShares(squared, size, honest, variance, places)
    while compose([found.event] * times).epsilon(slip) > float_up(price):
        found = replace(found, variance=dyadic_up(found.variance * _A_LITTLE_MORE))
    return found


def _wide_enough(variance: Fraction, honest: int, places: int, aside: Fraction) -> Fraction:
    """A variance of at least this, at which the sum of shares fails with probability at most `aside`."""
    while honest > 1 and places * distance(variance, honest) > float_down(aside):
        variance = dyadic_up(variance * Fraction(9, 8) + Fraction(1, 8))
    return variance


def _root_down(exact: Fraction) -> Fraction:
    """A square root, rounded down: assuming less noise than there is gives a price that is never too low."""
    scale = 1 << 64
    return Fraction(math.isqrt(math.floor(exact * scale * scale)), scale)
