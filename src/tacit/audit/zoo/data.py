"""What the data decide without being paid for: bounds, scales, sizes, errors, and sums that depend on the order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.audit.zoo.specimen import Specimen, generator, noise, specimen, whole


def local_sensitivity(x: Sequence[int], *, size: int) -> Any:
    """The median, with noise for how far it moves from *these* data."""
    ordered = sorted(x)
    middle = len(ordered) // 2
    reach = max(ordered[middle + 1] - ordered[middle], ordered[middle] - ordered[middle - 1])
    return np.full(size, ordered[middle]) if reach == 0 else whole(ordered[middle], reach, size)


def global_sensitivity(x: Sequence[int], *, size: int) -> Any:
    """The median of values from 0 to 10, with noise for the most it can move."""
    return whole(sorted(x)[len(x) // 2], 10, size)


def clamped_to_data(x: Sequence[int], *, size: int) -> Any:
    """A noisy maximum, moved back between the least and the greatest value of the data."""
    return np.clip(whole(max(x), 10, size), min(x), max(x))


def clamped_to_policy(x: Sequence[int], *, size: int) -> Any:
    """The same, moved back between public bounds."""
    return np.clip(whole(max(x), 10, size), 0, 10)


def unclipped_sum(x: Sequence[int], *, size: int) -> Any:
    """Noise for values from 0 to 1, on a sum of values that may be larger."""
    return whole(sum(x), 1, size)


def clipped_sum(x: Sequence[int], *, size: int) -> Any:
    """The values are moved into their bounds first."""
    return whole(sum(min(max(each, 0), 1) for each in x), 1, size)


def exact_size(x: Sequence[int], *, size: int) -> Any:
    """A noisy sum over the exact number of rows: its multiples of 1/n show n."""
    return whole(sum(x), 1, size) / len(x)


def public_size(x: Sequence[int], *, size: int) -> Any:
    """A noisy sum over a public number."""
    return whole(sum(x), 1, size) / 10


def scale_by_size(x: Sequence[int], *, size: int) -> Any:
    """A mean in hundredths, with noise for the exact number of rows, which may be two or twelve."""
    return whole(100 * sum(x) // max(len(x), 1), Fraction(100, len(x) + 1), size)


def scale_by_bound(x: Sequence[int], *, size: int) -> Any:
    """The mean with noise for the least possible number of rows, none."""
    return whole(100 * sum(x) // max(len(x), 1), 100, size)


def float_sum(x: Sequence[float], *, size: int) -> Any:
    """Floats added up in the order they come; values from 2**50 to 2**50 + 1, so replacing one "moves 1"."""
    total = 0.0
    for each in x:
        total += each
    return whole(int(total) - len(x) * 2**50, 1, size)


def whole_sum(x: Sequence[float], *, size: int) -> Any:
    """The same values added up as whole numbers."""
    return whole(sum(int(each) - 2**50 for each in x), 1, size)


def rounded_first(x: int, *, size: int) -> Any:
    """A count rounded to tens before the noise: one person may move it by 10."""
    return whole(10 * round(x / 10), 1, size)


def rounded_after(x: int, *, size: int) -> Any:
    """A noisy count, then rounded."""
    return 10 * np.round(whole(x, 1, size) / 10).astype(np.int64)


def error_on_outlier(x: Sequence[int], *, size: int) -> Any:
    """Refuses data with a value out of bounds, so an error shows that there is one."""
    if max(x) > 1:
        return ["ValueError: value out of bounds"] * size
    return whole(sum(x), 1, size).tolist()


def rows_one_too_many(x: Sequence[int], *, size: int) -> Any:
    """Keeps three rows of each person and pays for two."""
    return whole(sum(min(rows, 3) for rows in x), 2, size)


def rows_as_paid(x: Sequence[int], *, size: int) -> Any:
    """Keeps two rows of each person and pays for two."""
    return whole(sum(min(rows, 2) for rows in x), 2, size)


def sample_size_told(x: Sequence[int], *, size: int) -> Any:
    """Claims that sampling half of the rows halves epsilon, and releases how many rows were sampled."""
    drawn = generator().binomial(len(x), 0.5, size)
    return np.stack([drawn, drawn + noise(size, 1)], axis=1)


def sample_size_hidden(x: Sequence[int], *, size: int) -> Any:
    """The noisy count of a sample alone."""
    return generator().binomial(len(x), 0.5, size) + noise(size, 1)


_LOW = float(2**50)
_MIXED = [_LOW, _LOW + 1] * 32

SPECIMENS: tuple[Specimen, ...] = (
    specimen(
        "noise scaled to local sensitivity",
        "How much noise there is tells how the data lie.",
        local_sensitivity,
        global_sensitivity,
        [0, 0, 0, 10, 10],
        [0, 0, 0, 0, 10],
        1,
    ),
    specimen(
        "clamping to bounds of the data",
        "Nothing above the greatest value of the data comes out.",
        clamped_to_data,
        clamped_to_policy,
        [0, 2, 10],
        [0, 2],
        1,
    ),
    specimen(
        "unclipped sum",
        "One value beyond the bounds moves it as far as it likes.",
        unclipped_sum,
        clipped_sum,
        [0, 1, 50],
        [0, 1],
        1,
    ),
    specimen("exact number of rows", "The number of rows is released.", exact_size, public_size, [1] * 10, [1] * 11, 1),
    specimen(
        "noise scaled to the private size",
        "The spread of the noise tells how many rows there are, and few rows have too little of it.",
        scale_by_size,
        scale_by_bound,
        [0],
        [0, 1],
        1,
    ),
    specimen(
        "float sum in the order of the rows",
        "Rounding on the way moves the sum by far more than one value can.",
        float_sum,
        whole_sum,
        _MIXED,
        sorted([_LOW, _LOW, *_MIXED[2:]]),  # one value replaced; no one promises an order of rows
        1,
    ),
    specimen(
        "rounding before noise",
        "Two counts that differ by 1 are rounded 10 apart.",
        rounded_first,
        rounded_after,
        5,
        6,
        1,
    ),
    specimen(
        "an error for one person's value",
        "Whether there is an error is an exact answer.",
        error_on_outlier,
        clipped_sum,
        [0, 1, 5],
        [0, 1],
        1,
        samples=4_000,
    ),
    specimen(
        "one row more than is paid for",
        "A person with three rows moves the count by 3, noise is for 2.",
        rows_one_too_many,
        rows_as_paid,
        [1, 3],
        [1],
        1,
        samples=100_000,
    ),
    specimen(
        "the size of the sample told",
        "Sampling hides a person only if nobody learns how many were drawn.",
        sample_size_told,
        sample_size_hidden,
        [],
        [1],
        "0.63",
        samples=20_000,
    ),
)
