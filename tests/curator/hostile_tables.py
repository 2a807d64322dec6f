"""Four tables with one person in them whose rows are as bad as rows get, and the same without that person.

Each engine gets the worst that it can hold: infinities, NaN, numbers at the ends of their types, dates that no calendar
has, texts with control characters, half-valid encodings and a megabyte of one letter.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.engines.spark.engine import Session
from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, Source, Unit
from tests.curator.pairs import Pair, Tables, of_databases, of_frames, of_parquet, sides_of, tables_of
from tests.engines.conformance.engines import load

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
    tables = tables_of(source, UNITS, COLUMNS)
    budget = Budget(100_000, "0.5")
    return Policy("hostile", tables, budget, largest_epsilon=Fraction(10), working_copy=working_copy)


@contextmanager
def on_duckdb() -> Iterator[Pair]:
    """Tables in memory."""
    with of_frames(policy, sides_of(TYPES, *neighbours())) as pair:
        yield pair


@contextmanager
def on_postgres(addresses: tuple[str, str], working_copy: str | None = None) -> Iterator[Pair]:
    """Tables of two databases; dates that only PostgreSQL has are put in by hand."""
    import psycopg

    sides = sides_of(TYPES, *neighbours(("\x7f\ufffe", *NASTY_TEXTS[1:])))
    for address, tables in zip(addresses, sides, strict=True):
        load(address, tables)
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "UPDATE people SET day = CASE WHEN age = 0 THEN '4713-01-01 BC' ELSE 'infinity' END::date, "
                "seen = '-infinity' WHERE pid = %s",
                [STRANGER],
            )
    with of_databases(policy, addresses, working_copy) as pair:
        yield pair


@contextmanager
def on_spark(session: Session, folder: Path) -> Iterator[Pair]:
    """Parquet files, read by one session."""
    with of_parquet(policy, sides_of(TYPES, *neighbours()), session, folder) as pair:
        yield pair
