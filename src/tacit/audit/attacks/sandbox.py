"""A curator over made-up columns, for attacks: a file and a policy in a folder that is deleted afterwards.

Promise: the public surface alone is used (`tacit.open`), as any analyst would meet it. The ledger and the working copy
live in memory. Every column is of whole numbers with public bounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tacit
from tacit.curator import Curator

Whole: TypeAlias = NDArray[np.int64]
Bounds: TypeAlias = tuple[int, int]


@contextmanager
def made_up(columns: Mapping[str, tuple[Whole, Bounds]], epsilon: Fraction) -> Iterator[Curator]:
    """A curator with one table `people`, a row for each person, that may be asked for `epsilon` in all."""
    arrays = [values for values, _ in columns.values()]
    people = np.arange(len(arrays[0]))
    facts = "\n".join(
        f'{name} = {{ type = "integer", between = [{low}, {high}], nullable = false }}'
        for name, (_, (low, high)) in columns.items()
    )
    policy = f"""name = "people"
[budget]
epsilon = "{epsilon}"
[questions]
largest_epsilon = "{epsilon}"
[tables.people]
source = "people.csv"
unit = "person"
rows_per_unit = 1
[tables.people.columns]
{facts}
"""
    with tempfile.TemporaryDirectory(prefix="tacit-attack-") as folder:
        header = ",".join(["person", *columns])
        table = np.column_stack([people, *arrays])
        np.savetxt(Path(folder) / "people.csv", table, fmt="%d", delimiter=",", header=header, comments="")
        (Path(folder) / "people.toml").write_text(policy)
        with tacit.open(Path(folder) / "people.toml") as curator:
            yield curator


def one_column(answer: Any, name: str) -> NDArray[np.float64]:
    """A column of an answer as numbers; a missing one is 0."""
    return np.array([0.0 if value is None else float(value) for value in answer[name]])
