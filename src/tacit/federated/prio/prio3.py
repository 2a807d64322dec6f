"""Prio3: a measurement is split into shares with a proof, servers check it together, and add up what is valid.

    shares = scheme.sharded(context, measurement, nonce, random)       the client: a public part, and one a server
    state, share = scheme.checked(key, context, place, nonce, public, part)    each server, by itself
    message = scheme.agreed(context, shares)                           anyone who has all servers' check shares
    output = scheme.finished(state, message)                           each server: its share of the valid measurement
    scheme.opened(sums of outputs)                                     the collector

The first server gets vectors; the others get seeds from which the vectors follow. Where the circuit needs numbers that
client and servers draw together, each server's part of them is a hash of its share under a blind; the client publishes
all parts so that no round is needed, every server corrects its own, and a client that lied about a part is caught when
the servers' parts are put together (`agreed`, `finished`).

Assumptions. If at least one server is honest, only the sum is learned, whatever all others do. If all servers are
honest, no client can make the sum anything but a sum of valid measurements. Servers use one secret key and never check
two reports with one nonce. Source: draft-irtf-cfrg-vdaf-20, section 7.2; Davis, Patton, Rosulek, Schoppmann 2023.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.federated.prio.circuits import Circuit
from tacit.federated.prio.fields import Vector
from tacit.federated.prio.proofs import Proof
from tacit.federated.prio.seeds import SEED, derived, expanded
from tacit.federated.refusals import Refused, of_length

NONCE: Final = 16  # bytes
_VERSION: Final = 18
# What a stream of bytes is for
_INPUTS, _PROOF, _JOINT, _PROVE, _QUERY, _JOINT_SEED, _JOINT_PART = range(1, 8)


@dataclass(frozen=True, slots=True)
class Sharded:
    """What a client sends: `public` to all servers, and `parts[place]` to one of them alone."""

    public: bytes
    parts: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Checking:
    """What a server keeps while a report is checked."""

    output: Vector
    joint_seed: bytes


class Prio3:
    """One circuit, and how many servers share a report."""

    def __init__(self, circuit: Circuit, servers: int = 2) -> None:
        if not 2 <= parameters.whole("servers", servers) < 256:
            raise parameters.refuse("servers", "a whole number from 2 to 255", servers)
        self.circuit, self.servers, self.shape = circuit, servers, circuit.shape
        self.proof, self.field = Proof(circuit), circuit.shape.field
        self.random = SEED * servers * (2 if self.shape.joint else 1)  # bytes that a client draws

    # -- the client ----------------------------------------------------------------------------------------

    def sharded(self, context: bytes, measurement: Any, nonce: bytes, random: bytes) -> Sharded:
        """The shares of a measurement, from a nonce and random bytes that are used once."""
        of_length("nonce", nonce, NONCE)
        of_length("random bytes", random, self.random)
        inputs = self.circuit.encoded(measurement)
        seeds = [random[start : start + SEED] for start in range(0, len(random), SEED)]
        prove_seed, seeds = seeds[-1], seeds[:-1]
        blinds: list[bytes] = []
        if self.shape.joint:
            blinds, seeds = [seeds[-1], *seeds[1:-1:2]], seeds[:-1:2]
        theirs = [self._inputs(context, place, seed) for place, seed in enumerate(seeds, 1)]
        mine = self._less(inputs, theirs)
        parts = [
            self._joint_part(context, place, blind, share, nonce)
            for (place, share), blind in zip(enumerate([mine, *theirs]), blinds, strict=False)
        ]
        joint = self._joint(context, self._joint_seed(context, parts))
        proofs = self._less(
            self._proved(context, inputs, prove_seed, joint),
            [self._proofs(context, place, seed) for place, seed in enumerate(seeds, 1)],
        )
        blinds = blinds or [b""] * self.servers
        first = self.field.encode(mine) + self.field.encode(proofs) + blinds[0]
        others = [seed + blind for seed, blind in zip(seeds, blinds[1:], strict=True)]
        return Sharded(b"".join(parts), (first, *others))

    # -- a server ------------------------------------------------------------------------------------------

    def checked(
        self, key: bytes, context: bytes, place: int, nonce: bytes, public: bytes, part: bytes
    ) -> tuple[Checking, bytes]:
        """A server's state, and its share of what must be opened to check the report."""
        of_length("key", key, SEED)
        of_length("nonce", nonce, NONCE)
        inputs, proofs, blind = self._read_part(context, place, part)
        joint_seed, own = b"", b""
        if self.shape.joint:
            of_length("public part", public, SEED * self.servers)
            parts = [public[start : start + SEED] for start in range(0, len(public), SEED)]
            own = parts[place] = self._joint_part(context, place, blind, inputs, nonce)
            joint_seed = self._joint_seed(context, parts)
        else:
            of_length("public part", public, 0)
        joint = self._joint(context, joint_seed)
        query = self._stream(key, _QUERY, context, self._proof_count + nonce, self.proof.query_length)
        opened = [
            self.proof.queried(inputs, proof, asked, drawn, self.servers)
            for proof, asked, drawn in zip(self._each(proofs), self._each(query), self._each(joint), strict=True)
        ]
        return Checking(self.circuit.summed(inputs), joint_seed), self.field.encode(np.concatenate(opened)) + own

    def agreed(self, context: bytes, shares: Sequence[bytes]) -> bytes:
        """What all servers' check shares say together; a report that is not valid is refused."""
        if len(shares) != self.servers:
            raise Refused(f"A report is checked with {self.servers} shares. Got {len(shares)} instead.")
        length = self.proof.opened * self.shape.proofs
        size, joint = length * self.field.size, SEED if self.shape.joint else 0
        total, parts = self.field.zeros(length), []
        for share in shares:
            of_length("check share", share, size + joint)
            total = total + self.field.decode(share[:size], length)
            parts.append(share[size:])
        if not all(self.proof.accepted(opened) for opened in self._each(total % self.field.modulus)):
            raise Refused("The report is not valid: its proof does not hold.")
        return self._joint_seed(context, parts) if self.shape.joint else b""

    def finished(self, state: Checking, message: bytes) -> Vector:
        """A server's share of a valid measurement."""
        if not hmac.compare_digest(message, state.joint_seed):
            raise Refused("The report is not valid: its public part is not the one that belongs to its shares.")
        return state.output

    # -- the collector -------------------------------------------------------------------------------------

    def opened(self, sums: Sequence[Vector]) -> Vector:
        """The sum of all servers' sums."""
        total = self.field.zeros(self.shape.length)
        for each in sums:
            total = total + each
        return np.asarray(total % self.field.modulus, dtype=object)

    # -- what follows from seeds ---------------------------------------------------------------------------

    @property
    def _proof_count(self) -> bytes:
        return bytes([self.shape.proofs])

    def _tag(self, usage: int, context: bytes) -> bytes:
        number = self.shape.number.to_bytes(4, "big")
        return bytes([_VERSION, 0]) + number + usage.to_bytes(2, "big") + context

    def _stream(self, seed: bytes, usage: int, context: bytes, bound_to: bytes, length: int) -> Vector:
        """A vector for every proof."""
        return expanded(self.field, seed, self._tag(usage, context), bound_to, length * self.shape.proofs)

    def _inputs(self, context: bytes, place: int, seed: bytes) -> Vector:
        return expanded(self.field, seed, self._tag(_INPUTS, context), bytes([place]), self.shape.inputs)

    def _proofs(self, context: bytes, place: int, seed: bytes) -> Vector:
        return self._stream(seed, _PROOF, context, self._proof_count + bytes([place]), self.proof.length)

    def _joint_part(self, context: bytes, place: int, blind: bytes, inputs: Vector, nonce: bytes) -> bytes:
        bound_to = bytes([place]) + nonce + self.field.encode(inputs)
        return derived(blind, self._tag(_JOINT_PART, context), bound_to)

    def _joint_seed(self, context: bytes, parts: Sequence[bytes]) -> bytes:
        return derived(bytes(SEED), self._tag(_JOINT_SEED, context), b"".join(parts))

    def _joint(self, context: bytes, seed: bytes) -> Vector:
        if not self.shape.joint:
            return self.field.zeros(0)
        return self._stream(seed, _JOINT, context, self._proof_count, self.shape.joint)

    def _proved(self, context: bytes, inputs: Vector, seed: bytes, joint: Vector) -> Vector:
        seeds = self._stream(seed, _PROVE, context, self._proof_count, self.proof.seeds)
        pairs = zip(self._each(seeds), self._each(joint), strict=True)
        return np.concatenate([self.proof.proved(inputs, one, drawn) for one, drawn in pairs])

    def _read_part(self, context: bytes, place: int, part: bytes) -> tuple[Vector, Vector, bytes]:
        """A server's inputs, proofs and blind."""
        if not 0 <= place < self.servers:
            raise Refused(f"A server's place is a whole number from 0 to {self.servers - 1}. Got {place} instead.")
        blind = SEED if self.shape.joint else 0
        if place:
            of_length("part", part, SEED + blind)
            return self._inputs(context, place, part[:SEED]), self._proofs(context, place, part[:SEED]), part[SEED:]
        inputs, proofs = self.shape.inputs, self.proof.length * self.shape.proofs
        middle, end = inputs * self.field.size, (inputs + proofs) * self.field.size
        of_length("part", part, end + blind)
        return self.field.decode(part[:middle], inputs), self.field.decode(part[middle:end], proofs), part[end:]

    def _less(self, whole: Vector, shares: Sequence[Vector]) -> Vector:
        for each in shares:
            whole = whole - each
        return np.asarray(whole % self.field.modulus, dtype=object)

    def _each(self, vectors: Vector) -> Vector:
        """One row for each proof."""
        return vectors.reshape(self.shape.proofs, -1)
