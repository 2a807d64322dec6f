"""The prime fields of Prio3 and Poplar1: vectors of their elements, and the bytes that stand for them.

A vector is a numpy array of Python whole numbers, each from 0 to below the modulus; the loops over its elements run in
C and no number overflows. The two moduli of Prio3 are primes p with a large power of two in p - 1, so that polynomials
can be given by their values at roots of unity (`polynomials`). The third field needs no such roots.

Promise: `decode` accepts exactly the bytes that `encode` writes. A number that is not below the modulus is refused, so
two different texts never stand for one vector.

Source: draft-irtf-cfrg-vdaf-20, section 6.1.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.federated.refusals import Refused

Vector: TypeAlias = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Field:
    """A prime field: its modulus, the bytes of one element, and the generator of a subgroup of order 2**two_adicity."""

    modulus: int
    size: int
    generator: int
    two_adicity: int

    def vector(self, numbers: Iterable[Any]) -> Vector:
        """Whole numbers, negative ones too, as elements."""
        listed = [int(each) % self.modulus for each in numbers]
        out = np.empty(len(listed), dtype=object)
        out[:] = listed
        return out

    def zeros(self, *shape: int) -> Vector:
        """Nothing but zeros."""
        out = np.empty(shape, dtype=object)
        out.fill(0)
        return out

    def drawn(self, length: int) -> Vector:
        """Independent uniform elements, from the operating system."""
        return self.vector(secrets.randbelow(self.modulus) for _ in range(length))

    def encode(self, vector: Vector) -> bytes:
        """The bytes of a vector, least significant first."""
        size = self.size
        return b"".join([each.to_bytes(size, "little") for each in vector.tolist()])

    def decode(self, text: bytes, length: int) -> Vector:
        """The vector of this length that `encode` wrote; anything else is refused."""
        if len(text) != length * self.size:
            raise Refused(f"{length} field elements are {length * self.size} bytes. Got {len(text)} instead.")
        numbers = self.read(text)
        if any(each >= self.modulus for each in numbers):
            raise Refused("A field element is not below the modulus.")
        return self.vector(numbers)

    def read(self, text: bytes) -> list[int]:
        """Whole numbers of `size` bytes each, not yet compared with the modulus."""
        size = self.size
        return [int.from_bytes(text[start : start + size], "little") for start in range(0, len(text), size)]

    def inverse(self, number: int) -> int:
        """The inverse: the element whose product with this one is 1."""
        return pow(number, -1, self.modulus)

    def inverses(self, numbers: list[int]) -> list[int]:
        """The inverses of several elements, at the cost of one inverse and three products for each."""
        before, product = [], 1
        for each in numbers:
            before.append(product)
            product = product * each % self.modulus
        after, out = self.inverse(product), [0] * len(numbers)
        for place in range(len(numbers) - 1, -1, -1):
            out[place] = after * before[place] % self.modulus
            after = after * numbers[place] % self.modulus
        return out


@lru_cache(maxsize=64)
def roots(field: Field, count: int) -> tuple[int, ...]:
    """The powers of the principal root of unity of this order, a power of two: 1, w, w**2, ..."""
    root = pow(field.generator, 1 << (field.two_adicity - (count.bit_length() - 1)), field.modulus)
    out = [1]
    for _ in range(count - 1):
        out.append(out[-1] * root % field.modulus)
    return tuple(out)


_P64 = (1 << 32) * 4294967295 + 1
_P128 = (1 << 66) * 4611686018427387897 + 1

FIELD64 = Field(_P64, 8, pow(7, 4294967295, _P64), 32)
FIELD128 = Field(_P128, 16, pow(7, 4611686018427387897, _P128), 66)
FIELD255 = Field((1 << 255) - 19, 32, 1, 0)  # of leaves of a tree (Poplar1)
