"""Functions of finished cells: roots and logarithms of noisy numbers, the least of several, words made of keys.

Promise: as for every formula, nothing but noisy measures and released keys is seen, so they cost nothing, and nothing
raises. Where a function has no value (the logarithm of a noisy number below zero) it is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.plan.answers.bends import FARTHEST, reach_of, reaching
from tacit.plan.answers.cases import mixed
from tacit.plan.answers.formulas import Cells, Constant, Estimate, Floats, Formula, KeyFormula, as_it_reads, either
from tacit.question.forms import Curve
from tacit.question.functions import CURVES, LETTERS


@dataclass(frozen=True, slots=True)
class Rising:
    """A curve (sqrt, ln, exp, ...) of a number, with its slope."""

    function: str
    inside: Formula

    @property
    def measures(self) -> frozenset[int]:
        return self.inside.measures

    @property
    def curve(self) -> Curve:
        return CURVES[self.function]

    def of(self, cells: Cells) -> Estimate:
        inner = self.inside.of(cells)
        with np.errstate(all="ignore"):
            value, slope = self.curve.values(inner.value), self.curve.slopes(inner.value)
        value = np.where(np.isfinite(value), value, np.nan)
        slope = np.where(np.isfinite(slope), slope, 0.0)
        if not cells.spreads or not cells.within or not inner.noisy:
            return inner.carried(value, slope)
        noise = (cells.spreads, cells.within, cells.steps)
        off = reach_of((inner.slopes, inner.far), *noise)
        reached = self._reached(inner.value, value, slope, off)
        with np.errstate(all="ignore"):  # near zero the slope of a root has no bound, but its reach has one
            found = inner.carried(value, np.where(off > 0, np.minimum(slope, reached / off), slope))
        far = reaching((found.slopes, found.far), reached, *noise)
        doubtful = None if self.curve.domain == "every number" else np.abs(inner.value) <= off
        return Estimate(value, found.slopes, far, doubtful=either(found.doubtful, doubtful), decided=inner.decided)

    def _reached(self, inside: Floats, value: Floats, slope: Floats, off: Floats) -> Floats:
        """How far off the function is at most where the number inside is off by at most this much.

        It rises, so that is the larger of f(x + r) - f(x) and f(x) - f(x - r). A logarithm of a number that may be zero
        has no bound; its root is taken as that of zero.
        """
        with np.errstate(all="ignore"):
            low = np.maximum(inside - off, 0.0) if self.curve.domain == "from zero" else inside - off
            ends = [np.abs(self.curve.values(end) - value) for end in (low, inside + off)]
            farthest = np.where(np.isfinite(ends), ends, FARTHEST).max(axis=0)
        # far from its bend, the chord equals the function, and differences are only rounding
        return np.where(off > 1e-9 * np.abs(inside), farthest, slope * off)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or greatest of several numbers, ignoring those that do not exist.

    Its interval includes what the others may be beyond it: where a constant is shown because noise put a number below
    it, the true number may be above it.
    """

    least: bool
    parts: tuple[Formula, ...]

    @property
    def measures(self) -> frozenset[int]:
        return frozenset().union(*(part.measures for part in self.parts))

    def of(self, cells: Cells) -> Estimate:
        estimates = [part.of(cells) for part in self.parts]
        missing = np.inf if self.least else -np.inf
        values = np.stack([np.where(np.isnan(each.value), missing, each.value) for each in estimates])
        found = mixed(values.argmin(axis=0) if self.least else values.argmax(axis=0), estimates)
        if not cells.spreads or not cells.within or not self.measures:
            return found
        return self._spanned(found, estimates, cells)

    def _spanned(self, found: Estimate, estimates: list[Estimate], cells: Cells) -> Estimate:
        """The one that is shown, off by as much as the true value of another may be beyond it.

        Where all noises are within their reach r, the greatest true value is at least that of x, and at most the
        greatest x_i + r_i. Where the true x may not exist, the value is one of the others.
        """
        noise, side = (cells.spreads, cells.within, cells.steps), -1.0 if self.least else 1.0
        farthest = reach_of((found.slopes, found.far), *noise)
        unsure = np.zeros(cells.size, dtype=np.bool_) if found.doubtful is None else found.doubtful
        for each in estimates:
            own = reach_of((each.slopes, each.far), *noise)
            apart = each.value - found.value
            other = np.where(unsure, np.abs(apart), side * apart) + own
            unknown = np.isnan(each.value) & (False if each.doubtful is None else each.doubtful)
            farthest = np.where(unknown, FARTHEST, np.fmax(farthest, other))
        far = reaching((found.slopes, found.far), farthest, *noise, self.measures)
        return Estimate(found.value, found.slopes, far, doubtful=found.doubtful, decided=found.decided)


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
        if self.places:
            start, length = self.places
            return text[start - 1 : start - 1 + length]
        return LETTERS[self.function].word(text) if self.function in LETTERS else text


def _words(part: Formula, cells: Cells) -> list[str | None]:
    if isinstance(part, (KeyFormula, Constant)):
        return [_word(item) for item in as_it_reads(part, cells)]
    return [item if isinstance(item, str) else None for item in part.of(cells).value]


def _word(item: Any) -> str | None:
    if isinstance(item, bool):
        return "true" if item else "false"
    return None if item is None else str(item)
