"""Rules that every drawn row keeps: they cost nothing, survive a file, and are refused where they cannot be kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import synthesis
from tacit.errors import ParameterError, QuestionError

N = 4000
RULES = ["age >= 16 OR income = 0", "sex = 'f' OR NOT pregnant"]
BOUNDS = {"age": (0, 89), "income": (0, 100_000)}
VALUES = {"sex": ["f", "m"], "pregnant": [False, True], "town": ["a", "b", "c"]}


def people(seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 90, N)
    sex = generator.integers(0, 2, N)
    income = np.where((age < 16) | (generator.random(N) < 0.2), 0, generator.integers(0, 100_001, N))
    return {
        "age": age,
        "income": income,
        "sex": np.array(["f", "m"], dtype=object)[sex],
        "pregnant": (sex == 0) & (generator.random(N) < 0.1),
        "town": np.array(["a", "b", "c"], dtype=object)[generator.integers(0, 3, N)],
    }


def broken(drawn: Any) -> int:
    first = (drawn["age"] < 16) & (drawn["income"] != 0)
    return int((first | ((drawn["sex"] == "m") & drawn["pregnant"])).sum())


@pytest.mark.parametrize("method", [synthesis.independent, synthesis.mst, synthesis.aim])
def test_every_drawn_row_keeps_the_rules(method: Any, tmp_path: Any) -> None:
    plain = method(people(), epsilon=1, delta=1e-6, bounds=BOUNDS, values=VALUES)
    assert broken(plain.sample(5000, seed=1)) > 0
    twin = method(people(), epsilon=1, delta=1e-6, bounds=BOUNDS, values=VALUES, constraints=RULES)
    assert broken(twin.sample(50_000, seed=1)) == 0
    twin.save(tmp_path / "twin.json")
    again = synthesis.load(tmp_path / "twin.json")
    assert broken(again.sample(20_000, seed=2)) == 0
    assert again.facts["constraints"] == RULES
    assert twin.receipt["event"] == plain.receipt["event"]  # free
    assert twin.ask("SELECT count(*) AS n FROM t WHERE age < 16 AND income > 0")["n"][0] == 0
    assert twin.ask("SELECT count(*) AS n FROM t WHERE sex = 'm' AND pregnant")["n"][0] == 0
    kids = np.mean(people()["age"] < 16)
    assert np.mean(twin.sample(50_000, seed=1)["age"] < 16) == pytest.approx(kids, abs=0.06)


def test_impossible_cells_are_exactly_those_of_the_rule() -> None:
    twin = synthesis.mst(people(), epsilon=5, delta=1e-6, bounds=BOUNDS, values=VALUES, constraints=RULES[1])
    assert (twin.probabilities("sex", "pregnant") == 0).tolist() == [[False, False], [False, True]]


def test_a_rule_about_rare_values_keeps_them_apart() -> None:
    data = {"a": np.repeat([0, 1], N // 2), "b": np.zeros(N, dtype=np.int64)}
    data["b"][:3] = [7, 8, 9]
    bounds = {"a": (0, 1), "b": (0, 9)}
    twin = synthesis.mst(data, epsilon=1, delta=1e-6, bounds=bounds, constraints=["b <> 8 OR a = 0", "b <> 5"])
    table = twin.probabilities("a", "b")
    assert table[1, 8] == 0
    assert table[:, 5].sum() == 0
    assert table[1, 7] > 0


def test_rules_are_part_of_what_is_asked_and_cost_nothing_more() -> None:
    frame = pd.DataFrame({"who": range(400), "a": np.arange(400) % 4, "b": np.arange(400) % 2})
    facts = {"a": tacit.between(0, 3), "b": tacit.between(0, 1)}
    clinic = tacit.protect(frame, unit="who", columns=facts, budget=tacit.Budget(epsilon=9, delta=1e-4))
    rows = clinic.rows("SELECT a, b FROM data")
    plain = synthesis.mst(rows, epsilon=1, delta=1e-6)
    ruled = synthesis.mst(rows, epsilon=1, delta=1e-6, constraints=["a < 2 OR b = 1"])
    assert not ruled.repeated  # another synthesis, charged by itself
    assert synthesis.mst(rows, epsilon=1, delta=1e-6, constraints=["a < 2 OR b = 1"]).repeated
    assert ruled.receipt["event"] == plain.receipt["event"]


@pytest.mark.parametrize(
    "constraints",
    [
        ["agee > 3"],
        ["income * 2 > age"],
        ["age > 200"],
        ["age > (SELECT 3)"],
        ["count(*) > 3"],
        ["age > 3) OR (1 = 1"],
        ["age > 3; DROP TABLE x"],
        ["1 = 1"],
        ["read_csv('/etc/passwd')"],
        [""],
        [3],
        7,
        {"age": 3},
    ],
)
def test_rules_that_cannot_be_kept_are_refused_before_anything_is_released(constraints: Any) -> None:
    with pytest.raises((ParameterError, QuestionError)):
        synthesis.mst(people(), epsilon=1, delta=1e-6, bounds=BOUNDS, values=VALUES, constraints=constraints)
