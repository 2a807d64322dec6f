"""A small clinic, made up, over which the list of questions is asked: what the demo's clinic has, and a little more.

Every cell of every key that is compared has rows of several patients, nobody has more rows than the policy keeps, and
no value lies outside its bounds, so that a plain query on these rows says what an answer without noise would be.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tacit.loss import Budget
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, Source, Table
from tests.engines.conformance.tables import Row, Rows

DEPARTMENTS = ("cardiology", "dermatology", "emergency", "surgery")
CODES = ("E11", "I10", "J45", "K35")
TOWNS = ("Ayr", "Bern", "Cork", "Delft", "Eupen")
PATIENTS = 121
_UTC = datetime.UTC


def tables() -> dict[str, Rows]:
    """The rows of every table, the same at every call."""
    chance = random.Random(20)
    patients: list[Row] = []
    visits: list[Row] = []
    diagnoses: list[Row] = []
    for patient in range(PATIENTS):
        patients.append(
            {
                "patient_id": patient,
                "sex": "FM"[patient % 2],
                "birth_year": 1930 + 7 * patient % 90,
                "town": TOWNS[patient % 5],
                "insured": chance.random() < 0.7,
            }
        )
        for _ in range(chance.randint(1, 4)):
            day = datetime.date(2024, 1, 1) + datetime.timedelta(days=chance.randrange(366))
            visit = len(visits)
            visits.append(
                {
                    "visit_id": visit,
                    "patient_id": patient,
                    "department": chance.choice(DEPARTMENTS),
                    "day": day,
                    "seen": datetime.datetime(
                        day.year, day.month, day.day, chance.randrange(8, 18), chance.randrange(60)
                    ),
                    "charge": chance.randrange(4, 4000) / 4,
                    "nights": None if chance.random() < 0.1 else chance.randrange(0, 8),
                    "urgent": chance.random() < 0.4,
                }
            )
            if chance.random() < 0.8:
                code = chance.choice(CODES)
                diagnoses.append({"visit_id": visit, "code": code, "severity": chance.randint(1, 5)})
    departments = [
        {"department": name, "wing": wing, "beds": beds}
        for name, wing, beds in zip(DEPARTMENTS, ("north", "south", "north", "south"), (20, 10, 30, 40), strict=True)
    ]
    codes = [
        {"code": code, "chapter": chapter, "chronic": chronic}
        for code, chapter, chronic in zip(CODES, "EIJK", (True, True, True, False), strict=True)
    ]
    return {
        "patients": Rows(
            {
                "patient_id": "BIGINT",
                "sex": "VARCHAR",
                "birth_year": "INTEGER",
                "town": "VARCHAR",
                "insured": "BOOLEAN",
            },
            tuple(patients),
        ),
        "visits": Rows(
            {
                "visit_id": "BIGINT",
                "patient_id": "BIGINT",
                "department": "VARCHAR",
                "day": "DATE",
                "seen": "TIMESTAMP",
                "charge": "DOUBLE",
                "nights": "INTEGER",
                "urgent": "BOOLEAN",
            },
            tuple(visits),
        ),
        "diagnoses": Rows({"visit_id": "BIGINT", "code": "VARCHAR", "severity": "INTEGER"}, tuple(diagnoses)),
        "departments": Rows({"department": "VARCHAR", "wing": "VARCHAR", "beds": "INTEGER"}, tuple(departments)),
        "codes": Rows({"code": "VARCHAR", "chapter": "VARCHAR", "chronic": "BOOLEAN"}, tuple(codes)),
    }


def policy(source: Callable[[str], Source], **options: Any) -> Policy:
    """What the owner promised about them; budgets as large as no real one should be."""
    first, last = datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)
    night = datetime.datetime(2024, 12, 31, 23, 59, 59, tzinfo=_UTC)
    private = (
        (
            "patients",
            ColumnUnit("patient_id"),
            1,
            None,
            [
                Column("sex", "text", values=("F", "M"), nullable=False),
                Column("birth_year", "integer", 1920, 2029, nullable=False),
                Column("town", "text"),
                Column("insured", "boolean", nullable=False),
            ],
        ),
        (
            "visits",
            ColumnUnit("patient_id"),
            4,
            "visit_id",
            [
                Column("visit_id", "integer", nullable=False),
                Column("department", "text", values=DEPARTMENTS, nullable=False),
                Column("day", "date", first, last, nullable=False),
                Column("seen", "timestamp", datetime.datetime(2024, 1, 1, tzinfo=_UTC), night, nullable=False),
                Column("charge", "real", Fraction(0), Fraction(1000), nullable=False),
                Column("nights", "integer", 0, 30),
                Column("urgent", "boolean", nullable=False),
            ],
        ),
        (
            "diagnoses",
            PathUnit("visit_id", "visits", "visit_id"),
            4,
            None,
            [
                Column("visit_id", "integer", nullable=False),
                Column("code", "text", values=CODES, nullable=False),
                Column("severity", "integer", 1, 5, nullable=False),
            ],
        ),
    )
    public = (
        (
            "departments",
            [
                Column("department", "text"),
                Column("wing", "text", values=("north", "south")),
                Column("beds", "integer", 0, 100),
            ],
        ),
        (
            "codes",
            [Column("code", "text"), Column("chapter", "text", values=tuple("EIJK")), Column("chronic", "boolean")],
        ),
    )
    facts = {
        name: Table(name, source(name), unit, rows, {column.name: column for column in columns}, key=key)
        for name, unit, rows, key, columns in private
    }
    for name, columns in public:
        facts[name] = Table(name, source(name), None, 1, {column.name: column for column in columns}, public=True)
    return Policy(
        "clinic",
        facts,
        Budget(10**12, "1/2"),
        largest_epsilon=Fraction(10**9),
        default_epsilon=Fraction(10**7),
        **options,
    )
