"""Contingency tables and sets of them: the counts of the rows, charged what they say, with the errors they state."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import ParameterError
from tacit.mechanisms import Laplace
from tacit.statistics.counts.counting_noise import variance_of
from tacit.statistics.counts.table import table
from tacit.statistics.counts.table_sets import tables
from tacit.statistics.finding import Finding
from tests import draws
from tests.statistics.counting import HUGE, clinic, event_of, sensitivity_of, with_and_without, worth

ABO, RH = ["0", "A", "B", "AB"], ["+", "-"]
SHARES = np.array([[38, 7], [34, 6], [9, 2], [3, 1]])  # per cent, ABO by Rh


def blood(rows: int) -> pd.DataFrame:
    """So many people with the shares of blood groups, exactly, and an age."""
    kinds = [(a, r) for a in range(4) for r in range(2) for _ in range(int(SHARES[a, r]) * rows // 100)]
    return pd.DataFrame(
        {
            "who": range(len(kinds)),
            "abo": [ABO[a] for a, _ in kinds],
            "rh": [RH[r] for _, r in kinds],
            "age": [(7 * place) % 90 for place in range(len(kinds))],
        }
    )


COLUMNS = {"abo": tacit.one_of(*ABO), "rh": tacit.one_of(*RH), "age": tacit.between(0, 89)}
VALUES: dict[str, Any] = {"values": {"abo": ABO, "rh": RH}, "bounds": {"age": (0, 89)}}
ONE = np.array([1])


@draws.once
def curator() -> tacit.Curator:
    return clinic(blood(2000), 1, COLUMNS)


def test_the_blood_groups_come_out_as_they_are() -> None:
    truth = (SHARES * 20).tolist()
    on_rows = table(curator(), ["data.abo", "data.rh"], epsilon=HUGE)
    on_arrays = table(blood(2000), ["abo", "rh"], epsilon=HUGE, values={"abo": ABO, "rh": RH})
    assert on_rows["table"].tolist() == on_arrays["table"].tolist() == truth
    assert list(on_rows.rows())[3] == ("A", "-", 120)
    noisy = table(curator(), ["data.abo", "data.rh"], epsilon=1)
    assert noisy["table"].min() >= 0
    assert noisy["table"].sum() == noisy["noisy"].sum()
    a = math.exp(-1)
    assert noisy["squared_error"][0] == pytest.approx(8 * 2 * a / (1 - a) ** 2)
    assert np.abs(noisy["table"] - SHARES * 20).max() < 60  # 8 cells beyond 60 at scale 1: 8 exp(-60)


@pytest.mark.parametrize(("epsilon", "delta", "off"), [(HUGE, 0, 0), (150, 1e-6, 1)])
@pytest.mark.parametrize("measure", ["best", "asked", "joint", "residuals"])
def test_sets_of_tables_are_the_crosstabs_at_a_huge_epsilon(measure: str, epsilon: int, delta: float, off: int) -> None:
    """Gaussian noise at epsilon 150 has a deviation of about 0.1 in a cell: 1.5 is fifteen of them."""
    frame = blood(2000)
    sets = [("abo", "rh"), ("rh", "age"), ("abo", "age"), ("age",)]
    found = tables(frame, sets, bins={"age": [0, 30, 60, 89]}, epsilon=epsilon, delta=delta, measure=measure, **VALUES)
    decade = pd.cut(frame.age, [0, 30, 60, 90], right=False)
    truths = {
        "by abo,rh": SHARES * 20,
        "by rh,age": pd.crosstab(frame.rh, decade).loc[RH].to_numpy(),
        "by abo,age": pd.crosstab(frame.abo, decade).loc[ABO].to_numpy(),
        "by age": decade.value_counts(sort=False).to_numpy(),
    }
    for name, truth in truths.items():
        assert np.abs(found[name] - truth).max() <= off
    assert found["count"] == tuple(np.concatenate([found[name].reshape(-1) for name in truths]))
    assert set(found["age"]) == {None, "[0, 30)", "[30, 60)", "[60, 89]"}


def test_a_curator_gives_the_same_tables_as_arrays_and_stores_them() -> None:
    sets = [("data.abo", "data.rh"), ("data.rh", "data.age")]
    found = tables(curator(), sets, bins={"data.age": 3}, epsilon=HUGE)
    plain = tables(blood(2000), [("abo", "rh"), ("rh", "age")], bins={"age": 3}, epsilon=HUGE, **VALUES)
    assert found["by abo,rh"].tolist() == plain["by abo,rh"].tolist()
    assert found["by rh,age"].tolist() == plain["by rh,age"].tolist()
    spent = curator().spent()
    assert tables(curator(), sets, bins={"data.age": 3}, epsilon=HUGE).repeated
    assert curator().spent() == spent
    assert not tables(curator(), sets, bins={"data.age": 4}, epsilon=HUGE).repeated
    assert not tables(curator(), sets[:1], epsilon=HUGE).repeated


def test_rows_that_miss_any_column_or_lie_beyond_its_bins_are_in_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = blood(100)
    frame.loc[frame.index[:10], "age"] = None
    frame.loc[frame.index[10:15], "age"] = 5
    frame.loc[frame.index[15:], "age"] = 40
    sets = [("abo", "rh"), ("rh", "age")]
    asked: dict[str, Any] = {"bins": {"age": [20, 50, 89]}, "epsilon": HUGE, "measure": "asked"}
    curators = clinic(frame, 1, COLUMNS)
    truth = pd.crosstab(frame.abo[15:], frame.rh[15:]).loc[ABO, RH].to_numpy().tolist()
    for most in (1 << 16, 8):  # one scan for all tables; one scan for each
        monkeypatch.setattr("tacit.statistics.counts.table_sets._SCAN_CELLS", most)
        on_arrays = tables(frame, sets, **asked, **VALUES)
        on_rows = tables(curators, [("data.abo", "data.rh"), ("data.rh", "data.age")], **asked, level=f"0.{most}")
        assert not on_rows.repeated
        assert on_arrays["by abo,rh"].tolist() == on_rows["by abo,rh"].tolist() == truth
        assert on_arrays["by rh,age"].sum() == on_rows["by rh,age"].sum() == 85


# -- privacy ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_one_units_rows_move_a_table_by_at_most_the_sensitivity(rows_per_unit: int) -> None:
    def draw(rng: Any, size: int) -> dict[str, Any]:
        return {"a": rng.integers(0, 3, size), "b": rng.integers(0, 2, size)}

    frames = with_and_without(3, 8, rows_per_unit, draw)
    made = [clinic(frame, rows_per_unit, {"a": tacit.between(0, 2), "b": tacit.between(0, 1)}) for frame in frames]
    found = [table(each, ["data.a", "data.b"], epsilon=HUGE) for each in made]
    moved = np.abs(found[0]["noisy"] - found[1]["noisy"]).sum()
    assert moved == sensitivity_of(found[0]) == rows_per_unit
    both = [tables(each, [("data.a",), ("data.b",)], epsilon=HUGE, measure="asked") for each in made]
    moved = sum(np.abs(both[0][f"by {name}"] - both[1][f"by {name}"]).sum() for name in ("a", "b"))
    assert moved == sensitivity_of(both[0]) == 2 * rows_per_unit


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("measure", ["best", "asked", "joint", "residuals"])
def test_what_is_charged_is_worth_what_was_asked(measure: str, delta: float) -> None:
    sets = [("abo", "rh"), ("rh", "age"), ("abo", "age")]
    found = tables(blood(100), sets, bins={"age": 5}, epsilon="0.7", delta=delta, measure=measure, **VALUES)
    assert found.receipt["epsilon"] == "7/10"
    assert worth(found, float(tacit.parameters.rational("delta", found.receipt["delta"]))) == pytest.approx(
        0.7, rel=1e-4
    )
    assert (found.receipt["delta"] == "0") == (event_of(found)["kind"] == "discrete-laplace")


def test_one_table_is_charged_like_a_histogram() -> None:
    assert event_of(table(curator(), ["data.abo", "data.rh"], epsilon="1/3")) == {
        "kind": "discrete-laplace",
        "sensitivity": 1,
        "scale": "3",
    }


# -- errors that are stated ------------------------------------------------------------------------------------


def many(rows: int, seed: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    sizes = (2, 3, 4, 2, 5, 3)
    data = {f"c{place}": rng.integers(0, size, rows) for place, size in enumerate(sizes)}
    return data, {f"c{place}": (0, size - 1) for place, size in enumerate(sizes)}


def squared_error(found: Finding, data: dict[str, Any], bounds: dict[str, Any], pairs: Any) -> float:
    total = 0.0
    for one, other in pairs:
        truth = np.zeros((bounds[one][1] + 1, bounds[other][1] + 1))
        np.add.at(truth, (data[one], data[other]), 1)
        total += float(np.sum((found[f"by {one},{other}"] - truth) ** 2))
    return total


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("measure", ["best", "asked", "residuals"])
def test_the_squared_error_is_the_expected_one(measure: str, delta: float) -> None:
    """12 releases of 15 tables (141 cells): the mean of the squared error is within a factor of 1.8 of what is stated.

    The error of one release has a relative deviation of 0.15 to 0.27 (measured), so at most 0.08 for the mean of 12,
    about a gamma law of shape 170: below 1/1.8 with probability 2e-12, above 1.8 far less. Rows are many, so nothing is
    repaired.
    """
    data, bounds = many(20_000)
    pairs = list(itertools.combinations(data, 2))
    found = [tables(data, pairs, bounds=bounds, epsilon=1, delta=delta, measure=measure) for _ in range(12)]
    mean = np.mean([squared_error(each, data, bounds, pairs) for each in found])
    assert 1 / 1.8 < mean / found[0]["squared_error"][1] < 1.8
    if measure != "residuals" or delta:
        assert found[0]["squared_error"][1] < found[0]["squared_error"][0]


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_intervals_hold_the_truth_as_often_as_they_say(delta: float) -> None:
    """20 releases of 141 cells at 90 %. Cells of a release are correlated; releases are not.

    The share of missed cells in a release has a deviation below 0.06 (measured 0.03 to 0.04), so 0.0135 for the mean of
    20; a mean coverage below 0.82 would be six of them. A false alarm is below 1e-8.
    """
    data, bounds = many(20_000)
    pairs = list(itertools.combinations(data, 2))
    held = []
    for _ in range(20):
        found = tables(data, pairs, bounds=bounds, epsilon=1, delta=delta, level="0.9")
        truth = []
        for one, other in pairs:
            exact = np.zeros((bounds[one][1] + 1, bounds[other][1] + 1))
            np.add.at(exact, (data[one], data[other]), 1)
            truth.append(exact.reshape(-1))
        ends = found.intervals()["count"]
        held.append(
            np.mean([low <= value <= high for value, (low, high) in zip(np.concatenate(truth), ends, strict=True)])
        )
    assert 0.82 < np.mean(held) < 0.97


def test_the_stated_error_before_is_the_one_of_separate_tables() -> None:
    data, bounds = many(100)
    pairs = list(itertools.combinations(data, 2))
    found = tables(data, pairs, bounds=bounds, epsilon=1)
    a = math.exp(-1 / 15)  # 15 tables share epsilon 1: scale 15
    size = sum((bounds[one][1] + 1) * (bounds[other][1] + 1) for one, other in pairs)
    assert found["squared_error"][0] == pytest.approx(size * 2 * a / (1 - a) ** 2)
    assert any("Expected total squared error" in note for note in found.notes)


# -- any data, and what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1, 40])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_any_data_give_a_private_result(rows: int, delta: float) -> None:
    data = {"a": np.zeros(rows), "b": np.full(rows, np.nan), "c": np.full(rows, 3)}
    bounds = {"a": (0, 1), "b": (0, 1), "c": (0, 5)}
    found = tables(data, [("a", "b"), ("b", "c")], bins={"a": 2, "b": 3, "c": 2}, bounds=bounds, epsilon=1, delta=delta)
    assert found["by a,b"].min() >= 0
    assert found["by a,b"].sum(axis=0).tolist() == found["by b,c"].sum(axis=1).tolist()
    assert table(data, ["a", "c"], bins={"a": 2, "c": 2}, bounds=bounds, epsilon=1)["table"].shape == (2, 2)
    assert found.to_pandas().shape[0] == 12
    assert found.chart_spec()


def test_where_no_whole_tables_are_known_they_are_real_and_agree() -> None:
    data = {name: np.arange(500) % 9 for name in "abcd"}
    sets = list(itertools.combinations("abcd", 3))
    found = tables(data, sets, bounds=(0, 8), epsilon=1, delta=1e-6)
    assert any("Real numbers" in note for note in found.notes)
    assert np.allclose(found["by a,b,c"].sum(axis=2), found["by a,b,d"].sum(axis=2))
    assert found["by a,b,c"].sum() == pytest.approx(found["by b,c,d"].sum())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tables(blood(9), "abo", epsilon=1, **VALUES), "sets"),
        (lambda: tables(blood(9), [], epsilon=1, **VALUES), "sets"),
        (lambda: tables(blood(9), [()], epsilon=1, **VALUES), "sets"),
        (lambda: tables(blood(9), [("abo", "abo")], epsilon=1, **VALUES), "twice"),
        (lambda: tables(blood(9), [("abo", "rh")], epsilon=1, delta=1, **VALUES), "delta"),
        (lambda: tables(blood(9), [("abo", "rh")], epsilon=1, delta=-1, **VALUES), "delta"),
        (lambda: tables(blood(9), [("abo", "rh")], epsilon=-1, **VALUES), "epsilon"),
        (lambda: tables(blood(9), [("abo", "rh")], epsilon=1, measure="all", **VALUES), "measure"),
        (lambda: tables(blood(9), [("abo", "rh")], epsilon=1, bins={"age": 3}, **VALUES), "bins"),
        (lambda: tables(blood(9), [("abo", "rh")], epsilon=1, level=0, **VALUES), "level"),
        (lambda: tables({"a": [1.5], "b": [1]}, [("a", "b")], bounds=(0, 9), epsilon=1), "bins"),
        (lambda: table({"a": ONE, "b": ONE}, bounds=(0, 9999), epsilon=1), "cells"),
        (
            lambda: tables(
                dict.fromkeys("abcdefghijklm", ONE),
                ["abcdefghijklm"[:1], tuple("abcdefghijklm")],
                bounds=(0, 1),
                epsilon=1,
            ),
            "12 columns",
        ),
        (lambda: tables({"a": ONE, "b": ONE}, [("a",), ("b",)], bounds=(0, 999), measure="joint", epsilon=1), "joint"),
    ],
)
def test_public_mistakes_are_refused(call: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()


@pytest.mark.statistical
def test_the_noise_of_a_table_has_the_variance_of_the_charged_event() -> None:
    """3,000 empty cells: the mean square errs by sqrt(5/3000) = 0.041 of itself; ten of those have 1e-13 (Chernoff)."""
    found = table({"a": [], "b": []}, bins={"a": 60, "b": 50}, bounds=(0, 1), epsilon="0.25")
    variance = variance_of(Laplace(sensitivity=1, scale=4))
    assert event_of(found)["scale"] == "4"
    assert abs(np.mean(found["noisy"].astype(float) ** 2) / variance - 1) < 0.4
