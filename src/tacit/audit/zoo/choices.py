"""Choices that give themselves away: a factor 2 too sharp, or candidates and keys taken from the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.zoo.specimen import Specimen, generator, noise, specimen
from tacit.mechanisms import Exponential, KeySelection

_DOMAIN = ("a", "b", "c")


def _chosen(scores: Sequence[int], factor: float, size: int) -> NDArray[Any]:
    weights = np.exp(factor * (np.array(scores, dtype=float) - max(scores)))
    return generator().choice(len(scores), size, p=weights / weights.sum())


def too_sharp(x: Sequence[int], *, size: int) -> Any:
    """exp(epsilon score): right only if all scores move the same way, and here they do not."""
    return _chosen(x, 2.0, size)


def sharp_enough(x: Sequence[int], *, size: int) -> Any:
    """exp(epsilon score/2), by the exact mechanism."""
    mechanism = Exponential(sensitivity=1, epsilon=2)
    return [mechanism.choose(range(len(x)), scores=list(x)) for _ in range(size)]


def candidates_from_data(x: Sequence[int], *, size: int) -> Any:
    """Chooses among the values that occur, by their counts."""
    values, counts = np.unique(np.array(x), return_counts=True)
    return values[_chosen(counts.tolist(), 0.5, size)]


def public_candidates(x: Sequence[int], *, size: int) -> Any:
    """Chooses among all values from 0 to 9."""
    mechanism = Exponential(sensitivity=1, epsilon=1, monotone=True)
    counts = [list(x).count(value) for value in range(10)]
    return [mechanism.choose(range(10), scores=counts) for _ in range(size)]


def keys_from_data(x: Sequence[str], *, size: int) -> Any:
    """A noisy count for every key that occurs: a key of one person is there or not."""
    found = {key: list(x).count(key) for key in sorted(set(x))}
    table = noise((size, len(found)), 1) + np.array(list(found.values()))
    return [dict(zip(found, row, strict=True)) for row in table.tolist()]


def known_keys(x: Sequence[str], *, size: int) -> Any:
    """A noisy count for every key there is."""
    table = noise((size, len(_DOMAIN)), 1) + np.array([list(x).count(key) for key in _DOMAIN])
    return [dict(zip(_DOMAIN, row, strict=True)) for row in table.tolist()]


def low_threshold(x: int, *, size: int) -> Any:
    """Names a key when its noisy count passes 1: one person is enough one time in two, whatever delta is claimed."""
    noisy = x + noise(size, 1)
    return (x > 0) & (noisy > 0)


def right_threshold(x: int, *, size: int) -> Any:
    """Names a key by the rule for (1, 1e-3)."""
    return KeySelection(epsilon=1, delta="1e-3").choose(np.full(size, x))


SPECIMENS: tuple[Specimen, ...] = (
    specimen(
        "missing factor 2 in the exponential mechanism",
        "One score rises while the others fall: the loss is twice the claim.",
        too_sharp,
        sharp_enough,
        [0] + [1] * 19,
        [1] + [0] * 19,
        2,
        sound_samples=4_000,
    ),
    specimen(
        "data-dependent candidates",
        "A value that only one person has can be chosen only if they are in the data.",
        candidates_from_data,
        public_candidates,
        [1, 1, 2],
        [1, 1, 2, 7],
        1,
        samples=4_000,
    ),
    specimen(
        "data-dependent keys",
        "The list of groups is exact: a group of one person tells that they are there.",
        keys_from_data,
        known_keys,
        ["a", "a", "b"],
        ["a", "a", "b", "c"],
        1,
        samples=4_000,
    ),
    specimen(
        "keys named at any count",
        "The threshold must grow with ln(1/delta); a delta of 1e-3 does not allow one half.",
        low_threshold,
        right_threshold,
        0,
        1,
        1,
        "1e-3",
    ),
)
