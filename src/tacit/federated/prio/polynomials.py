"""Polynomials given by their values at the roots of unity, as Prio3 sends them.

Let x_0, ..., x_(n-1) be the n-th roots of unity, n a power of two, and f a polynomial of degree below n, of values f_i.

    inside the roots   an inverse transform gives the coefficients, a transform of twice the length the values at all
                       2n-th roots (`extended`)
    anywhere else      f(t) = (t**n - 1)/n * sum_i f_i x_i/(t - x_i), the barycentric formula for roots of unity (`at`)
    missing values     if f has degree below m < n, its first m values give the others: Lagrange's formula, with
                       prod_(j != i) (x_i - x_j) = n/x_i over all roots, without the missing ones (`completed`)

All three are linear in the values, so that each server can do them to its share.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tacit.federated.prio.fields import Field, Vector, roots


def power_of_two(least: int) -> int:
    """The smallest power of two that is at least this."""
    return 1 << (least - 1).bit_length()


def extended(field: Field, values: Vector, count: int) -> Vector:
    """The values at all `count`-th roots of unity, of polynomials whose values stand along the last axis."""
    n = values.shape[-1]
    coefficients = field.zeros(*values.shape[:-1], count)
    coefficients[..., :n] = _from_values(field, values)
    return _transformed(field, coefficients)


def at(field: Field, values: Vector, point: int) -> Vector:
    """The value at a point, of one polynomial or several (along the last axis)."""
    n, modulus = values.shape[-1], field.modulus
    nodes = roots(field, n)
    if point in nodes:
        return np.asarray(values[..., nodes.index(point)], dtype=object)
    factor = (pow(point, n, modulus) - 1) * field.inverse(n) % modulus
    shares = field.inverses([(point - node) % modulus for node in nodes])
    weights = field.vector(factor * (node * share % modulus) for node, share in zip(nodes, shares, strict=True))
    return np.asarray(np.asarray(values.dot(weights), dtype=object) % modulus, dtype=object)


def completed(field: Field, values: Vector, count: int) -> Vector:
    """All `count` values of a polynomial whose degree is below the number of values that are given."""
    given = len(values)
    if given == count:
        return values
    rest = np.asarray(_completing(field, given, count).dot(values) % field.modulus, dtype=object)
    return np.concatenate([values, rest])


@lru_cache(maxsize=64)
def _completing(field: Field, given: int, count: int) -> Vector:
    """A row for each missing value: Lagrange's basis of the first roots, at that root."""
    modulus, nodes = field.modulus, roots(field, count)
    known, missing = nodes[:given], nodes[given:]

    def product(of: list[int]) -> int:
        out = 1
        for each in of:
            out = out * each % modulus
        return out

    # w_i, the product of x_i - x_j over the other given nodes, upside down: x_i/n times the factors of the missing ones
    upside_down = [product([x, field.inverse(count), *((x - y) % modulus for y in missing)]) for x in known]
    out = field.zeros(len(missing), given)
    for row, y in enumerate(missing):
        others = [(y - z) % modulus for z in missing if z != y]
        whole = count * field.inverse(product([y, *others])) % modulus  # the product of y - x_j over all given nodes
        shares = field.inverses([(y - x) % modulus for x in known])
        out[row] = [whole * part % modulus * share % modulus for part, share in zip(upside_down, shares, strict=True)]
    return out


def _from_values(field: Field, values: Vector) -> Vector:
    """Coefficients from values: the transform itself, read backwards and divided by its length."""
    n = values.shape[-1]
    forward = _transformed(field, values)
    backward = np.concatenate([forward[..., :1], forward[..., :0:-1]], axis=-1)
    return np.asarray(backward * field.inverse(n) % field.modulus, dtype=object)


def _transformed(field: Field, coefficients: Vector) -> Vector:
    """Values from coefficients, both along the last axis, by halving (Cooley and Tukey 1965)."""
    n = coefficients.shape[-1]
    if n == 1:
        return coefficients
    even, odd = (_transformed(field, coefficients[..., first::2]) for first in (0, 1))
    turned = odd * field.vector(roots(field, n)[: n // 2])
    return np.asarray(np.concatenate([even + turned, even - turned], axis=-1) % field.modulus, dtype=object)
