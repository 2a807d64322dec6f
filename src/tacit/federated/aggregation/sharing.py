"""A secret split so that any `threshold` shares give it back and fewer say nothing.

Theorem (Shamir 1979). Let f be a polynomial of degree below t over a prime field with f(0) the secret and all other
coefficients uniform. Any t values f(x_i) at different x_i != 0 fix f by Lagrange's formula; any t - 1 of them are
uniform and independent of the secret. Proof: for each secret, t - 1 values are met by exactly one such polynomial.

The field has 2**256 + 297 elements, a prime just above all secrets of 32 bytes. A share is 33 bytes.
"""

from __future__ import annotations

import math
import operator
import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, repeat

from tacit.federated.refusals import Refused

PRIME = (1 << 256) + 297
SHARE = 33  # bytes


def split(secret: int, threshold: int, points: Sequence[int], prime: int = PRIME) -> list[int]:
    """A share for each point; points are different and none is 0."""
    return at([secret, *(secrets.randbelow(prime) for _ in range(threshold - 1))], points, prime)


def at(coefficients: Sequence[int], points: Iterable[int], prime: int = PRIME) -> list[int]:
    """The values of a polynomial, its constant first."""
    many = len(coefficients)
    return [sum(map(operator.mul, coefficients, _powers(point, many))) % prime for point in points]


def joined(shares: Mapping[int, int], threshold: int, prime: int = PRIME) -> int:
    """The secret, from shares by their points. With fewer than the threshold it is refused."""
    if len(shares) < threshold:
        raise Refused(f"{threshold} shares make the secret. There are {len(shares)}.")
    points = tuple(sorted(shares)[:threshold])
    return sum(weight * shares[point] for weight, point in zip(_weights(points, prime), points, strict=True)) % prime


@lru_cache(maxsize=4096)
def _powers(point: int, many: int) -> tuple[int, ...]:
    """1, x, x**2, ... as whole numbers: points are small."""
    return tuple(accumulate(repeat(point, many - 1), operator.mul, initial=1))


@lru_cache(maxsize=4096)
def _weights(points: tuple[int, ...], prime: int) -> tuple[int, ...]:
    """What each share counts at 0: the product of x_j/(x_j - x_i) over the others."""
    whole = math.prod(points)
    below = [x * math.prod([y - x for y in points if y != x]) % prime for x in points]
    before = list(accumulate(below, lambda a, b: a * b % prime, initial=1))
    after, out = whole * pow(before[-1], -1, prime) % prime, []  # all are inverted at once: one inverse is dear
    for part, product in zip(reversed(below), reversed(before[:-1]), strict=True):
        out.append(after * product % prime)
        after = after * part % prime
    return tuple(reversed(out))
