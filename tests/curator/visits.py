"""A clinic with one table of visits in memory, three of each person, and a budget that leaves no noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

import duckdb
import pyarrow as pa

from tacit.loss import Budget
from tacit.policy import Column, ColumnUnit, Policy, Source, Table
from tests.memory import fresh

ALL = 10**6
"""So much that no noise is left: another number than the true one has probability below e**-1,000."""


def policy_of(columns: Sequence[Column]) -> Policy:
    """The promise about visits that have these columns, and the column of their persons."""
    known = {column.name: column for column in columns}
    visits = Table("visits", Source("frame", "visits"), ColumnUnit("pid"), 3, known)
    return Policy("clinic", {"visits": visits}, Budget(10**9, Fraction(1, 10)), largest_epsilon=Fraction(10**9))


@contextmanager
def in_plain_duckdb(visits: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same visits where nothing is private, to compare with."""
    with fresh() as connection:
        connection.register("visits", visits)
        yield connection
