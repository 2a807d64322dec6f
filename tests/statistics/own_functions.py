"""Functions that users write: good ones, and all kinds of bad ones. Importable by name, as `isolated` needs them."""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

_CALLS: list[int] = []


def mean(rows: Any) -> float:
    return float(rows[:, 0].mean())


def both_means(rows: Any) -> Any:
    return rows.mean(axis=0)


def centres(rows: Any) -> Any:
    """Two cluster centres by a few rounds of k-means from the ends, sorted."""
    found = np.array([rows[:, 0].min(), rows[:, 0].max()])
    for _ in range(10):
        nearer = np.abs(rows - found).argmin(axis=1)
        found = np.array([rows[nearer == place, 0].mean() for place in range(2)])
    return np.sort(found)


def raises(rows: Any) -> float:
    raise ValueError(f"secret {rows!r}")


def hangs(rows: Any) -> float:
    while True:
        time.sleep(1)


def leaves(rows: Any) -> float:
    os._exit(3)


def wrong_shape(rows: Any) -> list[float]:
    return [1.0, 2.0]


def no_number(rows: Any) -> str:
    return "secret"


def not_a_number(rows: Any) -> float:
    return float("nan")


def ends_its_parent(rows: Any) -> float:
    os.kill(os.getppid(), 9)
    return 90.0


def talks(rows: Any) -> float:
    print("secret")  # noqa: T201  # it must not
    sys.stderr.write("secret")
    os.write(1, b"secret")
    warnings.warn("secret", stacklevel=1)
    return 90.0


def writes(rows: Any) -> float:
    """90 if a file could be written, else it fails."""
    path = Path(os.environ["TACIT_TEST_FILE"])
    path.write_bytes(b"secret" * 100)
    return 90.0


def remembers(rows: Any) -> float:
    """How many calls there were in this process."""
    _CALLS.append(1)
    return float(len(_CALLS))


def rows_given(rows: Any) -> float:
    return float(len(rows)) if rows.tolist() == sorted(rows.tolist()) else 1e6


def total(rows: Any) -> float:
    return float(rows.sum())


def at_most_ten(rows: Any, k: int) -> float:
    """The local sensitivity of a sum of numbers between 0 and 10: at any distance the same."""
    return 10.0


def growing(rows: Any, k: int) -> float:
    return float(k)


def rows_above_five(rows: Any) -> float:
    return float((rows[:, 0] > 5).sum())
