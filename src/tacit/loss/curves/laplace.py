"""The exact privacy curve of Laplace noise, and how much of it (epsilon, delta) needs; continuous and on integers.

Theorem 1 (continuous). Laplace noise on a number that moves by S has, with r = S/scale, the curve
    delta(eps) = 1 - exp((eps - r)/2)  for 0 <= eps <= r, and 0 above.
(The loss is r with probability 1/2, -r with probability exp(-r)/2, and between has density exp((l - r)/2)/4.)
So delta(eps) <= delta exactly when r <= eps - 2 log(1 - delta).

Theorem 2 (integers). Noise of mass proportional to q^|x|, q = exp(-1/scale), on an integer that moves by s: with
m the number of integers x >= 1 whose loss (s - 2 x)/scale passes eps,
    1 - delta(eps) = (q^(m+1) + exp(eps) q^(s-m)) / (1 + q)  for eps <= s/scale, and delta(eps) = 0 above.
This is *more* than the continuous curve of the same ratio (its greatest loss has mass 1/(1 + q) > 1/2), so the two
are calibrated apart.

Both hold for vectors of that L1 sensitivity: one coordinate moving by s1 + s2 costs at least as much as two moving by
s1 and s2 (the proof is at the top of `closed_forms`). Both laws are log-concave, so a half line is the best test, and a
larger shift costs more: the pair at the full sensitivity dominates.

Promise: the curves are never below the true delta, the ratios never above the largest that meets the target.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, float_down, float_up


def delta_curve(sensitivity: Fraction, scale: Fraction, epsilons: Floats) -> Floats:
    """The first theorem's delta at each of `epsilons` >= 0, rounded up."""
    top = float_up(sensitivity / scale)
    exponent = np.minimum(epsilons - top, 0.0) / 2
    return -np.expm1(exponent - STEP_AT_ONE * top * (exponent < 0)) * (1 + 16 * STEP_AT_ONE)


def discrete_delta_curve(shift: int, scale: Fraction, epsilons: Floats) -> Floats:
    """The second theorem's delta at each of `epsilons` >= 0, rounded up."""
    top = float_up(shift / scale)
    wide, rate = float(scale), float(1 / scale)
    ratio = math.exp(-rate)
    # The last x whose loss passes. A threshold that rounding moved by one loses only a term whose ratio is
    # exp(epsilon) up to that rounding.
    last = np.clip(np.ceil((shift - epsilons * wide) / 2) - 1, -1, shift)
    inside = -np.expm1(-(last + 1) * rate) - ratio * np.expm1(np.minimum(epsilons - (shift - last - 1) * rate, rate))
    slack = 16 * STEP_AT_ONE * (inside + top * (1 + ratio))
    return np.where(epsilons < top, np.maximum(inside + slack, 0.0) / (1 + ratio), 0.0)


def largest_ratio(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A lower bound of the largest S/scale of continuous noise; exactly epsilon when delta is 0."""
    return epsilon + Fraction(-2 * math.log1p(-float_down(delta)) * (1 - 4 * STEP_AT_ONE))


def largest_rate(shift: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """A lower bound of the largest 1/scale of integer noise on a number that moves by `shift`."""
    pure = epsilon / shift
    allowed = float_down(delta)
    at_least = float_down(epsilon)
    # For one step: q = (1 - delta)/(exp(eps) + delta), solved for 1/scale.
    gain = (math.log1p(allowed * math.exp(-at_least) if at_least < 700 else 0.0) - math.log1p(-allowed)) * (
        1 - 16 * STEP_AT_ONE
    )
    if shift == 1:
        return pure + Fraction(gain)
    # More steps: bisection between no gain and the continuous noise's gain, which integer noise cannot pass.
    low, high = Fraction(0), Fraction(-2 * math.log1p(-allowed)) / shift
    for _ in range(28):
        middle = (low + high) / 2
        middle = Fraction(float(middle))
        if _enough(pure + middle, shift, epsilon, allowed):
            low = middle
        else:
            high = middle
    return pure + low


def _enough(rate: Fraction, shift: int, epsilon: Fraction, delta: float) -> bool:
    """Whether the second theorem's delta is at most `delta`, with every rounding against the caller."""
    # ceil((s - eps/rate)/2) - 1 integers x >= 0 beyond the first have a loss above eps: decided exactly.
    passing = max(math.ceil((shift - epsilon / rate) / 2) - 1, 0)
    slow = float(rate)
    tail = float(epsilon - rate * (shift - 2 * passing - 1))
    softplus = max(tail, 0.0) + math.log1p(math.exp(-abs(tail)))
    log_kept = -slow * (passing + 1) + softplus - math.log1p(math.exp(-slow))
    slack = 8 * STEP_AT_ONE * (slow * (passing + 1) + abs(tail) + 2)
    return log_kept - slack >= math.log1p(-delta)
