"""Several releases priced as one: forgotten splits, overlapping parts, fresh noise on every read, and bad deltas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.audit.zoo.specimen import Specimen, generator, noise, specimen


def split_forgotten(x: int, *, size: int) -> Any:
    """Four questions about the same person, each at the whole epsilon."""
    return x + noise((size, 4), 1)


def split(x: int, *, size: int) -> Any:
    """Each question at a quarter of epsilon."""
    return x + noise((size, 4), 4)


def overlapping(x: Sequence[int], *, size: int) -> Any:
    """Counts below 40 and above 30 priced as disjoint parts: a 35 year old is in both."""
    ages = np.array(x)
    return np.array([np.sum(ages < 40), np.sum(ages > 30)]) + noise((size, 2), 1)


def disjoint(x: Sequence[int], *, size: int) -> Any:
    """Counts up to 35 and above."""
    ages = np.array(x)
    return np.array([np.sum(ages <= 35), np.sum(ages > 35)]) + noise((size, 2), 1)


def replaced_histogram(x: Sequence[int], *, size: int) -> Any:
    """A histogram with noise for sensitivity 1, where neighbours replace a row: two cells move."""
    return np.array(x) + noise((size, len(x)), 1)


def replaced_histogram_paid(x: Sequence[int], *, size: int) -> Any:
    """The histogram with noise for sensitivity 2."""
    return np.array(x) + noise((size, len(x)), 2)


def fresh_noise_on_reads(x: int, *, size: int) -> Any:
    """One charged release whose noise is drawn anew by each of 60 reads."""
    return x + noise((size, 60), 1)


def stored_noise(x: int, *, size: int) -> Any:
    """The same release, read 60 times."""
    return np.repeat(x + noise((size, 1), 1), 60, axis=1)


def everything_sometimes(x: Sequence[int], *, size: int) -> Any:
    """All rows, with probability 1/5 (ten rows: above 1/n); otherwise nothing."""
    shown = generator().random(size) < 0.2
    return [tuple(x) if each else None for each in shown]


def nothing_but_noise(x: Sequence[int], *, size: int) -> Any:
    """A noisy sum, always."""
    return sum(x) + noise(size, 1)


def name_and_shame(x: Sequence[int], *, size: int) -> Any:
    """Each of ten rows is published with probability 1/5."""
    shown = generator().random((size, len(x))) < 0.2
    return np.where(shown, np.array(x, dtype=float), np.nan)


def named_and_noisy(x: Sequence[int], *, size: int) -> Any:
    """Each row with noise of its own: the local model, epsilon 1."""
    return np.array(x) + noise((size, len(x)), 1)


SPECIMENS: tuple[Specimen, ...] = (
    specimen("budget split forgotten", "Four answers at epsilon cost four epsilons.", split_forgotten, split, 0, 1, 1),
    specimen(
        "parallel composition of overlapping parts",
        "Only parts that share nobody cost as much as one.",
        overlapping,
        disjoint,
        [20, 50, 35],
        [20, 50],
        1,
    ),
    specimen(
        "histogram under replacement with sensitivity 1",
        "A replaced row leaves one cell and enters another.",
        replaced_histogram,
        replaced_histogram_paid,
        [3, 5],
        [4, 4],
        1,
    ),
    specimen(
        "fresh noise on every read",
        "Reading often averages the noise away.",
        fresh_noise_on_reads,
        stored_noise,
        0,
        1,
        1,
        samples=4_000,
    ),
    specimen(
        "release everything with probability delta",
        "It satisfies the definition with delta 1/5; a delta must be far below 1/n, and at such a delta it fails.",
        everything_sometimes,
        nothing_but_noise,
        [0] * 9 + [1],
        [0] * 9,
        1,
        "0.01",
        samples=4_000,
    ),
    specimen(
        "name and shame",
        "Each row out with probability delta: again delta is above 1/n, and at 1/(10 n) it fails.",
        name_and_shame,
        named_and_noisy,
        [0] * 9 + [1],
        [0] * 10,
        1,
        "0.01",
        samples=4_000,
    ),
)
