"""Columns that may miss values: one more public cell, counted like any other, drawn back as missing."""

from __future__ import annotations

import itertools
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow
import pytest

import tacit
from tacit import synthesis
from tacit.curator import Price
from tacit.errors import ParameterError
from tacit.loss import events
from tacit.statistics.source import source_of
from tacit.synthesis.cells import layout_of
from tacit.synthesis.counting import Tables

COLUMNS = {
    "age": tacit.between(0, 9),
    "bmi": tacit.between(10.0, 50.0),
    "ward": tacit.one_of("a", "b"),
    "grade": tacit.one_of(1, 5, 9),
    "smoker": tacit.one_of(True, False),
    "born": tacit.date_between("2000-01-01", "2001-12-31"),
    "sure": tacit.between(0, 1, nullable=False),
}
NULLABLE = ("age", "bmi", "ward", "grade", "smoker", "born")


def made_up(count: int = 400, missing: float = 0.25) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    lost = lambda: rng.random(count) < missing  # noqa: E731
    frame = pd.DataFrame({"who": np.arange(count)})
    frame["age"] = pd.array(rng.integers(0, 10, count), dtype="Int64")
    frame["bmi"] = rng.uniform(10, 50, count)
    frame["ward"] = rng.choice(["a", "b"], count).astype(object)
    frame["grade"] = pd.array(rng.choice([1, 5, 9], count), dtype="Int64")
    frame["smoker"] = pd.array(rng.random(count) < 0.5, dtype="boolean")
    frame["born"] = pd.to_datetime("2000-01-01") + pd.to_timedelta(rng.integers(0, 700, count), unit="D")
    frame["sure"] = rng.integers(0, 2, count)
    for name in NULLABLE:
        frame.loc[lost(), name] = None if name == "ward" else pd.NA if name in ("age", "grade", "smoker") else np.nan
    return frame


def rows_of(frame: pd.DataFrame) -> tacit.Rows:
    days = pyarrow.table(
        {n: pyarrow.array(c.dt.date if n == "born" else c, from_pandas=True) for n, c in frame.items()}
    )
    clinic = tacit.protect(days, unit="who", columns=COLUMNS, budget=tacit.Budget(epsilon=50, delta=1e-3))
    return clinic.rows(f"SELECT {', '.join(COLUMNS)} FROM data")


OPEN: list[object] = []  # a curator that nobody holds is closed
BINS = {"bmi": [10, 20, 30, 50], "born": 3}


def exact_of(frame: pd.DataFrame) -> tuple[Tables, list[int]]:
    source = source_of(rows_of(frame))
    OPEN.append(source)
    layout = layout_of(source, BINS, nulls=True)
    price = Price(events.Laplace(1, 1), 1)  # type: ignore[arg-type]
    return Tables(source.paid({"study": "test"}, price, None), layout), list(layout.sizes)


