"""A linear regression from clients' rows: each round opens the mean motion of the clients' weights.

It does what `models` does for classes, with half the squared distance to the target, which its public bounds bring to
[-1, 1]. Rows are no longer than 1, so that a step downhill of length 1 never overshoots. Of a client's rows, those
without a number as their target are left out, one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.federated.distributed.tasks import VectorAverage
from tacit.federated.jobs.models import Descent, Own, Reals, with_constant
from tacit.learning.model import scales
from tacit.learning.training import Training

_NOTE = "No intervals: clients' steps downhill may end away from the best line, and it is not known how far."


class Line:
    """A linear regression whose columns are known, and what a round does to its weights."""

    def __init__(self, model: Any, given: Training, descent: Descent, among: int) -> None:
        assert given.target is not None
        self.model, self.given, self.aim, self.descent = model, given, given.target, descent
        model._keep(None, given.features)
        self.shape = (1 + sum(each.size for each in given.features),)
        self.task = VectorAverage(self.shape[0], float(descent.norm), among)

    def start(self) -> Reals:
        """All weights are 0."""
        return np.zeros(self.shape)

    def own(self, features: Any, target: Any) -> Own:
        """A client's rows as vectors, and its targets in [-1, 1]; rows that cannot be read are left out."""
        try:
            found = self.model._vectors(features)
            numbers = np.asarray(target, dtype=np.float64).reshape(-1)[: len(found)]
        except (TypeError, ValueError):
            found, numbers = np.zeros((0, self.shape[0] - 1)), np.zeros(0)
        told = np.isfinite(numbers)
        aims = np.clip((numbers[told] - self.aim.middle) / self.aim.half, -1.0, 1.0)
        return with_constant(found[: len(numbers)][told], len(self.given.features)), aims

    def moved(self, weights: Reals, own: Own) -> Reals:
        """By how much a client's own steps downhill move the weights; a client without rows moves nothing."""
        (vectors, aims), here = own, weights
        for _ in range(self.descent.local_steps if len(vectors) else 0):
            here = here - vectors.T @ (vectors @ here - aims) / len(vectors)
        return np.asarray(here - weights)

    def fitted(self, weights: Reals, receipt: Mapping[str, str]) -> Any:
        """The model with these weights as its own."""
        model, aim = self.model, self.aim
        scaled = weights / np.sqrt(1 + len(self.given.features))
        half, middle = scales(self.given.features)
        model._line = (scaled[1:], float(scaled[0]), aim.half, aim.middle)
        model.coef_ = scaled[1:] * aim.half / half
        model.intercept_ = float(aim.middle + aim.half * scaled[0] - model.coef_ @ middle)
        model.coef_interval_ = model.intercept_interval_ = None
        model.interval_note_, model.ridge_, model.receipt_ = _NOTE, 0.0, dict(receipt)
        return model
