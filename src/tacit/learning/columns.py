"""Columns as a model sees them: what is public about each, and how a row becomes a vector.

Promise: everything here comes from public facts (the policy's, or `bounds` and `values` given with arrays), never from
rows. A number between its bounds becomes one coordinate u in [-1, 1], the middle of the bounds being 0. A column with
listed values becomes one coordinate for each of them, 1 where the row has it and 0 elsewhere.

Theorem. A column moves the squared length of a row's vector by at most 1: |u| <= 1, and of the coordinates of a listed
column at most one is 1. So a row of m columns has squared length at most m, and L1 norm at most m.

The same vector is made for predictions (`vectors`), in floating point: what lies beyond the bounds is clamped, a
missing value is at the middle, and a value that is not listed is 0 for every listed value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import QuestionError
from tacit.plan.row_plan import Indicator, Variable
from tacit.statistics.moments.bounded import bounded
from tacit.statistics.source import Term, Whole

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Feature:
    """A column: a number with codes from `low` to `low + width`, or one with listed `options` (as codes)."""

    name: str
    low: int
    width: int
    step: Fraction
    options: tuple[int | str, ...] | None = None
    truth: bool = False

    @property
    def size(self) -> int:
        """How many coordinates it has."""
        return 1 if self.options is None else len(self.options)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The listed values as people write them."""
        codes = self.options or ()
        if self.truth:
            return tuple(bool(each) for each in codes)
        return tuple(each if isinstance(each, str) else _plain(each * self.step) for each in codes)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        return (self.name,) if self.options is None else tuple(f"{self.name}={each}" for each in self.labels)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The coordinates as an engine adds them up."""
        return (self.name,) if self.options is None else tuple(Indicator(self.name, each) for each in self.options)

    @property
    def middle(self) -> float:
        """What u = 0 means."""
        return float((2 * self.low + self.width) * self.step / 2)

    @property
    def half(self) -> float:
        """What a step from u = 0 to u = 1 means."""
        return float(self.width * self.step / 2)

    def places(self, codes: Whole, meaning: str) -> Whole:
        """For a listed column: which of the options each code is, -1 where none. Texts are numbered already."""
        assert self.options is not None
        if meaning == "text":
            return np.where((codes >= 0) & (codes < self.size), codes, -1)
        listed = np.array(self.options, dtype=np.int64)
        order = np.argsort(listed)
        found = order[np.searchsorted(listed[order], codes).clip(0, self.size - 1)]
        return np.where(listed[found] == codes, found, -1)

    def facts(self) -> dict[str, Any]:
        """The public facts about it, as JSON."""
        if self.options is not None:
            return {"name": self.name, "values": list(self.labels)}
        return {"name": self.name, "low": self.middle - self.half, "high": self.middle + self.half}


def features_of(variables: Iterable[Variable], listed: Sequence[str] = ()) -> tuple[Feature, ...]:
    """The columns, or a refusal; those in `listed` must have listed values, as classes do. Truth values have them."""
    found = tuple(_feature(each, each.name in listed) for each in variables)
    if len({each.name.casefold() for each in found}) != len(found):
        raise QuestionError(f"A column is named twice: {', '.join(each.name for each in found)}.")
    return found


def _feature(variable: Variable, listed: bool) -> Feature:
    if variable.values is not None and variable.meaning in ("text", "number", "boolean"):
        options = tuple(each for each in variable.values if each is not None)
        if not options:
            raise QuestionError(f"Column {variable.name!r} has no values at all. Leave it out.")
        return Feature(variable.name, 0, 1, variable.step, options, variable.meaning == "boolean")
    if variable.meaning == "text":
        hint = "State them: one_of(...) in the policy."
        raise QuestionError(f"Column {variable.name!r} is a text without listed values. {hint}")
    if listed:
        hint = "List its classes: one_of(...) in the policy; or take a model for numbers, like BoostedBinsRegressor."
        raise QuestionError(f"Column {variable.name!r} is a number without listed values, and classes are. {hint}")
    own = bounded(variable)
    return Feature(own.name, own.low, own.width, own.step)


def vectors(columns: Sequence[Any], features: Sequence[Feature]) -> Reals:
    """The rows' vectors, for predictions: one array for each column, in their order."""
    parts: list[Reals] = []
    for column, each in zip(columns, features, strict=True):
        if each.options is None:
            numbers = np.asarray(column, dtype=np.float64)
            with np.errstate(all="ignore"):
                u = np.clip((numbers - each.middle) / each.half, -1.0, 1.0)
            parts.append(np.where(np.isnan(u), 0.0, u)[:, None])
        else:
            values = np.asarray(column, dtype=object)
            parts.append(np.stack([values == label for label in each.labels], axis=1).astype(np.float64))
    return np.hstack(parts) if parts else np.zeros((0, 0))


def products(rows: Reals, weights: Reals) -> Reals:
    """Each row times the weights, one column of the result for each of theirs: column after column is added up.

    Every step works number by number, so that the bits of a row's result depend on that row alone. A product of
    matrices adds up in an order that depends on how many rows there are, and weights that cancel make the difference
    as large as whoever chose them likes.
    """
    if len(weights) != rows.shape[1]:
        raise ValueError(f"{len(weights)} weights do not fit {rows.shape[1]} coordinates")
    total = np.zeros((len(rows), weights.shape[1]))
    for place in range(rows.shape[1]):
        total += rows[:, place, None] * weights[place]
    return total


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
