"""Upper bounds of the privacy curve of discrete Gaussian noise, in any number of dimensions.

The noise has mass proportional to exp(-x^2 / (2 sigma^2)) on each integer coordinate; neighbouring integer vectors lie
within L2 distance S. Squared distances are integers, so S^2 is first rounded down to one.

Theorem 1 (one coordinate changes: one dimension, or S^2 < 2, when it changes by at most s = floor(S)). The law is
log-concave, so the loss is monotone in x and a larger shift costs more; with s the largest shift
    delta(eps) = (1/Theta) sum over x of exp(-x^2/(2 sigma^2)) (1 - exp(eps - (2 x s + s^2)/(2 sigma^2)))_+ ,
a sum of positive terms that starts at the first x above eps sigma^2/s - s/2. Theta is the sum of all weights.

Theorem 2 (any dimension d). Write sigma^2 = sigma0^2 + sigma1^2, and let g0, g1, g be the densities of N(0, sigma0^2),
N(0, sigma1^2), N(0, sigma^2). Add N(0, sigma0^2) to each coordinate and round the real result x to the integer k with
probability g1(k - x)/R(x), R(x) = sum over j of g1(j - x). By Poisson summation R(x) is
1 + 2 sum over m >= 1 of exp(-c m^2) cos(2 pi m x), c = 2 pi^2 sigma1^2, so it lies in [1 - theta, 1 + theta] with
theta = 2 exp(-c)/(1 - exp(-3 c)), as m^2 >= 3 m - 2; `rounding_variance` gives a sigma1^2 for a theta. Integrating over
x, the rounded output has mass between g(k - v)/(1 + theta) and g(k - v)/(1 - theta) at k when v is the true integer.
The discrete Gaussian has mass g(k - v)/G, G = sum over j of g(j), which is at least 1 (Poisson again) and the same for
both neighbours. So per coordinate its ratio to the rounded output is in [(1 - theta)/G, (1 + theta)/G], and over d
coordinates, since rounding is post-processing of Gaussian noise,
    delta(eps) <= (1 + theta)^d delta_Gauss(S/sigma0; eps - d log((1 + theta)/(1 - theta))).

Theorem 3 (several coordinates, narrow noise, near vectors): `lattice_vectors` goes through all vectors.

Promise: what is returned is at least the true delta at exactly the numbers given; rounding is included. Names with
`log_delta` keep all digits however small delta is and take one epsilon; `delta_curve` takes many at once. The parts of
the theorems are written once for both.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np

from tacit.loss.curves import gaussian, lattice_vectors
from tacit.loss.curves.gaussian import UNDERFLOW
from tacit.loss.numbers.edge import least
from tacit.loss.numbers.outward import STEP_AT_ONE, Floats
from tacit.loss.numbers.rounding import float_down, float_up, sqrt_up

LATTICE_SIGMA = 256.0
"""Above this sigma the lattice sum is long, and the second theorem is within a few parts in a million."""

_REACH = 38  # lattice points beyond this many sigmas carry less than 1e-314 together, far less than UNDERFLOW
_ROUNDED = 2.11  # the second theorem's 2/(1 - exp(-3 c)) is at most this, as rounding takes c >= log(2.11/0.7)
_MOST_THETA = 0.7


def integer_distance(sensitivity: Fraction) -> int:
    """The largest squared L2 distance of two integer vectors within `sensitivity`."""
    return math.floor(sensitivity * sensitivity)


def only_shift(squared: int, dimensions: int) -> int | None:
    """The largest shift when just one coordinate can change, else None."""
    if dimensions == 1:
        return math.isqrt(squared)
    return 1 if squared == 1 else None


def log_delta_of_shift(sigma: float, shift: int, epsilon: float) -> float:
    """An upper bound of log delta(epsilon) by the lattice sum of the first theorem."""
    variance = sigma * sigma
    spread = 10 * sigma + 2  # beyond it the weights fall below exp(-50)
    start = max(math.floor(epsilon * variance / shift - shift / 2), -math.floor(spread))
    stop = math.ceil(math.hypot(max(start, 0.0), spread)) + 1
    steps = np.arange(stop - start + 1, dtype=np.float64)
    points = start + steps
    # Weights relative to the heaviest point, so that a delta of 1e-300 keeps all its digits and none overflows.
    heaviest = max(start, 0)
    weights = np.exp(-(points - heaviest) * (points + heaviest) / (2 * variance))
    # Where the loss barely passes epsilon the gain is all cancellation: the exponent is lowered by its own error.
    losses = shift * (2 * points + shift) / (2 * variance)
    gains = -np.expm1(np.minimum(epsilon - losses - 4 * STEP_AT_ONE * (epsilon + np.abs(losses)), 0.0))
    ratio = math.exp(-stop / variance)
    beyond = float(weights[-1]) * ratio / -math.expm1(-stop / variance)
    total = float(weights @ gains) + beyond + (len(steps) + 1) * sys.float_info.min  # of weights that became zero
    slack = 4 * STEP_AT_ONE * (64 + len(steps) + start * start / (2 * variance))
    skipped = math.exp(-49.0) if start == -math.floor(spread) else 0.0
    log_sum = math.log(total) - heaviest * heaviest / (2 * variance)
    return min(0.0, log_sum - math.log(_normaliser_down(sigma)) + slack + skipped)


def delta_curve_of_shift(sigma: Fraction, shift: int, epsilons: Floats) -> Floats:
    """Upper bounds of delta at each of `epsilons` >= 0 by the first theorem, from running sums of the weights."""
    variance = float(sigma * sigma)
    reach = math.ceil(_REACH * float(sigma)) + 1
    points = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-points * points / (2 * variance))
    below = np.concatenate([[0.0], np.cumsum(weights)])  # below[i] = weight of the points before number i
    # Written from the other end: x stands in the half line when its loss (shift^2 - 2 shift x)/(2 variance) passes.
    edge = np.ceil(shift / 2 - epsilons * variance / shift)
    # Error of the weights: exponents up to 38^2/2 with a relative error of four units; of the running sums: n units.
    slack = (4 * _REACH * _REACH + len(points) + 64 + epsilons) * STEP_AT_ONE
    value = np.zeros_like(epsilons)
    # Rounding may move the edge past a point with a tiny gain, which may still outweigh all points beyond it.
    for end in (edge, edge + 1):
        here = below[np.clip(end + reach, 0, len(points)).astype(np.int64)]
        there = below[np.clip(end - shift + reach, 0, len(points)).astype(np.int64)]
        with np.errstate(over="ignore", invalid="ignore"):
            lost = np.where(there > 0, np.exp(epsilons) * there, 0.0)
            value = np.fmax(value, here - lost + slack * (here + lost))
    return np.clip(value / (_normaliser_down(float_down(sigma)) * (1 - slack)) + UNDERFLOW, 0.0, 1.0)


def _normaliser_down(sigma: float) -> float:
    """At most the sum of exp(-x^2/(2 sigma^2)) over the integers: the first terms of it, or of its Poisson dual."""
    if sigma >= 1:
        return sigma * math.sqrt(2 * math.pi) * (1 + 2 * math.exp(-2 * (math.pi * sigma) ** 2)) * (1 - 8 * STEP_AT_ONE)
    return 1 + 2 * math.fsum(math.exp(-x * x / (2 * sigma * sigma)) for x in range(1, 9)) * (1 - 8 * STEP_AT_ONE)


def log_delta_by_rounding(sigma: float, squared: int, epsilon: float, dimensions: int) -> float:
    """An upper bound of log delta(epsilon) by the second theorem, at the best of a few splits of the variance."""
    best = 0.0
    for share in _SHARES:
        theta = _theta(epsilon * share, dimensions)
        mu = _mu_before_rounding(sigma, squared, theta)
        if mu is None:
            continue
        value = gaussian.log_delta(mu, epsilon * (1 - share) * (1 - 4 * STEP_AT_ONE))
        best = min(best, value + dimensions * theta * (1 + 4 * STEP_AT_ONE))
    return best


def delta_curve_by_rounding(sigma: Fraction, squared: int, epsilons: Floats, dimensions: int) -> Floats:
    """Upper bounds of delta at each of `epsilons` >= 0 by the second theorem, each at the best of a few thetas."""
    best = np.ones_like(epsilons)
    for theta in (1e-12 / dimensions, 1e-9 / dimensions, 1e-6 / dimensions, 1e-4 / dimensions, 1e-2 / dimensions):
        mu = _mu_before_rounding(float_down(sigma), squared, theta)
        if mu is None:
            continue
        loss = dimensions * (math.log1p(theta) - math.log1p(-theta)) * (1 + 16 * STEP_AT_ONE)
        shifted = epsilons - loss
        bound = np.where(shifted >= 0, gaussian.delta_curve(mu, np.maximum(shifted, 0.0)), 1.0)
        # Below zero the curve is at most its value at zero plus 1 - exp(epsilon).
        at_zero = gaussian.delta_curve(mu, np.zeros(1))[0]
        bound = np.where(shifted < 0, at_zero - np.expm1(np.minimum(shifted, 0.0)), bound)
        best = np.minimum(best, bound * math.exp(dimensions * theta) * (1 + 16 * STEP_AT_ONE))
    return np.minimum(best, 1.0)


def sigma_by_rounding(squared: int, epsilon: float, log_target: float, dimensions: int) -> Fraction:
    """The least sigma the second theorem gives for a target, over a few splits of the variance."""
    candidates = []
    for share in _SHARES:
        theta = _theta(epsilon * share, dimensions)
        left = epsilon * (1 - share) * (1 - 4 * STEP_AT_ONE)
        mu = gaussian.largest_mu(left, log_target - dimensions * theta * (1 + 4 * STEP_AT_ONE))
        candidates.append(Fraction(squared) / Fraction(mu) ** 2 + Fraction(rounding_variance(theta)))
    return sqrt_up(min(candidates))


_SHARES = tuple(2.0**-j for j in (1, 3, 6, 10, 14, 18, 22))


def rounding_variance(theta: float) -> float:
    """A sigma1^2, rounded up, that rounds to integers within the second theorem's `theta`, which is at most 0.7."""
    return math.log(_ROUNDED / theta) / (2 * math.pi**2) * (1 + 16 * STEP_AT_ONE)


