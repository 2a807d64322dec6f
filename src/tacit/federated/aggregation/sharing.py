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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, repeat

import numpy as np

from tacit.federated.refusals import Refused

PRIME = (1 << 256) + 297
SHARE = 33  # bytes
_AT_ONCE = 256  # secrets whose differences are held in memory together


def split(secret: int, threshold: int, points: Sequence[int], prime: int = PRIME) -> list[int]:
    """A share for each point; points are different and none is 0."""
    return at([secret, *(secrets.randbelow(prime) for _ in range(threshold - 1))], points, prime)


def at(coefficients: Sequence[int], points: Iterable[int], prime: int = PRIME) -> list[int]:
    """The values of a polynomial, its constant first."""
    many = len(coefficients)
    return [sum(map(operator.mul, coefficients, _powers(point, many))) % prime for point in points]


def joined(shares: Mapping[int, int], threshold: int, prime: int = PRIME) -> int:
    """The secret, from shares by their points. With fewer than the threshold it is refused."""
    return all_joined([shares], threshold, prime)[0]


def all_joined(many: Sequence[Mapping[int, int]], threshold: int, prime: int = PRIME) -> list[int]:
    """The secret of each of these, from `threshold` of its shares.

    Lagrange at 0: share i counts by the product of x_j/(x_j - x_i) over the others, which is w/d_i with w the product
    of all points and d_i = x_i times the product of x_j - x_i. Inverses are dear, so all are found from one of them.
    """
    for each in many:
        if len(each) < threshold:
            raise Refused(f"{threshold} shares make the secret. There are {len(each)}.")
    used = [sorted(each)[:threshold] for each in many]
    below = [part % prime for some in _in_parts(used) for part in _below(some)]
    before = list(accumulate(below, lambda a, b: a * b % prime, initial=1))
    after, inverses = pow(before.pop(), -1, prime), [0] * len(below)
    for place in range(len(below) - 1, -1, -1):
        inverses[place] = after * before[place] % prime
        after = after * below[place] % prime
    found = []
    for place, (each, points) in enumerate(zip(many, used, strict=True)):
        own = inverses[place * threshold : (place + 1) * threshold]
        found.append(math.prod(points) * sum(map(operator.mul, own, map(each.__getitem__, points))) % prime)
    return found


def _in_parts(used: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    for start in range(0, len(used), _AT_ONCE):
        yield used[start : start + _AT_ONCE]


def _below(used: Sequence[Sequence[int]]) -> list[int]:
    """All d_i, one after the other: differences are multiplied in 64-bit words as far as they fit."""
    points = np.array(used, dtype=np.int64)
    count, many = points.shape
    together = max(1, 62 // int(points.max()).bit_length())
    factors = np.ones((count, many, -(-many // together) * together), dtype=np.int64)
    factors[:, :, :many] = points[:, None, :] - points[:, :, None]
    factors[:, np.arange(many), np.arange(many)] = points
    return [math.prod(each) for each in factors.reshape(count * many, -1, together).prod(axis=2).tolist()]


@lru_cache(maxsize=4096)
def _powers(point: int, many: int) -> tuple[int, ...]:
    """1, x, x**2, ... as whole numbers: points are small."""
    return tuple(accumulate(repeat(point, many - 1), operator.mul, initial=1))
