"""`federated.fit`: linear models from rows that stay with their clients.

    federated.fit(learning.LogisticRegression(bounds=..., classes=[0, 1]), clients, rounds=4, epsilon=1, delta=1e-6)

`clients` is a list of (X, y), one for each client. In each round every client takes some steps downhill on its own rows
from the common weights, and sends by how much they moved: a vector, shortened to `norm`, with its share of the noise,
under its masks (`PrivateSum`). The server opens the noisy mean, keeps some of its last motion (`momentum`), goes on.
With one local step this is FedSGD, with more FedAvg (McMahan et al. 2017).

Theorem. One round tells what its `PrivateSum` says; all rounds together meet (epsilon, delta) at the level of a client:
all its rows may be replaced by none. Everything else is made of opened means and public numbers. No sampling of
clients is claimed: who takes part is known to the server.

Assumptions. Bounds, listed values and classes are public, as `learning` needs them. All parties run in this process,
with the same code as apart: it shows what a federation would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import learning, parameters
from tacit.federated.distributed.private_sum import PrivateSum
from tacit.federated.distributed.studies import Comes, everybody, opened
from tacit.federated.distributed.tasks import VectorAverage
from tacit.learning.second_moments.discriminant import in_order
from tacit.learning.training import DECLARED_PUBLIC, Training, training
from tacit.parameters import Number

Reals = NDArray[np.float64]


def fit(
    model: Any,
    clients: Sequence[tuple[Any, Any]],
    *,
    rounds: int,
    epsilon: Number,
    delta: Number,
    vanish: int = 0,
    collude: int = 0,
    degree: int | None = None,
    norm: float = 2.0,
    rate: float = 1.0,
    momentum: float = 0.0,
    local_steps: int = 50,
    comes: Comes = everybody,
) -> Any:
    """The model, fitted to the rows of all clients, none of which leave their client; `comes` as in `histogram`."""
    if not isinstance(model, learning.LogisticRegression):
        allowed = "a LogisticRegression of tacit.learning, with bounds and classes"
        raise parameters.refuse("model", allowed, type(model).__name__)
    if model.classes is None or isinstance(model.classes, str):
        raise parameters.refuse("classes", "the list of classes: clients' rows are not looked at", DECLARED_PUBLIC)
    steps, downhill = parameters.whole("local_steps", local_steps, least=1), float(parameters.positive("rate", rate))
    kept = float(parameters.probability("momentum", momentum))
    times = parameters.whole("rounds", rounds, least=1)
    shown = next((each for each in clients if len(each[0])), None)
    if shown is None:
        raise parameters.refuse("clients", "a list of (X, y), at least one of them with rows", "none with rows")
    given = training(model, _first_row(shown[0]), _first_row(shown[1]), "class")  # for the names of the columns
    model._keep(None, given.features)
    rows = [_vectors(model, given, *each) for each in clients]
    shape = (rows[0][0].shape[1], len(given.classes))
    columns = 1 if shape[1] == 2 else shape[1]
    task = VectorAverage(shape[0] * columns, norm, len(clients))
    asked = PrivateSum(
        task,
        len(clients),
        epsilon=epsilon,
        delta=delta,
        vanish=vanish,
        collude=collude,
        rounds=times,
        degree=degree,
    )
    weights, motion = np.zeros((shape[0], columns)), np.zeros((shape[0], columns))
    for number in range(times):
        moves = [_moved(weights, *each, steps).reshape(-1) for each in rows]
        found = opened(asked, moves, f"round {number + 1}", comes)
        motion = kept * motion + found.value.reshape(shape[0], columns)
        weights = weights + downhill * motion
    _take(model, given, weights)
    model.n_iter_ = times
    model.receipt_ = {"epsilon": f"{epsilon}", "delta": f"{delta}", "rounds": f"{times}", "clients": f"{len(clients)}"}
    return model


def _first_row(rows: Any) -> Any:
    return rows.iloc[:1] if hasattr(rows, "iloc") else rows[:1]


def _vectors(model: Any, given: Training, features: Any, target: Any) -> tuple[Reals, Reals]:
    """A client's rows as vectors of length at most 1, with a constant; and a column of 0 and 1 for each class.

    Rows that cannot be read are none: whether a client can read its rows is nobody else's business.
    """
    try:
        found = model._vectors(features)
    except ValueError:
        found = np.zeros((0, sum(each.size for each in given.features)))
    vectors = np.hstack([np.ones((len(found), 1)), found]) / np.sqrt(1 + len(given.features))
    answers = list(np.asarray(target).tolist())[: len(found)]
    classes = np.array([[float(answer == each) for each in given.classes] for answer in answers])
    return vectors, classes.reshape(len(found), len(given.classes))


def _moved(weights: Reals, vectors: Reals, classes: Reals, steps: int) -> Reals:
    """By how much a client's own steps downhill move the weights; a client without rows moves nothing."""
    here = weights
    for _ in range(steps if len(vectors) else 0):
        scores = vectors @ here
        if here.shape[1] == 1:
            off = 1 / (1 + np.exp(-np.clip(scores, -50, 50))) - classes[:, 1:]
        else:
            likely = np.exp(scores - scores.max(axis=1, keepdims=True))
            off = likely / likely.sum(axis=1, keepdims=True) - classes
        here = here - vectors.T @ off / len(vectors)
    return np.asarray(here - weights)


def _take(model: Any, given: Training, weights: Reals) -> None:
    """The weights as the model's own."""
    scaled = weights / np.sqrt(1 + len(given.features))
    if scaled.shape[1] == 1:  # the second class's score, above a first one of 0
        scaled = np.hstack([np.zeros_like(scaled), scaled])
    model.classes_, order = in_order(given.classes)
    scaled = scaled[:, order]
    model._centre, model._radius = np.zeros(len(scaled) - 1), 2.0 * np.sqrt(len(given.features))  # no row is shrunk
    model._weights, model._levels = scaled[1:], scaled[0]
    slopes, levels = model._weights.T, model._levels
    two = len(given.classes) == 2
    model.coef_ = slopes[1:] - slopes[:1] if two else slopes
    model.intercept_ = levels[1:] - levels[:1] if two else levels
