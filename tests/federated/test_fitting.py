"""`federated.fit`: a model from rows that stay where they are, at the price of all rounds together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import federated, noise
from tacit.errors import ParameterError
from tacit.federated import fitting
from tacit.federated.distributed.private_sum import PrivateSum
from tacit.federated.jobs.weighted import Weighted
from tacit.federated.refusals import Ended

pytest.importorskip("sklearn", reason="an extra, which the tests' lock file holds")

from tacit import learning

PRICE: dict[str, Any] = {"epsilon": 50, "delta": 1e-5}


def people(clients: int, classes: int = 2) -> list[tuple[Any, Any]]:
    """Made-up clients with 30 rows each: the class is told by the first number."""
    drawn = np.random.default_rng(1)
    out = []
    for _ in range(clients):
        rows = drawn.uniform(-1, 1, (30, 2))
        out.append((rows, np.clip(np.floor((rows[:, 0] + 1) / 2 * classes), 0, classes - 1).astype(int)))
    return out


def model(classes: int = 2) -> Any:
    return learning.LogisticRegression(bounds={0: (-1, 1), 1: (-1, 1)}, classes=list(range(classes)))


@pytest.mark.parametrize(("classes", "least"), [(2, 0.9), (3, 0.75)])
def test_a_model_learns_from_rows_that_stay_with_their_clients(classes: int, least: float, tmp_path: Path) -> None:
    clients = people(10, classes)
    found = federated.fit(model(classes), clients, rounds=3, vanish=1, rate=3, **PRICE)
    rows, truth = (np.concatenate([each[part] for each in clients]) for part in (0, 1))
    assert (found.predict(rows) == truth).mean() > least
    assert found.n_iter_ == 3
    assert found.receipt_["rounds"] == "3"
    again = learning.load(found.save(tmp_path / "m.json"))
    assert (again.predict(rows) == found.predict(rows)).all()


def test_a_line_is_learned_from_rows_that_stay_with_their_clients(tmp_path: Path) -> None:
    drawn = np.random.default_rng(3)
    rows = [drawn.uniform(0, 10, (40, 2)) for _ in range(10)]
    clients = [(each, 20 + 3 * each[:, 0] - each[:, 1]) for each in rows]
    line = learning.LinearRegression(bounds={0: (0, 10), 1: (0, 10)}, target_bounds=(0, 60))
    found = federated.fit(line, clients, rounds=3, local_steps=200, **PRICE)
    assert np.abs(found.coef_ - [3, -1]).max() < 0.6
    told = found.predict(np.array([[5.0, 5.0]]))
    assert abs(told[0] - 30) < 3
    assert told[0] == pytest.approx(found.intercept_ + found.coef_ @ [5.0, 5.0])
    assert found.coef_interval_ is None
    again = learning.load(found.save(tmp_path / "line.json"))
    assert again.predict(np.array([[5.0, 5.0]])) == pytest.approx(told)


def test_of_a_line_too_only_the_clients_own_motion_depends_on_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[list[Any]] = []

    def remembered(one: PrivateSum, values: Any, name: str, comes: Any) -> Any:
        sent.append([np.array(each) for each in values])
        return one.finding(np.arange(one.task.size).tolist(), one.clients)

    monkeypatch.setattr(fitting, "opened", remembered)
    clients = people(6)
    rows, truth = clients[-1]
    for last in [(rows, truth), (rows[:0], truth[:0]), (rows, truth * np.nan), (rows * np.nan, truth), (rows, "text")]:
        line = learning.LinearRegression(bounds={0: (-1, 1), 1: (-1, 1)}, target_bounds=(0, 1))
        federated.fit(line, [*clients[:-1], last], rounds=2, epsilon=1, delta=1e-6)
    for start in range(2, len(sent), 2):
        for one, other in zip(sent[:2], sent[start : start + 2], strict=True):
            assert all((a == b).all() for a, b in zip(one[:-1], other[:-1], strict=True))
            assert (other[-1] == 0).all()


@pytest.mark.parametrize("wild", [np.nan, np.inf, 7.0])
@pytest.mark.parametrize("part", [0, 1])
def test_no_value_of_the_first_client_makes_a_fit_fail(part: int, wild: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows tell how many columns there are, and nothing else."""
    monkeypatch.setattr(fitting, "opened", lambda one, *_: one.finding([0] * one.task.size, one.clients))
    clients = [(rows, truth.astype(float)) for rows, truth in people(3)]
    clients[0][part][0] = wild
    bounds = {0: (-1, 1), 1: (-1, 1)}
    for each in (model(), learning.LinearRegression(bounds=bounds, target_bounds=(0, 1))):
        federated.fit(each, clients, rounds=1, epsilon=1, delta=1e-6)


