"""`federated.fit`: linear models and neural networks from rows that stay with their clients.

    federated.fit(learning.LogisticRegression(bounds=..., classes=[0, 1]), clients, rounds=4, epsilon=1, delta=1e-6)

`clients` is a list of (X, y), one for each client. What a round does is in `jobs.models` (logistic regression),
`jobs.lines` (linear regression) and `jobs.networks` (neural networks); each is a `PrivateSum`.

Theorem. One round tells what its `PrivateSum` says; all rounds together meet (epsilon, delta) at the level of a client:
all its rows may be replaced by none. Everything else is made of opened means and public numbers. No amplification by
sampling clients is claimed: the server knows who takes part.

Assumptions. Bounds, listed values and classes are public, as `learning` needs them. All parties run in this process,
with the code that also runs on several machines (`running`): it shows what a federation would give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit import learning, parameters
from tacit.federated.distributed.private_sum import PrivateSum
from tacit.federated.distributed.studies import Comes, everybody, opened
from tacit.federated.jobs.lines import Line
from tacit.federated.jobs.models import Descent, Fitting
from tacit.federated.jobs.weighted import Weighted
from tacit.learning.model import NETWORKS
from tacit.learning.training import DECLARED_PUBLIC, training
from tacit.parameters import Number


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
    full_weight: int | None = None,
    comes: Comes = everybody,
) -> Any:
    """The model, fitted to the rows of all clients, which never leave their client; `comes` as in `histogram`.

    With `local_steps=1` a round is one step of all clients together. Clients count alike; with `full_weight` they count
    by how many rows they have, up to that many.

    >>> from tacit import learning
    >>> fit(learning.KMeans(2), [([[1.0]], None)] * 5, rounds=2, epsilon=1, delta="1e-3")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tacit.errors.ParameterError: The 'model' parameter must be a LogisticRegression, a LinearRegression, ...
    """
    descent = Descent(rounds, norm, rate, momentum, local_steps)
    shown = next((each for each in clients if len(each[0])), None)
    if shown is None:
        raise parameters.refuse("clients", "a list of (X, y), at least one of them with rows", "none with rows")
    fitting = _fitting(model, _made_up(model, shown[0]), descent, len(clients))
    rows = [fitting.own(*each) for each in clients]
    terms = {"vanish": vanish, "collude": collude, "rounds": rounds}
    weighted = None
    if full_weight is not None:
        weighted = Weighted(int(np.prod(fitting.shape)), descent.norm, len(clients), full_weight)
    task = fitting.task if weighted is None else weighted.task
    asked = PrivateSum(task, len(clients), epsilon=epsilon, delta=delta, degree=degree, **terms)
    weights = fitting.start()
    motion = np.zeros_like(weights)
    for number in range(rounds):
        moves = [fitting.moved(weights, each).reshape(-1) for each in rows]
        if weighted is not None:
            moves = [weighted.vector(move, _rows(own)) for move, own in zip(moves, rows, strict=True)]
        found = np.asarray(opened(asked, moves, f"round {number + 1}", comes).value)
        mean = found if weighted is None else weighted.mean(found)
        weights, motion = descent.after(weights, motion, mean)
    price = {"epsilon": f"{epsilon}", "delta": f"{delta}", "rounds": f"{rounds}", "clients": f"{len(clients)}"}
    return fitting.fitted(weights, price)


def _rows(own: tuple[Any, Any]) -> int:
    return 0 if own[0] is None else len(own[0])


def _fitting(model: Any, shown: tuple[Any, Any], descent: Descent, among: int) -> Any:
    """What a round does to this kind of model. One row is shown for the names and the number of its columns."""
    if isinstance(model, learning.LinearRegression):
        return Line(model, training(model, *shown, "number"), descent, among)
    is_network = type(model).__name__ in NETWORKS and type(model).__module__.startswith("tacit.learning.neural")
    if not is_network and not isinstance(model, learning.LogisticRegression):
        allowed = "a LogisticRegression, a LinearRegression, a NeuralClassifier or a NeuralRegressor of tacit.learning"
        raise parameters.refuse("model", allowed, type(model).__name__)
    classes = getattr(model, "classes", ())
    if classes is None or isinstance(classes, str):
        raise parameters.refuse("classes", "the list of classes: clients' rows are not looked at", DECLARED_PUBLIC)
    if is_network:
        from tacit.federated.jobs.networks import Network  # torch is an extra: a caller with such a model has it

        return Network(model, shown, descent, among)
    return Fitting(model, training(model, *shown, "class"), descent, among)


def _made_up(model: Any, rows: Any) -> tuple[Any, Any]:
    """A row of public values with the columns that clients have: a client's own rows must decide nothing."""
    listed, classes = getattr(model, "values", None), getattr(model, "classes", None)
    target = np.array([classes[0] if classes is not None and not isinstance(classes, str) else 0.0])

    def known(name: Any) -> Any:
        values = listed.get(name) if isinstance(listed, Mapping) else listed
        return 0.0 if values is None else next(iter(values))

    if hasattr(rows, "columns"):
        return type(rows)({name: [known(name)] for name in rows.columns}), target
    if hasattr(rows, "new_zeros"):  # a tensor
        return rows[:1].new_zeros(rows[:1].shape), target
    shape = np.shape(rows[:1])
    if listed is None:
        kind = np.asarray(rows[:1]).dtype.kind
        return np.zeros(shape, dtype=np.int64 if kind in "iu" else np.float64), target
    return np.array([[known(place) for place in range(shape[1])]], dtype=object), target
