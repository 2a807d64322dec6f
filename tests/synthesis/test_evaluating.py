"""`evaluate`: distances on all neighbours of tiny data, against the definition, intervals, what is charged."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import synthesis
from tacit.errors import ParameterError, QuestionError
from tacit.loss import events
from tacit.synthesis.evaluating import GRID, distances, noises_for, on_grid


def test_shares_on_the_grid_add_up_and_are_near() -> None:
    generator = np.random.default_rng(0)
    for size in (1, 2, 7, 300):
        shares = generator.dirichlet(np.full(size, 0.3)).reshape(-1, 1)
        found = on_grid(shares)
        assert found.sum() == GRID
        assert found.min() >= 0
        assert np.abs(found / GRID - shares).max() <= 1.5 / GRID


def test_a_unit_moves_distances_no_further_than_stated_and_that_far() -> None:
    """All tables of up to three rows in three cells, two models, units of one and two rows."""
    models = [on_grid(np.array(each)) for each in ((0.2, 0.5, 0.3), (0.0, 0.0, 1.0), (1 / 3, 1 / 3, 1 / 3))]
    for unit in (1, 2):
        stated = [noise.event.sensitivity for noise in noises_for(Fraction(1), unit, 3)]
        assert stated == [2 * GRID * unit * 3, 2 * GRID * unit, unit]
        furthest = [0, 0]
        for counts in itertools.product(range(4), repeat=3):
            for more in itertools.combinations_with_replacement(range(3), unit):
                one = np.array(counts)
                other = one + np.bincount(more, minlength=3)
                before, after = (distances([each] * 3, models) for each in (one, other))
                furthest[0] = max(furthest[0], abs(sum(before) - sum(after)))
                furthest[1] = max(furthest[1], abs(max(before) - max(after)))
                assert all(abs(a - b) <= stated[1] for a, b in zip(before, after, strict=True))
        assert furthest[0] <= stated[0]
        assert furthest[1] == stated[1]


def test_the_three_shares_add_up_to_epsilon() -> None:
    noises = noises_for(Fraction(7, 10), 2, 9)
    assert sum(each.event.sensitivity / each.event.scale for each in noises) == Fraction(7, 10)


def people(count: int, seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    sex = generator.integers(0, 2, count)
    return {"age": generator.integers(0, 6, count), "sex": sex, "weight": generator.normal(60 + 9 * sex, 8, count)}


BOUNDS = {"age": (0, 5), "sex": (0, 1), "weight": (30.0, 100.0)}


@pytest.mark.statistical
def test_intervals_hold_the_exact_total_variation() -> None:
    """60 runs at 95 % or more: below 48 of 60 has probability below 1e-6 for each of the two."""
    rows = people(800, 1)
    twin = synthesis.independent(people(500, 2), epsilon=1, bounds=BOUNDS, bins={"weight": 6})
    edges = [30 + 70 * place / 6 for place in range(7)]
    cut = np.clip(np.searchsorted(edges, np.clip(rows["weight"], 30, 100), side="right") - 1, 0, 5)
    codes = {"age": rows["age"], "sex": rows["sex"], "weight": cut}
    exact = []
    for pair in itertools.combinations(codes, 2):
        table = np.zeros([int(codes[name].max()) + 1 if name != "weight" else 6 for name in pair])
        np.add.at(table, tuple(codes[name] for name in pair), 1)
        exact.append(np.abs(table / 800 - twin.probabilities(*pair)).sum() / 2)
    held = np.zeros(2)
    for _ in range(60):
        found = synthesis.evaluate(twin, rows, epsilon=1, bounds=BOUNDS)
        for place, truth in enumerate((np.mean(exact), np.max(exact))):
            low, high = found.intervals()["total_variation"][place]
            held[place] += low <= truth <= high
    assert held.min() >= 48


def test_a_good_model_is_near_and_a_bad_one_far() -> None:
    rows = people(20_000, 1)
    good = synthesis.mst(rows, epsilon=5, delta=1e-6, bounds=BOUNDS, bins={"weight": 6})
    bad = synthesis.independent(
        {name: own[:50] for name, own in rows.items()}, epsilon=0.01, bounds=BOUNDS, bins={"weight": 6}
    )
    near, far = (synthesis.evaluate(each, rows, epsilon=1, bounds=BOUNDS)["total_variation"] for each in (good, bad))
    assert near[0] <= near[1] < 0.1
    assert far[0] > 0.1


def test_through_a_curator_it_is_charged_once_and_stored() -> None:
    frame = pd.DataFrame({**people(500, 0), "who": range(500)})
    facts = {"age": tacit.between(0, 5), "sex": tacit.one_of(0, 1), "weight": tacit.between(30.0, 100.0)}
    clinic = tacit.protect(frame, unit="who", columns=facts, budget=tacit.Budget(epsilon=9, delta=1e-4))
    rows = clinic.rows("SELECT age, sex, weight FROM data")
    twin = synthesis.mst(rows, epsilon=1, delta=1e-6)
    first = synthesis.evaluate(twin, rows, epsilon="0.5")
    again = synthesis.evaluate(twin, rows, epsilon="0.5")
    assert not first.repeated
    assert again.repeated
    assert first["total_variation"] == again["total_variation"]
    event = events.from_json(first.receipt["event"])
    assert sum(each.sensitivity / each.scale for each in event.events) == Fraction(1, 2)
    some = clinic.rows("SELECT age, sex FROM data")
    assert len(synthesis.evaluate(twin, some, epsilon="0.1", tables=[("age",), ("sex", "age")])) == 2
    other = clinic.rows("SELECT age + 1 AS age, sex FROM data")
    with pytest.raises(QuestionError, match="cut otherwise"):
        synthesis.evaluate(twin, other, epsilon="0.1")


def test_bad_input_is_refused() -> None:
    rows = people(50, 0)
    twin = synthesis.independent(rows, epsilon=1, bounds=BOUNDS)
    for changed in (
        {"epsilon": 0},
        {"tables": 0},
        {"tables": []},
        {"tables": [()]},
        {"tables": "age"},
        {"tables": [("x",)]},
    ):
        with pytest.raises(ParameterError):
            synthesis.evaluate(twin, rows, **{"epsilon": 1, "bounds": BOUNDS, **changed})
