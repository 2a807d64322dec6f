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
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.federated.refusals import Refused

Numbers: TypeAlias = NDArray[Any]

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
    if not many:
        return []
    used = [sorted(each)[:threshold] for each in many]
    below = np.concatenate([_below(used[start : start + _AT_ONCE]) for start in range(0, len(used), _AT_ONCE)]) % prime
    shares = _whole([[each[point] for point in points] for each, points in zip(many, used, strict=True)])
    products = [np.ones(len(used), dtype=object)]  # of a secret's first d_i: none, one, two, ...
    for place in range(threshold):
        products.append(products[-1] * below[:, place] % prime)
    after, found = _inverted(products[-1], prime), np.zeros(len(used), dtype=object)
    for place in reversed(range(threshold)):
        found += after * products[place] * shares[:, place]  # three factors long: divided once, at the end
        after = after * below[:, place] % prime
    return [
        math.prod(points) * int(share) % prime  # a whole number of any size
        for points, share in zip(used, found, strict=True)
    ]


def _inverted(numbers: Numbers, prime: int) -> Numbers:
    """The inverse of each number, from one inverse of their product."""
    before = list(accumulate(numbers, lambda a, b: a * b % prime, initial=1))
    after, found = pow(before.pop(), -1, prime), np.empty(len(numbers), dtype=object)
    for place in range(len(numbers) - 1, -1, -1):
        found[place] = after * before[place] % prime
        after = after * numbers[place] % prime
    return found


def _below(used: Sequence[Sequence[int]]) -> Numbers:
    """All d_i, a line for each secret: differences are multiplied in 64-bit words as far as they fit."""
    points = np.array(used, dtype=np.int64)
    count, many = points.shape
    together = max(1, 62 // int(points.max()).bit_length())
    factors = np.ones((count, many, -(-many // together) * together), dtype=np.int64)
    factors[:, :, :many] = points[:, None, :] - points[:, :, None]
    factors[:, np.arange(many), np.arange(many)] = points
    words = factors.reshape(count, many, -1, together).prod(axis=3).astype(object)
    return np.asarray(words.prod(axis=2))


def _whole(numbers: Sequence[Sequence[int]]) -> Numbers:
    """Whole numbers of any size as a table."""
    table = np.empty((len(numbers), len(numbers[0])), dtype=object)
    table[:] = numbers
    return table


@lru_cache(maxsize=4096)
def _powers(point: int, many: int) -> tuple[int, ...]:
    """1, x, x**2, ... as whole numbers: points are small."""
    return tuple(accumulate(repeat(point, many - 1), operator.mul, initial=1))
