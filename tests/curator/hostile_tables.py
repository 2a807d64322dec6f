"""Four tables with one person in them whose rows are as bad as rows get, and the same without that person.

Each engine gets the worst that it can hold: infinities, NaN, numbers at the ends of their types, dates that no calendar
has, texts with control characters, half-valid encodings and a megabyte of one letter.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tacit.curator import Curator
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, Source, Table, Unit
from tests.engines.conformance.engines import in_memory, in_parquet, in_postgres
from tests.engines.conformance.tables import Rows

STRANGER = 10**6
TOWNS = ("Ayr", "Bern", "O'Hara", 'Q"t', "Zürich", "")
DAY = datetime.datetime(2024, 1, 1)
TYPES = {
    "people": {
        "pid": "BIGINT",
        "sex": "VARCHAR",
        "age": "INTEGER",
        "pay": "DOUBLE",
        "town": "VARCHAR",
        "day": "DATE",
        "seen": "TIMESTAMP",
        "member": "BOOLEAN",
        "code": "VARCHAR",
        "big": "BIGINT",
    },
    "visits": {"pid": "BIGINT", "vid": "BIGINT", "ward": "VARCHAR", "cost": "DOUBLE", "score": "SMALLINT"},
    "bills": {"vid": "BIGINT", "amount": "BIGINT", "memo": "VARCHAR"},
    "towns": {"town": "VARCHAR", "area": "VARCHAR", "height": "INTEGER"},
}
UNITS: dict[str, tuple[Unit | None, int]] = {
    "people": (ColumnUnit("pid"), 3),
    "visits": (ColumnUnit("pid"), 2),
    "bills": (PathUnit("vid", "visits", "vid"), 2),
    "towns": (None, 1),
}
COLUMNS = {
    "people": [
        Column("sex", "text", values=("F", "M")),
        Column("age", "integer", 0, 99),
        Column("pay", "real", Fraction(0), Fraction(1000)),
        Column("town", "text"),
        Column("day", "date", datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)),
        Column(
            "seen", "timestamp", DAY.replace(tzinfo=datetime.UTC), datetime.datetime(2024, 12, 31, tzinfo=datetime.UTC)
        ),
        Column("member", "boolean"),
        Column("code", "text"),
        Column("big", "integer", -(2**62), 2**62),
    ],
    "visits": [
        Column("vid", "integer"),
        Column("ward", "text", values=("eye", "skin"), nullable=False),
        Column("cost", "real", Fraction(0), Fraction(500), outside="drop"),
        Column("score", "integer", -50, 50),
    ],
    "bills": [Column("vid", "integer"), Column("amount", "integer", 0, 10**6), Column("memo", "text")],
    "towns": [
        Column("town", "text"),
        Column("area", "text", values=("north", "south")),
        Column("height", "integer", 0, 4000),
    ],
}
Tables = dict[str, list[dict[str, Any]]]


def ordinary(count: int = 240) -> Tables:
    """Up to three rows of each person, some of them odd in small ways."""
    people: list[dict[str, Any]] = []
    for row in range(count):
        odd = row % 12 == 0
        people.append(
            {
                "pid": row // 3,
                "sex": "FM"[row % 2] if row % 7 else None,
                "age": row % 90,
                "pay": math.nan if odd else 10.0 * (row % 100),
                "town": TOWNS[row % len(TOWNS)],
                "day": None if odd else (DAY + datetime.timedelta(days=row % 300)).date(),
                "seen": None if odd else DAY + datetime.timedelta(hours=row % 700),
                "member": row % 3 == 0,
                "code": "12x" if odd else str(row % 5),
                "big": row - count // 2,
            }
        )
    visits = [
        {"pid": n // 2, "vid": n, "ward": ("eye", "skin")[n % 2], "cost": 5.0 * (n % 90), "score": n % 80 - 40}
        for n in range(count // 2)
    ]
    bills = [{"vid": n // 2, "amount": 1000 * (n % 70), "memo": f"bill {n % 6}"} for n in range(count // 2)]
    towns = [{"town": town, "area": ("north", "south")[n % 2], "height": 300 * n} for n, town in enumerate(TOWNS)]
    return {"people": people, "visits": visits, "bills": bills, "towns": towns}


# what a text can hold differs: PostgreSQL has no NUL
NASTY_TEXTS = ("\x00", "\x1b[31m\u202e", "x" * 1_000_000)


def strange(texts: tuple[str, str, str] = NASTY_TEXTS) -> Tables:
    """The rows of one person."""
    numbers = ((math.inf, 0, 2**63 - 1), (-math.inf, 2**31 - 1, -(2**63)), (1e308, -(2**31), 0))
    people = [
        {
            "pid": STRANGER,
            "sex": texts[1],
            "age": age,
            "pay": pay,
            "town": f"nowhere{row}" if row else texts[0],
            "day": datetime.date(9999, 12, 31) if row else datetime.date(1, 1, 1),
            "seen": datetime.datetime(1, 1, 1) if row else datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999),
            "member": None,
            "code": ("999999999999999999999999", "-", texts[2])[row],
            "big": big,
        }
        for row, (pay, age, big) in enumerate(numbers)
    ]
    visits = [
        {"pid": STRANGER, "vid": 2**62 + n, "ward": ("eye", "skin")[n % 2], "cost": cost, "score": score}
        for n, (cost, score) in enumerate(((math.nan, -(2**15)), (math.inf, 2**15 - 1)))
    ]
    bills = [
        {"vid": 2**62, "amount": 2**63 - 1, "memo": texts[0]},
        {"vid": 2**62 + 1, "amount": -(2**63), "memo": texts[2]},
    ]
    return {"people": people, "visits": visits, "bills": bills, "towns": []}


def neighbours(texts: tuple[str, str, str] = NASTY_TEXTS) -> tuple[Tables, Tables]:
    """The tables with the stranger in them, and without."""
    usual, one = ordinary(), strange(texts)
    return {name: rows + one[name] for name, rows in usual.items()}, usual


def policy(source: Callable[[str], Source], working_copy: str | None = None) -> Policy:
    """The same promise on every engine."""
    tables = {
        name: Table(
            name,
            source(name),
            UNITS[name][0],
            UNITS[name][1],
            {column.name: column for column in columns},
            public=UNITS[name][0] is None,
        )
        for name, columns in COLUMNS.items()
    }
    budget = Budget(100_000, "0.5")
    return Policy("hostile", tables, budget, largest_epsilon=Fraction(10), working_copy=working_copy)


def typed(tables: Tables) -> dict[str, Rows]:
    """The tables with the types of their columns."""
    return {name: Rows(TYPES[name], rows) for name, rows in tables.items()}


@dataclass(frozen=True)
class Pair:
    """Two curators over neighbours."""

    one: Curator
    other: Curator

    @property
    def in_memory(self) -> bool:
        """Whether these are tables in memory, on DuckDB."""
        return all(table.source.format == "frame" for table in self.one.policy.tables.values())

    def __iter__(self) -> Iterator[Curator]:
        return iter((self.one, self.other))


@contextmanager
def on_duckdb() -> Iterator[Pair]:
    """Tables in memory."""
    first, second = (in_memory(typed(tables)) for tables in neighbours())
    stated = policy(first.source)
    with Curator(stated, frames=first.frames) as one, Curator(stated, frames=second.frames) as other:
        yield Pair(one, other)


@contextmanager
def on_postgres(addresses: tuple[str, str], working_copy: str | None = None) -> Iterator[Pair]:
    """Tables of two databases; dates that only PostgreSQL has are put in by hand."""
    import psycopg

    stated = []
    for address, tables in zip(addresses, neighbours(("\x7f\ufffe", *NASTY_TEXTS[1:])), strict=True):
        stated.append(policy(in_postgres(address, typed(tables)).source, working_copy))
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "UPDATE people SET day = CASE WHEN age = 0 THEN '4713-01-01 BC' ELSE 'infinity' END::date, "
                "seen = '-infinity' WHERE pid = %s",
                [STRANGER],
            )
    with Curator(stated[0]) as one, Curator(stated[1]) as other:
        yield Pair(one, other)


@contextmanager
def on_spark(session: Session, folder: Path) -> Iterator[Pair]:
    """Parquet files, read by one session."""

    def register(policy: Policy, frames: Any, progress: Any) -> SparkEngine:
        return SparkEngine.register(policy, session=session, progress=progress)

    stated = []
    for side, tables in zip(("with", "without"), neighbours(), strict=True):
        (folder / side).mkdir()
        stated.append(policy(in_parquet(folder / side, typed(tables)).source))
    with (
        patch("tacit.curator.held.open_engine", register),
        Curator(stated[0]) as one,
        Curator(stated[1]) as other,
    ):
        yield Pair(one, other)


__all__ = ["STRANGER", "Pair", "neighbours", "on_duckdb", "on_postgres", "on_spark", "policy", "typed"]
