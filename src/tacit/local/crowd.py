"""Many people at once: the reports of arrays of true answers, and what all reports together support. Vectorised.

Promise: `encode` draws each report from exactly the law that `client.randomised` draws from, with the house's own
bits; `support` counts for every option how many reports support it. Reports are arrays of the numbers that a client
sends, one column for each; bit sets are rows of packed bytes, option 0 the lowest bit of the first byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.local.laws import Law
from tacit.local.sets import encode_subset
from tacit.noise import BitSource, bernoulli, uniform_below

Whole = NDArray[np.int64]
_BLOCK: Final = 1 << 16
_BITS_OF_BYTES: Final = np.arange(256)[:, None] >> np.arange(8) & 1


def encode(law: Law, truths: Any, bits: BitSource) -> Any:
    """Reports of these true answers."""
    return _ENCODERS[law["kind"]](law, truths, bits)


def support(law: Law, reports: Any) -> Whole:
    """For every option the number of reports that support it."""
    return _COUNTERS[law["kind"]](law, reports)


# -- one option of k -------------------------------------------------------------------------------


def _k_ary(truths: Whole, options: int, a: int, b: int, bits: BitSource) -> Whole:
    whole = a + (options - 1) * b
    if whole & (whole - 1):  # weights that another program chose
        drawn = uniform_below(whole, len(truths), bits)
    else:
        drawn = (bits.words(len(truths)) >> np.uint64(65 - whole.bit_length())).view(np.int64)
    # 0 where the truth is kept, else the number of the other option, from 1
    moved = (drawn + (b - a)) // b
    np.maximum(moved, 0, out=moved)
    moved += truths
    moved -= options * (moved >= options)
    return moved


def _encode_k_ary(law: Law, truths: Whole, bits: BitSource) -> Whole:
    return _blocks(lambda part: _k_ary(part, law["options"], law["keep"], law["other"], bits), truths)


def _count_k_ary(law: Law, reports: Whole) -> Whole:
    return np.bincount(reports, minlength=law["options"])


# -- rows of a Hadamard matrix ---------------------------------------------------------------------


def _encode_hadamard(law: Law, truths: Whole, bits: BitSource) -> Whole:
    chance = Fraction(law["keep"], law["keep"] + law["other"])

    def part(own: Whole) -> Whole:
        rows, columns = uniform_below(law["rows"], len(own), bits), own + 1
        odd = np.bitwise_count(rows & columns).astype(np.int64) & 1
        wanted = 1 - bernoulli(chance, len(own), bits).astype(np.int64)
        return rows ^ np.where(odd != wanted, columns & -columns, 0)

    return _blocks(part, truths)


def _count_hadamard(law: Law, reports: Whole) -> Whole:
    # support_v = (n + sum over rows of count * sign)/2, and the signs of all columns are one fast transform
    sums = np.bincount(reports, minlength=law["rows"])
    total = len(reports)
    length = 1
    while length < law["rows"]:
        pairs = sums.reshape(-1, 2, length)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        length *= 2
    return (total + sums[1 : law["options"] + 1]) // 2


# -- random functions ------------------------------------------------------------------------------


def _encode_hashing(law: Law, truths: Whole, bits: BitSource) -> NDArray[np.uint64]:
    word, cells = law["word"], law["cells"]
    half, full = np.uint64(word // 2), np.uint64((1 << word) - 1)

    def part(own: Whole) -> NDArray[np.uint64]:
        if word <= 32:  # both from one word
            both = bits.words(len(own))
            multipliers, shifts = (both >> np.uint64(32)) & full, both & full
        else:
            multipliers, shifts = bits.words(len(own)), bits.words(len(own))
        upper = ((multipliers * own.astype(np.uint64) + shifts) & full) >> half
        found = _k_ary(((upper * np.uint64(cells)) >> half).astype(np.int64), cells, law["keep"], law["other"], bits)
        return np.stack([multipliers, shifts, found.astype(np.uint64)], axis=1)

    blocks = [part(truths[start : start + _BLOCK]) for start in range(0, len(truths), _BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros((0, 3), dtype=np.uint64)


def _count_hashing(law: Law, reports: NDArray[np.uint64]) -> Whole:
    return hashed_support(law, reports, None)


def hashed_support(law: Law, reports: NDArray[np.uint64], options: NDArray[np.uint64] | None) -> Whole:
    """How many reports support each of these options, or each option there is.

    A report supports an option where its word lies between the ends of the reported cell: two operations each.
    """
    word, cells = law["word"], law["cells"]
    half = word // 2
    ends = np.array([-(-(c << half) // cells) << half for c in range(cells + 1)], dtype=object)
    kind: Any = np.uint32 if word == 32 else np.uint64
    starts = np.array([int(end) for end in ends[:-1]], dtype=kind)
    # the last end is 2**word, which no word holds: widths are taken less one
    widths = np.array([int(high) - int(low) - 1 for low, high in pairwise(ends)], dtype=kind)
    counts = np.zeros(law["options"] if options is None else len(options), dtype=np.int64)
    for start in range(0, len(reports), _BLOCK // 8):
        block = reports[start : start + _BLOCK // 8]
        multipliers, places = block[:, 0].astype(kind), block[:, 2].astype(np.int64)
        position = block[:, 1].astype(kind) - starts[places]
        width = widths[places]
        if options is None:
            for option in range(law["options"]):
                counts[option] += np.count_nonzero(position <= width)
                position += multipliers
        else:
            for place, each in enumerate(options.astype(kind)):
                counts[place] += np.count_nonzero(multipliers * each + position <= width)
    return counts


# -- sets of options -------------------------------------------------------------------------------


def _encode_unary(law: Law, truths: Whole, bits: BitSource) -> NDArray[np.uint8]:
    options = law["options"]

    def part(own: Whole) -> NDArray[np.uint8]:
        drawn = bernoulli(Fraction(*law["zero"]), len(own) * options, bits).reshape(len(own), options)
        drawn[np.arange(len(own)), own] = bernoulli(Fraction(*law["one"]), len(own), bits)
        return np.packbits(drawn, axis=1, bitorder="little")

    return _sets(part, truths, options)


def _encode_rappor(law: Law, truths: Whole, bits: BitSource) -> NDArray[np.uint8]:
    kept = law["kept"]
    options = kept["options"]

    def part(own: Whole) -> NDArray[np.uint8]:
        drawn = np.unpackbits(_encode_unary(kept, own, bits), axis=1, count=options, bitorder="little").astype(bool)
        ones = bernoulli(Fraction(*law["one"]), drawn.size, bits).reshape(drawn.shape)
        zeros = bernoulli(Fraction(*law["zero"]), drawn.size, bits).reshape(drawn.shape)
        return np.packbits(np.where(drawn, ones, zeros), axis=1, bitorder="little")

    return _sets(part, truths, options)


def _sets(part: Callable[[Whole], NDArray[np.uint8]], truths: Whole, options: int) -> NDArray[np.uint8]:
    step = max(1, (1 << 22) // options)
    blocks = [part(truths[start : start + step]) for start in range(0, len(truths), step)]
    return np.concatenate(blocks) if blocks else np.zeros((0, -(-options // 8)), dtype=np.uint8)


def _count_rappor(law: Law, reports: NDArray[np.uint8]) -> Whole:
    return _count_sets(law["kept"], reports)


def _count_sets(law: Law, reports: NDArray[np.uint8]) -> Whole:
    """How often each value of each byte occurs, and then which bits those values have."""
    counts = np.zeros(8 * reports.shape[1], dtype=np.int64)
    for place in range(reports.shape[1]):
        counts[8 * place : 8 * place + 8] = np.bincount(reports[:, place], minlength=256) @ _BITS_OF_BYTES
    return counts[: law["options"]]


# -- numbers ---------------------------------------------------------------------------------------


def _encode_sign(law: Law, truths: Whole, bits: BitSource) -> Whole:
    a, b, steps = law["keep"], law["other"], law["steps"]

    def part(own: Whole) -> Whole:
        drawn = uniform_below((a + b) * steps, len(own), bits)
        return np.asarray(drawn < b * steps + (a - b) * own, dtype=np.int64)

    return _blocks(part, truths)


def _encode_window(law: Law, truths: Whole, bits: BitSource) -> Whole:
    a, b, window = law["keep"], law["other"], law["window"]

    def part(own: Whole) -> Whole:
        drawn = uniform_below(a * window + b * law["steps"], len(own), bits)
        place = (drawn - a * window) // b
        outside = np.where(place < own, place, place + window)
        return np.asarray(np.where(drawn < a * window, own + drawn // a, outside), dtype=np.int64)

    return _blocks(part, truths)


def _encode_either(law: Law, truths: Whole, bits: BitSource) -> Whole:
    first = bernoulli(Fraction(*law["chance"]), len(truths), bits)
    found = np.zeros((len(truths), 2), dtype=np.int64)
    # everyone draws both and sends one: what is drawn does not depend on what leaves
    both = [encode(part, truths, bits) for part in law["parts"]]
    found[:, 0] = ~first
    found[:, 1] = np.where(first, both[0], both[1])
    return found


def _encode_moments(law: Law, truths: Whole, bits: BitSource) -> Whole:
    steps = law["parts"][1]["steps"]
    square = (2 * truths - steps) ** 2
    up = uniform_below(steps, len(truths), bits) < square % steps
    both = [encode(law["parts"][0], truths, bits), encode(law["parts"][1], square // steps + up, bits)]
    which = uniform_below(2, len(truths), bits)
    return np.stack([which, np.where(which == 0, both[0], both[1])], axis=1)


def _encode_nearest(law: Law, truths: NDArray[np.float64], bits: BitSource) -> NDArray[np.uint64]:
    words, near, a, b = law["words"], law["near"], law["keep"], law["other"]
    seeds = bits.words(len(truths)) >> np.uint64(64 - law["seed"])
    drawn = uniform_below(a * near + b * (words - near), len(truths), bits)
    places = np.where(drawn < a * near, drawn // a, near + (drawn - a * near) // b)
    found = np.empty((len(truths), 2), dtype=np.uint64)
    for row, (seed, place) in enumerate(zip(seeds.tolist(), places.tolist(), strict=True)):
        score = directions(law, [seed] * words, range(words)) @ truths[row]
        found[row] = (seed, np.argsort(-score, kind="stable")[place])
    return found


def directions(law: Law, seeds: Iterable[int], words: Iterable[int]) -> NDArray[np.float64]:
    """`client.direction` of many words at once."""
    size = 4 * law["dimensions"]
    pairs = zip(seeds, words, strict=True)
    raw = b"".join(hashlib.shake_128(f"{seed}:{word}".encode()).digest(size) for seed, word in pairs)
    normal = ndtri((np.frombuffer(raw, dtype=">u4").astype(np.float64) + 0.5) / 2**32).reshape(-1, law["dimensions"])
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def _count_window(law: Law, reports: Whole) -> Whole:
    return np.bincount(reports, minlength=law["steps"] + law["window"])


def _count_sign(law: Law, reports: Whole) -> Whole:
    return np.bincount(reports, minlength=2)


def _blocks(part: Callable[[Whole], Whole], truths: Whole) -> Whole:
    found = np.empty(len(truths), dtype=np.int64)
    for start in range(0, len(truths), _BLOCK):
        found[start : start + _BLOCK] = part(truths[start : start + _BLOCK])
    return found


_ENCODERS: Final[dict[str, Callable[[Law, Any, BitSource], Any]]] = {
    "k-ary": _encode_k_ary,
    "hadamard": _encode_hadamard,
    "hashing": _encode_hashing,
    "unary": _encode_unary,
    "subset": encode_subset,
    "rappor": _encode_rappor,
    "sign": _encode_sign,
    "window": _encode_window,
    "either": _encode_either,
    "moments": _encode_moments,
    "nearest": _encode_nearest,
}
_COUNTERS: Final[dict[str, Callable[[Law, Any], Whole]]] = {
    "k-ary": _count_k_ary,
    "hadamard": _count_hadamard,
    "hashing": _count_hashing,
    "unary": _count_sets,
    "subset": _count_sets,
    "rappor": _count_rappor,
    "window": _count_window,
    "sign": _count_sign,
}
