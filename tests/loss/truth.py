"""Exact privacy curves by enumeration in arbitrary precision: what the accountants are checked against.

A law is a list of (mass under P, mass under Q), one for each outcome.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import mpmath

Law: TypeAlias = list[tuple[Any, Any]]


def number(value: Any) -> Any:
    """`value` in arbitrary precision, exactly."""
    if isinstance(value, Fraction):
        return mpmath.mpf(value.numerator) / value.denominator
    return mpmath.mpf(value)


def delta(law: Law, epsilon: Any) -> Any:
    """sup over events of P - exp(epsilon) Q."""
    factor = mpmath.exp(number(epsilon))
    return mpmath.fsum(max(mpmath.mpf(0), p - factor * q) for p, q in law)


def swapped(law: Law) -> Law:
    return [(q, p) for p, q in law]


def together(*laws: Law) -> Law:
    """Independent releases."""
    found: Law = [(mpmath.mpf(1), mpmath.mpf(1))]
    for law in laws:
        found = [(p1 * p2, q1 * q2) for (p1, q1), (p2, q2) in product(found, law)]
    return found


def divergence(law: Law, order: Any) -> Any:
    """Renyi divergence of P from Q."""
    a = number(order)
    return mpmath.log(mpmath.fsum(p**a * q ** (1 - a) for p, q in law if p > 0)) / (a - 1)


def response(epsilon: Any, options: int = 2) -> Law:
    odds = mpmath.exp(number(epsilon))
    total = odds + options - 1
    return [(odds / total, 1 / total), (1 / total, odds / total)] + [(1 / total, 1 / total)] * (options - 2)


def approximate(epsilon: Any, told: Any) -> Law:
    rest = 1 - number(told)
    return [(number(told), mpmath.mpf(0)), (mpmath.mpf(0), number(told))] + [
        (p * rest, q * rest) for p, q in response(epsilon)
    ]


def discrete_laplace(shift: int, scale: Any, reach: int = 400) -> Law:
    b = number(scale)
    total = (1 + mpmath.exp(-1 / b)) / (1 - mpmath.exp(-1 / b))
    return [
        (mpmath.exp(-abs(x) / b) / total, mpmath.exp(-abs(x - shift) / b) / total) for x in range(-reach, reach + 1)
    ]


def discrete_gaussian(shift: int, sigma: Any, reach: int = 400) -> Law:
    variance = number(sigma) ** 2
    weights = {x: mpmath.exp(-mpmath.mpf(x * x) / (2 * variance)) for x in range(-reach - shift, reach + shift + 1)}
    total = mpmath.fsum(weights.values())
    return [(weights[x] / total, weights[x - shift] / total) for x in range(-reach, reach + shift + 1)]


def poisson_sampled(law: Law, rate: Any) -> Law:
    """With the unit: P with probability `rate`, else Q. Without: Q."""
    q = number(rate)
    return [((1 - q) * second + q * first, second) for first, second in law]


def gaussian_delta(mu: Any, epsilon: Any) -> Any:
    m, e = number(mu), number(epsilon)
    return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
