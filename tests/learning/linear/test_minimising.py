"""Anyone's loss: it never sees a row, what one unit moves is bounded, and the least loss is come near."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit import learning
from tacit.errors import ParameterError, QuestionError
from tacit.learning.columns import Feature
from tacit.learning.linear.minimising import LENGTH, Cells, Problem, cells_of, descended
from tacit.loss import compose, events
from tests.learning.second_moments.test_gram import clinic, columns
from tests.statistics.test_source import looked_at


def absolute(weights: Any, rows: Any) -> Any:
    return np.abs(rows[:, 1] - weights[0] - weights[1] * rows[:, 0])


def slopes(weights: Any, rows: Any) -> Any:
    sign = np.sign(weights[0] + weights[1] * rows[:, 0] - rows[:, 1])
    return np.stack([sign, sign * rows[:, 0]], axis=1)


def wild(weights: Any, rows: Any) -> Any:
    """Gradients of every size, and none at all."""
    drawn = np.random.default_rng(abs(hash(weights.tobytes())) % 2**32)
    found = drawn.normal(0, 1, (len(rows), len(weights))) * 10.0 ** drawn.integers(-9, 300, (len(rows), 1))
    return np.where(drawn.random(found.shape) < 0.1, drawn.choice([np.nan, np.inf, -np.inf, 1.0], found.shape), found)


def gradient_pairs(cases: int, rng: np.random.Generator) -> float:
    """The largest share of the stated sensitivity that the gradients of a unit's cells were long."""
    used = 0.0
    for case in range(cases):
        size, r, taxicab = int(rng.integers(1, 6)), int(rng.integers(1, 4)), bool(case % 2)
        problem = Problem(absolute, wild, rng.normal(0, 1, size), 1.0, float(rng.choice([0.01, 1.0, 500.0])))
        found = problem.gradients(rng.normal(0, 3, size), np.zeros((40, 2)), taxicab)
        chosen = np.repeat(found[:1], r, axis=0) if rng.random() < 0.5 else found[:r]
        moved = [int(each) for each in chosen.sum(axis=0)]
        if taxicab:
            share = sum(map(abs, moved)) / (r * LENGTH)
        else:
            share = sum(each * each for each in moved) / (r * LENGTH) ** 2
        assert share <= 1
        used = max(used, share)
    return used


def test_a_units_cells_move_the_sum_by_at_most_its_sensitivity_whatever_the_function_says() -> None:
    assert gradient_pairs(600, np.random.default_rng()) > 0.99


def test_a_row_stands_in_one_cell_and_the_cell_is_that_of_its_values() -> None:
    rng = np.random.default_rng()
    frame = {"a": rng.integers(0, 7, 200), "b": rng.uniform(-1, 1, 200)}
    from tacit.learning.columns import features_of
    from tacit.statistics.arrays import array_source

    source = array_source(frame, None, {"a": (0, 6), "b": (-1, 1)}, None)
    cells = Cells(features_of(source.variables), (7, 10))
    counts, alone = looked_at(source, lambda opened: (cells.counts(opened), 0))
    assert alone == 0
    edges = [np.arange(8) - 0.5, np.linspace(-1, 1, 11)]
    plain, _ = np.histogramdd(np.stack(list(frame.values()), axis=1), edges)
    assert np.abs(counts.reshape(7, 10) - plain).sum() <= 2  # a number on an edge may be on either side of it
    assert counts.sum() == 200
    middles = cells.middles.reshape(7, 10, 2)
    assert middles[3, 4].tolist() == pytest.approx([3.0, -0.1], abs=1e-6)


def test_cells_are_as_many_as_there_is_room_for() -> None:
    rng = np.random.default_rng()
    for _ in range(200):
        features = columns(rng)
        cells = cells_of(features)
        assert 1 <= cells.many <= 20_000
        for each, steps in zip(features, cells.steps, strict=True):
            assert steps == each.size if each.options is not None else 2 <= steps <= each.width + 1
    assert cells_of([Feature("a", 0, 10**6, Fraction(1))]).steps == (20_000,)
    assert cells_of([Feature("a", 0, 1, Fraction(1)), Feature("b", 0, 10**6, Fraction(1))]).steps == (2, 10_000)
    with pytest.raises(ParameterError, match="columns"):
        cells_of([Feature(str(place), 0, 10**6, Fraction(1)) for place in range(15)])


def test_differences_of_the_loss_are_its_gradient() -> None:
    rows = np.random.default_rng().uniform(0, 10, (300, 2))
    given, found = (Problem(absolute, each, np.zeros(2), 5.0, 12.0) for each in (slopes, None))
    at = np.array([0.3, 0.7])
    apart = np.abs(given.gradients(at, rows, False) - found.gradients(at, rows, False)).max(axis=1)
    assert np.median(apart) <= 2
    assert (apart <= 2).mean() > 0.97  # but for cells at the kink


