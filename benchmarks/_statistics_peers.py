"""What diffprivlib and Tumult, each in an environment of its own, say to a part of the statistics benchmark."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from _peers import listen, python_of

DIFFPRIVLIB_SECONDS = 300
TUMULT_SECONDS = 1800  # one question to Spark gives all runs, so it may be silent for minutes
MOST_ROWS = 100_000
"""All runs of Tumult on a data set together read at most so many rows: its quantile takes 0.1 ms of CPU a row, and all
runs on 10,000 rows would take an hour. Larger sets have fewer runs, and a wider sampling error."""


@dataclass(frozen=True, slots=True)
class Heard:
    """Released values by data set, question and epsilon, then by peer; and a line for each peer that fell silent."""

    values: dict[tuple[str, str, float], dict[str, list[Any]]]
    troubles: list[str]

    def of(self, data: str, what: str, epsilon: float) -> dict[str, list[Any]]:
        """The runs of each peer that answered this."""
        return self.values.get((data, what, epsilon), {})


def ask_peers(
    sets: Mapping[str, Mapping[str, Any]], diffprivlib: str, to_tumult: tuple[str, ...], runs: int, python: Path | None
) -> Heard:
    """Let both answer about the same data sets; `python` is an interpreter that has diffprivlib."""
    with tempfile.TemporaryDirectory() as folder:
        for name, arrays in sets.items():
            np.savez(Path(folder) / f"{name}.npz", **arrays)
        told = {
            "diffprivlib": listen(
                diffprivlib, folder, runs, python=python or python_of("diffprivlib"), seconds=DIFFPRIVLIB_SECONDS
            ),
            "Tumult": listen(
                "_statistics_tumult.py", folder, runs, *to_tumult, python=python_of("tumult"), seconds=TUMULT_SECONDS
            ),
        }
    values: dict[tuple[str, str, float], dict[str, list[Any]]] = {}
    for peer, each in told.items():
        for line in each.lines:
            if "data" in line:
                values.setdefault((line["data"], line["what"], line["epsilon"]), {})[peer] = line["values"]
    return Heard(values, [f"{peer}: {each.trouble}" for peer, each in told.items() if each.trouble])
