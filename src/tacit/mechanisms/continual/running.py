"""Running totals of whole numbers, released at every step and paid for once: the matrix with Gaussian noise, or the
tree.

    totals = RunningTotals(365, epsilon=1, delta=1e-6)       # free: nothing is drawn
    totals.event, totals.deviation(365)                      # what all of it costs, and how far it will be off
    course = totals.begin()
    course.step([12]); course.step([7])                      # running totals after each step

Promise: the event prices everything that a course ever sends, for the neighbours that `protects` and `change` state:
add or remove one unit, which changes at most `protects.times` steps, each by at most `change`. With a delta (or rho)
the noise is that of `matrix`, for pure epsilon that of `tree`; their theorems hold for streams that are chosen on the
way.

Unknown length. Without a number of steps the stream is cut into stretches of 64, 128, 256, ... steps. Each has totals
of its own, with noise for the whole price; what is sent is the sum of the finished stretches' last totals and the
present one. Theorem. A unit that changes m steps, m_k of them in stretch k, moves stretch k by m_k times what one
step can; noise is made for m. With Laplace noise the losses sum to sum (m_k/m) epsilon = epsilon. With Gaussian noise
squared shifts, measured in the stretch's own sigma, sum to sum (m_k/m)^2 2 rho <= 2 rho, and divergences add up
however m_k were chosen (`loss.filters`). The number of coordinates has no bound, so the event states rho alone.

Values are clamped to `largest`, a public number: that never makes a unit's change larger. Where it is small
enough, many steps at once are worked out in 64 bits, 1 million of them in about a second.
"""

from __future__ import annotations

import math
import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit import noise, parameters
from tacit.errors import ParameterError, TacitError
from tacit.loss import calibrate
from tacit.loss.curves.discrete_gaussian import LATTICE_SIGMA
from tacit.loss.events import Concentrated, DiscreteGaussian, DiscreteLaplace, Event, Pure
from tacit.loss.targets import rho_within
from tacit.mechanisms.continual import tree
from tacit.mechanisms.continual.matrix import Decoder, Encoder, Matrix, matrix_for
from tacit.mechanisms.continual.poles import LONGEST
from tacit.mechanisms.continual.protects import Change, Protects
from tacit.parameters import Number

