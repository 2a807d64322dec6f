"""`federated.fit` of networks: rows stay with their clients, and nothing but a client's own motion depends on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tacit import federated
from tacit.errors import ParameterError, TacitError
from tacit.federated import fitting
from tacit.federated.distributed.private_sum import PrivateSum
from tacit.federated.jobs.models import Descent
from tacit.federated.jobs.networks import Network
from tacit.learning import neural

PRICE: dict[str, Any] = {"epsilon": 200, "delta": 1e-5}


def module(outputs: int = 2) -> Any:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, outputs))


def classifier() -> Any:
    return neural.NeuralClassifier(module(), classes=[0, 1], learning_rate=0.5)


def people(clients: int) -> list[tuple[Any, Any]]:
    """The class is whether both numbers have one sign, which no line can tell."""
    drawn = np.random.default_rng(1)
    rows = [drawn.uniform(-1, 1, (40, 2)) for _ in range(clients)]
    return [(each, (each[:, 0] * each[:, 1] > 0).astype(int)) for each in rows]


def test_a_network_learns_what_no_line_can_from_rows_that_stay() -> None:
    clients = people(12)
    found = federated.fit(classifier(), clients, rounds=12, vanish=1, local_steps=40, norm=4, **PRICE)
    rows, truth = (np.concatenate([each[part] for each in clients]) for part in (0, 1))
    assert (found.predict(rows) == truth).mean() > 0.85
    assert found.receipt_["clients"] == "12"


def test_a_number_is_learned_within_its_bounds() -> None:
    drawn = np.random.default_rng(2)
    clients = []
    for _ in range(10):
        rows = drawn.uniform(-1, 1, (40, 2))
        clients.append((rows, 50 + 40 * rows[:, 0]))
    model = neural.NeuralRegressor(module(1), target_bounds=(0, 100), learning_rate=0.3)
    found = federated.fit(model, clients, rounds=6, local_steps=40, norm=4, **PRICE)
    told = found.predict(np.array([[-0.8, 0.0], [0.8, 0.0]]))
    assert told[0] < 40 < 60 < told[1]


def test_the_motion_is_that_of_plain_torch() -> None:
    (rows, truth), *_ = people(1)
    network = Network(classifier(), (rows[:1], truth[:1]), Descent(1, local_steps=7), 1)
    plain = module()
    before = torch.cat([each.detach().reshape(-1) for each in plain.parameters()]).numpy()
    downhill = torch.optim.SGD(plain.parameters(), lr=0.5)
    for _ in range(7):
        downhill.zero_grad()
        nn.functional.cross_entropy(plain(torch.from_numpy(rows).float()), torch.from_numpy(truth)).backward()
        downhill.step()
    after = torch.cat([each.detach().reshape(-1) for each in plain.parameters()]).numpy()
    assert np.allclose(network.moved(network.start(), network.own(rows, truth)), after - before, atol=1e-6)


def test_nothing_but_the_clients_own_motion_depends_on_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours: the first client, the one that is shown, has other rows, wild ones, or labels of no class."""
    sent: list[list[Any]] = []

    def remembered(one: PrivateSum, values: Any, name: str, comes: Any) -> Any:
        sent.append([np.array(each) for each in values])
        return one.finding((np.arange(one.task.size) % 7).tolist(), one.clients)

    monkeypatch.setattr(fitting, "opened", remembered)
    (rows, truth), *others = people(5)
    wild = [
        (rows, truth),
        (np.zeros((0, 2)), np.zeros(0, dtype=int)),
        (np.full((3, 2), np.nan), np.zeros(3, dtype=int)),
        (np.full((3, 2), 1e38), np.zeros(3, dtype=int)),
        (rows, truth + 5),
        (rows, truth[:3]),
    ]
    for each in wild:
        federated.fit(classifier(), [each, *others], rounds=2, epsilon=1, delta=1e-6)
    for start in range(2, len(sent), 2):
        for one, other in zip(sent[:2], sent[start : start + 2], strict=True):
            assert all((a == b).all() for a, b in zip(one[1:], other[1:], strict=True))
            assert np.isfinite(other[0]).all()
    assert not any(each[0].any() for each in sent[2:6])
    assert not any(each[0].any() for each in sent[8:10])


def test_what_is_not_sent_is_refused() -> None:
    mixing = neural.NeuralClassifier(nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), classes=[0, 1])
    with pytest.raises(TacitError, match="BatchNorm"):
        federated.fit(mixing, people(4), rounds=1, **PRICE)
    with pytest.raises(ParameterError, match="classes"):
        federated.fit(neural.NeuralClassifier(module()), people(4), rounds=1, **PRICE)