def cells(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """The same cells by pandas."""
    start = pd.Timestamp("2000-01-01")
    days = (frame["born"] - start).dt.days
    found = {
        "age": frame["age"].astype("Int64").fillna(10),
        "bmi": pd.cut(frame["bmi"], [10, 20, 30, 50.0001], right=False, labels=False).fillna(3),
        "ward": frame["ward"].map({"a": 0, "b": 1}).fillna(2),
        "grade": frame["grade"].map({1: 0, 5: 1, 9: 2}).fillna(3),
        "smoker": frame["smoker"].astype("Int64").fillna(2),
        "born": np.minimum(days * 3 // 730, 2).fillna(3),
        "sure": frame["sure"],
    }
    return {name: np.asarray(own, dtype=np.int64) for name, own in found.items()}


def test_tables_have_a_cell_for_missing_values_and_leave_no_row_out() -> None:
    frame = made_up()
    exact, sizes = exact_of(frame)
    truth = cells(frame)
    assert sizes == [11, 4, 3, 4, 3, 4, 2]
    for pair in itertools.combinations(range(7), 2):
        table = exact.table(pair)
        wanted = np.zeros((sizes[pair[0]], sizes[pair[1]]), dtype=np.int64)
        names = list(COLUMNS)
        np.add.at(wanted, (truth[names[pair[0]]], truth[names[pair[1]]]), 1)
        np.testing.assert_array_equal(table, wanted)
        assert table.sum() == len(frame)


def test_one_person_more_changes_one_cell_of_every_table_by_one() -> None:
    frame = made_up(60)
    whole, _ = exact_of(frame)
    fewer, _ = exact_of(frame.drop(index=17))
    for pair in itertools.combinations(range(7), 2):
        moved = whole.table(pair) - fewer.table(pair)
        assert np.abs(moved).sum() == 1
        assert moved.min() == 0


def test_arrays_and_a_curator_count_the_same() -> None:
    frame = made_up()[["age", "bmi", "ward"]]
    source = source_of(frame, bounds={"age": (0, 9), "bmi": (10.0, 50.0)}, values={"ward": ["a", "b"]})
    layout = layout_of(source, {"bmi": [10, 20, 30, 50]}, {"ward": ["a", "b"]}, nulls=["AGE", "bmi", "ward"])
    exact = Tables(source.paid({}, None, None), layout)  # type: ignore[arg-type]
    other, _ = exact_of(made_up())
    for pair in ((0, 1), (0, 2), (1, 2)):
        np.testing.assert_array_equal(exact.table(pair), other.table(pair))


def test_a_column_that_is_not_named_leaves_rows_out_as_before() -> None:
    frame = made_up()
    source = source_of(rows_of(frame)).of("age", "ward")
    layout = layout_of(source, None, nulls=["ward"])
    price = Price(events.Laplace(1, 1), 1)  # type: ignore[arg-type]
    table = Tables(source.paid({"study": "test"}, price, None), layout).table((0, 1))
    known = frame[frame["age"].notna()]
    assert table.shape == (10, 3)
    assert table.sum() == len(known)
    assert table[:, 2].sum() == known["ward"].isna().sum()


@pytest.fixture(scope="module")
def twin() -> synthesis.Synthetic:
    return synthesis.aim(rows_of(made_up(4_000)), epsilon=20, delta=1e-4, nulls=True, bins=BINS)


def test_rows_come_back_with_the_types_of_the_table_and_their_missing_values(twin: synthesis.Synthetic) -> None:
    drawn = twin.sample(4_000, seed=1)
    frame = drawn.to_pandas()
    assert {name: str(kind) for name, kind in frame.dtypes.items() if name != "ward"} == {
        "age": "Int64",
        "bmi": "float64",
        "grade": "Int64",
        "smoker": "boolean",
        "born": "datetime64[us]",
        "sure": "int64",
    }
    for name in NULLABLE:
        assert abs(frame[name].isna().mean() - 0.25) < 0.05, name
    assert set(frame["grade"].dropna()) == {1, 5, 9}
    assert set(frame["ward"].dropna()) == {"a", "b"}
    polars, arrow = drawn.to_polars(), drawn.to_arrow()
    assert [str(each) for each in polars.dtypes] == ["Int64", "Float64", "String", "Int64", "Boolean", "Date", "Int64"]
    assert [str(each) for each in arrow.schema.types] == [
        "int64",
        "double",
        "string",
        "int64",
        "bool",
        "date32[day]",
        "int64",
    ]
    for name in COLUMNS:
        missing = int(frame[name].isna().sum())
        assert polars[name].null_count() == arrow[name].null_count == missing
        assert polars[name].to_list() == arrow[name].to_pylist()


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_hold_the_same_types_and_missing_values(twin: synthesis.Synthetic, tmp_path: Path, ending: str) -> None:
    drawn = twin.sample(500, seed=2)
    path = tmp_path / f"rows.{ending}"
    (drawn.to_parquet if ending == "parquet" else drawn.to_csv)(path)
    with duckdb.connect() as own:  # of the connection that all share, another test may not have read everything
        kinds = [str(each) for each in own.sql(f"FROM '{path}'").types]
        read = own.sql(f"FROM '{path}'").fetchall()
    assert kinds == ["BIGINT", "DOUBLE", "VARCHAR", "BIGINT", "BOOLEAN", "DATE", "BIGINT"]
    assert read == list(zip(*(drawn.to_arrow()[name].to_pylist() for name in COLUMNS), strict=True))


def test_a_model_is_asked_about_missing_values(twin: synthesis.Synthetic) -> None:
    found = twin.ask("SELECT count(*) AS n, count(bmi) AS known FROM people WHERE born IS NULL OR born IS NOT NULL")
    assert found["n"][0] == pytest.approx(4_000, abs=100)
    without = twin.ask("SELECT count(*) AS n FROM people WHERE bmi IS NULL")
    assert without["n"][0] == pytest.approx(1_000, abs=150)
    low, high = without.intervals()["n"][0]
    assert low <= without["n"][0] <= high
    groups = twin.ask("SELECT ward, count(*) AS n, avg(bmi) AS b FROM people GROUP BY ward ORDER BY ward")
    assert groups["ward"] == ("a", "b", None)
    assert sum(groups["n"]) == pytest.approx(4_000, abs=100)
    table = twin.marginal("ward")
    assert table["ward"] == ("a", "b", None)
    assert "missing" in twin.card()


def test_a_saved_model_still_has_its_missing_values(twin: synthesis.Synthetic, tmp_path: Path) -> None:
    twin.save(tmp_path / "twin.json")
    again = synthesis.load(tmp_path / "twin.json")
    left, right = (each.sample(300, seed=5).to_pandas() for each in (twin, again))
    pd.testing.assert_frame_equal(left, right)


def test_rules_hold_for_what_is_known_as_a_check_of_sql_does() -> None:
    twin = synthesis.mst(
        rows_of(made_up(2_000)), epsilon=10, delta=1e-4, nulls=True, bins=BINS, constraints=["age >= 5 OR ward = 'a'"]
    )
    frame = twin.sample(2_000, seed=1).to_pandas()
    broken = (frame["age"] < 5) & (frame["ward"] == "b")
    assert not broken.fillna(False).any()
    assert (frame["age"].isna() & (frame["ward"] == "b")).any()


def test_a_prior_and_an_evaluation_know_missing_values() -> None:
    frame = made_up(1_000)
    rows = rows_of(frame)
    twin = synthesis.mst(rows, epsilon=10, delta=1e-4, nulls=True, bins=BINS, prior=frame.drop(columns="who").head(200))
    assert twin.sample(500, seed=1).to_pandas()["bmi"].isna().mean() == pytest.approx(0.25, abs=0.08)
    found = synthesis.evaluate(twin, rows, epsilon=5)
    assert found["total_variation"][0] < 0.5


def test_nulls_are_refused_for_columns_that_cannot_miss_a_value() -> None:
    with pytest.raises(ParameterError, match="may miss values"):
        synthesis.mst(rows_of(made_up(20)), epsilon=1, delta=1e-6, nulls=["sure"])
    with pytest.raises(ParameterError, match="may miss values"):
        synthesis.mst(rows_of(made_up(20)), epsilon=1, delta=1e-6, nulls=["nobody"])


def test_other_nulls_are_another_release() -> None:
    rows = rows_of(made_up(200))
    synthesis.independent(rows, epsilon=1, nulls=True)
    assert not synthesis.independent(rows, epsilon=1, nulls=["age"]).repeated
    assert synthesis.independent(rows, epsilon=1, nulls=["age"]).repeated


def test_what_lies_outside_of_the_edges_is_not_counted_as_missing() -> None:
    data = {"x": np.array([1.0, 5.0, 9.0, np.nan, 10.0])}
    source = source_of(data, bounds={"x": (0.0, 10.0)})
    layout = layout_of(source, {"x": [4, 6, 8]}, nulls=True)
    table = Tables(source.paid({}, None, None), layout).table((0,))  # type: ignore[arg-type]
    assert table.tolist() == [1, 0, 1]
    other = layout_of(source_of({**data, "y": data["x"]}, bounds=(0.0, 10.0)), {"x": [4, 6, 8], "y": 2}, nulls=True)
    assert [each.missing for each in other.domains] == [4, 4]
