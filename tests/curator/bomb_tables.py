"""Three private tables and a public one, and one person in them whose rows cost as much as the policy allows.

The bomber has as many rows as are allowed in every table, the longest texts, and values that nobody else has, so that a
condition finds the bomber's rows alone. The neighbour is the same tables without the bomber.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tacit.curator import Curator
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, Source, Table, Unit
from tests.curator.hostile_tables import Pair, Tables
from tests.engines.conformance.engines import in_memory, in_parquet, in_postgres
from tests.engines.conformance.tables import Rows

BOMBER = 10**9
MOST_VISITS, MOST_BILLS, FAN_OUT = 12, 24, 3
WARDS = ("eye", "skin", "heart", "lung")
DAY = datetime.date(2024, 1, 1)
TYPES = {
    "people": {"pid": "BIGINT", "sex": "VARCHAR", "born": "INTEGER", "name": "VARCHAR"},
    "visits": {
        "pid": "BIGINT",
        "vid": "BIGINT",
        "age": "INTEGER",
        "ward": "VARCHAR",
        "cost": "DOUBLE",
        "day": "DATE",
        "note": "VARCHAR",
    },
    "bills": {"vid": "BIGINT", "amount": "INTEGER", "memo": "VARCHAR"},
    "wards": {"ward": "VARCHAR", "floor": "INTEGER", "label": "VARCHAR"},
}
UNITS: dict[str, tuple[Unit | None, int]] = {
    "people": (ColumnUnit("pid"), 1),
    "visits": (ColumnUnit("pid"), MOST_VISITS),
    "bills": (PathUnit("vid", "visits", "vid"), MOST_BILLS),
    "wards": (None, 1),
}
COLUMNS = {
    "people": [
        Column("sex", "text", values=("F", "M")),
        Column("born", "integer", 1900, 2024),
        Column("name", "text"),
    ],
    "visits": [
        Column("vid", "integer"),
        Column("age", "integer", 0, 120),
        Column("ward", "text", values=WARDS),
        Column("cost", "real", Fraction(0), Fraction(10_000)),
        Column("day", "date", DAY, datetime.date(2024, 12, 31)),
        Column("note", "text"),
    ],
    "bills": [Column("vid", "integer"), Column("amount", "integer", 0, 10**6), Column("memo", "text")],
    "wards": [Column("ward", "text"), Column("floor", "integer", 0, 9), Column("label", "text")],
}


def ordinary(rows: int) -> Tables:
    """This many visits, two of each person, none of whom is older than 99."""
    people = [
        {"pid": n, "sex": "FM"[n % 2], "born": 1930 + n % 90, "name": f"name {n % 500}"} for n in range(rows // 2)
    ]
    visits = [
        {
            "pid": n // 2,
            "vid": n,
            "age": n % 100,
            "ward": WARDS[n % 4],
            "cost": float(n % 9_000),
            "day": DAY + datetime.timedelta(days=n % 366),
            "note": f"came on day {n % 366}, went on foot",
        }
        for n in range(rows)
    ]
    bills = [{"vid": n, "amount": 13 * n % 10**5, "memo": f"bill {n % 60}"} for n in range(rows)]
    wards = [{"ward": ward, "floor": n, "label": f"{ward} {n}"} for ward in WARDS for n in range(FAN_OUT)]
    return {"people": people, "visits": visits, "bills": bills, "wards": wards}


def bomber() -> Tables:
    """The rows of the one who is there or not."""
    people = [{"pid": BOMBER, "sex": "F", "born": 1900, "name": "a" * 3_000_000}]
    visits = [
        {
            "pid": BOMBER,
            "vid": BOMBER + n,
            "age": 101,
            "ward": WARDS[n % 4],
            "cost": 9_999.0,
            "day": datetime.date(2024, 12, 31),
            "note": "a" * (5_000 + n),
        }
        for n in range(2 * MOST_VISITS)
    ]
    bills = [{"vid": BOMBER + n % MOST_VISITS, "amount": 10**6, "memo": "a" * 5_000} for n in range(4 * MOST_BILLS)]
    return {"people": people, "visits": visits, "bills": bills, "wards": []}


def neighbours(rows: int) -> tuple[Tables, Tables]:
    """The tables with the bomber in them, and without."""
    usual, one = ordinary(rows), bomber()
    return {name: held + one[name] for name, held in usual.items()}, usual


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
            key="vid" if name == "visits" else None,
            fan_out=FAN_OUT if name == "wards" else 1,
        )
        for name, columns in COLUMNS.items()
    }
    return Policy("bombs", tables, Budget(10**6, "0.5"), largest_epsilon=Fraction(10), working_copy=working_copy)


def typed(tables: Tables) -> dict[str, Rows]:
    """The tables with the types of their columns."""
    return {name: Rows(TYPES[name], rows) for name, rows in tables.items()}


@contextmanager
def on_duckdb(rows: int) -> Iterator[Pair]:
    """Tables in memory."""
    with both_in_memory(*neighbours(rows)) as pair:
        yield pair


@contextmanager
def both_in_memory(one_side: Tables, other_side: Tables) -> Iterator[Pair]:
    """These tables."""
    first, second = in_memory(typed(one_side)), in_memory(typed(other_side))
    stated = policy(first.source)
    with Curator(stated, frames=first.frames) as one, Curator(stated, frames=second.frames) as other:
        yield Pair(one, other)


@contextmanager
def on_postgres(addresses: tuple[str, str], rows: int, working_copy: str | None = None) -> Iterator[Pair]:
    """Tables of two databases."""
    stated = [
        policy(in_postgres(address, typed(tables)).source, working_copy)
        for address, tables in zip(addresses, neighbours(rows), strict=True)
    ]
    with Curator(stated[0]) as one, Curator(stated[1]) as other:
        yield Pair(one, other)


@contextmanager
def on_spark(session: Session, folder: Path, rows: int) -> Iterator[Pair]:
    """Parquet files, read by one session."""

    def register(policy: Policy, frames: Any, progress: Any) -> SparkEngine:
        return SparkEngine.register(policy, session=session, progress=progress)

    stated = []
    for side, tables in zip(("with", "without"), neighbours(rows), strict=True):
        (folder / side).mkdir()
        stated.append(policy(in_parquet(folder / side, typed(tables)).source))
    with (
        patch("tacit.curator.held.open_engine", register),
        Curator(stated[0]) as one,
        Curator(stated[1]) as other,
    ):
        yield Pair(one, other)