def test_every_round_is_a_private_sum_at_the_price_of_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.loss import compose

    asked: list[PrivateSum] = []

    def remembered(one: PrivateSum, values: Any, name: str, comes: Any) -> Any:
        asked.append(one)
        assert all(np.isfinite(each).all() for each in values)
        return one.finding([0] * one.task.size, one.clients)

    monkeypatch.setattr(fitting, "opened", remembered)
    federated.fit(model(), people(8), rounds=5, vanish=1, epsilon=1, delta=1e-6)
    assert len(asked) == 5
    assert compose([each.event for each in asked]).epsilon(1e-6) <= 1


def test_nothing_but_the_clients_own_motion_depends_on_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours: the last client's rows are replaced by none, or by some that cannot be read.

    All other clients send the same, in later rounds too for the same opened means.
    """
    sent: list[list[Any]] = []

    def remembered(one: PrivateSum, values: Any, name: str, comes: Any) -> Any:
        sent.append([np.array(each) for each in values])
        return one.finding(np.arange(one.task.size).tolist(), one.clients)

    monkeypatch.setattr(fitting, "opened", remembered)
    clients = people(6)
    without = [*clients[:-1], (np.zeros((0, 2)), np.zeros(0, dtype=int))]
    unreadable = [*clients[:-1], (np.full((3, 2), np.nan), np.zeros(3, dtype=int))]
    for each in (clients, without, unreadable):
        federated.fit(model(), each, rounds=2, epsilon=1, delta=1e-6)
    for others in (sent[2:4], sent[4:]):
        for one, other in zip(sent[:2], others, strict=True):
            assert all((a == b).all() for a, b in zip(one[:-1], other[:-1], strict=True))
            assert (other[-1] == 0).all()


def test_too_many_who_vanish_end_the_fit() -> None:
    with pytest.raises(Ended):
        federated.fit(model(), people(6), rounds=1, **PRICE, comes=lambda client, step: client > 0 or step < 2)


@pytest.mark.parametrize(
    "change", [{"model": "x"}, {"rounds": 0}, {"local_steps": 0}, {"rate": 0}, {"momentum": 2}, {"norm": 0}]
)
def test_what_cannot_be_fitted_is_refused(change: dict[str, Any]) -> None:
    settings = {"model": model(), "clients": people(4), "rounds": 1, **PRICE, **change}
    with pytest.raises(ParameterError):
        federated.fit(**settings)


def test_classes_must_be_told_and_are_not_looked_for() -> None:
    with pytest.raises(ParameterError, match="classes"):
        federated.fit(learning.LogisticRegression(bounds={0: (-1, 1), 1: (-1, 1)}), people(4), rounds=1, **PRICE)


def test_clients_count_by_their_rows_up_to_a_full_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise the mean is the weighted one of motions; a client without rows adds nothing."""
    summed = Weighted(3, 2.0, 4, full=10)
    motions = [np.array([1.0, 0, 0]), np.array([0, 1.5, 0]), np.array([0, 0, 8.0]), np.array([1.0, 1, 1])]
    rows = [5, 10, 40, 0]
    vectors = [summed.vector(motion, many) for motion, many in zip(motions, rows, strict=True)]
    assert not vectors[3].any()
    found = summed.mean(np.mean(vectors, axis=0))
    assert found == pytest.approx(np.array([0.5 * 1, 1.5, 2.0]) / 2.5)  # weights .5, 1, 1; the third is shortened to 2
    asked = PrivateSum(summed.task, 4, epsilon=1, delta=1e-5)
    bits = noise.secure()
    for vector in [*vectors, 1e9 * vectors[1], np.full(4, np.nan)]:  # whatever a client adds, its length is priced
        encoded = summed.task.encoded(vector, bits)
        assert int(np.dot(encoded, encoded)) <= asked.task.norm_squared
    longest = max(float(np.linalg.norm(summed.vector(1e6 * motion, 40))) for motion in motions)
    assert longest == pytest.approx(summed.task.norm)
    assert np.linalg.norm(summed.mean(np.array([5.0, 0, 0, -1.0]))) <= 2.0  # a weight that noise made negative


def test_a_model_is_learned_with_weights() -> None:
    clients = [(rows[: 2 + 3 * place], target[: 2 + 3 * place]) for place, (rows, target) in enumerate(people(10))]
    found = federated.fit(model(), clients, rounds=3, rate=3, full_weight=20, **PRICE)
    rows, truth = (np.concatenate([each[part] for each in people(10)]) for part in (0, 1))
    assert (found.predict(rows) == truth).mean() > 0.85
    with pytest.raises(ParameterError):
        federated.fit(model(), clients, rounds=1, full_weight=0, **PRICE)
