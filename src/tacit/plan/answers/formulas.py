"""Formulas: how an output is computed from noisy numbers, and how their noise carries over to it.

Promise: a formula sees only noisy measures and released keys, so it costs nothing. Each evaluates for all
cells at once to an `Estimate`: values, and the slope of the value in each measure. Noise of different measures is
independent, so to first order the variance of an output is the sum of slope**2 times the measure's variance; measures
that two parts of a formula share are thereby counted once and with their signs.
A value that does not exist is NaN. Nothing raises, whatever the noise was; results of which numpy would warn (`finish`
and `expected_errors` keep it quiet) are infinite or NaN, and shown as values that do not exist.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.plan.answers.bends import UNBOUNDED, Moves, flipped, product, quotient, reach_of, reaching, stepped, wrapped
from tacit.plan.answers.floats import as_float
from tacit.plan.answers.no_rows import unless_empty
from tacit.plan.answers.operations import OPERATIONS
from tacit.question.forms import Straight
from tacit.question.functions import STRAIGHT

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_FAR = 10.0  # deviations: more than any level up to 1 - 1e-6 needs for one value


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of an answer: noisy measures in grid units, and the keys as people read them.

    `left_out` says for each key which cells' levels leave it out (1) and which do not (0). `spreads` are the standard
    deviations of the measures' noise. `chosen`: noisy values decided which cells these are. `within`: how many
    deviations intervals will reach, which decides what bends add to slopes (`bends`); 0 for slopes alone. `steps`: the
    largest step of each measure's noise, () where that is not needed.
    """

    size: int
    noisy: Sequence[Floats]
    keys: Sequence[Sequence[Any]] = ()
    left_out: Sequence[Floats] = ()
    spreads: Sequence[float | Floats] = ()
    chosen: bool = False
    within: float = 0.0
    steps: Sequence[float | Floats] = ()

    def only(self, rows: Sequence[int], *, chosen: bool = False) -> Cells:
        """The cells at these places alone."""
        places = np.array(rows, dtype=np.int64)
        keys = [[column[row] for row in rows] for column in self.keys]
        spreads = [spread[places] if isinstance(spread, np.ndarray) else spread for spread in self.spreads]
        numbers, left_out = [part[places] for part in self.noisy], [part[places] for part in self.left_out]
        return Cells(len(rows), numbers, keys, left_out, spreads, self.chosen or chosen, self.within, self.steps)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Values with their slopes in the measures they depend on. Texts and dates have no slopes.

    `far` holds, for values that add up several cells, the sum of the squared slopes in the other cells; and where a
    value bends within the reach of its noise, the squared slopes that stand for the bend (`bends`). `steps`: for values
    that add up rows and so have no slopes of their own, the largest slope in any of these rows. `doubtful`: where noise
    leaves open whether there is a true value (the mean of rows of which there may be none); None for nowhere.
    `decided`: noise decides a condition in it, so it may be off by all of its reach at once, not by a little.
    """

    value: NDArray[Any]
    slopes: Mapping[int, Floats] = field(default_factory=dict)
    far: Mapping[int, Floats] = field(default_factory=dict)
    steps: Mapping[int, Floats] = field(default_factory=dict)
    doubtful: Bools | None = None
    decided: bool = False

    @property
    def noisy(self) -> bool:
        """Whether there is noise in it."""
        return bool(self.slopes or self.far)

    def carried(self, value: NDArray[Any], factor: Floats) -> Estimate:
        """Another value, which moves this factor times as much."""
        far = {measure: squares * np.square(factor) for measure, squares in self.far.items()}
        slopes = {measure: slope * factor for measure, slope in self.slopes.items()}
        return Estimate(value, slopes, far, doubtful=self.doubtful, decided=self.decided)

    def deviation(self, deviations: Sequence[float | Floats]) -> Floats:
        """The standard deviation that noise of these deviations (grid units) gives the value."""
        total = np.zeros(len(self.value))
        with np.errstate(over="ignore"):  # may overflow to infinity for the largest bounds; shown as infinite
            for measure, slope in self.slopes.items():
                total = total + np.square(slope * deviations[measure])
            for measure, squares in self.far.items():
                total = total + squares * np.square(deviations[measure])
            return np.asarray(np.sqrt(total))


def either(*doubts: Bools | None) -> Bools | None:
    """Where at least one of these is true."""
    known = [each for each in doubts if each is not None]
    return functools.reduce(np.logical_or, known) if known else None


def off_at_most(values: Floats, deviations: Floats, rows: Sequence[int], top: int, *, greatest: bool) -> float:
    """How far off the greatest (or least) of some values is, in its own deviations: 1, or more if another may beat it.

    Where every value is off by at most q deviations, max x_i is off by at most max(q d_top, max(x_i + q d_i) - x_top).
    The second grows faster than q, so it is taken at a large q, in shares of q.
    """
    own = float(deviations[top])
    if not own > 0 or not np.isfinite(own):
        return 1.0
    many = max(_FAR, float(np.log(max(len(rows), 1)) + _FAR))
    gaps = (values[top] - values[list(rows)]) * (1.0 if greatest else -1.0)
    beaten = float(np.max(deviations[list(rows)] - gaps / many))
    return max(1.0, beaten / own) if np.isfinite(beaten) else 1.0


class Formula(Protocol):
    """What every formula can do."""

    def of(self, cells: Cells) -> Estimate:
        """The values in all cells."""

    @property
    def measures(self) -> frozenset[int]:
        """The measures it depends on."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant, the same in all cells."""

    value: Any

    @property
    def measures(self) -> frozenset[int]:
        return frozenset()

    def of(self, cells: Cells) -> Estimate:
        if isinstance(self.value, (int, float, Fraction)):
            return Estimate(np.full(cells.size, as_float(self.value)))
        if self.value is None:
            return Estimate(np.full(cells.size, np.nan))
        return Estimate(np.array([self.value] * cells.size, dtype=object))


