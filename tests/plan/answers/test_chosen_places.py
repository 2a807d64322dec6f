"""For how many values an interval allows that was chosen by noise: half of them, where it is a place in their order."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.plan import finish, make_plan
from tacit.plan.answers.chosen import ONE, SEVERAL, SHARED
from tacit.plan.answers.finish import Finished
from tacit.policy import Column
from tacit.question import read
from tests.plan.copies import clinic, table

WARDS = 6
POLICY = clinic(
    table(
        "people",
        [
            Column("ward", "integer", 0, WARDS - 1, nullable=False),
            Column("x", "integer", 0, 100, nullable=False),
            Column("y", "integer", 0, 100),
            Column("b", "boolean", nullable=False),
        ],
        rows=1,
    )
)
COUNTS = "SELECT ward, count(*) AS a FROM people GROUP BY ward"


def finished(sql: str) -> Finished:
    plan = make_plan(read(sql), POLICY, epsilon=1)
    noisy = [np.full(WARDS, 10_000.0 * (place + 1)) + np.arange(WARDS) for place in range(len(plan.measures))]
    return finish(plan, [(ward,) for ward in range(WARDS)], noisy)


HALF, ALL = 4, WARDS


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"{COUNTS} ORDER BY a DESC LIMIT 1", HALF),
        (f"{COUNTS} ORDER BY a LIMIT 2 OFFSET 1", (WARDS + 2) // 2),
        (f"{COUNTS} ORDER BY a DESC, ward LIMIT 5", (WARDS + 5 + 1) // 2),
        (f"{COUNTS} ORDER BY a DESC", 1),  # all rows are shown
        (f"{COUNTS} ORDER BY ward LIMIT 1", 1),
        (f"{COUNTS} ORDER BY count(y) DESC LIMIT 1", ALL),  # by other noise than its own
        (f"{COUNTS} ORDER BY avg(y) DESC LIMIT 1", ALL),
        (f"{COUNTS} HAVING count(*) > 3 ORDER BY a LIMIT 1", ALL),
        (COUNTS.replace("count(*)", "sum(x)") + " ORDER BY a LIMIT 1", HALF),
        (COUNTS.replace("count(*)", "avg(x)") + " ORDER BY a LIMIT 1", ALL),  # not symmetric
        (f"SELECT max(a) AS a FROM ({COUNTS})", HALF),
        (f"SELECT min(a) AS a FROM ({COUNTS})", HALF),
        (f"SELECT sqrt(max(a)) AS a FROM ({COUNTS})", ALL),
        (f"SELECT max(a) AS a FROM ({COUNTS.replace('count(*)', 'avg(x)')})", ALL),
        (f"SELECT max(a) - min(a) AS a FROM ({COUNTS})", 2 * ALL),
        (f"SELECT max(a) AS a FROM ({COUNTS} HAVING count(*) > 3)", ALL),
    ],
)
def test_how_many_values_an_interval_allows_for(sql: str, expected: int) -> None:
    found = finished(sql)
    assert found.among[found.names.index("a")] == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (COUNTS, ONE),
        (COUNTS.replace("count(*)", "2 * count(*)"), 0),
        (COUNTS.replace("count(*)", "count(*) / 2"), 0),
        (
            COUNTS.replace("count(*) AS a", "count(*) AS a, sum(x) AS s"),
            SHARED,
        ),  # fractions of what is released together
        (f"SELECT sum(a) AS a FROM ({COUNTS})", SEVERAL),
        (f"SELECT max(a) AS a FROM ({COUNTS})", 0),
        (f"SELECT sum(a) AS a FROM ({COUNTS} HAVING count(*) > 3)", 0),
        (f"SELECT count(*) AS a FROM ({COUNTS})", 0),
    ],
)
def test_which_noise_is_in_whole_numbers(sql: str, expected: int) -> None:
    found = finished(sql)
    assert found.whole[found.names.index("a")] == expected
