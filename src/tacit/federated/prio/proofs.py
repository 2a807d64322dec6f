"""A proof that a shared vector is well formed, which servers check on their shares alone.

Theorem (Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai 2019, section 4.2). A circuit calls its gadget k times. Let p be
the power of two above k. Wire j is a polynomial of degree below p: a random seed at the first root of unity, and its
value in call i at the i-th; the gadget of these polynomials is again one, of degree at most d (p - 1). The proof is the
seeds and the values of that polynomial. A server that has shares of input and proof computes shares of the circuit's
output (from the polynomial's values) and of all polynomials at a secret random point t. Added up, the output must be 0
and the gadget of the wires at t must be the polynomial at t.
  - A valid input is always accepted.
  - An invalid one is accepted with probability at most (circuit's own error + d p/(field size - p)) for each proof.
  - What is opened says nothing about a valid input: it is 0, and values at t that the seeds make uniform; so t must not
    be one of the roots where wires carry inputs, which is refused.

All queries are linear: run on shares, they give shares of the result.
"""

from __future__ import annotations

import numpy as np

from tacit.federated.prio.circuits import Circuit
from tacit.federated.prio.fields import Vector
from tacit.federated.prio.polynomials import at, completed, extended, power_of_two
from tacit.federated.refusals import Refused


class Proof:
    """How proofs of one circuit are made, queried and decided, and how long they are."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit, self.shape = circuit, circuit.shape
        self.field, gadget = self.shape.field, self.shape.gadget
        self.points = power_of_two(1 + self.shape.calls)  # of a wire's polynomial
        self._values = gadget.degree * (self.points - 1) + 1  # values that fix the gadget's polynomial
        self._places = power_of_two(self._values)
        self.seeds = gadget.arity
        self.length = gadget.arity + self._values
        self.opened = 2 + gadget.arity
        self.query_length = 1 + (self.shape.outputs if self.shape.outputs > 1 else 0)

    def proved(self, inputs: Vector, seeds: Vector, joint: Vector) -> Vector:
        """The proof for an encoded input."""
        wires = self._wires(inputs, seeds, joint, 1)
        values = self.shape.gadget(self.field, extended(self.field, wires, self._places))
        return np.concatenate([seeds, values[: self._values]])

    def queried(self, inputs: Vector, proof: Vector, query: Vector, joint: Vector, shares: int) -> Vector:
        """A share of what is opened, from shares of input and proof."""
        modulus, point = self.field.modulus, int(query[-1])
        if pow(point, self.points, modulus) == 1:
            raise Refused(
                "The point of a proof's test is a root of unity, which would open an input. Send a new report."
            )
        wires = self._wires(inputs, proof[: self.seeds], joint, shares)
        values = completed(self.field, proof[self.seeds :], self._places)
        step = self._places // self.points
        checks = self.circuit.checks(inputs, values[step : step * (self.shape.calls + 1) : step], shares)
        total = checks[0] if len(checks) == 1 else query[:-1].dot(checks)
        return self.field.vector([total, *at(self.field, wires, point), at(self.field, values, point)])

    def accepted(self, opened: Vector) -> bool:
        """Whether what was opened shows a valid input."""
        called = self.shape.gadget(self.field, opened[1:-1])
        return bool(opened[0] == 0 and int(called) == opened[-1])

    def _wires(self, inputs: Vector, seeds: Vector, joint: Vector, shares: int) -> Vector:
        out = self.field.zeros(self.seeds, self.points)
        out[:, 0] = seeds
        out[:, 1 : self.shape.calls + 1] = self.circuit.wires(inputs, joint, shares)
        return out
