"""The most frequent of known values, by permute-and-flip on their counts, in every cell.

Theorem. Neighbours differ in all rows of one unit, at most r, spread over the cells in any way. Choosing in every cell
by permute-and-flip with the counts as scores, sensitivity r, monotone, is pure epsilon-differentially private, and its
loss is dominated by that of Laplace noise with sensitivity/scale = epsilon.
Proof. Adding rows raises counts, so scores are monotone. With r_c rows in cell c the choice there changes by a factor
of at most exp(epsilon r_c/r) (`permute_and_flip`, (1)), cells are independent and the r_c add up to at most r. (2) of
`permute_and_flip` is argued from (1) alone, along a walk between the neighbours, and so holds for all cells together.

The k most frequent, one after the other: what was chosen is left out of the next choice. Given the earlier choices,
each is a choice of the theorem at epsilon/k; so all k are an adaptive composition of k of them.
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
    """The `most` most frequent of `points` known values, in order; at most `sensitivity` rows of a unit.

    >>> Mode(3, 1, "0.5").event.kind
    'laplace'
    """

    points: int
    sensitivity: int
    epsilon: Fraction
    most: int

    def __init__(self, points: int, sensitivity: int, epsilon: Number, most: int = 1) -> None:
        object.__setattr__(self, "points", parameters.whole("points", points, least=1))
        object.__setattr__(self, "sensitivity", parameters.whole("sensitivity", sensitivity, least=1))
        object.__setattr__(self, "epsilon", parameters.positive("epsilon", epsilon))
        object.__setattr__(self, "most", parameters.whole("most", most, least=1))
        if self.most > self.points:
            raise parameters.refuse("most", f"at most {self.points}, the number of known values", most)

    @property
    def levels(self) -> int:
        """How many choices one unit's rows are part of."""
        return self.most

    @property
    def event(self) -> events.Event:
        """The choices of all cells."""
        one = self._choice.event
        return one if self.most == 1 else events.Repeated(one, self.most)

    def errors(self, confidence: Number) -> tuple[int, ...]:
        """How many rows fewer than the most frequent value (of those left) a chosen one may have, at worst."""
        missing = (1 - parameters.open_probability("confidence", confidence)) / self.most
        return (int(self._choice.shortfall(self.points, confidence=1 - missing)) + 1,) * self.most

    def choose(self, values: Any, counts: Any, *, bits: noise.BitSource | None = None) -> list[int]:
        """The places of the chosen values in one cell, given the places of values that occur and how often they do."""
        scores = np.zeros(self.points, dtype=np.int64)
        scores[np.asarray(values, dtype=np.int64)] = counts
        left, found = np.arange(self.points), []
        for _ in range(self.most):
            at = self._choice.choose(range(len(left)), scores=scores[left], bits=bits)
            found.append(int(left[at]))
            left = np.delete(left, at)
        return found

    @property
    def _choice(self) -> PermuteAndFlip:
        return PermuteAndFlip(self.sensitivity, self.epsilon / self.most, monotone=True)
