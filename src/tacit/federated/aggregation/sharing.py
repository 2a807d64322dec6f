"""A secret is split so that any `threshold` shares give it back and fewer say nothing.

Theorem (Shamir 1979). Let f be a polynomial of degree below t over a prime field with f(0) the secret and all other
coefficients uniform. Any t values f(x_i) at different x_i != 0 fix f by Lagrange's formula; any t - 1 of them are
uniform and independent of the secret. Proof: for each secret, t - 1 values are met by exactly one such polynomial.

The field has 2**256 + 297 elements, a prime just above all secrets of 32 bytes. A share is 33 bytes.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Sequence

PRIME = (1 << 256) + 297
SHARE = 33  # bytes


def split(secret: int, threshold: int, points: Sequence[int], prime: int = PRIME) -> list[int]:
    """A share for each point; points are different and none is 0."""
    return at([secret, *uniform(threshold - 1, prime)], points, prime)


def uniform(count: int, prime: int = PRIME) -> list[int]:
    """Uniform elements of the field: random bits, drawn together, and those that are not elements are skipped."""
    bits, found = (prime - 1).bit_length(), list[int]()
    size = (bits + 7) // 8
    while len(found) < count:
        drawn = os.urandom(2 * size * (count - len(found)))
        numbers = [int.from_bytes(drawn[at : at + size], "big") for at in range(0, len(drawn), size)]
        found += [each for number in numbers if (each := number >> 8 * size - bits) < prime]
    return found[:count]


def at(coefficients: Sequence[int], points: Iterable[int], prime: int = PRIME) -> list[int]:
    """The values of a polynomial, its constant first. Points are small: one division at the end is the least work."""
    falling, found = list(reversed(coefficients)), []
    for point in points:
        value = 0
        for each in falling:
            value = value * point + each
        found.append(value % prime)
    return found


class Holders:
    """Some points, and the weights of their shares in each secret: found once for many secrets.

    Lagrange at 0: share i counts by l_i, the product of x_j/(x_j - x_i) over all j but i. Without one of the points, o,
    the product has one factor less: l_i (x_o - x_i)/x_o, which is 0 for o itself. So those who hold shares of a secret
    serve the secret of one of themselves too, if they are one more than the threshold.
    """

    def __init__(self, points: Sequence[int], prime: int = PRIME) -> None:
        self.points, self._prime = tuple(points), prime
        below = [math.prod(each - point for each in points if each != point) * point % prime for point in points]
        product = math.prod(points) % prime
        self._counts = [product * each % prime for each in _inverted(below, prime)]

    def secret(self, shares: Iterable[int], without: int | None = None) -> int:
        """The secret of shares in the order of the points; the share of the point that is left out may be anything."""
        if without is None:
            found: int = sum(map(operator.mul, self._counts, shares))
            return found % self._prime
        counts = [count * (without - point) for count, point in zip(self._counts, self.points, strict=True)]
        times: int = sum(map(operator.mul, counts, shares))  # the secret times `without`
        return times * pow(without, -1, self._prime) % self._prime


def _inverted(numbers: Sequence[int], prime: int) -> list[int]:
    """The inverse of each number, from one inverse of their product."""
    before = [1]
    for each in numbers:
        before.append(before[-1] * each % prime)
    after, found = pow(before[-1], -1, prime), list[int]()
    for place in range(len(numbers) - 1, -1, -1):
        found.append(after * before[place] % prime)
        after = after * numbers[place] % prime
    return found[::-1]