@dataclass(frozen=True, slots=True)
class KeyFormula:
    """A key's own value."""

    place: int
    numeric: bool

    @property
    def measures(self) -> frozenset[int]:
        return frozenset()

    def of(self, cells: Cells) -> Estimate:
        items = cells.keys[self.place]
        if self.numeric:
            return Estimate(np.array([np.nan if item is None else as_float(item) for item in items], dtype=np.float64))
        column = np.empty(cells.size, dtype=object)
        column[:] = items
        return Estimate(column)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """1 in cells whose level leaves out a key, 0 in others."""

    place: int

    @property
    def measures(self) -> frozenset[int]:
        return frozenset()

    def of(self, cells: Cells) -> Estimate:
        return Estimate(cells.left_out[self.place] if cells.left_out else np.zeros(cells.size))


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of measures, each times a factor: a count, a sum, or a centred sum put back by its count."""

    terms: tuple[tuple[int, Fraction], ...]

    @property
    def measures(self) -> frozenset[int]:
        return frozenset(measure for measure, _ in self.terms)

    def of(self, cells: Cells) -> Estimate:
        value = np.zeros(cells.size)
        slopes: dict[int, Floats] = {}
        for measure, factor in self.terms:
            value = value + as_float(factor) * cells.noisy[measure]
            slopes[measure] = np.full(cells.size, as_float(factor))
        return Estimate(value, slopes)


@dataclass(frozen=True, slots=True)
class Mean:
    """centre + sum / count, held to the bounds; a noisy count below one counts as one."""

    total: int | None
    count: int
    step: Fraction
    centre: Fraction
    low: Fraction
    high: Fraction

    @property
    def measures(self) -> frozenset[int]:
        return frozenset({self.count}) | (frozenset() if self.total is None else frozenset({self.total}))

    def of(self, cells: Cells) -> Estimate:
        count = np.maximum(cells.noisy[self.count], 1.0)
        if self.total is None:  # every value is the centre
            same = np.full(cells.size, as_float(self.centre))
            return Estimate(unless_empty(same, cells.noisy[self.count], self.count, cells.spreads, 1.0))
        step = as_float(self.step)
        offset = step * cells.noisy[self.total] / count
        offset = np.clip(offset, as_float(self.low - self.centre), as_float(self.high - self.centre))
        slopes = {self.total: step / count, self.count: -offset / count}
        return divided(as_float(self.centre) + offset, (slopes, {}), self.count, cells, 1.0)


def too_few(value: Floats, place: int, cells: Cells, least: float) -> Bools | None:
    """Where a value is shown although the count (measure `place`) leaves open whether there are this many rows."""
    if not cells.spreads or not cells.within:
        return None
    own: Moves = ({place: np.ones(cells.size)}, {})
    fewest = cells.noisy[place] - reach_of(own, cells.spreads, cells.within, cells.steps)
    return np.asarray(~np.isnan(value) & (fewest <= least - 1))


def divided(value: Floats, of: Moves, place: int, cells: Cells, least: float) -> Estimate:
    """The estimate of a value that was divided by a noisy count (measure `place`), which counts as `least` at least.

    `of` has the value's slopes and far slopes; dividing by the count adds to the far ones.
    """
    shown = unless_empty(value, cells.noisy[place], place, cells.spreads, least)
    count = np.maximum(cells.noisy[place], least)
    far = quotient(of, (count, {place: np.ones(cells.size)}, {}), cells.spreads, cells.within)
    return Estimate(shown, of[0], far, doubtful=too_few(shown, place, cells, least))


@dataclass(frozen=True, slots=True)
class Variance:
    """The mean of squares minus the square of the mean, both around the centre, held to what bounds allow.

    Numbers within h of the centre with a mean of m have a variance of at most h**2 - m**2: no square is above h**2.
    """

    total: int
    squares: int
    count: int
    step: Fraction
    square_step: Fraction
    square_centre: Fraction
    largest: Fraction  # (high - low)**2 / 4, which no population of bounded numbers exceeds
    sample: bool

    @property
    def measures(self) -> frozenset[int]:
        return frozenset({self.total, self.squares, self.count})

    def of(self, cells: Cells) -> Estimate:
        least = 2.0 if self.sample else 1.0
        count = np.maximum(cells.noisy[self.count], least)
        largest = as_float(self.largest)
        mean = np.clip(as_float(self.step) * cells.noisy[self.total] / count, -np.sqrt(largest), np.sqrt(largest))
        around = as_float(self.square_step) * cells.noisy[self.squares] / count
        second = around + as_float(self.square_centre)
        factor = count / (count - 1) if self.sample else np.ones(cells.size)
        value = np.clip(second - mean * mean, 0.0, np.maximum(largest - mean * mean, 0.0)) * factor
        slopes = {
            self.total: -2 * mean * as_float(self.step) / count * factor,
            self.squares: as_float(self.square_step) / count * factor,
            self.count: (2 * mean * mean - around) / count * factor,
        }
        off: Moves = ({self.total: as_float(self.step) / count, self.count: -mean / count}, {})
        more: Moves = ({each: part * factor for each, part in off[0].items()}, {})
        squared = product((slopes, {}), off, more, cells.spreads, cells.within)
        return divided(value, (slopes, squared), self.count, cells, least)


@dataclass(frozen=True, slots=True)
class Operation:
    """left op right on numbers; dividing by zero gives NaN."""

    op: str
    left: Formula
    right: Formula

    @property
    def measures(self) -> frozenset[int]:
        return self.left.measures | self.right.measures

    def of(self, cells: Cells) -> Estimate:
        a, b = self.left.of(cells), self.right.of(cells)
        with np.errstate(all="ignore"):
            value, by_left, by_right = OPERATIONS[self.op](a.value, b.value)
            slopes: dict[int, Floats] = {}
            far: dict[int, Floats] = {}
            for part, factor in ((a, by_left), (b, by_right)):
                for measure, slope in part.slopes.items():
                    slopes[measure] = slopes.get(measure, np.zeros(cells.size)) + slope * factor
                for measure, squares in part.far.items():
                    far[measure] = far.get(measure, np.zeros(cells.size)) + squares * np.square(factor)
        doubtful = either(a.doubtful, b.doubtful)
        if self.op in ("/", "//", "%") and b.noisy and cells.spreads and cells.within:
            near_zero = np.abs(b.value) <= reach_of((b.slopes, b.far), cells.spreads, cells.within, cells.steps)
            doubtful = either(doubtful, near_zero)
        if self.op in ("/", "//"):
            divisor = (b.value, b.slopes, b.far)
            far = quotient((slopes, far), divisor, cells.spreads, cells.within, UNBOUNDED)
            far = stepped((slopes, far), 1.0, cells.spreads, cells.within if self.op == "//" else 0.0, cells.steps)
        elif self.op == "%":
            far = wrapped((slopes, far), a.value, b.value, cells.spreads, cells.within, cells.steps)
        elif self.op == "*":
            far = product((slopes, far), (a.slopes, a.far), (b.slopes, b.far), cells.spreads, cells.within)
        decided = a.decided or b.decided
        if decided and self.op in ("+", "-", "*") and cells.spreads and cells.within:
            far = reaching((slopes, far), self._together(a, b, cells), cells.spreads, cells.within, cells.steps)
        return Estimate(value, slopes, far, doubtful=doubtful, decided=decided)

    def _together(self, a: Estimate, b: Estimate, cells: Cells) -> Floats:
        """How far off a sum or product is where both sides may be off by all of their reach at once."""
        left, right = (reach_of((each.slopes, each.far), cells.spreads, cells.within, cells.steps) for each in (a, b))
        if self.op == "*":
            return np.asarray(np.abs(b.value) * left + np.abs(a.value) * right + left * right)
        return np.asarray(left + right)


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of one number that is straight but for jumps. Steps keep the slope of what they round."""

    function: str
    inside: Formula
    decimals: int = 0

    @property
    def measures(self) -> frozenset[int]:
        return self.inside.measures

    @property
    def form(self) -> Straight:
        return STRAIGHT[self.function]

    def of(self, cells: Cells) -> Estimate:
        inner = self.inside.of(cells)
        scale = 10.0**self.decimals
        value, far = self.form.values(inner.value, scale), inner.far
        noise = (cells.spreads, cells.within, cells.steps)
        if self.form.moves == "flips":
            far = flipped((inner.slopes, inner.far), inner.value, *noise)
        elif self.form.moves == "steps":
            far = stepped((inner.slopes, inner.far), 1 / scale, *noise)
        return Estimate(value, inner.slopes, far, doubtful=inner.doubtful, decided=inner.decided)


def as_it_reads(formula: Formula, cells: Cells) -> NDArray[Any]:
    """The values of a formula. A bare key or constant keeps its exact value, which a float above 2**53 would lose."""
    if not isinstance(formula, (KeyFormula, Constant)):
        return formula.of(cells).value
    column = np.empty(cells.size, dtype=object)
    column[:] = cells.keys[formula.place] if isinstance(formula, KeyFormula) else [formula.value] * cells.size
    return column
