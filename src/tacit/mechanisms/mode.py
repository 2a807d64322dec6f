"""The most frequent of known values, by permute-and-flip on their counts, in every cell.

Theorem. Neighbours differ in all rows of one unit, at most r, spread over the cells in any way. Choosing in every cell
by permute-and-flip with the counts as scores, sensitivity r, monotone, is pure epsilon-differentially private, and its
loss is dominated by that of Laplace noise with sensitivity/scale = epsilon.
Proof. Adding rows raises counts, so scores are monotone. With r_c rows in cell c the choice there changes by a factor
of at most exp(epsilon r_c/r) (`permute_and_flip`, (1)), cells are independent and the r_c add up to at most r. (2) of
`permute_and_flip` is argued from (1) alone, along a walk between the neighbours, and so holds for all cells together.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import noise, parameters
from tacit.loss import events
from tacit.mechanisms.permute_and_flip import PermuteAndFlip
from tacit.parameters import Number


@dataclass(frozen=True, slots=True, init=False)
class Mode:
    """The most frequent of `points` known values, at most `sensitivity` rows of a unit."""

    points: int
    sensitivity: int
    epsilon: Fraction

    levels = 1

    def __init__(self, points: int, sensitivity: int, epsilon: Number) -> None:
        object.__setattr__(self, "points", parameters.whole("points", points, least=1))
        object.__setattr__(self, "sensitivity", parameters.whole("sensitivity", sensitivity, least=1))
        object.__setattr__(self, "epsilon", parameters.positive("epsilon", epsilon))

    @property
    def event(self) -> events.Event:
        """The choices of all cells."""
        return self._choice.event

    def errors(self, confidence: Number) -> tuple[int, ...]:
        """How many rows fewer than the most frequent value the chosen one may have, with this confidence, at worst."""
        return (int(self._choice.shortfall(self.points, confidence=confidence)) + 1,)

    def choose(self, values: Any, counts: Any, *, bits: noise.BitSource | None = None) -> list[int]:
        """The place of the chosen value in one cell, given the places of values that occur and how often they do."""
        scores = np.zeros(self.points, dtype=np.int64)
        scores[np.asarray(values, dtype=np.int64)] = counts
        return [self._choice.choose(range(self.points), scores=scores, bits=bits)]

    @property
    def _choice(self) -> PermuteAndFlip:
        return PermuteAndFlip(self.sensitivity, self.epsilon, monotone=True)
