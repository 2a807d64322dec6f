"""The tables that every engine is asked about: awkward on purpose, and small enough to be added up in Python.

`TABLES` holds raw rows as an owner would have them; an engine's fixture loads them with the types in `Rows.types`
(named as in DuckDB). `clean` says in plain Python what the policy makes of a row, with real numbers that lie on their
grid, so that it needs no rounding. No unit has more rows than the policy keeps: which ones an engine would drop is its
own secret.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, RowUnit, Source, Table, Unit

Row = dict[str, Any]
PEOPLE, KEPT = 70, 3
DAY = datetime.date
TIME = datetime.datetime
WARDS = ("A", "B", "a", "aa", "ab", "Ä", "z", "é", "Z", "%", "_", "a%b", "a_b", "a\\b", "O'Hara", "ß", "日本", "", None)
NOTES = (
    "abc",
    "ABC",
    "a%c",
    "a_c",
    "a\\%c",
    "a\\_c",
    "äöü",
    "ÄÖÜ",
    "Жук",
    "жук",
    "x" * 1200,
    " ",
    "line\nbreak",
    "\U0001f642 smile",
    None,
)


@dataclass(frozen=True)
class Rows:
    """A table as its owner has it."""

    types: dict[str, str]
    rows: Sequence[Row]


def _visits() -> list[Row]:
    draw = random.Random(20_240_501)
    rows = []
    for person in range(PEOPLE):
        for visit in range(1 + person % KEPT):
            rows.append(
                {
                    "pid": None if person == 13 else person * 7_919 - 100_000,
                    "visit": person * 10 + visit,
                    "age": draw.choice([-5, 0, 1, 17, 18, 64, 65, 109, 110, 111, 100_000]),
                    "sex": draw.choice(["F", "M", "M", "x", None]),
                    "ward": draw.choice(WARDS),
                    "charge": draw.choice([0.25, 1.5, 999.75, 1000.0, 1e300, -1e300, 512.0, None, math.nan]),
                    "score": draw.choice([-51, -50, -49, -13, -7, -1, 0, 1, 7, 13, 49, 50, 60, None]),
                    "day": draw.choice(
                        [
                            None,
                            *(DAY(1960, 1, 1) + datetime.timedelta(days=draw.randrange(24_000)) for _ in range(5)),
                            DAY(1969, 12, 31),
                            DAY(1970, 1, 1),
                            DAY(1904, 2, 29),
                            DAY(2024, 2, 29),
                            DAY(2100, 1, 1),
                        ]
                    ),
                    "seen": draw.choice(
                        [
                            None,
                            TIME(1969, 12, 31, 23, 59, 59, 999_999),
                            TIME(1970, 1, 1),
                            TIME(1965, 7, 4, 5, 6, 7, 8),
                            TIME(2023, 12, 31, 23, 30),
                            TIME(2024, 3, 31, 1, 30, 0, 1),
                            TIME(1890, 1, 1),
                        ]
                    ),
                    "urgent": draw.choice([True, False, None]),
                    "code": draw.choice([None, 0, 1, -1, 12, -12, 2**62, -(2**62), 2**63 - 1, -(2**63), 77]),
                    "level": draw.choice([1, 2, 3, 5, None]),
                    "big": draw.choice([2**62, -(2**62), 2**61 + 1, -(2**60) - 1, 3, 0, None]),
                    "temp": draw.choice(
                        [-10.5, -0.5, -0.25, 0.0, 0.25, 10.5, 10.75, math.inf, -math.inf, math.nan, None]
                    ),
                    "note": draw.choice(NOTES),
                }
            )
    draw.shuffle(rows)
    return rows


VISITS = _visits()
TABLES: dict[str, Rows] = {
    "visits": Rows(
        {
            "pid": "BIGINT",
            "visit": "INTEGER",
            "age": "INTEGER",
            "sex": "VARCHAR",
            "ward": "VARCHAR",
            "charge": "DOUBLE",
            "score": "SMALLINT",
            "day": "DATE",
            "seen": "TIMESTAMP",
            "urgent": "BOOLEAN",
            "code": "BIGINT",
            "level": "INTEGER",
            "big": "BIGINT",
            "temp": "DOUBLE",
            "note": "VARCHAR",
        },
        VISITS,
    ),
    "wards": Rows(
        {"ward": "VARCHAR", "floor": "INTEGER", "wing": "VARCHAR"},
        [
            {"ward": ward, "floor": place % 12 - 1, "wing": ("north", "south", "attic")[place % 3]}
            for place, ward in enumerate(WARDS)
            if place % 5
        ]
        # the same key twice: the first in the order of all columns counts
        + [{"ward": "a", "floor": 3, "wing": "south"}, {"ward": "a", "floor": 3, "wing": "north"}],
    ),
    "readings": Rows({"value": "DOUBLE"}, [{"value": (n % 9 - 4) / 4} for n in range(101)] + [{"value": math.nan}]),
    "tests": Rows(
        {"visit": "BIGINT", "result": "INTEGER"},
        [{"visit": row["visit"], "result": n % 5} for n, row in enumerate(VISITS)] + [{"visit": 10**9, "result": 1}],
    ),
    "people": Rows(
        {"name": "VARCHAR", "n": "INTEGER"},
        [{"name": f"{'Ää'[n % 2]}nn {n // 3}", "n": n % 4} for n in range(40)] + [{"name": None, "n": 1}],
    ),
}

LOW, HIGH = DAY(1960, 1, 1), DAY(2024, 12, 31)
FROM, TO = TIME(1960, 1, 1, tzinfo=datetime.UTC), TIME(2024, 12, 31, tzinfo=datetime.UTC)
COLUMNS: dict[str, list[Column]] = {
    "visits": [
        Column("age", "integer", 0, 110, nullable=False),
        Column("sex", "text", values=("F", "M")),
        Column("ward", "text"),
        Column("charge", "real", Fraction(0), Fraction(1000)),
        Column("score", "integer", -50, 50),
        Column("day", "date", LOW, HIGH),
        Column("seen", "timestamp", FROM, TO),
        Column("urgent", "boolean"),
        Column("code", "integer"),
        Column("level", "integer", values=(1, 2, 5), nullable=False),
        Column("big", "integer", -(2**62), 2**62),
        Column("temp", "real", Fraction(-21, 2), Fraction(21, 2), outside="drop"),
        Column("note", "text"),
    ],
    "wards": [
        Column("ward", "text"),
        Column("floor", "integer", 0, 9),
        Column("wing", "text", values=("north", "south")),
    ],
    "readings": [Column("value", "real", Fraction(-1), Fraction(1), nullable=False)],
    "tests": [Column("result", "integer", 0, 4)],
    "people": [Column("n", "integer", 0, 3)],
}
UNITS: dict[str, Unit | None] = {
    "visits": ColumnUnit("pid"),
    "wards": None,
    "readings": RowUnit(),
    "tests": PathUnit("visit", "visits", "visit"),
    "people": ColumnUnit("name"),
}


def policy(source: Callable[[str], Source], *tables: str, kept: int = KEPT, working_copy: str | None = None) -> Policy:
    """The owner's promise about these tables; `source` says where an engine has them."""
    made = {}
    for name in tables or ("visits", "wards", "readings", "tests"):
        unit = UNITS[name]
        rows = 1 if unit is None or isinstance(unit, RowUnit) else kept
        columns = {column.name: column for column in COLUMNS[name]}
        made[name] = Table(name, source(name), unit, rows, columns, public=unit is None)
    return Policy("conformance", made, Budget(100, "1/1000"), largest_epsilon=Fraction(100), working_copy=working_copy)


def clean(row: Row) -> Row | None:
    """What the policy makes of a visit, in plain Python; None where the row is left out."""
    if row["pid"] is None or row["level"] not in (1, 2, 5):
        return None
    charge, temp, day, seen = row["charge"], row["temp"], row["day"], row["seen"]
    kept: Row = dict(row)
    kept["age"] = max(0, min(110, row["age"]))
    kept["sex"] = row["sex"] if row["sex"] in ("F", "M") else None
    kept["charge"] = None if charge is None or math.isnan(charge) else Fraction(max(0.0, min(1000.0, charge)))
    kept["score"] = None if row["score"] is None else max(-50, min(50, row["score"]))
    kept["day"] = None if day is None else max(LOW, min(HIGH, day))
    kept["seen"] = None if seen is None else max(FROM.replace(tzinfo=None), min(TO.replace(tzinfo=None), seen))
    finite = temp is not None and math.isfinite(temp)
    kept["temp"] = Fraction(temp) if finite and -10.5 <= temp <= 10.5 else None
    return kept


CLEAN = [row for row in map(clean, VISITS) if row is not None]