def _theta(loss: float, dimensions: int) -> float:
    """The theta for which d log((1 + theta)/(1 - theta)) is at most `loss`."""
    return min(math.tanh(loss / (2 * dimensions)) * (1 - 8 * STEP_AT_ONE), _MOST_THETA)


def _mu_before_rounding(sigma: float, squared: int, theta: float) -> float | None:
    """The mu of the Gaussian noise that is rounded, rounded up; None where rounding takes all of the variance."""
    rest = min(sigma * sigma, sys.float_info.max) * (1 - 4 * STEP_AT_ONE) - rounding_variance(theta)
    return float_up(sqrt_up(Fraction(squared) / Fraction(rest))) if rest > 0 else None


def log_delta(sensitivity: Fraction, sigma: Fraction, epsilon: Fraction, dimensions: int) -> float:
    """An upper bound of log delta(epsilon) by whichever theorem fits."""
    squared = integer_distance(sensitivity)
    if squared == 0:
        return -math.inf
    shift = only_shift(squared, dimensions)
    below, at_least = float_down(sigma), float_down(epsilon)
    if shift is not None and Fraction(below) == sigma and below <= LATTICE_SIGMA:
        return log_delta_of_shift(below, shift, at_least)
    return _log_delta_of_several(below, squared, at_least, dimensions)


