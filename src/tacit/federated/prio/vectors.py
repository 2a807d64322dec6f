"""Circuits that check many bits at once: lists of numbers, histograms, and choices of several places.

A call of the gadget takes `chunk` bits, b_1, b_2, ...: the j-th pair of wires is r**j b_j and b_j - 1, so that a call
gives sum_j r**j b_j (b_j - 1). It is 0 for bits, and for anything else at a number r that is one of at most `chunk`
roots of a polynomial; r is drawn from all shares together (`joint`), after they are fixed, one for each call.

Soundness. For the error of a forged report that a client may try again and again by itself to be near 2**-128, the
field has 128 bits with one proof, or 64 bits with three (draft-irtf-cfrg-vdaf-20, section 9.7); no other sizes are
offered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit import parameters
from tacit.federated.prio.circuits import Circuit, Shape, below_modulus, bits, weights
from tacit.federated.prio.fields import FIELD64, FIELD128, Field, Vector
from tacit.federated.prio.gadgets import Products
from tacit.federated.refusals import Refused

_LONGEST = 1 << 20  # bits of an encoded measurement
_PRIVATE_NUMBER = 0xFFFFFFFF  # the registry has no number for several proofs in the smaller field


class _Bits(Circuit):
    """A vector of bits that are checked together, and perhaps one more number that must be 0."""

    chunk: int

    def wires(self, inputs: Vector, joint: Vector, shares: int) -> Vector:
        """Powers of the joint numbers times the bits, and the bits less one."""
        field, chunk = self.shape.field, self.chunk
        calls = len(joint)
        padded = field.zeros(calls * chunk)
        padded[: len(inputs)] = inputs
        table = padded.reshape(calls, chunk)
        out = field.zeros(2 * chunk, calls)
        one, power = field.inverse(shares), joint
        for place in range(chunk):
            out[2 * place] = table[:, place] * power % field.modulus
            out[2 * place + 1] = (table[:, place] - one) % field.modulus
            power = power * joint % field.modulus
        return out

    def _all_bits(self, called: Vector) -> int:
        return int(called.sum())


def _sizes(inputs: int, chunk: int) -> dict[str, int]:
    calls = -(-inputs // chunk)
    return {"calls": calls, "inputs": inputs, "joint": calls}


def _chunk(inputs: int, chunk: int | None) -> int:
    """A chunk of about the root of the number of bits makes short proofs."""
    if inputs > _LONGEST:
        raise parameters.refuse("length", f"such that a report has at most {_LONGEST} bits", inputs)
    return math.isqrt(inputs - 1) + 1 if chunk is None else parameters.whole("chunk", chunk, least=1)


@dataclass(frozen=True, slots=True)
class SumVec(_Bits):
    """`length` whole numbers from 0 to `largest`; the sum of each. With `small`, three proofs in the smaller field.

    >>> SumVec(3, 2).shape.length
    3
    """

    length: int
    largest: int
    chunk: int = 0
    small: bool = False

    def __post_init__(self) -> None:
        parameters.whole("length", self.length, least=1)
        below_modulus("largest", self.largest, self._field)
        inputs = self.length * self.largest.bit_length()
        object.__setattr__(self, "chunk", _chunk(inputs, self.chunk or None))

    @property
    def _field(self) -> Field:
        return FIELD64 if self.small else FIELD128

    @property
    def shape(self) -> Shape:
        """A call for each chunk of bits."""
        return Shape(
            _PRIVATE_NUMBER if self.small else 3,
            self._field,
            Products(self.chunk),
            length=self.length,
            l1=self.length * self.largest,
            l2_squared=self.length * self.largest**2,
            proofs=3 if self.small else 1,
            **_sizes(self.length * self.largest.bit_length(), self.chunk),
        )

    def encoded(self, measurement: Any) -> Vector:
        """The bits of all numbers."""
        return self._field.vector(bit for each in _listed(measurement, self.length) for bit in bits(each, self.largest))

    def checks(self, inputs: Vector, called: Vector, shares: int) -> Vector:
        """The sum of all calls must be 0."""
        return self._field.vector([self._all_bits(called)])

    def summed(self, inputs: Vector) -> Vector:
        """The numbers that the bits stand for."""
        table = inputs.reshape(self.length, -1)
        return np.asarray(table.dot(weights(self._field, self.largest)) % self._field.modulus, dtype=object)


@dataclass(frozen=True, slots=True)
class Histogram(_Bits):
    """One of `length` places, counted from 0; how many reports there are in each.

    >>> Histogram(5).shape.length
    5
    """

    length: int
    chunk: int = 0

    def __post_init__(self) -> None:
        parameters.whole("length", self.length, least=1)
        object.__setattr__(self, "chunk", _chunk(self.length, self.chunk or None))

    @property
    def shape(self) -> Shape:
        """The check of a bit for each place, and of their sum, which is 1."""
        gadget = Products(self.chunk)
        sizes = _sizes(self.length, self.chunk)
        moved = 2  # out of one place, into another
        return Shape(4, FIELD128, gadget, length=self.length, l1=moved, l2_squared=moved, outputs=2, **sizes)

    def encoded(self, measurement: Any) -> Vector:
        """A vector with 1 in one place."""
        inside = isinstance(measurement, (int, np.integer)) and not isinstance(measurement, bool)
        if not inside or not 0 <= measurement < self.length:
            raise Refused(f"A measurement must be a place from 0 to {self.length - 1}. Nothing was sent.")
        return FIELD128.vector(int(place == measurement) for place in range(self.length))

    def checks(self, inputs: Vector, called: Vector, shares: int) -> Vector:
        """The entries are bits, and they add up to 1."""
        return FIELD128.vector([self._all_bits(called), int(inputs.sum()) - FIELD128.inverse(shares)])

    def summed(self, inputs: Vector) -> Vector:
        """The whole vector."""
        return inputs


@dataclass(frozen=True, slots=True)
class MultihotCountVec(_Bits):
    """Some of `length` places, at most `most` of them, as True and False; how many reports there are in each.

    >>> MultihotCountVec(5, 2).shape.length
    5
    """

    length: int
    most: int
    chunk: int = 0

    def __post_init__(self) -> None:
        parameters.whole("length", self.length, least=1)
        if parameters.whole("most", self.most, least=1) > self.length:
            raise parameters.refuse("most", f"at most the length, {self.length}", self.most)
        object.__setattr__(self, "chunk", _chunk(self.length + self.most.bit_length(), self.chunk or None))

    @property
    def shape(self) -> Shape:
        """The check of a bit for each place and of the bits of their number, and that both agree."""
        gadget, sizes = Products(self.chunk), _sizes(self.length + self.most.bit_length(), self.chunk)
        moved = min(2 * self.most, self.length)  # places that one report has and the other has not
        return Shape(5, FIELD128, gadget, length=self.length, l1=moved, l2_squared=moved, outputs=2, **sizes)

    def encoded(self, measurement: Any) -> Vector:
        """The places, then the bits of their number."""
        chosen = _listed(measurement, self.length)
        if any(not isinstance(each, (int, np.integer, np.bool_)) or int(each) not in (0, 1) for each in chosen):
            raise Refused("A measurement must be a list of True and False. Nothing was sent.")
        count = sum(int(each) for each in chosen)
        if count > self.most:
            raise Refused(f"A measurement must have at most {self.most} places that are True. Nothing was sent.")
        return FIELD128.vector([*chosen, *bits(count, self.most)])

    def checks(self, inputs: Vector, called: Vector, shares: int) -> Vector:
        """The entries are bits, and as many are 1 as the number says."""
        said = inputs[self.length :].dot(weights(FIELD128, self.most))
        return FIELD128.vector([self._all_bits(called), int(inputs[: self.length].sum()) - int(said)])

    def summed(self, inputs: Vector) -> Vector:
        """The places."""
        return inputs[: self.length]


def _listed(measurement: Any, length: int) -> Sequence[Any]:
    listed = measurement.tolist() if isinstance(measurement, np.ndarray) else measurement
    if not isinstance(listed, (list, tuple)) or len(listed) != length:
        raise Refused(f"A measurement must be a list of {length}. Nothing was sent.")
    return listed
