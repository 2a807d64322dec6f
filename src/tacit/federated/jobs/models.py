"""A job that fits a logistic regression: each round opens the mean motion of the clients' weights.

Every client takes some steps downhill on its own rows from the common weights, and adds by how much they moved,
shortened to `norm`. The coordinator keeps some of the last motion (`momentum`) and goes on from there. With one local
step this is FedSGD, with more FedAvg (McMahan et al. 2017). A client is one unit, with all its rows.

Features and classes are public: numbers between bounds, or listed texts. Of a client's rows, those with a value that is
missing, is no number or is not listed are left out, one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit import learning, parameters
from tacit.federated.distributed.private_sum import Finding
from tacit.federated.distributed.tasks import Task, VectorAverage
from tacit.federated.jobs.job import Columns, Job, State, number
from tacit.learning.second_moments.discriminant import in_order
from tacit.learning.training import Training, training

Reals = NDArray[np.float64]
Own = tuple[Reals, Reals]


@dataclass(frozen=True)
class Descent:
    """How clients move and how their mean motion is used."""

    rounds: int
    norm: float = 2.0
    rate: float = 1.0
    momentum: float = 0.0
    local_steps: int = 50

    def __post_init__(self) -> None:
        parameters.whole("rounds", self.rounds, least=1)
        parameters.positive("norm", self.norm)
        parameters.positive("rate", self.rate)
        parameters.probability("momentum", self.momentum)
        parameters.whole("local_steps", self.local_steps, least=1)

    def after(self, weights: Reals, motion: Reals, mean: Reals) -> tuple[Reals, Reals]:
        """The weights and their motion after a round."""
        kept = float(self.momentum) * motion + mean.reshape(weights.shape)
        return weights + float(self.rate) * kept, kept


class Fitting:
    """A logistic regression whose columns and classes are known, and what a round does to its weights."""

    def __init__(self, model: Any, given: Training, descent: Descent, among: int) -> None:
        self.model, self.given, self.descent = model, given, descent
        model._keep(None, given.features)
        many = 1 + sum(each.size for each in given.features)
        self.shape = (many, 1 if len(given.classes) == 2 else len(given.classes))
        self.task = VectorAverage(many * self.shape[1], float(descent.norm), among)

    def own(self, features: Any, target: Any) -> Own:
        """A client's rows as vectors of length at most 1, with a constant; and a column of 0 and 1 for each class.

        Rows that cannot be read are left out: whether a client can read its rows stays with the client.
        """
        try:
            found = self.model._vectors(features)
        except ValueError:
            found = np.zeros((0, self.shape[0] - 1))
        vectors = with_constant(found, len(self.given.features))
        answers = list(np.asarray(target).tolist())[: len(found)]
        classes = np.array([[float(answer == each) for each in self.given.classes] for answer in answers])
        return vectors, classes.reshape(len(found), len(self.given.classes))

    def moved(self, weights: Reals, own: Own) -> Reals:
        """By how much a client's own steps downhill move the weights; a client without rows moves nothing."""
        (vectors, classes), here = own, weights
        for _ in range(self.descent.local_steps if len(vectors) else 0):
            scores = vectors @ here
            if here.shape[1] == 1:
                off = 1 / (1 + np.exp(-np.clip(scores, -50, 50))) - classes[:, 1:]
            else:
                likely = np.exp(scores - scores.max(axis=1, keepdims=True))
                off = likely / likely.sum(axis=1, keepdims=True) - classes
            here = here - vectors.T @ off / len(vectors)
        return np.asarray(here - weights)

    def start(self) -> Reals:
        """All weights are 0."""
        return np.zeros(self.shape)

    def fitted(self, weights: Reals, receipt: Mapping[str, str]) -> Any:
        """The model with these weights as its own."""
        model, given = self.model, self.given
        scaled = weights / np.sqrt(1 + len(given.features))
        if scaled.shape[1] == 1:  # the second class's score, above a first one of 0
            scaled = np.hstack([np.zeros_like(scaled), scaled])
        model.classes_, order = in_order(given.classes)
        scaled = scaled[:, order]
        model._centre, model._radius = np.zeros(len(scaled) - 1), 2.0 * np.sqrt(len(given.features))  # nothing shrinks
        model._weights, model._levels = scaled[1:], scaled[0]
        slopes, levels = model._weights.T, model._levels
        two = len(given.classes) == 2
        model.coef_ = slopes[1:] - slopes[:1] if two else slopes
        model.intercept_ = levels[1:] - levels[:1] if two else levels
        model.n_iter_, model.receipt_ = self.descent.rounds, dict(receipt)
        return model


def with_constant(vectors: Reals, features: int) -> Reals:
    """Rows of coordinates, and 1 in front, divided so that none is longer than 1."""
    return np.asarray(np.hstack([np.ones((len(vectors), 1)), vectors]) / np.sqrt(1 + features))


