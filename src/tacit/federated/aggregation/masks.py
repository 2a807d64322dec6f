"""Vectors of whole numbers below a modulus, the masks that hide them, and their bytes.

A mask is the first numbers below the modulus of a stream of AES-256 in counter mode under a key that is used for this
mask alone: words of the stream are skipped where they would make some numbers more likely, so that every number is
uniform if the stream is. Any modulus from 2 and any length; up to 2**63 numbers are held in 64-bit words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from tacit.federated.refusals import Refused

Numbers: TypeAlias = NDArray[Any]

_LARGEST_WORDS = 1 << 63
_PLAIN = (1, 2, 4, 8)  # sizes in bytes of numbers that numpy reads itself
_BLOCK = 16  # bytes of the cipher's block
_FROM_ZERO = modes.CTR(bytes(_BLOCK))


@lru_cache(maxsize=4)
def _zeros(size: int) -> bytes:
    """The zeros that a stream is added to: the same for every mask of a round."""
    return bytes(size)


class Masked:
    """A vector to which masks are added one after the other, in one piece of memory."""

    def __init__(self, space: Modular, numbers: Numbers) -> None:
        self._space, self._total = space, numbers.copy()
        self._room = space.room()

    def add(self, key: bytes, sign: int) -> None:
        """The mask of a key, plus or minus."""
        self._total = self._space.add(self._total, self._space.mask(key, self._room), sign)

    @property
    def numbers(self) -> Numbers:
        """The vector, not yet reduced."""
        return self._total


@dataclass(frozen=True, slots=True)
class Modular:
    """Vectors of this length, modulo this modulus."""

    modulus: int
    length: int

    @property
    def fits(self) -> bool:
        """Whether numbers are held in 64-bit words."""
        return self.modulus <= _LARGEST_WORDS

    @property
    def is_power(self) -> bool:
        """Whether the modulus is a power of two: nothing is skipped, and one reduction at the end is enough."""
        return self.modulus & (self.modulus - 1) == 0

    @property
    def _words(self) -> type[np.uint32] | type[np.uint64]:
        return np.uint32 if self.is_power and self.modulus <= 1 << 32 else np.uint64

    @property
    def _width(self) -> int:
        """Bytes of the stream that make one number."""
        return 4 if self.modulus <= 1 << 32 else 8

    @property
    def size(self) -> int:
        """The bytes of one number."""
        return max(1, ((self.modulus - 1).bit_length() + 7) // 8)

    def vector(self, numbers: Iterable[Any]) -> Numbers:
        """Whole numbers, negative ones too, modulo the modulus."""
        if isinstance(numbers, np.ndarray) and numbers.dtype == np.int64 and self.fits:
            quick = self._of_array(numbers)
            if quick is not None:
                return quick
        listed = [int(each) % self.modulus for each in numbers]
        if len(listed) != self.length:
            raise Refused(f"The vector must have {self.length} numbers. Got {len(listed)} instead.")
        return self._array(listed)

    def zeros(self) -> Numbers:
        """Nothing but zeros."""
        return np.zeros(self.length, dtype=self._words) if self.fits else self._array([0] * self.length)

    def room(self) -> Numbers:
        """Memory for the stream of one mask, as much as the cipher needs."""
        return np.empty(self._width * self.length + _BLOCK - 1 if self.fits and self.is_power else 0, dtype=np.uint8)

    def mask(self, key: bytes, room: Numbers | None = None) -> Numbers:
        """Uniform numbers that follow from a key of 32 bytes; in `room`, until it is used again."""
        stream = Cipher(algorithms.AES256(key), _FROM_ZERO).encryptor()
        if not self.fits:
            return self._array(self._long(stream))
        width = self._width
        if self.is_power:
            size = width * self.length
            room = self.room() if room is None else room
            stream.update_into(_zeros(size), room.data)
            words = room[:size].view(f"<u{width}")
            return words.astype(self._words, copy=False)  # reduced at the end: the modulus divides 2**32 or 2**64
        limit = (1 << 8 * width) // self.modulus * self.modulus
        found = np.empty(0, dtype=np.uint64)
        while len(found) < self.length:
            more = bytes(width * (self.length - len(found)))
            words = np.frombuffer(stream.update(more), dtype=f"<u{width}").astype(np.uint64)
            found = np.concatenate([found, words[words < np.uint64(limit)] if limit < 1 << 64 else words])
        return np.asarray(found % np.uint64(self.modulus))

    def add(self, total: Numbers, mask: Numbers, sign: int) -> Numbers:
        """`total` plus or minus a mask. `total` is the caller's own, and may be changed."""
        if self.fits and self.is_power:
            return (np.add if sign > 0 else np.subtract)(total, mask, out=total)  # wraps around 2**32 or 2**64
        if self.fits:
            other = mask if sign > 0 else np.uint64(self.modulus) - mask
            return np.asarray((total + other) % np.uint64(self.modulus))  # at most 2**63 + 2**63 - 1: no wrap
        return np.asarray((total + sign * mask) % self.modulus, dtype=object)

    def reduced(self, total: Numbers) -> Numbers:
        """The numbers themselves, after any number of additions."""
        if self.fits and self.is_power:
            return np.asarray(total & total.dtype.type(self.modulus - 1))
        return total

    def encode(self, numbers: Numbers) -> bytes:
        """The bytes of a vector, most significant first."""
        reduced = self.reduced(numbers)
        if self.fits and self.size in _PLAIN:
            return reduced.astype(f">u{self.size}").tobytes()
        if not self.fits:
            return b"".join([int(each).to_bytes(self.size, "big") for each in reduced])
        return reduced.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - self.size :].tobytes()

    def decode(self, text: bytes) -> Numbers:
        """The vector that `encode` wrote; anything else is refused."""
        if len(text) != self.size * self.length:
            raise Refused(f"A vector is {self.size * self.length} bytes. Got {len(text)} instead.")
        if not self.fits:
            parts = [int.from_bytes(text[at : at + self.size], "big") for at in range(0, len(text), self.size)]
            out = self._array(parts)
        elif self.size in _PLAIN:
            out = np.frombuffer(text, dtype=f">u{self.size}").astype(np.uint64 if self.size == 8 else self._words)
        else:
            wide = np.zeros((self.length, 8), dtype=np.uint8)
            wide[:, 8 - self.size :] = np.frombuffer(text, dtype=np.uint8).reshape(self.length, self.size)
            out = wide.view(">u8").reshape(-1).astype(np.uint64)
        if self.modulus < 1 << 8 * self.size and bool((out >= self.modulus).any()):
            raise Refused("A number of the vector is not below the modulus.")
        return out.astype(self._words, copy=False) if self.fits else out

    def _of_array(self, numbers: Numbers) -> Numbers | None:
        """The same without a loop in Python, where the modulus is a number of the array's own kind."""
        if numbers.shape != (self.length,) or self.modulus >= _LARGEST_WORDS:
            return None
        if self.is_power:
            return np.asarray((numbers & np.int64(self.modulus - 1)).astype(self._words))
        return np.asarray((numbers % np.int64(self.modulus)).astype(self._words))

    def _array(self, numbers: list[int]) -> Numbers:
        if self.fits:
            return np.array(numbers, dtype=self._words)
        out = np.empty(len(numbers), dtype=object)
        out[:] = numbers
        return out

    def _long(self, stream: Any) -> list[int]:
        bits = (self.modulus - 1).bit_length()
        size, found = (bits + 7) // 8, list[int]()
        while len(found) < self.length:
            number = int.from_bytes(stream.update(bytes(size)), "big") >> (8 * size - bits)
            if number < self.modulus:
                found.append(number)
        return found
