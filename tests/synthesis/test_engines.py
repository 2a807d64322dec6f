"""Tables with missing values, and of linked tables, are the same numbers on PostgreSQL as on DuckDB."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import synthesis
from tests.engines.conformance.engines import load
from tests.engines.conformance.tables import Rows
from tests.postgres_server import BINARIES, MISSING, Server
from tests.synthesis.test_linked import MOST, POLICY, exact_tables, made_up, opened


@pytest.mark.skipif(BINARIES is None, reason=MISSING)
def test_postgres_counts_units_joined_rows_and_missing_values_as_duckdb_does(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, visits = made_up(80)
    visits.loc[visits.index[::4], "cost"] = np.nan
    visits.loc[visits.index[::5], "ward"] = None
    wanted = exact_tables(opened(tmp_path / "files", people, visits))
    address = postgres.database("linked_tables")
    load(
        address,
        {
            "people": Rows({"who": "integer", "age": "integer", "sex": "text"}, listed(people)),
            "visits": Rows({"patient": "integer", "ward": "text", "cost": "real", "sex": "text"}, listed(visits)),
            "wards": Rows({"beds": "integer"}, [{"beds": 1}]),
        },
    )
    monkeypatch.setenv("TACIT_TEST_ADDRESS", address)
    head = 'ledger = "memory"\nworking_copy = "copied"\nsource = "postgres:$TACIT_TEST_ADDRESS"\n'
    policy = "\n".join(line for line in POLICY.format(most=MOST).splitlines() if not line.startswith("source"))
    (tmp_path / "clinic.toml").write_text(head + policy)
    with tacit.open(tmp_path / "clinic.toml") as clinic:
        found = exact_tables(clinic)
        for left, right in zip(wanted, found, strict=True):
            for one, other in zip(left, right, strict=True):
                np.testing.assert_array_equal(one, other)
        twins = synthesis.linked(clinic, "people", "visits", epsilon=10, delta=1e-4, bins={"cost": 4}, nulls=True)
        assert len(twins.sample(50)[0]) == 50


def listed(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Rows as a database takes them: None for what is missing."""
    return [
        {name: None if pd.isna(each) else each for name, each in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]
