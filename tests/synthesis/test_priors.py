"""Public rows to start from: free, cut as the private ones are, and of use where there is little data."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import synthesis
from tacit.errors import ParameterError
from tacit.statistics.source import source_of
from tacit.synthesis.cells import layout_of
from tacit.synthesis.counting import Tables
from tacit.synthesis.priors import Prior, prior_of

BOUNDS = {"a": (0, 7), "w": (20.0, 120.0), "n": (0, 5000)}
VALUES = {"s": ["x", "y"]}


def rows(count: int, seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    a = generator.integers(0, 8, count)
    s = np.array(["x", "y"], dtype=object)[((a > 3) ^ (generator.random(count) < 0.1)).astype(int)]
    return {"a": a, "w": generator.normal(50 + 5 * a, 12, count), "n": generator.integers(0, 5001, count), "s": s}


def off(twin: synthesis.Synthetic, truth: dict[str, np.ndarray]) -> float:
    known = prior_of(truth, twin._release.fields)
    assert known is not None
    sizes = [each.size for each in twin._release.fields]
    return float(
        np.mean([
            np.abs(known.table(pair, sizes) - twin.probabilities(*(twin.columns[each] for each in pair))).sum() / 2
            for pair in itertools.combinations(range(len(sizes)), 2)
        ])
    )  # fmt: skip


def test_public_rows_are_cut_exactly_as_private_ones() -> None:
    data = rows(3000, 0)
    source = source_of(data, bounds=BOUNDS, values=VALUES)
    layout = layout_of(source, {"w": 7, "n": [0, 1, 17, 900, 5000]}, VALUES)
    exact = Tables(source.paid({}, None, None), layout)  # type: ignore[arg-type]
    prior = prior_of(data, layout.fields)
    assert prior is not None
    for place, size in enumerate(layout.sizes):
        assert np.bincount(prior.codes[place], minlength=size).tolist() == exact.table((place,)).tolist()


def test_rows_without_a_cell_are_left_out() -> None:
    source = source_of(rows(5, 0), bounds=BOUNDS, values=VALUES)
    fields = layout_of(source, None, VALUES).fields
    odd = pd.DataFrame({"a": [1, 99, 2], "w": [50, 50, np.nan], "n": [3, 3, 3], "s": ["x", "x", "y"]})
    prior = prior_of(odd, fields)
    assert prior is not None
    assert prior.codes[0].tolist() == [1]


@pytest.mark.parametrize("method", [synthesis.independent, synthesis.mst, synthesis.aim])
def test_a_prior_helps_little_data_and_costs_nothing(method: Any) -> None:
    truth = rows(50_000, 9)
    given = {"epsilon": 1, "delta": 1e-6, "bounds": BOUNDS, "values": VALUES, "bins": 8}
    public = pd.DataFrame(rows(3000, 5))
    errors = []
    for seed in range(4):  # one run by itself is off by half of what it says
        plain = method(rows(500, seed), **given)
        started = method(rows(500, seed), **given, prior=public)
        errors.append((off(started, truth), off(plain, truth)))
    assert sum(one for one, _ in errors) < 0.7 * sum(other for _, other in errors)
    assert started.receipt["event"] == plain.receipt["event"]
    assert len(started.facts["prior"]) == 64


def test_much_data_overrules_a_wrong_prior() -> None:
    wrong = rows(3000, 5)
    wrong["s"] = wrong["s"][::-1].copy()
    wrong["a"] = np.minimum(wrong["a"], 2)
    truth = rows(40_000, 1)
    twin = synthesis.mst(truth, epsilon=5, delta=1e-6, bounds=BOUNDS, values=VALUES, bins=8, prior=wrong)
    assert off(twin, truth) < 0.05


def test_rules_hold_with_a_prior_too() -> None:
    rule = "a < 4 OR s = 'y'"
    twin = synthesis.mst(
        rows(500, 1), epsilon=1, delta=1e-6, bounds=BOUNDS, values=VALUES, prior=rows(900, 2), constraints=rule
    )
    drawn = twin.sample(20_000, seed=0)
    assert not ((drawn["a"] >= 4) & (drawn["s"] == "x")).any()


def test_tables_of_a_prior_agree_where_they_share_columns() -> None:
    prior = Prior((np.array([0, 1, 1, 2]), np.array([1, 1, 0, 0]), np.array([0, 0, 0, 1])))
    one, other = prior.table((0, 1), (3, 2, 2)), prior.table((1, 2), (3, 2, 2))
    assert np.allclose(one.sum(axis=0), other.sum(axis=1))
    assert (one > 0).all()
    assert sorted(prior.pairs((3, 2, 2)))[0][0] == 0


def test_another_prior_is_another_synthesis() -> None:
    frame = pd.DataFrame({"who": range(300), "a": np.arange(300) % 8})
    facts = {"a": tacit.between(0, 7)}
    clinic = tacit.protect(frame, unit="who", columns=facts, budget=tacit.Budget(epsilon=9, delta=1e-4))
    data = clinic.rows("SELECT a FROM data")
    public = {"a": np.arange(80) % 8}
    assert not synthesis.mst(data, epsilon=1, delta=1e-6, prior=public).repeated
    assert synthesis.mst(data, epsilon=1, delta=1e-6, prior=public).repeated
    assert not synthesis.mst(data, epsilon=1, delta=1e-6, prior={"a": np.zeros(5, dtype=int)}).repeated


def test_bad_priors_are_refused() -> None:
    for prior in ({"a": [1]}, 7, "people.csv", {**rows(3, 0), "a": [99, 99, 99]}, {**rows(3, 0), "w": ["x", "y", "z"]}):
        with pytest.raises(ParameterError):
            synthesis.mst(rows(20, 0), epsilon=1, delta=1e-6, bounds=BOUNDS, values=VALUES, prior=prior)
    short = {**rows(3, 0), "a": [1, 2]}
    with pytest.raises(ParameterError):
        synthesis.mst(rows(20, 0), epsilon=1, delta=1e-6, bounds=BOUNDS, values=VALUES, prior=short)
