"""A world of what goes wrong: NULL everywhere, halves, zeros, negatives, ties, keys that meet several public rows.

No unit has more rows than the policy keeps and no value lies outside its bounds, so that plain SQL on the same rows
says what an answer without noise would be.
"""

from __future__ import annotations

import datetime
import random
from fractions import Fraction
from typing import Any

from tacit.curator import Curator
from tacit.loss import Budget
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, Source, Table
from tests.engines.conformance.engines import frames
from tests.engines.conformance.tables import Rows

WARDS = ("a", "b", "c")
PEOPLE = 160
_UTC = datetime.UTC
FIRST, LAST = datetime.date(2023, 12, 25), datetime.date(2025, 1, 10)


def _maybe(chance: random.Random, value: Any, share: float = 0.15) -> Any:
    return None if chance.random() < share else value


def tables() -> dict[str, Rows]:
    """The rows, the same at every call."""
    chance = random.Random(7)
    people: list[dict[str, Any]] = []
    stays: list[dict[str, Any]] = []
    tests: list[dict[str, Any]] = []
    for person in range(PEOPLE):
        people.append(
            {
                "who": person,
                "ward": _maybe(chance, chance.choice(WARDS)),
                "x": _maybe(chance, chance.randrange(-20, 21) / 4),  # halves, quarters, zero, below zero
                "k": _maybe(chance, chance.randrange(-3, 7)),
                "born": _maybe(chance, datetime.date(1950 + person % 50, 1 + person % 12, 1 + person % 28)),
                "ok": _maybe(chance, chance.random() < 0.5),
            }
        )
        for _ in range(chance.randrange(0, 4)):  # some have none
            day = FIRST + datetime.timedelta(days=chance.randrange((LAST - FIRST).days + 1))
            stays.append(
                {
                    "stay": len(stays),
                    "who": person,
                    "ward": _maybe(chance, chance.choice(WARDS), 0.2),
                    "day": day,
                    "seen": datetime.datetime(day.year, day.month, day.day, chance.randrange(24), chance.randrange(60)),
                    "cost": _maybe(chance, chance.randrange(0, 401) / 4),
                    "nights": _maybe(chance, chance.choice((0, 0, 1, 2, 2, 3, 5))),
                }
            )
            for _ in range(chance.randrange(0, 3)):
                tests.append({"stay": stays[-1]["stay"], "mark": chance.choice("pqr"), "score": chance.randrange(1, 6)})
    wards = [  # a twice, b once, c three times, d by nobody, and one without a name
        {"ward": "a", "floor_no": 1, "beds": 10},
        {"ward": "a", "floor_no": 2, "beds": None},
        {"ward": "b", "floor_no": 1, "beds": 0},
        {"ward": "c", "floor_no": 1, "beds": 7},
        {"ward": "c", "floor_no": 2, "beds": 7},
        {"ward": "c", "floor_no": 3, "beds": 20},
        {"ward": "d", "floor_no": 4, "beds": 99},
        {"ward": None, "floor_no": 5, "beds": 5},
    ]
    marks = [{"mark": "p", "weight": 1.5}, {"mark": "q", "weight": -2.5}]  # r is not in it
    types = {
        "people": {
            "who": "BIGINT",
            "ward": "VARCHAR",
            "x": "DOUBLE",
            "k": "INTEGER",
            "born": "DATE",
            "ok": "BOOLEAN",
        },
        "stays": {
            "stay": "BIGINT",
            "who": "BIGINT",
            "ward": "VARCHAR",
            "day": "DATE",
            "seen": "TIMESTAMP",
            "cost": "DOUBLE",
            "nights": "INTEGER",
        },
        "tests": {"stay": "BIGINT", "mark": "VARCHAR", "score": "INTEGER"},
        "wards": {"ward": "VARCHAR", "floor_no": "INTEGER", "beds": "INTEGER"},
        "marks": {"mark": "VARCHAR", "weight": "DOUBLE"},
    }
    rows = {"people": people, "stays": stays, "tests": tests, "wards": wards, "marks": marks}
    return {name: Rows(types[name], rows[name]) for name in rows}


def policy() -> Policy:
    """What the owner promised; budgets as large as no real one should be."""
    night = datetime.datetime(LAST.year, LAST.month, LAST.day, 23, 59, 59, tzinfo=_UTC)
    begin = datetime.datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=_UTC)
    columns: dict[str, list[Column]] = {
        "people": [
            Column("ward", "text", values=WARDS),
            Column("x", "real", Fraction(-5), Fraction(5)),
            Column("k", "integer", -3, 6),
            Column("born", "date", datetime.date(1950, 1, 1), datetime.date(1999, 12, 31)),
            Column("ok", "boolean"),
        ],
        "stays": [
            Column("stay", "integer", nullable=False),
            Column("ward", "text", values=WARDS),
            Column("day", "date", FIRST, LAST, nullable=False),
            Column("seen", "timestamp", begin, night, nullable=False),
            Column("cost", "real", Fraction(0), Fraction(100)),
            Column("nights", "integer", 0, 5),
        ],
        "tests": [
            Column("stay", "integer", nullable=False),
            Column("mark", "text", values=("p", "q", "r"), nullable=False),
            Column("score", "integer", 1, 5, nullable=False),
        ],
        "wards": [
            Column("ward", "text", values=(*WARDS, "d")),
            Column("floor_no", "integer", 1, 5),
            Column("beds", "integer", 0, 100),
        ],
        "marks": [Column("mark", "text", values=("p", "q")), Column("weight", "real", Fraction(-5), Fraction(5))],
    }
    units = {
        "people": (ColumnUnit("who"), 1, None),
        "stays": (ColumnUnit("who"), 3, "stay"),
        "tests": (PathUnit("stay", "stays", "stay"), 6, None),
    }
    made = {}
    for name, held in columns.items():
        named = {column.name: column for column in held}
        if name in units:
            unit, most, key = units[name]
            made[name] = Table(name, Source("frame", name), unit, most, named, key=key)
        else:
            made[name] = Table(name, Source("frame", name), None, 1, named, public=True)
    return Policy(
        "awkward",
        made,
        Budget(10**13, "1/2"),
        largest_epsilon=Fraction(10**9),
        default_epsilon=Fraction(10**8),
    )


def opened() -> Curator:
    """A curator over the world, in DuckDB."""
    return Curator(policy(), frames=frames(tables()))
