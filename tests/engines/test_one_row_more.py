"""Add any one row, and what the copy holds of everyone else stays what it was: from raw bytes up, in every form.

More of them, by number and seed: python tests/plan/soak.py raw csv 2000 7
"""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings

from tests.engines.raw_rows import FORMS, Growing, compare_many, growing


@pytest.mark.parametrize("name", list(FORMS))
def test_one_row_more_changes_nobody_elses(name: str) -> None:
    pytest.importorskip("pyarrow" if name in ("parquet", "arrow", "polars") else "tacit")
    if name in ("pandas", "polars"):
        pytest.importorskip(name)
    form = FORMS[name]
    drawn: list[Growing] = []

    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(growing(form))
    def draw(one: Growing) -> None:
        drawn.append(one)

    draw()
    with duckdb.connect(config={"threads": 1}) as connection:
        compared, _ = compare_many(connection, form, drawn)
    assert compared >= 9, "too few of the drawn rows were registered for this to say anything"
