"""A small table with everything that is awkward in it, the same without one person, and doubles of the engine."""

from __future__ import annotations

import datetime
import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pyarrow as pa

import tacit
from tacit.curator import Curator, protect
from tacit.engines.exact import Exact
from tacit.policy import anything, between, date_between, one_of

TOWNS = ("Ayr", "Bern", "O'Hara", 'Q"t', "Zürich", "")
COUNT = "SELECT count(*) FROM people"
DAY = datetime.datetime(2024, 1, 1)


def people(count: int = 240) -> pa.Table:
    """Up to three rows of each person; the last person's are the strangest."""
    rows: list[dict[str, Any]] = []
    for row in range(count):
        strange = row % 12 == 0
        rows.append(
            {
                "pid": row // 3,
                "sex": "FM"[row % 2] if row % 7 else None,
                "age": row % 90,
                "pay": math.nan if strange else 10.0 * (row % 100),
                "town": TOWNS[row % len(TOWNS)],
                "day": None if strange else (DAY + datetime.timedelta(days=row % 300)).date(),
                "seen": None if strange else DAY + datetime.timedelta(hours=row % 700),
                "member": row % 3 == 0,
                "code": "12x" if strange else str(row % 5),
            }
        )
    for row, (pay, age) in enumerate(((math.inf, 0), (-math.inf, 10**9), (1e308, -(10**9)))):
        rows.append(
            {
                "pid": 10**6,
                "sex": "\x1b[31m",
                "age": age,
                "pay": pay,
                "town": f"nowhere{row}",
                "day": datetime.date(9000, 1, 1),
                "seen": datetime.datetime(1971, 1, 1),
                "member": True,
                "code": "999999999999999999999999",
            }
        )
    return pa.Table.from_pylist(rows)


def without_one(table: pa.Table) -> pa.Table:
    """The neighbour: the strangest person removed."""
    return pa.Table.from_pylist([row for row in table.to_pylist() if row["pid"] != 10**6], schema=table.schema)


def curated(table: pa.Table | None = None, **options: Any) -> Curator:
    """A curator over the table."""
    columns = {
        "sex": one_of("F", "M"),
        "age": between(0, 99),
        "pay": between(0, 1000),
        "town": anything(),
        "day": date_between("2024-01-01", "2024-12-31"),
        "seen": between(DAY, datetime.datetime(2024, 12, 31)),
        "member": anything(),
        "code": anything(),
    }
    chosen = {"budget": tacit.Budget(10_000, "0.9"), "rows_per_unit": 3, "table": "people", **options}
    return protect(people() if table is None else table, unit="pid", columns=columns, **chosen)


class Watched:
    """An engine that counts how often it is run, and answers with what it is given."""

    def __init__(self, outcome: Any) -> None:
        self.runs = 0
        self.outcome = outcome

    def fingerprint(self) -> str:
        return ""

    def is_stale(self) -> bool:
        return False

    def expect(self, query: Any) -> None:
        """Nothing is run for it."""

    def snapshot(self) -> AbstractContextManager[Any]:
        return nullcontext(lambda query: self.run(query))

    def run(self, query: Any) -> Exact:
        self.runs += 1
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        assert isinstance(self.outcome, Exact)
        return self.outcome
