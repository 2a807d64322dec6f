"""Two ways to a curator: a policy in a file, or a table in memory and the same facts in Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from tacit.curator.curator import Curator
from tacit.engines.copies import Progress
from tacit.engines.duckdb.frames import kinds_of_frame
from tacit.errors import PolicyError
from tacit.loss.budget import Budget
from tacit.parameters import Number
from tacit.policy import ColumnUnit, Facts, Policy, RowUnit, Source, Table, between, one_of
from tacit.policy.check import did_you_mean
from tacit.policy.read import read as read_policy


def open_policy(path: str | os.PathLike[str], *, analyst: str = "owner", progress: Progress | None = None) -> Curator:
    """The database of a policy file. `progress(table, done, steps)` is called while the tables are registered.

    >>> open_policy("clinic.json")
    Traceback (most recent call last):
    ...
    tacit.errors.PolicyError: clinic.json: there is no such file. `tacit init` writes a policy to start from.
    """
    return Curator(read_policy(Path(path)), analyst=analyst, progress=progress)


def protect(
    frame: Any,
    *,
    unit: str | Literal["row"],
    columns: Mapping[str, Any],
    budget: Budget | Number,
    rows_per_unit: int = 1,
    table: str = "data",
    analysts: Mapping[str, Budget | Number] | None = None,
    default_epsilon: Number | None = None,
    largest_epsilon: Number | None = None,
    ledger: str | None = None,
    progress: Progress | None = None,
) -> Curator:
    """A private database over one pandas, polars or Arrow table in memory.

    `columns` says what is public about each column (`between`, `one_of`, ...); others cannot be asked about. A pair
    (0, 110) stands for `between(0, 110)`, a list for `one_of`, and a number as a budget for an epsilon without delta.

    >>> import pandas
    >>> frame = pandas.DataFrame({"who": [1, 2, 3], "age": [31, 40, 52]})
    >>> with protect(frame, unit="who", columns={"age": (0, 110)}, budget=1) as people:
    ...     people.ask("SELECT count(*) AS n FROM data", "0.25").names, str(people.budget().left)
    (('n',), '3/4')
    """
    if not isinstance(columns, Mapping):
        raise PolicyError(f"'columns' must be a mapping, such as {{'age': between(0, 110)}}. Got {columns!r} instead.")
    kinds = kinds_of_frame(table, frame)
    described = {}
    for name, facts in columns.items():
        kind = kinds.get(name)
        if kind is None and name in kinds:
            raise PolicyError(
                f"Column {name!r} is of a type that cannot be read here (such as 128-bit integers, categories of "
                "numbers, or objects of several kinds). Make it a plain one before: whole numbers of 64 bits, doubles, "
                "text, dates."
            )
        if kind is None:
            raise PolicyError(
                f"Column {name!r} is not in the table. Columns: {', '.join(kinds)}.{did_you_mean(name, kinds)}"
            )
        described[name] = _facts(name, facts).column(name, kind)
    whole = _budget(budget)
    most = whole.epsilon if largest_epsilon is None else Budget(largest_epsilon).epsilon
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
        budget=whole,
        analysts={name: _budget(own) for name, own in (analysts or {}).items()},
        default_epsilon=min(Fraction(1, 10), most) if default_epsilon is None else Budget(default_epsilon).epsilon,
        largest_epsilon=most,
        ledger=ledger,
    )
    return Curator(policy, frames={table: frame}, progress=progress)


def _budget(given: Budget | Number) -> Budget:
    return given if isinstance(given, Budget) else Budget(given)


def _facts(name: str, given: Any) -> Facts:
    """The public facts about a column, also from their short forms."""
    if isinstance(given, Facts):
        return given
    if isinstance(given, tuple) and len(given) == 2:
        return between(*given)
    if isinstance(given, list):
        return one_of(*given)
    raise PolicyError(
        f"Column {name!r}: what is public about it is wanted: between(0, 110), one_of('F', 'M'), anything() or auto(); "
        f"or short, (0, 110) or ['F', 'M']. Got {given!r} instead."
    )
