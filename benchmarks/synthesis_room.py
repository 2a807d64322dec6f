"""Synthetic data on Adult (48,842 rows, 14 coded columns), delta 1e-9: mean total variation of all 2- and 3-way tables.

Errors are of rows that were drawn, as many as the release estimated. "Coarse" has every column of more than 16 values
cut into 16 equal ranges of codes before tables are compared. Beside the methods stand the real rows drawn anew with
replacement, and columns that were shuffled apart from each other: without any noise.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import synthesis

DATA = Path(__file__).resolve().parent / "data"
SEEDS = 5
Rows = NDArray[np.int64]


def main() -> str:
    """Every method at three prices."""
    sizes = json.loads((DATA / "adult_codes_domain.json").read_text())
    names = list(sizes)
    with gzip.open(DATA / "adult_codes.csv.gz", "rt") as file:
        real: Rows = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.int64)
    widths = [sizes[name] for name in names]
    given = {name: real[:, place] for place, name in enumerate(names)}
    bounds = {name: (0, size - 1) for name, size in sizes.items()}
    lines = [
        "## Synthetic data",
        "",
        f"Adult, 14 columns, delta 1e-9; mean of {SEEDS} runs. CPU is that of the release; sampling apart.",
        "",
        "| method | epsilon | 2-way | 3-way | 2-way, coarse | 3-way, coarse | CPU s |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    generator = np.random.default_rng(0)
    again = real[generator.integers(0, len(real), len(real))]
    apart = np.stack([generator.permutation(column) for column in real.T], axis=1)
    for name, rows in (("real rows drawn anew", again), ("real columns shuffled", apart)):
        lines.append(_line(name, "", [_errors(real, rows, widths)], [0.0]))
    methods: list[Callable[..., Any]] = [synthesis.independent, synthesis.mst, synthesis.aim]
    for method, epsilon in itertools.product(methods, ("0.1", "1", "10")):
        found, seconds = [], []
        for _ in range(SEEDS):
            began = time.process_time()
            twin = method(given, epsilon=epsilon, delta="1e-9", bounds=bounds)
            seconds.append(time.process_time() - began)
            drawn = twin.sample()
            found.append(_errors(real, np.stack([drawn[name] for name in names], axis=1), widths))
        lines.append(_line(method.__name__, epsilon, found, seconds))
        print(lines[-1], flush=True)
    began = time.process_time()
    twin.sample(1_000_000)
    lines += ["", f"1,000,000 rows drawn from the last model: {time.process_time() - began:.1f} s of CPU."]
    return "\n".join(lines)


def _line(name: str, epsilon: str, found: list[list[float]], seconds: list[float]) -> str:
    means = " | ".join(f"{each:.4f}" for each in np.mean(found, axis=0))
    return f"| {name} | {epsilon} | {means} | {np.mean(seconds):.2f} |"


def _errors(real: Rows, rows: Rows, sizes: list[int]) -> list[float]:
    coarse = [min(size, 16) for size in sizes]
    cut = [np.stack([own[:, p] * coarse[p] // sizes[p] for p in range(len(sizes))], axis=1) for own in (real, rows)]
    fine = [_variation(real, rows, sizes, degree) for degree in (2, 3)]
    return fine + [_variation(cut[0], cut[1], coarse, degree) for degree in (2, 3)]


def _variation(real: Rows, rows: Rows, sizes: list[int], degree: int) -> float:
    found = []
    for columns in itertools.combinations(range(len(sizes)), degree):
        shape = tuple(sizes[place] for place in columns)
        shares = [
            np.bincount(np.ravel_multi_index(tuple(own[:, p] for p in columns), shape), minlength=math.prod(shape))
            / len(own)
            for own in (real, rows)
        ]
        found.append(float(np.abs(shares[0] - shares[1]).sum()) / 2)
    return float(np.mean(found))
