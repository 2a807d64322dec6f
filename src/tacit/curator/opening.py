"""Two ways to a curator: a policy in a file, or a table in memory and the same facts in Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from tacit.curator.curator import Curator
from tacit.engines.frames import kinds_of_frame
from tacit.engines.working_copy import Progress
from tacit.errors import PolicyError
from tacit.loss.budget import Budget
from tacit.parameters import Number
from tacit.policy import ColumnUnit, Policy, RowUnit, Source, Table
from tacit.policy.check import did_you_mean
from tacit.policy.read import read as read_policy


def open_policy(path: str | os.PathLike[str], *, analyst: str = "owner", progress: Progress | None = None) -> Curator:
    """The database of a policy file. `progress(table, done, steps)` is called while the tables are registered."""
    return Curator(read_policy(Path(path)), analyst=analyst, progress=progress)


def protect(
    frame: Any,
    *,
    unit: str | Literal["row"],
    columns: Mapping[str, Any],
    budget: Budget,
    rows_per_unit: int = 1,
    table: str = "data",
    analysts: Mapping[str, Budget] | None = None,
    default_epsilon: Number | None = None,
    largest_epsilon: Number | None = None,
    ledger: str | None = None,
    progress: Progress | None = None,
) -> Curator:
    """A private database over one pandas, polars or Arrow table in memory.

    `columns` says what is public about each column (`between`, `one_of`, ...); others cannot be asked about.
    """
    kinds = kinds_of_frame(table, frame)
    described = {}
    for name, facts in columns.items():
        kind = kinds.get(name)
        if kind is None:
            raise PolicyError(
                f"Column {name!r} is not in the table. Columns: {', '.join(kinds)}.{did_you_mean(name, kinds)}"
            )
        described[name] = facts.column(name, kind)
    most = budget.epsilon if largest_epsilon is None else Budget(largest_epsilon).epsilon
    policy = Policy(
        name=table,
        tables={
            table: Table(
                table,
                Source("frame", table),
                RowUnit() if unit == "row" else ColumnUnit(unit),
                rows_per_unit,
                described,
            )
        },
        budget=budget,
        analysts=analysts or {},
        default_epsilon=min(Fraction(1, 10), most) if default_epsilon is None else Budget(default_epsilon).epsilon,
        largest_epsilon=most,
        ledger=ledger,
    )
    return Curator(policy, frames={table: frame}, progress=progress)
