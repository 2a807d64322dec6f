"""Poplar1: a string of bits is split between two servers, who count how many strings begin with each of some prefixes.

    made = scheme.sharded(context, bits, nonce, random)          the client: a public part, and one for each server
    walk = scheme.opened(context, place, nonce, public, part)    a server, once for a report
    state, share = scheme.checked(key, context, walk, asked)     for each level: its share of a sketch
    message = scheme.sketch(asked.level, shares)                 of both servers
    state, share = scheme.answered(state, message)               its share of what must be 0
    scheme.accepted(asked.level, shares)                         refused unless it is 0
    state.output                                                 shares of 1 at one prefix at most, and of 0 elsewhere

The sketch. Let d be the first numbers at the prefixes, e the second ones, k the client's number of this level, and r
random numbers that only servers know. z1 = sum r d, z2 = sum r**2 d and z3 = sum r e are opened under masks a, b, c
that the client split between the servers. A = k - 2 a and B = a**2 + b - k a + c, of which they have shares too, make
    (z1 + a)**2 - (z2 + b) - (z3 + c) + A (z1 + a) + B = (z1**2 - z2) + (k z1 - z3),
which is 0 where d is 0, or is 1 in one place with e = k there. Where d is anything else it is 0 with probability at
most about 2/(field size) over r (Boneh et al. 2021, appendix C.4).

Assumptions. If at least one server is honest, only the counts of the levels are learned. It must check a report once at
a level, because the masks of a level hide only once. If both are honest, a report counts at most at one prefix of a
level, by 1. Source: draft-irtf-cfrg-vdaf-20, section 8.2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tacit import parameters
from tacit.federated.poplar.streams import SEED as KEY
from tacit.federated.poplar.trees import WIDTH, Trees, Walk, Word
from tacit.federated.prio.fields import FIELD64, FIELD255, Field, Vector
from tacit.federated.prio.prio3 import NONCE, Sharded
from tacit.federated.prio.seeds import SEED, Stream, expanded
from tacit.federated.refusals import Refused, of_length

MOST_BITS: Final = 256
_NUMBER: Final = 6  # of the algorithm, in the draft's registry
_VERSION: Final = 18
_SHARD, _INNER, _LEAF, _VERIFY = range(1, 5)  # what a stream of bytes is for
_HEAD: Final = struct.Struct(">HI")


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Prefixes of `level` + 1 bits, in ascending order, each as a number."""

    level: int
    prefixes: tuple[int, ...]

    def encode(self) -> bytes:
        """The prefix as bytes: bits from the first one on, filled up to whole bytes."""
        size = (self.level + 8) // 8
        texts = [(each << (8 * size - self.level - 1)).to_bytes(size, "big") for each in self.prefixes]
        return _HEAD.pack(self.level, len(self.prefixes)) + b"".join(texts)

    @classmethod
    def decode(cls, text: bytes) -> Prefixes:
        """What `encode` wrote; anything else is refused."""
        if len(text) < _HEAD.size:
            raise Refused("The text asks about no prefixes.")
        level, count = _HEAD.unpack_from(text)
        size = (level + 8) // 8
        if len(text) != _HEAD.size + size * count:
            raise Refused(f"{count} prefixes of {level + 1} bits have {size * count} bytes.")
        starts = range(_HEAD.size, len(text), size)
        found = cls(
            level, tuple(int.from_bytes(text[at : at + size], "big") >> (8 * size - level - 1) for at in starts)
        )
        if found.encode() != text:
            raise Refused("A prefix has bits after its last one.")
        return found

    def after(self, before: Prefixes | None) -> None:
        """Refuse this unless it may be asked after `before`: lower in the tree, and below prefixes asked there."""
        if not self.prefixes or any(one >= other for one, other in pairwise(self.prefixes)):
            raise Refused("Prefixes must be different, in ascending order, and at least one.")
        if self.prefixes[0] < 0 or self.prefixes[-1] >> (self.level + 1):
            raise Refused(f"Prefixes must have {self.level + 1} bits.")
        if before is not None:
            if self.level <= before.level:
                raise Refused(f"Level {before.level} was asked about before. A level is asked about once.")
            above = set(before.prefixes)
            if any(each >> (self.level - before.level) not in above for each in self.prefixes):
                raise Refused("A prefix is not below one that was asked about before.")