def test_the_loss_is_asked_the_same_whatever_the_rows_are() -> None:
    """With equal noise it is called with the same points; on two data sets only the released weights differ."""
    seen: list[Any] = []

    def watched(weights: Any, rows: Any) -> Any:
        seen.append(rows.copy())
        return absolute(weights, rows)

    asked: dict[str, Any] = {"start": (0, 0), "radius": 2, "lipschitz": 2, "epsilon": 1, "rounds": 3}
    for data in (np.zeros((5, 2)), np.random.default_rng().uniform(0, 1, (50, 2))):
        learning.minimise(watched, data, bounds=(0, 1), **asked)
    half = len(seen) // 2
    assert len(seen) == 2 * half
    assert all((first == second).all() for first, second in zip(seen[:half], seen[half:], strict=True))


@pytest.mark.statistical
@pytest.mark.parametrize(("delta", "most"), [(1e-6, 1.05), (0, 1.1)])
@pytest.mark.parametrize("gradient", [None, slopes])
def test_the_least_loss_is_come_near(delta: float, most: float, gradient: Any) -> None:
    """Least absolute deviations of 4,000 rows, against the truth they were made with."""
    rng = np.random.default_rng()
    x = rng.uniform(0, 1, 4_000)
    y = np.clip(0.2 + 0.6 * x + rng.laplace(0, 0.05, 4_000), 0, 1)
    rows = np.stack([x, y], axis=1)
    found = learning.minimise(
        absolute, rows, start=(0.5, 0), radius=1.5, lipschitz=1.5, gradient=gradient, epsilon=2, delta=delta,
        bounds=(0, 1),
    )  # fmt: skip
    weights = np.array(found["weight"])
    assert absolute(weights, rows).mean() < most * absolute(np.array([0.2, 0.6]), rows).mean() + 0.003
    charged = events.from_json(found.receipt["event"])
    assert compose([charged]).delta(2) <= delta


def test_without_noise_steps_come_to_the_least_loss() -> None:
    problem = Problem(absolute, None, np.zeros(2), 3.0, 1.0)
    found = descended(problem, lambda weights: 2 * (weights - np.array([1.0, -1.0])), 400)
    assert found == pytest.approx([1.0, -1.0], abs=0.05)
    far = descended(problem, lambda weights: weights - 100.0, 50)
    assert np.linalg.norm(far) <= 3 + 1e-9


def test_a_curator_stores_it_and_counts_rows_of_a_unit() -> None:
    curator, _ = clinic()
    rows = curator.rows("SELECT age, charge FROM data")
    before = len(curator.ledger())
    asked: dict[str, Any] = {"start": (50, 0), "radius": 60, "lipschitz": 110, "epsilon": 1, "delta": 1e-6}
    first = learning.minimise(absolute, rows, **asked)
    entries = len(curator.ledger())
    assert entries > before
    assert learning.minimise(absolute, rows, **asked)["weight"] == first["weight"]
    assert len(curator.ledger()) == entries
    doubled = learning.minimise(lambda weights, rows: 2 * absolute(weights, rows), rows, **asked)
    assert not doubled.repeated  # another loss is another study, also one without a name
    assert first.receipt["rows_per_unit"] == "3"
    event = events.from_json(first.receipt["event"])
    assert isinstance(event, events.Composed)
    assert event.events[1].event.sensitivity == 3 * LENGTH  # type: ignore[attr-defined]


def broken(weights: Any, rows: Any) -> Any:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("loss", "facts", "words"),
    [
        (broken, {}, "loss"),
        (lambda weights, rows: 1.0, {}, "loss"),
        ("loss", {}, "loss"),
        (absolute, {"gradient": absolute}, "gradient"),
        (absolute, {"start": ()}, "start"),
        (absolute, {"start": 3}, "start"),
        (absolute, {"radius": 0}, "radius"),
        (absolute, {"lipschitz": -1}, "lipschitz"),
        (absolute, {"rounds": 0}, "rounds"),
        (absolute, {"bounds": None}, "bounds"),
        (absolute, {"epsilon": 0}, "epsilon"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_paid(loss: Any, facts: dict[str, Any], words: str) -> None:
    whole: dict[str, Any] = {"start": (0, 0), "radius": 1, "lipschitz": 1, "epsilon": 1, "bounds": (0, 1), **facts}
    with pytest.raises((ParameterError, QuestionError), match=words):
        learning.minimise(loss, np.ones((4, 2)), **whole)
