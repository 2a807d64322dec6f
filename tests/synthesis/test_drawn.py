"""Every kind of column leaves with its name and its type, and comes back from every file as it was."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import tacit
from tacit import synthesis

N = 600
FACTS = {
    "whole": tacit.between(-3, 9),
    "wide": tacit.between(0, 100_000),
    "real": tacit.between(-1.5, 2.5),
    "text": tacit.one_of("a", 'b, "c"', "ö'd"),
    "flag": tacit.one_of(True, False),
    "coded": tacit.one_of(1, 2, 5),
    "day": tacit.date_between("2020-01-01", "2020-02-15"),
    "moment": tacit.date_between("1960-01-01", "2020-02-15"),
}
KINDS = {
    "whole": ("int64", "Int64", "int64", "BIGINT"),
    "wide": ("int64", "Int64", "int64", "BIGINT"),
    "real": ("float64", "Float64", "double", "DOUBLE"),
    "text": ("object", "String", "string", "VARCHAR"),
    "flag": ("bool", "Boolean", "bool", "BOOLEAN"),
    "coded": ("int64", "Int64", "int64", "BIGINT"),
    "day": ("datetime64[us]", "Date", "date32[day]", "DATE"),
    "moment": ("datetime64[us]", "Datetime(time_unit='us', time_zone=None)", "timestamp[us]", "TIMESTAMP"),
}


@pytest.fixture(scope="module")
def drawn() -> synthesis.Drawn:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "who": range(N),
            "whole": generator.integers(-3, 10, N),
            "wide": generator.integers(0, 100_001, N),
            "real": generator.normal(0, 1, N),
            "text": generator.choice(["a", 'b, "c"', "ö'd"], N),
            "flag": generator.random(N) < 0.5,
            "coded": generator.choice([1, 2, 5], N),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(generator.integers(0, 46, N), unit="D"),
            "moment": pd.Timestamp("1960-01-01") + pd.to_timedelta(generator.integers(0, 20_000, N), unit="D"),
        }
    )
    typed = pl.from_pandas(frame).with_columns(pl.col("day").cast(pl.Date))  # pandas has no dates
    clinic = tacit.protect(typed, unit="who", columns=FACTS, budget=tacit.Budget(epsilon=9, delta=1e-4))
    names = ", ".join(f'"{name}"' for name in FACTS)
    return synthesis.mst(clinic.rows(f"SELECT {names} FROM data"), epsilon=2, delta=1e-6).sample(400, seed=5)


def listed(column: Any, name: str) -> list[Any]:
    """Pandas has no dates of its own: they are midnights there."""
    return [each.date() for each in column] if name == "day" else column.tolist()


def test_frames_have_the_tables_names_and_types(drawn: synthesis.Drawn) -> None:
    in_pandas, in_polars, in_arrow = drawn.to_pandas(), drawn.to_polars(), drawn.to_arrow()
    assert list(FACTS) == in_pandas.columns.tolist() == in_polars.columns == in_arrow.column_names
    for name, (first, second, third, _) in KINDS.items():
        assert str(in_pandas[name].dtype) in (first, "str") if name == "text" else str(in_pandas[name].dtype) == first
        assert str(in_polars[name].dtype) == second
        assert str(in_arrow.schema.field(name).type) == third
        assert listed(in_pandas[name], name) == in_polars[name].to_list() == in_arrow[name].to_pylist()


def test_files_come_back_as_they_were(drawn: synthesis.Drawn, tmp_path: Any) -> None:
    drawn.to_parquet(tmp_path / "rows.parquet")
    drawn.to_csv(tmp_path / "rows.csv")
    expected = drawn.to_polars()
    assert pl.read_parquet(tmp_path / "rows.parquet").equals(expected)
    with duckdb.connect() as plain:
        described = plain.execute(f"DESCRIBE FROM '{tmp_path / 'rows.parquet'}'").fetchall()
    types = {name: kind for name, kind, *_ in described}
    assert types == {name: kinds[3] for name, kinds in KINDS.items()}
    assert pq.read_table(tmp_path / "rows.parquet").column_names == list(FACTS)
    read = pl.read_csv(tmp_path / "rows.csv", schema=expected.schema)
    assert read.drop("real").equals(expected.drop("real"))
    assert np.allclose(read["real"].to_numpy(), expected["real"].to_numpy(), rtol=1e-12)


def test_values_stay_within_what_is_public(drawn: synthesis.Drawn) -> None:
    assert drawn["whole"].min() >= -3
    assert drawn["wide"].max() <= 100_000
    assert drawn["real"].min() >= -1.5
    assert drawn["real"].max() <= 2.5
    assert set(drawn["coded"].tolist()) <= {1, 2, 5}
    assert set(drawn["text"].tolist()) <= {"a", 'b, "c"', "ö'd"}
    assert drawn["day"].min() >= np.datetime64("2020-01-01")
    assert drawn["day"].max() <= np.datetime64("2020-02-15")


def test_nothing_that_leaves_comes_from_the_rows_unpaid() -> None:
    """Columns, categories, bin edges and the key of the release are the same for other rows, or for none."""
    seen = []
    for count in (0, 1, 300):
        frame = pd.DataFrame({"who": range(count), "a": np.arange(count) % 3, "b": np.linspace(-9, 9, count)})
        facts = {"a": tacit.between(0, 9), "b": tacit.between(-1.0, 1.0)}
        clinic = tacit.protect(frame, unit="who", columns=facts, budget=tacit.Budget(epsilon=9, delta=1e-4))
        twin = synthesis.mst(clinic.rows("SELECT a, b FROM data"), epsilon=1, delta=1e-6)
        seen.append(([each.to_dict() for each in twin._release.fields], twin.receipt["event"], len(twin.measured)))
        assert len(twin.sample(7)) == 7
        assert twin.total >= 1
    assert seen[0] == seen[1] == seen[2]
