"""A neural network from clients' rows: each round opens the mean motion of the clients' weights.

It works as `models` does for linear ones: a client takes `local_steps` steps of the model's learning rate downhill on
all of its own rows, from the common weights, and adds by how far they moved, shortened to `norm`. What a module
computes on a client's rows stays with the client, so any module would be private. Layers that keep statistics outside
the weights are refused, because only weights are sent. Layers work as in prediction: nothing is dropped at random.
`epochs`, `rate`, `clip` and `optimiser` of the estimator belong to its own `fit` and are not used.

Of a client's rows, those of a class that is not listed are left out; rows that the module cannot take count as none,
and a motion that is not finite counts as zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tacit import parameters
from tacit.federated.distributed.tasks import VectorAverage
from tacit.federated.jobs.models import Descent, Reals
from tacit.learning.neural.modules.refused import refuse_mixing
from tacit.learning.neural.people.rows import given_arrays, vectors_of

Own = tuple[Any, Any]


class Network:
    """A network whose inputs and classes are known, and what a round does to its weights."""

    def __init__(self, model: Any, shown: tuple[Any, Any], descent: Descent, among: int) -> None:
        self.model, self.descent = model, descent
        made_up = np.array(
            [model.classes[0] if model._kind == "class" else 0.0]
        )  # a made-up target: a client's own stays with it
        self.given = given_arrays(model, shown[0], made_up, model._kind)
        model._keep(None, self.given.features)
        model._shape = self.given.shape
        self.module = model._module(self.given.shape, len(self.given.classes) or 1)
        refuse_mixing(self.module)
        self.module.eval()
        self._learns = [each for each in self.module.parameters() if each.requires_grad]
        self._pace = float(parameters.positive("learning_rate", model.learning_rate))
        self.shape = (sum(each.numel() for each in self._learns),)
        self.task = VectorAverage(self.shape[0], float(descent.norm), among)

    def start(self) -> Reals:
        """Where the module's weights start, which is public."""
        return self._weights()

    def own(self, features: Any, target: Any) -> Own:
        """A client's rows as tensors, and their classes or numbers."""
        try:
            inputs = vectors_of(self.model, features)
            aims, known = self._aims(np.asarray(target).reshape(-1)[: len(inputs)])
            chosen = inputs[: len(aims)][torch.from_numpy(known)]
        except (TypeError, ValueError, IndexError, RuntimeError):
            return None, None
        return chosen.float() if self.given.dtype.is_floating_point else chosen.long(), torch.from_numpy(aims[known])

    def _aims(self, target: Any) -> tuple[Any, Any]:
        """The target of each row, and for which rows it is known."""
        if self.given.classes:
            places = {each: place for place, each in enumerate(self.given.classes)}
            found = np.array([places.get(each, -1) for each in target.tolist()], dtype=np.int64)
            return found, found >= 0
        middle, half = self.given.scale
        numbers = (target.astype(np.float64) - middle) / half
        return np.clip(numbers, -1.0, 1.0).astype(np.float32), np.isfinite(numbers)

    def moved(self, weights: Reals, own: Own) -> Reals:
        """By how much a client's own steps downhill move the weights; a client without rows moves nothing."""
        inputs, aims = own
        nothing = np.zeros(self.shape)
        if inputs is None or not len(inputs):
            return nothing
        self._set(weights)
        try:
            for _ in range(self.descent.local_steps):
                loss = type(self.model)._loss(self.module(inputs), aims).mean()
                slopes = torch.autograd.grad(loss, self._learns, allow_unused=True)
                with torch.no_grad():
                    for each, slope in zip(self._learns, slopes, strict=True):
                        if slope is not None:
                            each -= self._pace * slope
        except (IndexError, RuntimeError, TypeError, ValueError):  # its rows are not what the module takes
            return nothing
        moved = self._weights() - weights
        return moved if np.isfinite(moved).all() else nothing

    def fitted(self, weights: Reals, receipt: Mapping[str, str]) -> Any:
        """The model with these weights as its own."""
        self._set(weights)
        model = self.model
        model.module_, model._scale, model.finding_ = self.module, self.given.scale, None
        if self.given.classes:
            model.classes_ = np.array(self.given.classes)
        model.n_iter_, model.receipt_ = self.descent.rounds, dict(receipt)
        return model

    def _weights(self) -> Reals:
        return np.asarray(parameters_to_vector(self._learns).detach().numpy(), dtype=np.float64)

    def _set(self, weights: Reals) -> None:
        with torch.no_grad():
            vector_to_parameters(torch.from_numpy(weights.astype(np.float32)), self._learns)
