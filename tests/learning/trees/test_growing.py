"""Trees: splits and leaves by permute and flip, enumerated on small tables; the price is never passed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit import learning
from tacit.errors import ParameterError
from tacit.learning.bins.bins import Bins, uniform
from tacit.learning.columns import Feature
from tacit.learning.trees.growing import Growing, candidates, depth_for, leaf_of, split_scores, trees_for
from tacit.loss import events
from tacit.mechanisms import PermuteAndFlip
from tacit.noise import SeededBitsForTestsOnly, secure
from tests.learning.second_moments.test_gram import clinic

NUMBER = Bins(Feature("n", 0, 2, Fraction(1)), (1, 2))
LISTED = Bins(Feature("l", 0, 1, Fraction(1), (0, 1, 2)))
FIELD = (NUMBER, LISTED)


def law(scores: list[int], factor: float) -> list[float]:
    """Permute and flip by its own words: all orders, and a coin for each candidate until one says yes."""
    best = max(scores)
    chance = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for each in order:
            yes = math.exp(factor * (scores[each] - best))
            chance[each] += left * yes / len(orders)
            left *= 1 - yes
    return chance


def right_if_split(rows: list[tuple[int, int, int]], place: int, at: int) -> int:
    """Rows that are right if each side takes its most frequent class: counted one by one."""
    sides: dict[bool, list[int]] = {True: [0, 0], False: [0, 0]}
    for row in rows:
        left = row[place] <= at if FIELD[place].is_ordered else row[place] == at
        sides[left][row[2]] += 1
    return max(sides[True]) + max(sides[False])


def whole_law(rows: list[tuple[int, int, int]], split: float, leaf: float) -> dict[tuple[Any, ...], float]:
    """The law of a tree of depth 1: which split, and the classes of its two leaves."""
    options = [(int(place), int(at)) for place, at in candidates(FIELD)]
    found = {}
    for (place, at), chance in zip(options, law([right_if_split(rows, *each) for each in options], split), strict=True):
        sides = [[0, 0], [0, 0]]
        for row in rows:
            left = row[place] <= at if FIELD[place].is_ordered else row[place] == at
            sides[0 if left else 1][row[2]] += 1
        for a, b in itertools.product(range(2), repeat=2):
            found[place, at, a, b] = chance * law(sides[0], leaf)[a] * law(sides[1], leaf)[b]
    return found


def test_no_tree_is_likelier_by_more_than_the_price_beside_any_neighbour() -> None:
    """Every table of up to three rows of a class each, some with one row more: 200 pairs, all outcomes enumerated."""
    rng = np.random.default_rng()
    split, leaf = 0.7, 0.4
    cells = list(itertools.product(range(3), range(3), range(2)))
    closest = 0.0
    for _ in range(200):
        rows = [cells[each] for each in rng.integers(0, len(cells), int(rng.integers(0, 4)))]
        more = [*rows, cells[int(rng.integers(len(cells)))]]
        first, second = whole_law(rows, split, leaf), whole_law(more, split, leaf)
        for outcome, chance in first.items():
            lost = abs(math.log(chance / second[outcome]))
            assert lost <= split + leaf + 1e-12
            closest = max(closest, lost)
    assert closest > 0.85 * (split + leaf)


@pytest.mark.statistical
def test_grown_trees_have_the_enumerated_law() -> None:
    """1,500 trees of depth 1: chi-squared beyond 100 for at most 20 classes of outcomes is below 1e-11."""
    rows = [(0, 1, 0), (0, 2, 0), (1, 1, 1), (2, 0, 1), (2, 0, 1), (1, 2, 0)]
    plan = Growing(FIELD, 2, 1, Fraction(8), 1, 1)
    columns = [np.array([row[place] for row in rows], dtype=np.uint8) for place in range(2)]
    target, counts = np.array([row[2] for row in rows]), np.ones(len(rows), dtype=np.int64)
    own = float(plan.epsilon) * 0.95
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.learning.trees.growing._FEW", 0.0)
        seen: dict[tuple[Any, ...], int] = {}
        for _ in range(1_500):
            grown = plan.grow(columns, target, counts, secure())
            key = (*grown.splits[0, 0].tolist(), *grown.leaves[0].tolist())
            seen[key] = seen.get(key, 0) + 1
    expected = whole_law(rows, own * 0.7, own * 0.3)
    assert sum(expected.values()) == pytest.approx(1)
    large = [key for key, chance in expected.items() if 1_500 * chance > 5]
    squares = sum((seen.get(key, 0) - 1_500 * expected[key]) ** 2 / (1_500 * expected[key]) for key in large)
    assert squares < 100


@pytest.mark.parametrize(
    ("trees", "depth", "rows"), [(1, 1, 400), (3, 2, 300), (1, 3, 5), (2, None, 50), (None, None, 2_000)]
)
@pytest.mark.parametrize("per_unit", [1, 3])
def test_all_choices_together_cost_the_price(
    trees: int | None, depth: int | None, rows: int, per_unit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[PermuteAndFlip] = []
    original = PermuteAndFlip.__init__

    def watched(self: PermuteAndFlip, sensitivity: Any, epsilon: Any, *, monotone: bool = False) -> None:
        assert sensitivity == per_unit
        assert monotone
        original(self, sensitivity, epsilon, monotone=monotone)
        made.append(self)

    monkeypatch.setattr(PermuteAndFlip, "__init__", watched)
    rng = np.random.default_rng()
    plan = Growing(FIELD, 2, per_unit, Fraction(1), trees, depth)
    columns = [rng.integers(0, 3, rows).astype(np.uint8) for _ in FIELD]
    grown = plan.grow(columns, rng.integers(0, 2, rows), np.ones(rows, dtype=np.int64), SeededBitsForTestsOnly(3))
    many, nodes, _ = grown.splits.shape
    levels = (nodes + 1).bit_length() - 1
    assert grown.leaves.shape == (many, nodes + 1)
    # a tree has one mechanism for all its leaves and, where splits are chosen, one for the splits of every level
    spent = Fraction(5, 100)
    for each in range(many):
        own = made[each * len(made) // many : (each + 1) * len(made) // many]
        spent += Fraction(own[-1].event.sensitivity) + (
            levels * Fraction(own[0].event.sensitivity) if len(own) == 2 else 0
        )
    assert spent == 1
    assert plan.price.event == events.Pure(Fraction(1))


def test_scores_of_splits_are_those_counted_one_by_one_and_a_row_raises_them_by_at_most_one() -> None:
    rng = np.random.default_rng()
    for _ in range(200):
        rows = [tuple(int(each) for each in row) for row in rng.integers(0, [3, 3, 2], (int(rng.integers(0, 9)), 3))]
        tables = []
        for given in (rows, [*rows, tuple(int(each) for each in rng.integers(0, [3, 3, 2]))]):
            scores = []
            for place in range(2):
                table = np.zeros((3, 2), dtype=np.int64)
                for row in given:
                    table[row[place], row[2]] += 1
                scores.append(split_scores(table, FIELD[place].is_ordered))
            found = [int(scores[place][at]) for place, at in candidates(FIELD)]
            assert found == [right_if_split(given, int(place), int(at)) for place, at in candidates(FIELD)]
            tables.append(found)
        assert all(0 <= more - less <= 1 for less, more in zip(*tables, strict=True))


def test_rows_go_where_the_splits_send_them() -> None:
    splits = np.array([[0, 0], [1, 2], [1, 0]])
    rows = [np.array([0, 0, 2, 2, -1]), np.array([2, 1, 0, 1, -1])]
    assert leaf_of(splits, FIELD, rows).tolist() == [0, 1, 2, 3, 3]


def test_few_rows_get_random_splits_and_more_of_them_deeper_trees() -> None:
    assert [depth_for(10, classes) for classes in (2, 3, 4, 10)] == [3, 4, 4, 7]
    assert [depth_for(clear, 2) for clear in (45, 130, 430, 1_300, 4_300)] == [1, 2, 2, 3, 4]
    assert depth_for(140, 10) > depth_for(140, 2)
    assert trees_for(100) == 1 < trees_for(3_000) < trees_for(1e9) == 20
    bins = tuple(uniform(Feature(f"c{place}", 0, 99, Fraction(1)), 8) for place in range(3))
    plan = Growing(bins, 2, 1, Fraction(1, 10), 1, None)
    grown = plan.grow([np.zeros(4, dtype=np.uint8)] * 3, np.array([0, 1, 0, 1]), np.ones(4, dtype=np.int64), secure())
    assert grown.splits.shape == (1, 7, 2)


def test_trees_learn_and_are_charged_once() -> None:
    rng = np.random.default_rng()
    frame = pd.DataFrame({"age": rng.integers(0, 100, 3_000), "sex": rng.choice(["F", "M"], 3_000)})
    y = np.where((frame["age"] > 50) ^ (frame["sex"] == "F"), "yes", "no")
    facts: dict[str, Any] = {"bounds": {"age": (0, 100)}, "values": {"sex": ["F", "M"]}, "classes": ["yes", "no"]}
    for model in (
        learning.DecisionTreeClassifier(epsilon=3, max_depth=4, **facts),
        learning.RandomForestClassifier(5, epsilon=5, max_depth=4, **facts),
    ):
        assert model.fit(frame, y).score(frame, y) > 0.7
        assert list(model.classes_) == ["no", "yes"]
        assert model.predict_proba(frame).sum(axis=1) == pytest.approx(1)
        assert np.isin(model.predict(pd.DataFrame({"age": [np.nan], "sex": ["X"]})), ["no", "yes"]).all()
    curator, own = clinic()
    rows = curator.rows("SELECT age, sex, smoker FROM data")
    entries = len(curator.ledger())
    first = learning.DecisionTreeClassifier(epsilon=1).fit(rows, "smoker")
    paid = len(curator.ledger())
    assert paid > entries
    assert learning.DecisionTreeClassifier(epsilon=1).fit(rows, "smoker").finding_.repeated
    assert len(curator.ledger()) == paid
    assert first.receipt_["delta"] == "0"
    assert set(first.predict(own[["age", "sex"]])) <= {False, True}


@pytest.mark.parametrize(
    ("options", "words"),
    [({"max_depth": 0}, "max_depth"), ({"max_depth": 99}, "max_depth"), ({"n_estimators": 0}, "n_est")],
)
def test_what_cannot_be_grown_is_refused(options: dict[str, Any], words: str) -> None:
    model = learning.RandomForestClassifier(**{"epsilon": 1, "bounds": (0, 1), "classes": [0, 1], **options})
    with pytest.raises(ParameterError, match=words):
        model.fit(np.ones((4, 2)), np.array([0, 1, 0, 1]))
