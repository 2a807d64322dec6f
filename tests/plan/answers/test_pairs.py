"""Aggregates of two columns, as DuckDB has them."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.plan import finish, make_plan
from tacit.question import read
from tests.plan.copies import clinic, copy_of

PAIRS = ["corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_count"]


@pytest.mark.parametrize("name", PAIRS)
def test_an_aggregate_of_two_columns_is_what_duckdb_computes(name: str) -> None:
    """The exact sums of the pushed-down query, finished without noise, against the engine's own function."""
    random = np.random.default_rng(3)
    rows = []
    for unit in range(60):
        age, score = int(random.integers(0, 111)), int(random.integers(-50, 51))
        rows.append(
            {
                "tacit_unit": unit,
                "tacit_rank": 1,
                "age": age,
                "sex": "F",
                "level": 1,
                "score": score if unit % 7 else None,
            }
        )
    connection = copy_of(clinic(), {"visits": rows})
    plan = make_plan(read(f"SELECT {name}(score, age) AS y FROM visits"), clinic(), epsilon=1)
    exact = connection.execute(plan.query.text()).fetchone()
    assert exact is not None
    table = finish(plan, [()], [np.array([number]) for number in exact])
    wanted = connection.execute(f"SELECT {name}(score, age) FROM tacit_copy.visits").fetchone()
    assert wanted is not None
    assert table.columns[0][0] == pytest.approx(wanted[0])
