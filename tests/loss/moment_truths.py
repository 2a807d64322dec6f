"""Moments E_P[(p/q)^z] from mass functions and densities themselves, in arbitrary precision."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np

from tacit.loss.curves.directions import Direction

mpmath.mp.dps = 30

Moment = Callable[[mpmath.mpc], mpmath.mpc]
ORDERS = np.array([0.05, 0.7, 3.0, 17.0])
LINE = 1.5 + 6.5j * np.arange(6)
DIRECTIONS: tuple[Direction, Direction] = ("remove", "add")


def mass_moment(p: list[mpmath.mpf], q: list[mpmath.mpf]) -> Moment:
    """E_P[(p/q)^z] over outcomes with both masses positive."""
    return lambda z: mpmath.fsum(a * (a / b) ** z for a, b in zip(p, q, strict=True) if a > 0 and b > 0)


def response_moment(epsilon: Fraction, options: int = 2, failure: Fraction = Fraction(0)) -> Moment:
    truth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    total = truth + options - 1
    keep = 1 - mpmath.mpf(failure.numerator) / failure.denominator
    p = [truth, mpmath.mpf(1), *[mpmath.mpf(1)] * (options - 2)]
    q = [mpmath.mpf(1), truth, *[mpmath.mpf(1)] * (options - 2)]
    return mass_moment([keep * a / total for a in p], [keep * b / total for b in q])


def laplace_density(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.exp(-abs(x)) / 2


def laplace_moment(ratio: float, mix: Callable[..., tuple[mpmath.mpf, mpmath.mpf]]) -> Moment:
    def moment(z: mpmath.mpc) -> mpmath.mpc:
        def inside(x: mpmath.mpf) -> mpmath.mpc:
            p, q = mix(laplace_density(x), laplace_density(x - ratio))
            return p * (p / q) ** z

        return mpmath.quad(inside, [-80, -20, 0, ratio / 4, ratio / 2, 3 * ratio / 4, ratio, ratio + 20, ratio + 80])

    return moment


def plain(p: mpmath.mpf, q: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    return p, q


def sampled(rate: float, direction: Direction) -> Callable[..., tuple[mpmath.mpf, mpmath.mpf]]:
    if direction == "remove":
        return lambda p, q: ((1 - rate) * q + rate * p, q)
    return lambda p, q: (p, (1 - rate) * p + rate * q)


def discrete_laplace_moment(scale: Fraction, shift: int) -> Moment:
    r = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    reach = int(80 * scale) + 2 * shift
    x = range(-reach, reach + 1)
    return mass_moment(
        [(1 - r) / (1 + r) * r ** abs(i) for i in x], [(1 - r) / (1 + r) * r ** abs(i - shift) for i in x]
    )


def discrete_gaussian_masses(sigma: float, shift: int) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
    # tilts up to 17 move the mean to -17 shift
    x = range(-int(14 * sigma) - 17 * shift - 2, int(14 * sigma) + shift + 3)
    everywhere = range(-int(30 * sigma) - 2, int(30 * sigma) + 3)
    total = mpmath.fsum(mpmath.exp(-(mpmath.mpf(i) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for i in everywhere)

    def weight(i: int) -> mpmath.mpf:
        return mpmath.exp(-(mpmath.mpf(i) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) / total

    return [weight(i) for i in x], [weight(i - shift) for i in x]


def bounded_range_moment(reach: float) -> Moment:
    """From the worst curve over t, found by search: E_P[exp(zL)] = z (z+1) integral of exp(z e) delta(e)."""

    def worst(epsilon: mpmath.mpf) -> mpmath.mpf:
        def at(t: mpmath.mpf) -> mpmath.mpf:
            p = (mpmath.exp(reach) - mpmath.exp(t)) / mpmath.expm1(reach)
            gain = lambda loss: max(mpmath.mpf(0), 1 - mpmath.exp(epsilon - loss))  # noqa: E731
            return p * gain(t) + (1 - p) * gain(t - reach)

        low, high = max(mpmath.mpf(0), epsilon), min(mpmath.mpf(reach), epsilon + reach)
        for _ in range(60):  # unimodal in t: ternary search
            a, b = low + (high - low) / 3, high - (high - low) / 3
            low, high = (a, high) if at(a) < at(b) else (low, b)
        return at((low + high) / 2)

    nodes = [(x, w) for x, w in zip(*np.polynomial.legendre.leggauss(24), strict=True)]
    values = [(mpmath.mpf(x) * reach, mpmath.mpf(w) * reach, worst(mpmath.mpf(x) * reach)) for x, w in nodes]

    def moment(z: mpmath.mpc) -> mpmath.mpc:
        inside = mpmath.fsum(w * mpmath.exp(z * e) * d for e, w, d in values)
        below = mpmath.exp(-z * reach) / z - mpmath.exp(-(z + 1) * reach) / (z + 1)
        return z * (z + 1) * (inside + below)

    return moment
