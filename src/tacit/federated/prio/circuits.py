"""What a report may say: how a measurement becomes a vector, the circuit that is 0 on valid vectors, and the sum.

    Count               yes or no                                            how many said yes
    Sum                 a whole number from 0 to `largest`                   the sum
    SumVec              a list of such numbers                               the sums
    Histogram           one of `length` places                               how many in each place
    MultihotCountVec    some of `length` places, at most `most` of them      how many in each place

A number up to `largest` of b bits is sent as b zeros and ones with weights 1, 2, 4, ..., and a last weight that makes
them add up to `largest`: every choice of bits is in range, and every number in range has one. So a range check is a
check of bits, b (b - 1) = 0. Constants are divided by the number of shares: the shares of a constant add up to it.

Sensitivity. If one valid report is replaced by another, the sums change by at most `l1` in L1, and by at most the root
of `l2_squared` in L2. Reports are replaced, not removed: servers see who sends one, so this is not secret.

The vectors, which check many bits at once, are in `vectors`. Source: draft-irtf-cfrg-vdaf-20, section 7.4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit import parameters
from tacit.federated.prio.fields import FIELD64, Field, Vector
from tacit.federated.prio.gadgets import Gadget, Polynomial, Products
from tacit.federated.refusals import Refused


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of a circuit that proofs, reports and prices need."""

    number: int  # of the algorithm, in the draft's registry
    field: Field
    gadget: Gadget
    calls: int  # of the gadget
    inputs: int  # elements of an encoded measurement
    length: int  # of what is summed
    l1: int
    l2_squared: int
    joint: int = 0  # numbers that client and servers draw together
    outputs: int = 1  # numbers that must be 0
    proofs: int = 1


class Circuit(ABC):
    """A kind of measurement."""

    is_list = True  # whether sums are shown as a list

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The numbers of this circuit."""

    @abstractmethod
    def encoded(self, measurement: Any) -> Vector:
        """A measurement as field elements; one that is out of range is refused."""

    @abstractmethod
    def wires(self, inputs: Vector, joint: Vector, shares: int) -> Vector:
        """What leads into the gadget: wires along the first axis, calls along the second."""

    @abstractmethod
    def checks(self, inputs: Vector, called: Vector, shares: int) -> Vector:
        """The numbers that must be 0, from what left the gadget."""

    @abstractmethod
    def summed(self, inputs: Vector) -> Vector:
        """The part of an encoded measurement that is added up."""


def bits(number: Any, largest: int) -> list[int]:
    """The zeros and ones of a number from 0 to `largest`."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number <= largest:
        raise Refused(f"A measurement must be a whole number from 0 to {largest}. Nothing was sent.")
    width = largest.bit_length()
    without_last = (1 << (width - 1)) - 1
    last = int(number > without_last)
    rest = int(number) - last * (largest - without_last)
    return [(rest >> place) & 1 for place in range(width - 1)] + [last]


def weights(field: Field, largest: int) -> Vector:
    """What the bits of a number stand for; the last weight makes them add up to `largest`."""
    width = largest.bit_length()
    return field.vector([*(1 << place for place in range(width - 1)), largest - (1 << (width - 1)) + 1])


def below_modulus(name: str, value: Any, field: Field) -> int:
    """The largest measurement, checked to fit the field."""
    exact = parameters.whole(name, value, least=1)
    if exact >= field.modulus:
        raise parameters.refuse(name, f"below {field.modulus}", value)
    return exact


@dataclass(frozen=True, slots=True)
class Count(Circuit):
    """Yes or no; the sum is how many said yes.

    >>> Count().shape.l1
    1
    """

    is_list = False

    @property
    def shape(self) -> Shape:
        """One bit is checked by one product."""
        return Shape(1, FIELD64, Products(1), calls=1, inputs=1, length=1, l1=1, l2_squared=1)

    def encoded(self, measurement: Any) -> Vector:
        """True or False, or 1 or 0."""
        if not isinstance(measurement, (int, np.integer, np.bool_)) or int(measurement) not in (0, 1):
            raise Refused("A measurement must be True or False, or 1 or 0. Nothing was sent.")
        return FIELD64.vector([measurement])

    def wires(self, inputs: Vector, joint: Vector, shares: int) -> Vector:
        """The bit leads to both wires."""
        return np.stack([inputs, inputs])

    def checks(self, inputs: Vector, called: Vector, shares: int) -> Vector:
        """The bit's square less the bit."""
        return np.asarray((called - inputs) % FIELD64.modulus, dtype=object)

    def summed(self, inputs: Vector) -> Vector:
        """The sum of bits: how many said yes."""
        return inputs


@dataclass(frozen=True, slots=True)
class Sum(Circuit):
    """A whole number from 0 to `largest`; the sum of them.

    >>> Sum(100).shape.l1  # of a number from 0 to 100
    100
    """

    largest: int
    is_list = False

    def __post_init__(self) -> None:
        below_modulus("largest", self.largest, FIELD64)

    @property
    def shape(self) -> Shape:
        """A call and an output for each bit."""
        width = self.largest.bit_length()
        gadget = Polynomial((0, -1, 1))
        sizes = {"calls": width, "inputs": width, "outputs": width, "length": 1}
        return Shape(2, FIELD64, gadget, l1=self.largest, l2_squared=self.largest**2, **sizes)

    def encoded(self, measurement: Any) -> Vector:
        """The bits of the number."""
        return FIELD64.vector(bits(measurement, self.largest))

    def wires(self, inputs: Vector, joint: Vector, shares: int) -> Vector:
        """Each call checks one bit."""
        return inputs[np.newaxis, :]

    def checks(self, inputs: Vector, called: Vector, shares: int) -> Vector:
        """Each call must give 0 by itself."""
        return called

    def summed(self, inputs: Vector) -> Vector:
        """The number that the bits stand for."""
        return FIELD64.vector([inputs.dot(weights(FIELD64, self.largest))])