@dataclass(frozen=True)
class Logistic(Job):
    """A logistic regression from clients' files. `features`: (low, high) or listed texts, by the name of the column."""

    kind: ClassVar[str] = "logistic regression"
    features: Mapping[str, Any]
    target: str
    classes: tuple[str, ...]
    descent: Descent
    among: int = field(default=100)

    def __post_init__(self) -> None:
        parameters.whole("among", self.among, least=1)
        if not self.features or self.target in self.features:
            raise parameters.refuse("features", "columns, at least one, and not the target", sorted(self.features))
        for name, fact in self.features.items():
            if not isinstance(fact, (list, tuple)) or len(fact) < 2:
                raise parameters.refuse(f"features[{name!r}]", "(low, high), or listed texts", fact)
        if len(set(self.classes)) != len(self.classes) or not all(isinstance(each, str) for each in self.classes):
            raise parameters.refuse("classes", "different texts", self.classes)
        _ = self.fitting  # mistakes in the other parameters are refused now

    @cached_property
    def fitting(self) -> Fitting:
        """The model, made from public facts and one made-up row."""
        numbers = {place: tuple(fact) for place, fact in enumerate(self.features.values()) if _is_number(fact)}
        listed = {place: list(fact) for place, fact in enumerate(self.features.values()) if not _is_number(fact)}
        model = learning.LogisticRegression(bounds=numbers or None, values=listed or None, classes=list(self.classes))
        row = np.array([[fact[0] for fact in self.features.values()]], dtype=object if listed else np.float64)
        given = training(model, row, np.array([self.classes[0]], dtype=object), "class")
        return Fitting(model, given, self.descent, self.among)

    @property
    def rounds(self) -> int:
        """The number of rounds that was asked for."""
        return self.descent.rounds

    @property
    def task(self) -> Task:
        """A motion of bounded length."""
        return self.fitting.task

    def begin(self) -> State:
        """All weights are 0."""
        zeros = self.fitting.start().tolist()
        return {"weights": zeros, "motion": zeros, "clients": 0}

    def read(self, columns: Columns) -> Own:
        """The client's rows that can be read."""
        needed = [*self.features, self.target]
        rows = list(zip(*(columns.get(name, ()) for name in needed), strict=False))
        kept = [made for made in (self._row(each) for each in rows) if made is not None]
        listed = any(not _is_number(fact) for fact in self.features.values())
        matrix = np.empty((len(kept), len(self.features)), dtype=object if listed else np.float64)
        for place, (row, _) in enumerate(kept):
            matrix[place] = row
        if not kept:  # scikit-learn refuses a matrix without rows
            many, classes = self.fitting.shape[0], len(self.classes)
            return np.zeros((0, many)), np.zeros((0, classes))
        return self.fitting.own(matrix, np.array([answer for _, answer in kept], dtype=object))

    def value(self, state: State, own: Own) -> Reals:
        """How far the client's steps move the weights."""
        weights = np.array(state["weights"], dtype=np.float64)
        if weights.shape != self.fitting.shape:  # from a lying coordinator: they would slow clients with rows
            raise ValueError("the weights have another shape")
        return self.fitting.moved(weights, own).reshape(-1)

    def after(self, state: State, found: Finding) -> State:
        """The new weights."""
        weights, motion = (np.array(state[name], dtype=np.float64) for name in ("weights", "motion"))
        weights, motion = self.descent.after(weights, motion, np.asarray(found.value))
        return {"weights": weights.tolist(), "motion": motion.tolist(), "clients": found.clients}

    def result(self, state: State) -> dict[str, Any]:
        """The weights, for a score of (1, features scaled to [-1, 1] or 0 and 1) / sqrt(1 + how many features)."""
        return {"weights": state["weights"], "clients": state["clients"]}

    def model(self, result: Mapping[str, Any], receipt: Mapping[str, str]) -> Any:
        """The fitted model of a result: an ordinary estimator, to predict with and to save."""
        return self.fitting.fitted(np.array(result["weights"], dtype=np.float64), receipt)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "kind": self.kind,
            "features": [[name, list(fact)] for name, fact in self.features.items()],
            "target": self.target,
            "classes": list(self.classes),
            "descent": {name: getattr(self.descent, name) for name in Descent.__dataclass_fields__},
            "among": self.among,
        }

    def _row(self, texts: tuple[str, ...]) -> tuple[list[Any], str] | None:
        """A row as the model takes it; None where a value is missing, not a number, or not listed."""
        *values, answer = texts
        row: list[Any] = []
        for text, fact in zip(values, self.features.values(), strict=True):
            made = number(text) if _is_number(fact) else (text if text in fact else None)
            if made is None:
                return None
            row.append(made)
        return (row, answer) if answer in self.classes else None


def _is_number(fact: Any) -> bool:
    """Two numbers are bounds; anything else is a list of texts."""
    return len(fact) == 2 and not any(isinstance(each, str) for each in fact)
