"""Functions of finished cells: roots and logarithms of noisy numbers, the least of several, words made of keys.

Promise: as for every formula, nothing but noisy measures and released keys is seen, so they cost nothing, and nothing
raises. Where a function has no value (the logarithm of a noisy number below zero) it is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tacit.plan.answers.bends import stepped
from tacit.plan.answers.cases import mixed
from tacit.plan.answers.formulas import Cells, Constant, Estimate, Floats, Formula, KeyFormula, as_it_reads
from tacit.plan.answers.roots import root_slope, spread_of

_LEAST_ROOT = 1e-9


@dataclass(frozen=True, slots=True)
class Curve:
    """sqrt, ln, log10, log2, exp or trunc of a number, with its slope."""

    function: str
    inside: Formula

    @property
    def measures(self) -> frozenset[int]:
        return self.inside.measures

    def of(self, cells: Cells) -> Estimate:
        inner = self.inside.of(cells)
        with np.errstate(all="ignore"):
            value, slope = CURVES[self.function](inner.value)
        if self.function == "sqrt":
            slope = root_slope(np.maximum(inner.value, 0.0), spread_of(inner, cells), cells.within)
        value = np.where(np.isfinite(value), value, np.nan)
        slope = np.where(np.isfinite(slope), slope, 0.0)
        found = inner.carried(value, slope)
        if self.function == "trunc":
            return Estimate(value, found.slopes, stepped((found.slopes, found.far), 1.0, cells.spreads, cells.within))
        return found


def _root(x: Floats) -> tuple[Floats, Floats]:
    value = np.sqrt(x)
    return value, 0.5 / np.maximum(value, _LEAST_ROOT)


def _logarithm(base: float) -> Callable[[Floats], tuple[Floats, Floats]]:
    scale = 1.0 / math.log(base)
    return lambda x: (np.log(x) * scale, scale / np.where(x > 0, x, np.nan))


CURVES: Mapping[str, Callable[[Floats], tuple[Floats, Floats]]] = MappingProxyType(
    {
        "sqrt": _root,
        "ln": _logarithm(math.e),
        "log10": _logarithm(10.0),
        "log2": _logarithm(2.0),
        "exp": lambda x: (np.exp(x), np.exp(x)),
        "trunc": lambda x: (np.trunc(x), np.ones_like(x)),
    }
)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or greatest of several numbers, passing over those that do not exist."""

    least: bool
    parts: tuple[Formula, ...]

    @property
    def measures(self) -> frozenset[int]:
        return frozenset().union(*(part.measures for part in self.parts))

    def of(self, cells: Cells) -> Estimate:
        estimates = [part.of(cells) for part in self.parts]
        missing = np.inf if self.least else -np.inf
        values = np.stack([np.where(np.isnan(each.value), missing, each.value) for each in estimates])
        return mixed(values.argmin(axis=0) if self.least else values.argmax(axis=0), estimates)


@dataclass(frozen=True, slots=True)
class Wording:
    """A text made of keys and constants; NULL where one of them is."""

    function: str
    parts: tuple[Formula, ...]
    places: tuple[int, ...] = ()

    @property
    def measures(self) -> frozenset[int]:
        return frozenset()

    def of(self, cells: Cells) -> Estimate:
        columns = [_words(part, cells) for part in self.parts]
        column = np.empty(cells.size, dtype=object)
        column[:] = [self._word(row) for row in zip(*columns, strict=True)] if columns else [""] * cells.size
        return Estimate(column)

    def _word(self, row: tuple[str | None, ...]) -> str | None:
        if any(word is None for word in row):
            return None
        text = "".join(word for word in row if word is not None)
        if self.function == "substring":
            start, length = self.places
            return text[start - 1 : start - 1 + length]
        return {"lower": text.lower, "upper": text.upper}.get(self.function, lambda: text)()


def _words(part: Formula, cells: Cells) -> list[str | None]:
    if isinstance(part, (KeyFormula, Constant)):
        return [_word(item) for item in as_it_reads(part, cells)]
    return [item if isinstance(item, str) else None for item in part.of(cells).value]


def _word(item: Any) -> str | None:
    if isinstance(item, bool):
        return "true" if item else "false"
    return None if item is None else str(item)
