"""`NeuralClassifier` and `NeuralRegressor`: torch modules as scikit-learn estimators that pay like every other model.

    NeuralClassifier(epsilon=3, delta=1e-5).fit(clinic.rows("SELECT age, bmi, smoker FROM patients"), "smoker")
    NeuralClassifier(module, epsilon=3, delta=1e-5, classes=range(10)).fit(images, labels)

Theorem, assumptions and source: `trainer`. A fit is one charge for its whole run, made before a row is seen; the same
fit again of a curator's rows is stored, free, and gives the same weights. The number of people is bought with it.
Weights are averaged over steps (`averages`).

Whose code sees rows: with rows of a curator only torch's own (`traced`); with arrays a module may be anything, as the
holder of arrays sees them anyway. Predictions are computed in float64; where rows must not change each other's
prediction at all (`learning.evaluate`), each is computed by itself.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn
from torch.nn import functional

from tacit import parameters
from tacit.curator import Curator, Rows
from tacit.learning.evaluation.inside import refuse_others
from tacit.learning.files import as_json, of_json
from tacit.learning.model import Model
from tacit.learning.neural.fitted import described, digest_of, released, restored, save
from tacit.learning.neural.modules.courses import FixedCourse
from tacit.learning.neural.modules.kinds import refuse_failing
from tacit.learning.neural.modules.refused import refuse_mixing, refuse_watchers
from tacit.learning.neural.modules.traced import only_torch
from tacit.learning.neural.people.chances import ALONE
from tacit.learning.neural.people.rows import Given, given_arrays, given_rows, vectors_of
from tacit.learning.neural.runs.averages import Average
from tacit.learning.neural.settings import settings_of
from tacit.learning.neural.trainer import PrivateTrainer, planned
from tacit.learning.training import Through
from tacit.noise import BitSource
from tacit.statistics.finding import Content, column
from tacit.statistics.source import Opened, Source

_HIDDEN: Final = 64
_BLOCK: Final = 1 << 12


def cross_entropy(output: Any, target: Any) -> Any:
    """Minus the log of the probability of the right class, for each row."""
    return functional.cross_entropy(output, target, reduction="none")


def squared_error(output: Any, target: Any) -> Any:
    """Half the squared distance, for each row."""
    return (output.reshape(len(target)) - target).square() / 2


class _Neural(Model):
    """What both share."""

    _kind: str
    _loss: Callable[[Any, Any], Any]

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> Any:  # noqa: N803
        """Learn from rows of a curator and the name of the target, or from arrays, tensors or a Dataset."""
        settings = settings_of(self, *self._budget())
        of_rows = isinstance(X, (Rows, Source, Through, Curator))
        if of_rows:
            refuse_others(self)
            refuse_watchers()
        if isinstance(self.module, nn.Module):
            refuse_mixing(self.module)
        given = given_rows(self, X, y, self._kind) if of_rows else given_arrays(self, X, y, self._kind)
        outputs = len(given.classes) if self._kind == "class" else 1
        module = self._module(given.shape, outputs)
        if of_rows:
            refuse_mixing(module)
            module = _of_torch(module, given.shape)
            if settings.exact and isinstance(module, FixedCourse):
                hint = "Build the module with nn.Sequential, or leave exact out."
                raise parameters.refuse("exact", "False for a module with a forward pass of its own", self.exact, hint)
        _must_give(module, given, outputs)
        told: dict[str, Any] = {**settings.of_trainer(), **given.together, "augment": self.augment, "strict": of_rows}
        if of_rows and self.augment is not None:
            raise parameters.refuse("augment", "left out for rows of a curator, which are no images", self.augment)
        # everything that can be refused is refused here, before anything is paid and before a row is read
        public = {**told, "size": settings.size or 1}
        if given.together:
            public["units"] = np.zeros(0, dtype=np.int64)
        loss = type(self)._loss
        tried = PrivateTrainer(module, loss, settings.made_optimiser(module), *given.nobody(), **public)
        told["chunk"] = tried.chunk
        buys_count, budget = settings.size is None, (settings.epsilon, settings.delta)
        price = planned(
            settings.sampling, *budget, rate=settings.rate, steps=settings.steps, buys_count=buys_count
        ).price

        def compute(opened: Opened, bits: BitSource) -> Content:
            inputs, target, units = given.people(opened)
            own = copy.deepcopy(module)
            rest = {**told, "units": units}
            trainer = PrivateTrainer(own, loss, settings.made_optimiser(own), inputs, target, **rest)
            _fitted(trainer, settings.averaging)
            names = [name for name, _ in own.named_parameters()]
            table = (column("parameter", names), column("numbers", [each.numel() for each in own.parameters()]))
            facts = {"weights": np.asarray(released(own)), "size": trainer.size}
            return Content(f"A neural network for {given.target}", table, trainer.notes, facts)

        asked: dict[str, Any] = {
            "study": f"neural {self._kind}",
            "module": described(module),
            "weights": digest_of(module),
            "learns": [each.requires_grad for each in module.parameters()],
        }
        asked |= settings.asked()
        asked |= {"columns in order": list(given.names), "target": given.target}
        finding = given.source.release(asked, price, compute, analyst=analyst)
        self._keep(finding, given.features)
        self._finish(module, finding, given)
        self.n_iter_ = settings.steps
        return self

    def _finish(self, module: Any, finding: Any, given: Given) -> None:
        self.module_ = restored(module, str(finding.arrays["weights"]))
        self._shape = given.shape
        if self._kind == "class":
            self.classes_ = np.array(given.classes)
        self._scale, self._whole = given.scale, not given.dtype.is_floating_point

    def _module(self, shape: tuple[int, ...], outputs: int) -> Any:
        """A copy of the module; or made by a function of (inputs, outputs); or a small one."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # the start of the weights is public
            if self.module is None:
                width = math.prod(shape)
                return nn.Sequential(
                    nn.Flatten(),
                    nn.Linear(width, _HIDDEN),
                    nn.Tanh(),
                    nn.Linear(_HIDDEN, _HIDDEN),
                    nn.Tanh(),
                    nn.Linear(_HIDDEN, outputs),
                )
            if isinstance(self.module, nn.Module):
                return copy.deepcopy(self.module)
            if not callable(self.module):
                allowed = "a torch.nn.Module, a function of (inputs, outputs) that makes one, or None"
                raise parameters.refuse("module", allowed, type(self.module).__name__)
            made = self.module(math.prod(shape), outputs)
        refuse_mixing(made)
        return made

    def _outputs(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        check_is_fitted(self)
        inputs = vectors_of(self, X)
        with torch.no_grad():
            if self._ready is not None:
                return _each_alone(self._ready, inputs)
            own = copy.deepcopy(self.module_).eval()
            with suppress(RuntimeError):  # code of the caller's own may say float32 somewhere
                return _given(copy.deepcopy(own).double(), inputs, torch.float64)
            return _given(own, inputs, torch.float32)

    _ready: Any = None
    """The module in float64 and at rest, where rows of a curator are put in, of which each must be computed alone."""

    def _without_own_code(self) -> Any:
        """With the module's course of operations in place of its code."""
        own = copy.copy(self)
        refuse_watchers()
        own.module, own.module_ = None, _of_torch(self.module_, self._shape)
        own._ready = copy.deepcopy(own.module_).double().eval()
        outputs = len(self.classes_) if self._kind == "class" else 1
        try:
            with torch.no_grad():
                fits = _each_alone(own._ready, torch.zeros((1, *self._shape))).size == outputs
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):
            fits = False
        if not fits:
            raise parameters.refuse(
                "model", f"one that gives {outputs} for a row of zeros", "one that fails, or others"
            )
        return own

    def _fixed(self) -> Any:
        """Made anew of plain values, and of modules with no code but torch's own."""
        own = object.__new__(NeuralClassifier if self._kind == "class" else NeuralRegressor)
        for name in ("_features", "_scale", "_shape", "_whole", "n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self, name):
                setattr(own, name, of_json(json.loads(json.dumps(as_json(getattr(self, name))))))
        own.module_, own._ready = self.module_, self._ready
        return own

    def _as_bytes(self) -> bytes:
        """The module, its weights, and what is public about its rows."""
        facts = [described(self.module_), digest_of(self.module_), [each.facts() for each in self._features]]
        return json.dumps([type(self).__name__, *facts, list(self._scale), list(self._shape)]).encode()

    def save(self, path: Any) -> Any:
        """Write weights and the receipt to a safetensors file, which `learning.load` reads."""
        return save(self, path)


class NeuralClassifier(ClassifierMixin, _Neural):
    """Classes by a neural network.

    module: a torch.nn.Module with one output for each class, a function of (inputs, outputs) that makes one, or None
    for a small one. epochs, rate: how often a person is in a step on average, and the share of people in one.
    learning_rate, optimiser ("adam", "corrected adam" or "sgd"): how steps are made. clip, clipping, size, exact,
    sampling, augment: as `PrivateTrainer` has them. averaging: a mean of weights over steps, "tail", "exponential" or
    None. bounds, values: public facts about arrays, which are then brought to [-1, 1]; without them arrays are taken as
    they are. classes: the list of classes, or "declared public" where those in y are.
    """

    _kind = "class"
    _loss = staticmethod(cross_entropy)

    def __init__(
        self,
        module: Any = None,
        *,
        epsilon: Any = None,
        delta: Any = 1e-6,
        epochs: Any = 20,
        rate: Any = 0.05,
        learning_rate: Any = 0.005,
        optimiser: str = "adam",
        clip: Any = 1,
        clipping: str = "automatic",
        size: int | None = None,
        exact: bool = False,
        sampling: str = "poisson",
        averaging: str | None = "tail",
        augment: Any = None,
        bounds: Any = None,
        values: Any = None,
        classes: Any = None,
    ) -> None:
        self.module = module
        self.epsilon = epsilon
        self.delta = delta
        self.epochs = epochs
        self.rate = rate
        self.learning_rate = learning_rate
        self.optimiser = optimiser
        self.clip = clip
        self.clipping = clipping
        self.size = size
        self.exact = exact
        self.sampling = sampling
        self.averaging = averaging
        self.augment = augment
        self.bounds = bounds
        self.values = values
        self.classes = classes

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """A score for each class; for two classes, the second's less the first's."""
        found = self._outputs(X)
        return np.asarray(found[:, 1] - found[:, 0]) if found.shape[1] == 2 else found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Probabilities of the classes, in the order of `classes_`."""
        found = self._outputs(X)
        powers = np.exp(found - found.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The likeliest class of each row."""
        found = self._outputs(X).argmax(axis=1)
        return np.asarray(self.classes_[found])


class NeuralRegressor(RegressorMixin, _Neural):
    """A number by a neural network with one output.

    target_bounds: between which the target of arrays lies; it is clamped to them, and learned from -1 to 1. The rest is
    as in `NeuralClassifier`.
    """

    _kind = "number"
    _loss = staticmethod(squared_error)

    def __init__(
        self,
        module: Any = None,
        *,
        epsilon: Any = None,
        delta: Any = 1e-6,
        epochs: Any = 20,
        rate: Any = 0.05,
        learning_rate: Any = 0.005,
        optimiser: str = "adam",
        clip: Any = 1,
        clipping: str = "automatic",
        size: int | None = None,
        exact: bool = False,
        sampling: str = "poisson",
        averaging: str | None = "tail",
        augment: Any = None,
        bounds: Any = None,
        values: Any = None,
        target_bounds: Any = None,
    ) -> None:
        self.module = module
        self.epsilon = epsilon
        self.delta = delta
        self.epochs = epochs
        self.rate = rate
        self.learning_rate = learning_rate
        self.optimiser = optimiser
        self.clip = clip
        self.clipping = clipping
        self.size = size
        self.exact = exact
        self.sampling = sampling
        self.averaging = averaging
        self.augment = augment
        self.bounds = bounds
        self.values = values
        self.target_bounds = target_bounds

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The number of each row, within its bounds."""
        found = np.clip(self._outputs(X).reshape(-1), -1.0, 1.0)
        middle, half = self._scale
        return np.asarray(middle + half * found)


def _given(module: Any, inputs: Any, kind: Any) -> NDArray[np.float64]:
    """What the module gives for these rows, with real numbers of this kind."""
    real = inputs.dtype.is_floating_point
    parts = [module(part.to(kind) if real else part) for part in inputs.split(_BLOCK)]
    return np.asarray(torch.cat(parts).numpy(), dtype=np.float64)


def _each_alone(module: Any, inputs: Any) -> NDArray[np.float64]:
    """What the module gives for each row by itself, whatever the module is.

    Among others a row's bits would differ a little, and whoever chooses weights can make that as large as they like. So
    each row is computed from the same place in memory, in the same shape.
    """
    row = torch.empty((1, *inputs.shape[1:]), dtype=torch.float64)
    parts = [module(row.copy_(each[None])).clone() for each in inputs]
    return np.asarray(torch.cat(parts).numpy(), dtype=np.float64) if parts else module(row.zero_())[:0].numpy()


def _must_give(module: Any, given: Given, outputs: int) -> None:
    """Refuse a module that gives more numbers for a row than there are classes, or fewer."""
    rows = torch.zeros((2, *given.shape), dtype=given.dtype)
    try:
        with torch.no_grad(), ALONE, torch.random.fork_rng(devices=[]):
            shape = tuple(copy.deepcopy(module).eval()(rows).shape)
    except Exception:  # noqa: BLE001  # the rehearsal says better what is wrong
        return
    if shape != (2, outputs) and not (outputs == 1 and math.prod(shape) == 2):
        said = (
            "one number for each row"
            if outputs == 1
            else f"{outputs} numbers for each row: there are {outputs} classes"
        )
        raise parameters.refuse("module", f"one that gives {said}", f"the shape {shape} for 2 rows")


def _of_torch(module: Any, shape: tuple[int, ...]) -> Any:
    """The module with no code but torch's own, none of which fails at some rows of this shape and not at others."""
    own = only_torch(module)
    if isinstance(own, FixedCourse):
        refuse_failing(own, torch.zeros((2, *shape)))
    return own


def _fitted(trainer: PrivateTrainer, averaging: str | None) -> None:
    """All steps; then a mean of their weights."""
    mean = Average(trainer.module, averaging, len(trainer))
    for batch in trainer:
        trainer.step(batch)
        mean.take(trainer.steps_done)
    mean.put()
