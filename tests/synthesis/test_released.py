"""What is released, and that it was paid for: sensitivities on neighbours, the purse, the ledger, files."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import synthesis
from tacit.curator import Price
from tacit.errors import ParameterError, QuestionError
from tacit.loss import compose, events
from tacit.noise import secure
from tacit.statistics.finding import Content
from tacit.statistics.source import source_of
from tacit.synthesis import scoring
from tacit.synthesis.aim import adaptive
from tacit.synthesis.cells import layout_of
from tacit.synthesis.counting import Tables
from tacit.synthesis.merging import merge_rare, merged, spread, spread_codes
from tacit.synthesis.model.marginals import marginal
from tacit.synthesis.mst import measured_tree, plan_mst
from tacit.synthesis.purse import Purse
from tacit.synthesis.shown_tables import intervals
from tacit.synthesis.workloads import candidates_of

BOUNDS = {"age": (0, 9), "weight": (40.0, 120.0)}
VALUES = {"sex": ["f", "m"], "ward": ["a", "b", "c"]}


def people(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    sex = generator.integers(0, 2, count)
    ward = np.where(generator.random(count) < 0.8, sex, 2)
    return {
        "age": generator.integers(0, 10, count),
        "weight": generator.normal(65 + 15 * sex, 8, count),
        "sex": np.array(["f", "m"], dtype=object)[sex],
        "ward": np.array(["a", "b", "c"], dtype=object)[ward],
    }


def exact_of(data: dict[str, np.ndarray]) -> Tables:
    source = source_of(data, bounds=BOUNDS, values=VALUES)
    layout = layout_of(source, {"weight": 5}, VALUES)
    return Tables(source.paid({}, None, None), layout)  # type: ignore[arg-type]


LAYOUT = layout_of(source_of(people(1), bounds=BOUNDS, values=VALUES), {"weight": 5}, VALUES)


# -- neighbours ------------------------------------------------------------------------------------------


def test_a_row_moves_tables_and_scores_no_further_than_stated() -> None:
    generator = np.random.default_rng(1)
    for case in range(60):
        rows = int(generator.integers(1, 4))
        data, more = people(40, case), people(rows, 1000 + case)
        both = {name: np.concatenate([data[name], more[name]]) for name in data}
        before, after = exact_of(data), exact_of(both)
        for columns in [(0,), (1, 2), (0, 2, 3)]:
            one, other = before.table(columns), after.table(columns)
            assert np.abs(one - other).sum() <= rows
            estimate = scoring.on_grid(generator.exponential(5, one.shape) - 1)
            moved = abs(scoring.distance(one, estimate) - scoring.distance(other, estimate))
            assert moved <= scoring.sensitivity(rows)
            merges = [merge_rare(generator.normal(size=size), 0.0, np.ones(size)) for size in LAYOUT.sizes]
            assert np.abs(merged(one, columns, merges) - merged(other, columns, merges)).sum() <= rows


def test_the_sensitivity_of_scores_is_reached() -> None:
    table, more = np.array([[3, 0], [1, 2]]), np.array([[3, 2], [1, 2]])
    estimate = scoring.on_grid(np.zeros((2, 2)))
    assert scoring.distance(more, estimate) - scoring.distance(table, estimate) == scoring.sensitivity(2)


def test_scores_count_every_cell_exactly() -> None:
    estimate = np.array([1.25, 0.0, 7.5])
    assert scoring.distance(np.array([1, 2, 7]), scoring.on_grid(estimate)) == scoring.GRID * 11 // 4


# -- what is charged -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (4, 1), (14, 1), (5, 3)])
def test_the_composed_event_of_mst_is_within_the_budget(columns: int, rows: int) -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    plan = plan_mst(columns, rows, epsilon, delta)
    assert compose([plan.event]).delta(epsilon) <= delta
    assert plan.single.event.sensitivity == rows
    if plan.choice is not None and plan.pair is not None:
        assert plan.pair.event.sensitivity == rows
        assert plan.choice.factor == plan.choice.event.range / (2 * scoring.GRID * rows)
        # what is released, one by one: every column, and for each edge of a tree a choice and a table
        released = [plan.single.event] * columns + [plan.choice.event, plan.pair.event] * (columns - 1)
        assert compose(released).delta(epsilon) <= delta


@pytest.mark.parametrize("total", [Fraction(1, 5_000), Fraction(1, 25), Fraction(10)])
def test_the_steps_of_aim_add_up_to_at_most_what_is_charged(total: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[Fraction] = []
    pay = Purse.pay
    monkeypatch.setattr(Purse, "pay", lambda purse, cost: (pay(purse, cost), spent.append(cost))[0])
    release = adaptive(
        exact_of(people(300)), LAYOUT, candidates_of(None, LAYOUT.names, LAYOUT.sizes), total, 1, 5000, secure()
    )
    tables = sum(1 / Fraction(each.sigma) ** 2 for each in release.measured)  # their deviation, rounding included
    assert total * 999 / 1000 < sum(spent) <= total
    assert len(spent) == 2 * len(release.measured) - 4  # four tables first, then a choice and a table in turns
    for each, cost in zip(release.measured, [*spent[:4], *spent[5::2]], strict=True):
        assert cost * Fraction(each.sigma) ** 2 >= 1  # each table has at least the noise that its payment buys
    assert tables * (1 - Fraction(1, 10**9)) <= sum(spent)


# -- the methods -----------------------------------------------------------------------------------------


def test_a_strong_pair_is_chosen_and_kept() -> None:
    for method in (synthesis.mst, synthesis.aim):
        twin = method(people(4000), epsilon=5, delta=1e-6, bounds=BOUNDS, values=VALUES, bins={"weight": 5})
        assert ("sex", "ward") in twin.measured
        found = twin.probabilities("ward", "sex")
        truth = exact_of(people(4000)).table((2, 3)).T / 4000
        assert np.abs(found - truth).sum() / 2 < 0.03
        assert np.allclose(twin.probabilities("sex", "ward"), found.T)


def test_methods_live_with_no_rows_and_with_one() -> None:
    for count in (0, 1):
        for method in (synthesis.independent, synthesis.mst, synthesis.aim):
            twin = method(people(count), epsilon=1, delta=1e-6, bounds=BOUNDS, values=VALUES)
            assert len(twin.sample(20)) == 20
    only = synthesis.aim({"a": np.zeros(5, dtype=np.int64)}, epsilon=1, delta=1e-6, bounds={"a": (0, 1)})
    assert only.sample(3)["a"].dtype == np.int64


def test_merged_values_come_back_by_their_shares() -> None:
    merge = merge_rare(np.array([100.0, 1.0, 50.0, 2.0]), 10.0, np.array([100.0, 1.0, 50.0, 3.0]))
    assert merge.codes.tolist() == [0, 2, 1, 2]
    table = merged(np.array([100, 1, 50, 3]), (0,), [merge])
    assert table.tolist() == [100, 50, 4]
    assert spread(table.astype(float), (0,), [merge]).tolist() == [100, 1, 50, 3]
    rows = spread_codes(np.repeat([0, 1, 2], [10, 5, 40]), merge, np.random.default_rng(0))
    assert np.bincount(rows).tolist() == [10, 10, 5, 30]


@pytest.mark.statistical
def test_intervals_of_measured_tables_cover() -> None:
    """60 runs, the cells of every measured table: 95 % intervals; below 90 % in fewer than one run of a million."""
    exact = exact_of(people(500))
    plan = plan_mst(4, 1, Fraction(1), Fraction(1, 10**6))
    held: list[bool] = []
    for _ in range(60):
        release = measured_tree(plan, LAYOUT, exact, secure())
        model, tables = release.fitted, release.fitted.cliques()
        for each in release.measured:
            expected = spread(marginal(model.tree, tables, each.columns), each.columns, release.merges) * model.total
            ends = intervals(release, each.columns, expected, 0.95)
            assert ends is not None
            known = np.isfinite(ends[1])
            truth = exact.table(each.columns)
            held += ((ends[0] <= truth) & (truth <= ends[1]))[known].tolist()
    assert np.mean(held) > 0.93


def test_a_table_that_was_never_measured_has_no_interval_and_says_so() -> None:
    twin = synthesis.independent(people(200), epsilon=1, bounds=BOUNDS, values=VALUES)
    assert twin.marginal("sex", "ward").intervals() == {}
    assert "never measured" in twin.marginal("sex", "ward").notes[0]
    assert len(twin.marginal("sex").intervals()["n"]) == 2


# -- the ledger ------------------------------------------------------------------------------------------


def clinic() -> tacit.Curator:
    frame = pd.DataFrame({**people(600), "who": np.arange(600)})
    facts = {
        "age": tacit.between(0, 9),
        "weight": tacit.between(40.0, 120.0),
        "sex": tacit.one_of("f", "m"),
        "ward": tacit.one_of("a", "b", "c"),
    }
    return tacit.protect(frame, unit="who", columns=facts, budget=tacit.Budget(epsilon=50, delta=1e-4))


def test_the_same_synthesis_is_charged_once_and_stored() -> None:
    at = clinic()
    rows = at.rows("SELECT age, sex, ward FROM data")
    first = synthesis.mst(rows, epsilon=1, delta=1e-6)
    again = synthesis.mst(rows, epsilon=1, delta=1e-6)
    assert not first.repeated
    assert again.repeated
    assert np.array_equal(first.probabilities("sex", "ward"), again.probabilities("sex", "ward"))
    assert events.from_json(first.receipt["event"]) == plan_mst(3, 1, Fraction(1), Fraction("1e-6")).event
    twin = synthesis.aim(rows, epsilon=1, delta=1e-6)
    priced = events.from_json(twin.receipt["event"])
    assert isinstance(priced, events.Gaussian)
    assert compose([priced]).delta(1) <= Fraction("1e-6")
    assert twin.sample(4).to_pandas().columns.tolist() == ["age", "sex", "ward"]


def test_engines_and_arrays_count_the_same() -> None:
    at = clinic()
    source = source_of(at.rows("SELECT age, weight, sex, ward FROM data"))
    layout = layout_of(source, {"weight": 5})
    seen = {}

    def compute(opened, bits):
        exact = Tables(opened, layout)
        exact.prepare([(0, 2), (2, 3)])
        for columns in [(0, 2), (2, 3), (3,), (1, 2)]:
            seen[columns] = exact.table(columns)
        return Content("nothing", (), (), {})

    source.release({"study": "test"}, Price(events.Pure(Fraction(1)), Fraction(1)), compute)
    arrays = exact_of(people(600))
    for columns, table in seen.items():
        assert np.array_equal(table, arrays.table(columns))


# -- files and rows --------------------------------------------------------------------------------------


def test_a_saved_model_is_the_same_without_pickle(tmp_path) -> None:
    twin = synthesis.mst(people(500), epsilon=1, delta=1e-6, bounds=BOUNDS, values=VALUES)
    twin.save(tmp_path / "twin.json")
    again = synthesis.load(tmp_path / "twin.json")
    assert np.allclose(again.probabilities("sex", "age"), twin.probabilities("sex", "age"))
    assert again.columns == twin.columns
    assert "pickle" not in json.dumps(json.loads((tmp_path / "twin.json").read_text()))[:1000]
    for wrong in (b"", b"{}", b"[1]", b'{"title": 1}'):
        (tmp_path / "wrong.json").write_bytes(wrong)
        with pytest.raises(ParameterError):
            synthesis.load(tmp_path / "wrong.json")


def test_rows_have_the_columns_names_and_types(tmp_path) -> None:
    twin = synthesis.independent(people(500), epsilon=1, bounds=BOUNDS, values=VALUES)
    drawn = twin.sample(100, seed=1)
    assert [drawn[name].dtype.kind for name in twin.columns] == ["i", "f", "O", "O"]
    assert drawn["weight"].min() >= 40
    assert drawn["weight"].max() <= 120
    assert set(drawn["ward"]) <= {"a", "b", "c"}
    assert str(drawn.to_polars().dtypes[2]) == "String"
    assert str(drawn.to_arrow().schema.field("age").type) == "int64"
    drawn.to_parquet(tmp_path / "rows.parquet")
    drawn.to_csv(tmp_path / "rows.csv")
    assert pd.read_parquet(tmp_path / "rows.parquet").equals(pd.read_csv(tmp_path / "rows.csv")[list(twin.columns)])
    assert np.array_equal(twin.sample(100, seed=1)["weight"], drawn["weight"])


def test_bad_input_is_refused_before_anything_is_released() -> None:
    data = people(20)
    good = {"epsilon": 1, "delta": 1e-6, "bounds": BOUNDS, "values": VALUES}
    for changed in (
        {"epsilon": 0},
        {"delta": 0},
        {"delta": 2},
        {"bins": {"nothing": 3}},
        {"bins": {"age": 1000}},
        {"workload": [("sex", "nothing")]},
        {"workload": "sex"},
        {"workload": []},
        {"max_cells": 0},
        {"bounds": None},
    ):
        with pytest.raises((ParameterError, QuestionError)):
            synthesis.aim(data, **{**good, **changed})
    twin = synthesis.mst(data, **good)
    for columns in ((), ("nothing",), ("sex", "sex")):
        with pytest.raises(ParameterError):
            twin.marginal(*columns)
    with pytest.raises(ParameterError):
        twin.sample(0)
