"""A tree of which two servers hold shares: along one path every node has a value, and all other nodes have 0.

A node is a seed and a control bit at each server. Where both servers have the same seed and bit, their shares cancel:
the value is 0. On the path, seeds differ and the bits differ, and a public correction word for each level keeps that so
for the next node of the path, makes both servers' states equal again next to it, and makes the value what the client
wants.

Theorem (Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai 2021, section 3). One server's key and the correction words are
computationally independent of path and values. Proof idea: what a level corrects by is masked by the expansion of a
seed of the other server that this one never sees.

Values are pairs: 1, which is counted, and a number that only the client knows, which a check needs (`poplar1`). Inner
nodes have them in a field of 64 bits, leaves in one of 255 bits, where no client can make a tree with two paths.

Source: draft-irtf-cfrg-vdaf-20, section 8.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.federated.poplar.streams import SEED, Blocks, Bytes
from tacit.federated.prio.fields import FIELD64, FIELD255, Field
from tacit.federated.prio.seeds import Stream
from tacit.federated.refusals import Refused

WIDTH: Final = 2  # numbers of a value
_EXTEND: Final = bytes([18, 1, 0, 0, 0, 0, 0, 0])  # version, kind of algorithm, its number, what the stream is for
_CONVERT: Final = bytes([18, 1, 0, 0, 0, 0, 0, 1])
_LOW: Final = np.uint8(0xFE)

Bits = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Word:
    """The correction of a level: a seed, a control bit for each child, and a value."""

    seed: bytes
    controls: tuple[bool, bool]
    value: tuple[int, ...]


class Trees:
    """Trees of one depth, for one report: its context and nonce are part of everything."""

    def __init__(self, bits: int, context: bytes, nonce: bytes) -> None:
        self.bits = bits
        self._tags, self._nonce = (_EXTEND + context, _CONVERT + context), nonce
        self._extending, self._converting = (Blocks(tag, nonce) for tag in self._tags)

    def field(self, level: int) -> Field:
        """The field of values at a level, counted from 0."""
        return FIELD64 if level < self.bits - 1 else FIELD255

    def planted(
        self, path: Sequence[bool], values: Sequence[Sequence[int]], random: bytes
    ) -> tuple[list[Word], list[bytes]]:
        """Correction words, and a key for each server, of a tree with these values along a path."""
        keys = [random[:SEED], random[SEED:]]
        seeds, controls, words = np.array([list(key) for key in keys], dtype=np.uint8), np.array([False, True]), []
        for level, (bit, value) in enumerate(zip(path, values, strict=True)):
            keep, modulus = int(bit), self.field(level).modulus
            children, bits = self._extended(level, seeds)
            correction = children[0, 1 - keep] ^ children[1, 1 - keep]
            pair = (bool(bits[0, 0] ^ bits[1, 0] ^ (not bit)), bool(bits[0, 1] ^ bits[1, 1] ^ bit))
            kept = children[:, keep] ^ (correction * controls[:, None])
            controls = bits[:, keep] ^ (controls & pair[keep])
            seeds, (one, other) = self._converted(level, kept, with_values=True)
            sign = -1 if controls[1] else 1
            off = tuple(sign * (v - a + b) % modulus for v, a, b in zip(value, one, other, strict=True))
            words.append(Word(correction.tobytes(), pair, off))
        return words, keys

    def _extended(self, level: int, seeds: Bytes) -> tuple[Bytes, Bits]:
        """The seeds and control bits of both children of each node, before they are corrected."""
        if level < self.bits - 1:
            made = self._extending.of(seeds, 2)
        else:
            streams = [Stream(seed.tobytes(), self._tags[0], self._nonce).bytes(2 * SEED) for seed in seeds]
            made = np.frombuffer(b"".join(streams), dtype=np.uint8).reshape(-1, 2, SEED).copy()
        bits = (made[:, :, 0] & 1).astype(bool)
        made[:, :, 0] &= _LOW
        return made, bits

    def _converted(self, level: int, seeds: Bytes, *, with_values: bool) -> tuple[Bytes, list[tuple[int, ...]]]:
        """The seeds of nodes as the next level needs them, and their shares of values."""
        field = self.field(level)
        if level == self.bits - 1:
            streams = [Stream(seed.tobytes(), self._tags[1], self._nonce) for seed in seeds]
            after = [list(stream.bytes(SEED)) for stream in streams]
            values = [tuple(stream.vector(field, WIDTH).tolist()) for stream in streams]
            return np.array(after, dtype=np.uint8).reshape(-1, SEED), values
        if not with_values:
            return self._converting.of(seeds, 1)[:, 0], []
        made = self._converting.of(seeds, 2)
        values = [tuple(field.read(text.tobytes())) for text in made[:, 1]]
        for place, value in enumerate(values):
            if max(value) >= field.modulus:  # this happens once in 2**31: read on
                stream = self._converting.stream(seeds[place].tobytes())
                stream.bytes(SEED)
                values[place] = tuple(stream.vector(field, WIDTH).tolist())
        return made[:, 0], values


class Walk:
    """One server's way down a tree: it goes on from the nodes that it has seen."""

    def __init__(self, trees: Trees, place: int, words: Sequence[Word], key: bytes) -> None:
        self._trees, self._place, self._words = trees, place, words
        self._level = -1  # of the nodes that are kept: the root is above level 0
        self._nodes: dict[int, tuple[Bytes, bool]] = {0: (np.frombuffer(key, dtype=np.uint8), bool(place))}

    def values(self, level: int, prefixes: Sequence[int]) -> list[tuple[int, ...]]:
        """This server's shares of the values at nodes of a level, each told by the bits of its way as a number.

        Levels only go down, and a node is below one that was asked about before.
        """
        if not self._level < level < self._trees.bits:
            raise Refused(f"Level {level} is not below level {self._level} of a tree of {self._trees.bits} levels.")
        found: list[tuple[int, ...]] = []
        nodes = self._nodes
        for here in range(self._level + 1, level + 1):
            wanted = sorted({prefix >> (level - here) for prefix in prefixes})
            if any(each >> 1 not in nodes for each in wanted):
                raise Refused("A prefix is not below one that was asked about before.")
            nodes, found = self._next(here, wanted, nodes, here == level)
        self._level, self._nodes = level, nodes
        by_prefix = dict(zip(nodes, found, strict=True))
        return [by_prefix[prefix] for prefix in prefixes]

    def _next(
        self, level: int, wanted: Sequence[int], nodes: dict[int, tuple[Bytes, bool]], with_values: bool
    ) -> tuple[dict[int, tuple[Bytes, bool]], list[tuple[int, ...]]]:
        parents = [nodes[each >> 1] for each in wanted]
        word, sides = self._words[level], np.array([each & 1 for each in wanted])
        corrected = np.array([control for _, control in parents])
        children, bits = self._trees._extended(level, np.array([seed for seed, _ in parents]))
        chosen = np.arange(len(wanted))
        seeds = children[chosen, sides] ^ (np.frombuffer(word.seed, dtype=np.uint8) * corrected[:, None])
        controls = bits[chosen, sides] ^ (corrected & np.array(word.controls)[sides])
        after, values = self._trees._converted(level, seeds, with_values=with_values)
        modulus, sign = self._trees.field(level).modulus, -1 if self._place else 1
        shares = (
            [
                tuple(sign * (a + control * b) % modulus for a, b in zip(value, word.value, strict=True))
                for value, control in zip(values, controls.tolist(), strict=True)
            ]
            if with_values
            else []
        )
        kept = {each: (after[place], bool(controls[place])) for place, each in enumerate(wanted)}
        return kept, shares