FIRST_STRETCH: Final = 64
_DRAWN_AHEAD: Final = 256
_WIDEST_FAST: Final = 1 << 50  # of sigma: a draw and a value fit 64 bits together
LARGEST: Final = 1 << 25


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The noise of one known number of steps."""

    steps: int
    scale: Fraction  # of the Laplace law on nodes, or sigma of the Gaussian law on the grid
    gaussian: bool
    distance: Fraction

    @property
    def matrix(self) -> Matrix:
        """The matrix of Gaussian noise."""
        return matrix_for(self.steps, self.distance)

    def variance(self, step: int) -> float:
        """The variance of the total after `step` steps, in the squared unit of the values."""
        if not self.gaussian:
            decay = math.exp(-float(1 / self.scale))
            return tree.variance(step) * 2 * decay / (1 - decay) ** 2
        return self.matrix.poles.variance(step) * float(self.scale / self.matrix.units) ** 2


@dataclass(frozen=True, slots=True, init=False)
class RunningTotals:
    """Noise for running totals over `steps` steps (None: the number is not known) of `width` cells each.

    >>> RunningTotals(1000, width=2, epsilon=1, delta="1e-6").begin().extend([[1, 2]] * 500).shape
    (500, 2)
    """

    steps: int | None
    width: int
    protects: Protects
    change: Change
    largest: int | None
    event: Event
    gaussian: bool
    _price: Fraction

    def __init__(
        self,
        steps: int | None,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        width: int = 1,
        protects: Protects | None = None,
        change: Change | None = None,
        largest: int | None = LARGEST,
    ) -> None:
        asked = Protects() if protects is None else protects
        moved = Change() if change is None else change
        length = None if steps is None else parameters.whole("steps", steps, least=1)
        if length is not None and length > LONGEST:
            raise parameters.refuse("steps", f"at most {LONGEST:,}, or None where it is not known", steps)
        if (epsilon is None) == (rho is None):
            raise ParameterError("Say what it may cost: either epsilon, with a delta or without, or rho.")
        slip = parameters.slip("delta", delta)
        exact = parameters.price("rho", rho) if epsilon is None else parameters.price("epsilon", epsilon)
        gaussian = rho is not None or slip > 0
        cells = parameters.whole("width", width, least=1)
        reach = asked.times * moved.cells if length is None else min(asked.times, length) * moved.cells
        event, price = _priced(length, exact, slip, rho is not None, asked, moved, min(cells, reach))
        for name, value in (
            ("steps", length),
            ("width", cells),
            ("protects", asked),
            ("change", moved),
            ("largest", None if largest is None else parameters.whole("largest", largest, least=1)),
            ("event", event),
            ("gaussian", gaussian),
            ("_price", price),
        ):
            object.__setattr__(self, name, value)

    def stretch(self, number: int) -> _Stretch:
        """The noise of one stretch; of a stream of known length there is one, number 0."""
        length = FIRST_STRETCH << number if self.steps is None else self.steps
        distance = self.change.l2
        if not self.gaussian:
            scale = self.protects.times * tree.levels_of(length) * self.change.l1 / self._price
            return _Stretch(length, scale, False, distance)
        if self.steps is not None:
            return _Stretch(length, self._price, True, distance)
        matrix = matrix_for(length, distance)
        once = matrix.sensitivity(distance, 1, 1, min(self.width, self.protects.times * self.change.cells))
        return _Stretch(
            length, calibrate.gaussian_sigma_for_rho(self.protects.times * once, self._price), True, distance
        )

    def deviation(self, step: int) -> float:
        """The standard deviation of each total after `step` steps."""
        return math.sqrt(sum(part.variance(taken) for part, taken in self._stretches(step)))

    def _stretches(self, step: int) -> list[tuple[_Stretch, int]]:
        """The stretches that the first `step` steps lie in, and how many of their steps are over then."""
        left = parameters.whole("step", step, least=1)
        if self.steps is not None and left > self.steps:
            raise parameters.refuse("step", f"at most {self.steps:,}", step)
        found: list[tuple[_Stretch, int]] = []
        while left > 0:
            part = self.stretch(len(found))
            found.append((part, min(left, part.steps)))
            left -= part.steps
        return found

    def within(self, step: int, confidence: Number = "0.95") -> float:
        """A total after `step` steps is off by no more than this with at least this probability.

        Gaussian noise on this grid is within one step of the grid, a few millionths of its deviation, of the continuous
        one, whose quantile is taken. For the tree, a sum of Laplace draws, it is Chernoff's bound.
        """
        level = parameters.level("confidence", confidence)
        if self.gaussian:
            from scipy.special import ndtri  # a fifth of what a curator would load, and only a watch needs it

            return self.deviation(step) * float(ndtri(float((1 + level) / 2))) * (1 + 1e-5)
        parts = self._stretches(step)
        share = float(1 - level) / len(parts)
        return sum(tree.reach(taken, float(part.scale), share) for part, taken in parts)

    def begin(self, *, bits: noise.BitSource | None = None) -> Course:
        """A stream of its own; its noise is drawn as it goes."""
        return Course(self, bits)


def _priced(
    steps: int | None, exact: Fraction, slip: Fraction, by_rho: bool, asked: Protects, moved: Change, cells: int
) -> tuple[Event, Fraction]:
    """The event of a whole stream, and epsilon (tree), sigma (matrix) or rho (matrix, unknown length)."""
    if not by_rho and slip == 0:
        if steps is None:
            return Pure(exact), exact
        touched = asked.times * tree.levels_of(steps) * moved.l1
        return DiscreteLaplace(touched, touched / exact), exact
    if steps is None:
        rho = exact if by_rho else rho_within(exact, slip)
        if rho == 0:
            raise parameters.refuse("delta", "large enough for this epsilon", float(slip))
        return Concentrated(rho), rho
    matrix = matrix_for(steps, moved.l2)
    times = min(asked.times, 1 + (steps - 1) // asked.apart)
    sensitivity = matrix.sensitivity(moved.l2, times, asked.apart, cells)
    sigma = (
        calibrate.gaussian_sigma_for_rho(sensitivity, exact)
        if by_rho
        else calibrate.discrete_gaussian_sigma(sensitivity, exact, slip, steps * cells)
    )
    if sigma < LATTICE_SIGMA and steps * cells > 1:
        # the prices of narrow noise are proved for shifts that are fixed beforehand, and a stream is chosen on the way
        raise parameters.refuse("epsilon or rho", "smaller: so little noise is not priced for streams", float(exact))
    return DiscreteGaussian(sensitivity, sigma, steps * cells), sigma


class Course:
    """One stream as it goes. What it remembers of the values is exact, and nothing public shows it.

    A course is not durable by itself: `tacit.streaming.Journal` keeps one in a file. It can be neither copied nor
    pickled, and another process refuses it: two of one course would draw two noises for one step. Threads take turns.

    >>> len(RunningTotals(1000, width=2, epsilon=1, delta="1e-6").begin().step([3, 4]))
    2
    """

    def __init__(self, totals: RunningTotals, bits: noise.BitSource | None = None) -> None:
        self.totals = totals
        self.time = 0
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._bits = noise.secure() if bits is None else bits
        self._number = 0
        self._finished = [0.0] * totals.width
        self._last = [0.0] * totals.width
        self._part = _Part(totals, totals.stretch(0), self._bits)

    @property
    def last(self) -> list[float]:
        """What was sent last."""
        return list(self._last)

    def step(self, values: Any) -> list[float]:
        """The running totals after one more vector of whole numbers."""
        row = self._read(values)
        with self._turn:
            self._room(1)
            if self._part.left == 0:
                self._next()
            sent = self._part.step(row)
            self.time += 1
            self._last = [done + new for done, new in zip(self._finished, sent, strict=True)]
            return list(self._last)

    def extend(self, values: Any) -> NDArray[np.float64]:
        """The running totals after each of many vectors, one a row (for one cell: a plain list will do)."""
        rows = self._many(values)
        found = [np.empty((0, self.totals.width))]
        with self._turn:
            self._room(len(rows))
            while len(rows):
                if self._part.left == 0:
                    self._next()
                now, rows = rows[: self._part.left], rows[self._part.left :]
                found.append(self._part.extend(now) + np.array(self._finished))
                self.time += len(now)
                self._last = found[-1][-1].tolist()
        return np.concatenate(found)

    def _room(self, wanted: int) -> None:
        if self._process != os.getpid():
            raise TacitError("This stream belongs to another process: two would draw two noises for one step.")
        if self.totals.steps is not None and self.time + wanted > self.totals.steps:
            raise ParameterError(
                f"This stream was paid for {self.totals.steps:,} steps, and {self.time:,} of them are over. "
                f"{wanted:,} more need a stream of their own."
            )

    def _next(self) -> None:
        self._finished = list(self._last)
        self._number += 1
        self._part = _Part(self.totals, self.totals.stretch(self._number), self._bits)

    def _read(self, values: Any) -> list[int]:
        row = [values] if self.totals.width == 1 and not hasattr(values, "__len__") else list(values)
        if len(row) != self.totals.width or any(
            isinstance(each, bool) or not isinstance(each, (int, np.integer)) for each in row
        ):
            raise parameters.refuse("values", f"{self.totals.width} whole numbers", "something else")
        largest = self.totals.largest
        if largest is None:
            return [int(each) for each in row]
        return [min(max(int(each), -largest), largest) for each in row]

    def _many(self, values: Any) -> NDArray[Any]:
        array = np.asarray(values)
        if array.ndim == 1 and self.totals.width == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != self.totals.width or array.dtype.kind not in "iuO":
            raise parameters.refuse("values", f"rows of {self.totals.width} whole numbers", f"{array.dtype} values")
        if array.dtype == object and not all(type(each) is int for each in array.flat):
            raise parameters.refuse("values", "whole numbers", "something else among them")
        largest = self.totals.largest
        if largest is None:
            return np.array(array, dtype=object)
        least = 0 if array.dtype.kind == "u" else -largest
        return np.asarray(np.clip(array, least, largest), dtype=np.int64)

    # -- what must be kept to go on after a crash -------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """All that the next step needs, as JSON values. It holds exact numbers, so it is for `Journal` alone."""
        return {
            "time": self.time,
            "stretch": self._number,
            "finished": self._finished,
            "last": self._last,
            "part": self._part.state(),
        }

    def _resume(self, state: dict[str, Any]) -> Course:
        """This course, going on where `_state` was taken."""
        self.time, self._number = int(state["time"]), int(state["stretch"])
        self._finished, self._last = list(state["finished"]), list(state["last"])
        self._part = _Part(self.totals, self.totals.stretch(self._number), self._bits)
        self._part.resume(state["part"])
        return self

    def __reduce__(self) -> NoReturn:
        raise TacitError("A stream can be neither copied nor pickled: a step is drawn once. Keep it in a `Journal`.")


class _Part:
    """The mechanism of one stretch, with noise drawn a little ahead (in memory alone: unused draws are forgotten)."""

    def __init__(self, totals: RunningTotals, stretch: _Stretch, bits: noise.BitSource) -> None:
        self._stretch, self._width, self._bits = stretch, totals.width, bits
        self.left = stretch.steps
        self._ahead: list[int] = []
        self._tree: tree.Tree | None = None
        if stretch.gaussian:
            matrix = stretch.matrix
            self._fast = matrix.is_fast(totals.largest) and stretch.scale < _WIDEST_FAST
            self._encoder = Encoder(matrix, totals.width, fast=self._fast)
            self._decoder = Decoder(matrix, totals.width)
            self._variance = stretch.scale**2
        else:
            self._tree = tree.Tree(stretch.steps, totals.width)

    def step(self, row: list[int]) -> list[float]:
        self.left -= 1
        if self._tree is not None:
            return self._tree.step(row, self._draw)
        hidden = self._encoder.step(row)
        return self._decoder.step([value + extra for value, extra in zip(hidden, self._draw(len(row)), strict=True)])

    def extend(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        self.left -= len(rows)
        if self._tree is not None:
            return self._tree.extend(rows, self._draw)
        hidden = self._encoder.extend(rows)
        drawn = noise.discrete_gaussian(self._variance, hidden.size, self._bits).reshape(hidden.shape)
        return self._decoder.extend(hidden + (drawn if self._fast else drawn.astype(object)))

    def _draw(self, many: int) -> list[int]:
        if many > len(self._ahead):
            wanted = max(_DRAWN_AHEAD, many)
            drawn = (
                noise.discrete_laplace(self._stretch.scale, wanted, self._bits)
                if self._tree is not None
                else noise.discrete_gaussian(self._variance, wanted, self._bits)
            )
            self._ahead = [int(each) for each in drawn.tolist()]
        now, self._ahead = self._ahead[:many], self._ahead[many:]
        return now

    def state(self) -> dict[str, Any]:
        if self._tree is not None:
            return {"left": self.left, "open": self._tree.open, "waiting": self._tree.waiting, "time": self._tree.time}
        encoder, decoder = self._encoder, self._decoder
        return {
            "left": self.left,
            "block": encoder.block,
            "states": encoder.states,
            "seen": {"block": decoder.block, "states": decoder.states, "total": decoder.total},
        }

    def resume(self, state: dict[str, Any]) -> None:
        self.left = int(state["left"])
        if self._tree is not None:
            self._tree.time = int(state["time"])
            self._tree.open, self._tree.waiting = _copied(state["open"]), _copied(state["waiting"])
            return
        self._encoder.block, self._encoder.states = _copied(state["block"]), _copied(state["states"])
        seen = state["seen"]
        self._decoder.block, self._decoder.states = _copied(seen["block"]), _copied(seen["states"])
        self._decoder.total = list(seen["total"])


def _copied(rows: Any) -> list[list[Any]]:
    return [list(row) for row in rows]
