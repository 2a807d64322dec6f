"""Numbers far from zero that are added up: no sum outgrows what engines hold, whoever is in the table.

SUM(x) and c COUNT(x) are made before they are subtracted. Without a bound on x itself, a constant of 2**100 steps made
the sum fail from one person on: an exact threshold, for any price.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pandas as pd
import pytest

import tacit
from tacit.policy import Column, ColumnUnit, Policy, Source, Table

MATCHES = 1_000
PEOPLE = Table(
    "people",
    Source("frame", "people"),
    ColumnUnit("who"),
    1,
    {
        "r": Column("r", "real", Fraction(0), Fraction(1), nullable=False),
        "g": Column("g", "integer", 0, 1, nullable=False),
    },
)
PUBLIC = Table(
    "public", Source("frame", "public"), None, 1, {"g": Column("g", "integer", 0, 1, nullable=False)}, public=True
)


STEPS = int(1 / PEOPLE.columns["r"].step)
CONSTANT = (2**100 - 4 * STEPS) // STEPS - 1  # as far out as a question may put a number
COUNT = 2**127 // (MATCHES * CONSTANT * STEPS) + 1  # with these, the plain sum does not fit 128 bits


@pytest.fixture(scope="module")
def crowd() -> Iterator[tacit.Curator]:
    frame = pd.DataFrame({"who": range(COUNT), "r": [0.5] * COUNT, "g": [1] * COUNT})
    policy = Policy("far", {"people": PEOPLE, "public": PUBLIC}, tacit.Budget(1000), largest_epsilon=Fraction(100))
    with tacit.Curator(policy, frames={"people": frame, "public": pd.DataFrame({"g": [1] * MATCHES})}) as curator:
        yield curator


@pytest.mark.parametrize("asked", ["avg(people.r + {c})", "sum(people.r + {c})", "var_pop(people.r + {c})"])
def test_a_sum_of_numbers_far_from_zero_is_answered_with_one_person_more(crowd: tacit.Curator, asked: str) -> None:
    sql = f"SELECT {asked.format(c=CONSTANT)} AS m FROM people JOIN public ON people.g = public.g"
    answer = crowd.ask(sql, epsilon=1)
    if asked.startswith("avg"):
        assert answer["m"][0] == pytest.approx(CONSTANT, rel=1e-9)
