"""The only places of a circuit where values are multiplied with each other. Everything else in a circuit is linear.

A gadget takes its wires along the first axis and works elementwise along all others: on the wires of one call, on those
of all calls, or on the values of polynomials at many points.

Source: draft-irtf-cfrg-vdaf-20, appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.federated.prio.fields import Field, Vector


class Gadget(Protocol):
    """What a proof needs to know about the multiplications of a circuit."""

    @property
    def arity(self) -> int:
        """How many wires lead in."""

    @property
    def degree(self) -> int:
        """The degree of the polynomial that it computes."""

    def __call__(self, field: Field, wires: Vector) -> Vector:
        """The values that leave it."""


@dataclass(frozen=True, slots=True)
class Products:
    """Wires are multiplied in pairs, and the products added up."""

    pairs: int

    @property
    def arity(self) -> int:
        """Two wires for each pair."""
        return 2 * self.pairs

    @property
    def degree(self) -> int:
        """A product of two."""
        return 2

    def __call__(self, field: Field, wires: Vector) -> Vector:
        """The sum over pairs."""
        return np.asarray((wires[0::2] * wires[1::2]).sum(axis=0) % field.modulus, dtype=object)


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A polynomial of one wire, by its coefficients, that of the constant first."""

    coefficients: tuple[int, ...]

    @property
    def arity(self) -> int:
        """One wire."""
        return 1

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return len(self.coefficients) - 1

    def __call__(self, field: Field, wires: Vector) -> Vector:
        """Horner's scheme."""
        out = wires[0] * 0
        for each in reversed(self.coefficients):
            out = (out * wires[0] + each) % field.modulus
        return np.asarray(out, dtype=object)
