"""What an estimator was told, as plain values: read once, before anything is paid.

Promise: every value here is Python's own whole number, text, truth value, fraction or float, made anew of what was
given. What runs after the charge uses these and never the given objects, whose code could look at rows; and the key of
a stored fit is made of them, so equal settings are one fit however they were written (1, 1.0 and "1").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import torch

from tacit import parameters
from tacit.learning.neural.runs.averages import EXPONENTIAL, TAIL
from tacit.learning.neural.runs.corrected import CorrectedAdam
from tacit.learning.neural.sums.clipping import ADAPTIVE, AUTOMATIC, FLAT
from tacit.learning.neural.trainer import FIXED, POISSON

ADAM: Final = "adam"
CORRECTED: Final = "corrected adam"
SGD: Final = "sgd"
_FASTEST: Final = 10**6
"""Learning rates above it leave float32 in a step or two."""
_MOST_EPOCHS: Final = 10**9


@dataclass(frozen=True, slots=True)
class Settings:
    """How one fit learns, and what it may cost."""

    epsilon: Fraction
    delta: Fraction
    rate: Fraction
    steps: int
    learning_rate: float
    optimiser: str
    clip: Fraction
    clipping: str
    size: int | None
    exact: bool
    sampling: str
    averaging: str | None

    def of_trainer(self) -> dict[str, Any]:
        """What the trainer is told."""
        told = ("epsilon", "delta", "rate", "steps", "clip", "clipping", "size", "exact", "sampling")
        return {name: getattr(self, name) for name in told}

    def asked(self) -> dict[str, Any]:
        """What is part of the key of a stored fit; the price is so anyway."""
        exact = {"rate": str(self.rate), "clip": str(self.clip), "learning_rate": repr(self.learning_rate)}
        rest = ("steps", "optimiser", "clipping", "size", "exact", "sampling", "averaging")
        return exact | {name: getattr(self, name) for name in rest}

    def made_optimiser(self, module: Any) -> Any:
        """The optimiser, of the module's parameters that learn."""
        learns = [each for each in module.parameters() if each.requires_grad]
        if self.optimiser == ADAM:
            return torch.optim.Adam(learns, lr=self.learning_rate)
        if self.optimiser == CORRECTED:
            return CorrectedAdam(learns, lr=self.learning_rate)
        return torch.optim.SGD(learns, lr=self.learning_rate, momentum=0.9)


def settings_of(model: Any, epsilon: Fraction, delta: Fraction) -> Settings:
    """The settings of an estimator; or a refusal."""
    allowed = "the share of people in a step, from 1e-9 to 1"
    rate = _exactly(parameters.as_written("rate", model.rate, allowed))
    if rate <= 0:
        raise parameters.refuse("rate", allowed, model.rate)
    epochs = _exactly(parameters.positive("epochs", model.epochs))
    if epochs > _MOST_EPOCHS:
        raise parameters.refuse("epochs", f"at most {_MOST_EPOCHS:,}", model.epochs)
    pace = _exactly(parameters.as_written("learning_rate", model.learning_rate, "a number above 0"))
    if not 0 < pace <= _FASTEST:
        raise parameters.refuse("learning_rate", f"above 0, and at most {_FASTEST:,}", model.learning_rate)
    return Settings(
        epsilon=_exactly(epsilon),
        delta=_exactly(delta),
        rate=rate,
        steps=max(1, math.ceil(epochs / rate)),
        learning_rate=float(pace),
        optimiser=_one_of("optimiser", model.optimiser, (ADAM, CORRECTED, SGD)),
        clip=_exactly(parameters.as_written("clip", model.clip, "a number above 0")),
        clipping=_one_of("clipping", model.clipping, (AUTOMATIC, FLAT, ADAPTIVE)),
        size=None if model.size is None else int.__int__(parameters.whole("size", model.size, least=1)),
        exact=_truth("exact", model.exact),
        sampling=_one_of("sampling", model.sampling, (POISSON, FIXED)),
        averaging=_one_of("averaging", model.averaging, (TAIL, EXPONENTIAL), or_none=True),
    )


def _exactly(value: Fraction) -> Fraction:
    """The same number, and nothing but a number."""
    return Fraction(int.__int__(int(value.numerator)), int.__int__(int(value.denominator)))


def _one_of(name: str, value: Any, allowed: tuple[str, ...], *, or_none: bool = False) -> Any:
    """Our own text that is the same as the given one; or None where that is allowed."""
    if value is None and or_none:
        return None
    if isinstance(value, str):
        for own in allowed:
            if str.__eq__(own, str.__str__(value)) is True:
                return own
    raise parameters.refuse(name, f"one of {', '.join(allowed)}{', or None' if or_none else ''}", value)


def _truth(name: str, value: Any) -> bool:
    """True or False; 1 and 0 are taken as such."""
    for own in (True, False):
        if value is own or (type(value).__module__ in ("builtins", "numpy") and value == own):
            return own
    raise parameters.refuse(name, "True or False", value)
