"""What a linear model still gets wrong at a row, in whole numbers: the losses that rounds can minimise.

A residual is the derivative of the loss by the score, in whole numbers of `FINE` to 1. It is looked up in a table by
the margin, so it is a number of the row's score alone. All residuals of one row together are at most `reach` long: with
one score, because the table stays within it; with several, because they are shrunk, and that is checked.

- logistic: probability less truth, clipped at one half: rows on the wrong side all pull alike. Classes are separated at
  the same place as without clipping, with half the noise, and probabilities have a closed form (`losses`, which has the
  proof). Many classes: the softmax of the scores, residuals shrunk to one half.
- hinge: 1 below a margin of 1/2, 0 beyond 3/2, a line between (Huber's hinge). Many classes: one against the rest.
- perceptron: 1 on the wrong side, 0 on the right one. Many classes: one against the rest.

Source: Chapelle 2007 (Huber's hinge); Blum, Dwork, McSherry, Nissim 2005 (the perceptron by statistical queries).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.learning.balls import shrunk
from tacit.learning.columns import Reals
from tacit.statistics.source import Whole

FINE = 1 << 12
_STEPS, _REACH = 256, 16  # margins are looked up in steps of 1/256, up to 16
_MARGINS: Final[NDArray[np.float64]] = (np.arange(-_STEPS * _REACH, _STEPS * _REACH + 1) + 0.5) / _STEPS
_EXPONENTIALS: Final[NDArray[np.float64]] = np.floor((1 << 20) * np.exp(-np.arange(_STEPS * _REACH + 1) / _STEPS))
_NORMAL_POINTS, _NORMAL_WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
_NORMAL_WEIGHTS = _NORMAL_WEIGHTS / _NORMAL_WEIGHTS.sum()
_LEAST_BEND = 0.02


class Loss(ABC):
    """A loss of linear scores."""

    @property
    @abstractmethod
    def reach(self) -> int:
        """How long the residuals of one row are together, at most."""

    @abstractmethod
    def bend(self, variance: float) -> float:
        """How much the loss of two classes bends on average, at scores of this variance: a guess, not a bound."""

    @abstractmethod
    def residuals(self, scores: Reals, classes: Whole, one: int) -> Reals:
        """One column for each row, one line for each score; a score of 1 is `one`. Whole numbers."""


@dataclass(frozen=True, slots=True)
class Tabled(Loss):
    """A loss that follows from the margin: the score where the row is in the class, less the score where it is not."""

    table: NDArray[np.float64]  # of residuals at rising margins, between -reach and 0
    reach: int = FINE

    def bend(self, variance: float) -> float:
        """Half of the most: where the loss bends most, a step goes twice as far as it should."""
        return 0.5

    def residuals(self, scores: Reals, classes: Whole, one: int) -> Reals:
        """One score is the second class's; several are one for each class."""
        if len(scores) == 1:
            sides = np.where(classes == 1, 1.0, -1.0)[None, :]
        else:
            sides = np.where(classes == np.arange(len(scores))[:, None], 1.0, -1.0)
        places = sides * scores
        places /= max(one // _STEPS, 1)
        np.floor(places, out=places)
        places += _STEPS * _REACH
        found = sides
        found *= np.take(self.table, places.astype(np.int64), mode="clip")  # beyond its ends: the end
        return found if len(scores) == 1 else shrunk(found, self.reach)


@dataclass(frozen=True, slots=True)
class Logistic(Tabled):
    """Probability less truth."""

    def residuals(self, scores: Reals, classes: Whole, one: int) -> Reals:
        """With several scores, the probabilities are in proportion to their exponentials."""
        if len(scores) == 1:
            return Tabled.residuals(self, scores, classes, one)
        below = np.floor((scores.max(axis=0) - scores) / max(one // _STEPS, 1))
        odds = _EXPONENTIALS[np.minimum(below, _STEPS * _REACH).astype(np.int64)]
        found = np.floor(odds * FINE / odds.sum(axis=0))
        found[classes, np.arange(found.shape[1])] -= FINE
        return shrunk(found, self.reach)

    def bend(self, variance: float) -> float:
        """For normal scores whose probabilities are right: rows on the wrong side do not bend the loss."""
        scores = np.abs(_NORMAL_POINTS) * math.sqrt(max(variance, 0.0))
        chances = 1 / (1 + np.exp(-scores))
        return max(float(_NORMAL_WEIGHTS @ (chances * (1 - chances) * chances)), _LEAST_BEND)


def _table(residual: NDArray[np.float64], reach: int = FINE) -> NDArray[np.float64]:
    return np.clip(np.rint(FINE * residual), -reach, 0)


LOGISTIC: Final = Logistic(_table(-1 / (1 + np.exp(_MARGINS)), FINE // 2), FINE // 2)
HINGE: Final = Tabled(_table(np.clip(_MARGINS - 1.5, -1.0, 0.0)))
PERCEPTRON: Final = Tabled(_table(np.where(_MARGINS > 0, 0.0, -1.0)))