@dataclass(frozen=True, slots=True, repr=False)
class Opened:
    """A server's part of a report."""

    place: int
    nonce: bytes
    walk: Walk
    seed: bytes
    inner: Vector
    leaf: Vector


@dataclass(frozen=True, slots=True, repr=False)
class Sketching:
    """What a server keeps while a report is checked at a level."""

    place: int
    field: Field
    correction: tuple[int, int]
    output: Vector


class Poplar1:
    """Strings of this many bits."""

    def __init__(self, bits: int) -> None:
        if not 1 <= parameters.whole("bits", bits) <= MOST_BITS:
            raise parameters.refuse("bits", f"from 1 to {MOST_BITS}", bits)
        self.bits = bits
        self.random = 2 * KEY + 3 * SEED  # bytes that a client draws

    def field(self, level: int) -> Field:
        """The field that counts of a level are shared in."""
        return FIELD64 if level < self.bits - 1 else FIELD255

    # -- the client ----------------------------------------------------------------------------------------

    def sharded(self, context: bytes, measurement: Sequence[bool], nonce: bytes, random: bytes) -> Sharded:
        """The shares of a string of bits, from a nonce and random bytes that are used once."""
        of_length("nonce", nonce, NONCE)
        of_length("random bytes", random, self.random)
        if len(measurement) != self.bits:
            raise Refused(f"A measurement must have {self.bits} bits. Nothing was sent.")
        planting, rest = random[: 2 * KEY], random[2 * KEY :]
        seeds = rest[:SEED], rest[SEED : 2 * SEED]
        stream = Stream(rest[2 * SEED :], _tag(_SHARD, context), nonce)
        known = [*stream.vector(FIELD64, self.bits - 1).tolist(), *stream.vector(FIELD255, 1).tolist()]
        trees = Trees(self.bits, context, nonce)
        words, keys = trees.planted([bool(bit) for bit in measurement], [(1, each) for each in known], planting)
        triples = [self._triples(context, place, nonce, seed) for place, seed in enumerate(seeds)]
        shares: tuple[list[int], list[int]] = ([], [])
        for level, k in enumerate(known):
            field = self.field(level)
            a, b, c = (int(x) + int(y) for x, y in zip(triples[0][level], triples[1][level], strict=True))
            theirs = stream.vector(field, 2).tolist()
            wholes = (k - 2 * a, a * a + b - a * k + c)
            shares[1].extend(theirs)
            shares[0].extend((whole - their) % field.modulus for whole, their in zip(wholes, theirs, strict=True))
        parts = [
            key + seed + FIELD64.encode(FIELD64.vector(own[:-2])) + FIELD255.encode(FIELD255.vector(own[-2:]))
            for key, seed, own in zip(keys, seeds, shares, strict=True)
        ]
        return Sharded(self._encoded(words), tuple(parts))

    # -- a server ------------------------------------------------------------------------------------------

    def opened(self, context: bytes, place: int, nonce: bytes, public: bytes, part: bytes) -> Opened:
        """A server's part of a report, read from bytes; anything else is refused."""
        of_length("nonce", nonce, NONCE)
        if place not in (0, 1):
            raise Refused(f"There are two servers, 0 and 1. Got {place} instead.")
        inner = 2 * (self.bits - 1)
        start, middle = KEY + SEED, KEY + SEED + inner * FIELD64.size
        of_length("part", part, middle + 2 * FIELD255.size)
        walk = Walk(Trees(self.bits, context, nonce), place, self._words(public), part[:KEY])
        numbers = FIELD64.decode(part[start:middle], inner), FIELD255.decode(part[middle:], 2)
        return Opened(place, nonce, walk, part[KEY:start], *numbers)

    def checked(self, key: bytes, context: bytes, report: Opened, asked: Prefixes) -> tuple[Sketching, bytes]:
        """A server's state, and its share of the sketch. A second time for the same level it is refused."""
        of_length("key", key, SEED)
        level, field = asked.level, self.field(asked.level)
        values = report.walk.values(level, asked.prefixes)
        triple = self._triples(context, report.place, report.nonce, report.seed)[level]
        bound_to = report.nonce + level.to_bytes(2, "big")
        random = expanded(field, key, _tag(_VERIFY, context), bound_to, len(values)).tolist()
        sketch = [int(each) for each in triple]
        for (data, known), r in zip(values, random, strict=True):
            sketch[0] += data * r
            sketch[1] += data * r * r
            sketch[2] += known * r
        pair = report.inner[2 * level : 2 * level + 2] if level < self.bits - 1 else report.leaf
        state = Sketching(report.place, field, (int(pair[0]), int(pair[1])), field.vector(data for data, _ in values))
        return state, field.encode(field.vector(sketch))

    def sketch(self, level: int, shares: Sequence[bytes]) -> bytes:
        """The sketch, from both servers' shares."""
        return self.field(level).encode(self._summed(level, shares, 3))

    def answered(self, state: Sketching, message: bytes) -> bytes:
        """A server's share of what is 0 for a valid report."""
        first, second, third = (int(each) for each in state.field.decode(message, 3))
        once = state.place * (first * first - second - third)  # one server's share has all of the public part
        answer = once + state.correction[0] * first + state.correction[1]
        return state.field.encode(state.field.vector([answer]))

    def accepted(self, level: int, shares: Sequence[bytes]) -> None:
        """Refused, unless both servers' answers show a valid report."""
        if self._summed(level, shares, 1)[0] != 0:
            raise Refused("The report is not valid: it counts at more than one prefix, or by more than 1.")

    # -- what follows from seeds, and the bytes of it --------------------------------------------------------

    def _summed(self, level: int, shares: Sequence[bytes], length: int) -> Vector:
        if len(shares) != 2:
            raise Refused(f"A report is checked with 2 shares. Got {len(shares)} instead.")
        field = self.field(level)
        return field.vector(sum(each) for each in zip(*(field.decode(share, length) for share in shares), strict=True))

    def _triples(self, context: bytes, place: int, nonce: bytes, seed: bytes) -> list[list[int]]:
        """A server's shares of the masks a, b and c of each level."""
        bound_to = bytes([place]) + nonce
        inner = expanded(FIELD64, seed, _tag(_INNER, context), bound_to, 3 * (self.bits - 1)).tolist()
        leaf = expanded(FIELD255, seed, _tag(_LEAF, context), bound_to, 3).tolist()
        return [(inner + leaf)[start : start + 3] for start in range(0, 3 * self.bits, 3)]

    def _encoded(self, words: Sequence[Word]) -> bytes:
        controls = packed(bit for word in words for bit in word.controls)
        inner = FIELD64.encode(FIELD64.vector(each for word in words[:-1] for each in word.value))
        return (
            controls + b"".join(word.seed for word in words) + inner + FIELD255.encode(FIELD255.vector(words[-1].value))
        )

    def _words(self, public: bytes) -> list[Word]:
        bits = self.bits
        controls, inner = (2 * bits + 7) // 8, WIDTH * (bits - 1)
        seeds, values = controls + KEY * bits, controls + KEY * bits + FIELD64.size * inner
        of_length("public part", public, values + FIELD255.size * WIDTH)
        flags = unpacked(public[:controls], 2 * bits)
        numbers = [*FIELD64.decode(public[seeds:values], inner), *FIELD255.decode(public[values:], WIDTH)]
        return [
            Word(
                public[controls + KEY * level : controls + KEY * (level + 1)],
                (flags[2 * level], flags[2 * level + 1]),
                tuple(int(each) for each in numbers[WIDTH * level : WIDTH * (level + 1)]),
            )
            for level in range(bits)
        ]


def packed(bits: Iterable[bool]) -> bytes:
    """Bits as bytes, the first one the least of its byte."""
    listed = list(bits)
    return sum(bit << place for place, bit in enumerate(listed)).to_bytes((len(listed) + 7) // 8, "little")


def unpacked(text: bytes, count: int) -> list[bool]:
    """The bits that `packed` wrote; bytes with more bits are refused."""
    whole = int.from_bytes(text, "little")
    if whole >> count:
        raise Refused("There are bits after the last one.")
    return [bool(whole >> place & 1) for place in range(count)]


def _tag(usage: int, context: bytes) -> bytes:
    return bytes([_VERSION, 0]) + _NUMBER.to_bytes(4, "big") + usage.to_bytes(2, "big") + context
