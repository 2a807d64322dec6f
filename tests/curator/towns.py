"""A small table about two hundred people in three towns, for tests that ask several questions at once."""

from __future__ import annotations

import pandas as pd

import tacit
from tacit import Budget, between, one_of

ROWS = pd.DataFrame(
    {
        "who": [unit for unit in range(200) for _ in range(2)],
        "town": ["Ayr", "Bern", "Caen", "Ayr"] * 100,
        "sex": ["F", "M"] * 200,
        "pay": [float(number % 50) for number in range(400)],
        "free": [f"word {number % 3}" for number in range(400)],
    }
)


def opened(epsilon: int) -> tacit.Curator:
    """A curator over the rows with this much to spend."""
    return tacit.protect(
        ROWS,
        unit="who",
        rows_per_unit=2,
        columns={
            "town": one_of("Ayr", "Bern", "Caen", nullable=False),
            "sex": one_of("F", "M", nullable=False),
            "pay": between(0, 50, nullable=False),
            "free": tacit.anything(),
        },
        budget=Budget(epsilon, "1/10"),
    )


def charges(curator: tacit.Curator) -> int:
    """How many charges there are in its ledger."""
    return sum(entry.kind == "charged" for entry in curator.ledger())