def delta_curve(sensitivity: Fraction, sigma: Fraction, dimensions: int, epsilons: Floats) -> Floats:
    """Upper bounds of delta at each of `epsilons` >= 0 by whichever theorem fits."""
    squared = integer_distance(sensitivity)
    if squared == 0:
        return np.zeros_like(epsilons)
    shift = only_shift(squared, dimensions)
    if shift is not None and sigma <= LATTICE_SIGMA:
        return delta_curve_of_shift(sigma, shift, epsilons)
    rounded = delta_curve_by_rounding(sigma, squared, epsilons, dimensions)
    below = float_down(sigma)
    if not lattice_vectors.applies(squared, below):
        return rounded
    return np.minimum(rounded, lattice_vectors.delta(squared, below, dimensions, epsilons))


def _log_delta_of_several(sigma: float, squared: int, epsilon: float, dimensions: int) -> float:
    """The lesser of the second theorem's bound and the third's."""
    rounded = log_delta_by_rounding(sigma, squared, epsilon, dimensions)
    if not lattice_vectors.applies(squared, sigma):
        return rounded
    (exact,) = lattice_vectors.delta(squared, sigma, dimensions, np.array([epsilon]))
    return min(rounded, math.log(exact) + 4 * STEP_AT_ONE) if exact > 0 else rounded


def smallest_sigma(squared: int, epsilon: float, log_target: float, dimensions: int) -> Fraction:
    """The least sigma found for a target; verified at the value returned."""
    shift = only_shift(squared, dimensions)
    if shift is not None:
        guess = shift / gaussian.largest_mu(epsilon, log_target)
        if guess <= LATTICE_SIGMA:
            return Fraction(_least_on_lattice(guess, shift, epsilon, log_target))
    rounded = sigma_by_rounding(squared, epsilon, log_target, dimensions)
    if not lattice_vectors.applies(squared, float(rounded)):
        return rounded

    def excess(sigma: float) -> float:
        return _log_delta_of_several(sigma, squared, epsilon, dimensions) - log_target

    found = least(excess, float_up(rounded), tolerance=1e-6, stride=1e-3)
    return min(rounded, Fraction(found)) if math.isfinite(found) else rounded


def _least_on_lattice(guess: float, shift: int, epsilon: float, log_target: float) -> float:
    """A root of the lattice sum near `guess`: the value returned has passed; one a billionth below has not."""

    def excess(sigma: float) -> float:
        return log_delta_of_shift(sigma, shift, epsilon) - log_target

    return least(excess, guess, tolerance=1e-9, stride=1e-4)
