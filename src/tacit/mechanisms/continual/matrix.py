"""Running totals with correlated Gaussian noise, in whole numbers, with a memory of a few numbers for each cell.

Theorem. Let x_1, ..., x_n be vectors of whole numbers that arrive one by one, possibly chosen after seeing all earlier
output. A unit changes at most m of them, any two at least `apart` steps from each other, each by at most D in L2
norm. For the matrix C of `poles`, `Encoder` computes whole numbers g_t from x_1, ..., x_t. Whatever the rest of the
stream is,
    sum over t and cells of (g_t - g'_t)^2 <= S^2,   S = units sqrt(sum over p, q < m of G(|p - q| apart)) D + e
    sqrt(n w),
where G(l) is the inner product of columns of C that lie l apart, `units` the steps of the grid in 1, w the number of
cells that the unit can change, and e a bound on all rounding. Releasing g_t + z_t with z_t discrete Gaussian of
parameter sigma on every cell is priced by the event DiscreteGaussian(S, sigma, n w), also for streams chosen on the
way. Everything that `Decoder` makes of the released numbers is post-processing.

Proof. (1) Before rounding, g is `units` C' x, and every entry of C' lies between 0 and that of C, because coefficients
are rounded down from exact rationals. Entries are positive, so a unit's change is, entry by entry, at most the sum
of its columns, |sum_p C'_p (x) d_p|^2 = sum_{p, q} <C'_p, C'_q> <d_p, d_q> <= D^2 sum_{p, q} <C_p, C_q>; c falls, so
inner products grow when columns come closer or the first of them comes earlier.
(2) Rounding. States are rounded down once a block: pole i keeps less than 1/(1 - r_i) of its own steps of all that,
r_i its factor for a block. A value is rounded twice more. So g differs from its unrounded form by a number in an
interval of length e, and two of them differ by at most the unrounded difference plus e; where nothing has changed yet,
they are equal. The norm of a sum is at most the sum of norms.
(3) What is released at t has noise on whole numbers whose shift the past decides, and the squared shifts sum to at most
S^2 always. The proof of `loss/curves/discrete_gaussian`, Theorem 2, makes each coordinate by rounding a continuous
Gaussian number, whatever the integer shift is; continuous Gaussian noise under shifts chosen on the way, of at
most S^2 in all, is no worse than one shift by S (Smith, Thakurta 2022; Denisov et al. 2022 for exactly this use). Renyi
divergences add up under such choices too (Feldman, Zrnic 2021). For n w = 1 there is nothing to choose.

Assumptions. What m, `apart`, D and w say is true of the caller's neighbours. Noise is exact (`tacit.noise`).

Memory: a block of 32 values and 6 states for each cell, and as much for the decoder. The same numbers come out
however the stream is cut into calls of `extend`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.loss.numbers.rounding import dyadic_up
from tacit.mechanisms.continual.poles import Poles, poles_for

BLOCK: Final = 32
FINE: Final = 24
"""Values are computed in steps of 2**-24, then rounded to the grid."""
_STATE: Final = 32  # bits of a state behind the point
_SHOWN: Final = 31  # bits of the coefficients that show a state
_FADE: Final = 62  # bits of a state's factor for one block
_SLACK: Final = Fraction(1_000_000_001, 1_000_000_000)
"""More than the relative error of float sums of positive terms: at most some million roundings of 2**-53."""
_MOST_TIMES: Final = 1 << 22
LARGEST_FAST: Final = 1 << 25

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Matrix:
    """C for one number of steps, in whole numbers."""

    steps: int
    coarse: int  # the grid is 2**(coarse - FINE)
    poles: Poles
    near: tuple[int, ...]  # c within a block, by lag
    shown: tuple[tuple[int, ...], ...]  # [place in the block][pole]: what a state adds
    taken: tuple[tuple[int, ...], ...]  # [place in the block][pole]: what a value leaves in a state
    fade: tuple[int, ...]

    @property
    def units(self) -> Fraction:
        """How many steps of the grid make 1."""
        return Fraction(1 << FINE, 1 << self.coarse)

    def sensitivity(self, distance: Fraction, times: int = 1, apart: int = 1, cells: int = 1) -> Fraction:
        """S of the theorem, in steps of the grid, for a unit that changes `times` values by `distance` each."""
        if times > _MOST_TIMES:
            raise parameters.refuse("times", f"at most {_MOST_TIMES:,}, for which sums are exact enough", times)
        lags = np.arange(1, times, dtype=np.float64)
        apart_sums = self.poles.inner(lags * apart, self.steps) if times > 1 else np.zeros(0)
        own = float(self.poles.inner(np.zeros(1), self.steps)[0])
        squared = times * own + 2 * float((times - lags) @ apart_sums)
        linear = self.units * distance * Fraction(math.sqrt(squared)) * _SLACK
        return dyadic_up(linear + self.rounding * Fraction(math.sqrt(self.steps * cells)) * _SLACK)

    @property
    def rounding(self) -> Fraction:
        """e of the theorem, in steps of the grid."""
        states = sum(
            Fraction(shown, 1 << _SHOWN) / (1 - Fraction(fade, 1 << _FADE))
            for shown, fade in zip(self.shown[0], self.fade, strict=True)
        )
        fine = 1 + states * Fraction(1 << FINE, 1 << _STATE)
        return 1 + fine / (1 << self.coarse)

    def is_fast(self, largest: int | None) -> bool:
        """Whether values up to `largest` never leave 64 bits on the way."""
        if largest is None or largest > LARGEST_FAST:
            return False
        row = float(self.poles.below(np.arange(BLOCK, dtype=np.float64)).sum())
        row += sum(weight / (1 - pole) for pole, weight in zip(self.poles.poles, self.poles.weights, strict=True))
        longest = min(row, float(self.steps))
        return largest * longest * 2.0 ** (FINE + 1) < 2.0**61


@lru_cache(maxsize=64)
def matrix_for(steps: int, distance: Fraction = Fraction(1)) -> Matrix:
    """The matrix for this many steps, on a grid that is fine compared with changes of `distance`."""
    chosen = poles_for(steps)
    exact = [(Fraction(pole), Fraction(weight)) for pole, weight in zip(chosen.poles, chosen.weights, strict=True)]
    powers = [[pole**power for power in range(BLOCK + 1)] for pole, _ in exact]
    near = [1 << FINE]
    for lag in range(1, BLOCK):
        near.append(math.floor(sum(w * p[lag] for (_, w), p in zip(exact, powers, strict=True)) * (1 << FINE)))
    shown = tuple(
        tuple(math.floor(w * p[place] * (1 << _SHOWN)) for (_, w), p in zip(exact, powers, strict=True))
        for place in range(BLOCK)
    )
    taken = tuple(tuple(math.floor(p[BLOCK - place] * (1 << _STATE)) for p in powers) for place in range(BLOCK))
    fade = tuple(math.floor(p[BLOCK] * (1 << _FADE)) for p in powers)
    coarse = max(math.floor(distance).bit_length() - 1, 0)
    return Matrix(steps, coarse, chosen, tuple(near), shown, taken, fade)


class Encoder:
    """The private side: whole numbers in, whole numbers on the grid out. `block` and `states` are all it remembers."""

    def __init__(self, matrix: Matrix, width: int, *, fast: bool = False) -> None:
        self.matrix, self.width, self._fast = matrix, width, fast
        self.block: list[list[int]] = [[] for _ in range(width)]
        self.states: list[list[int]] = [[0] * len(matrix.fade) for _ in range(width)]

    def step(self, values: Any) -> list[int]:
        """g of one more vector."""
        matrix = self.matrix
        place = len(self.block[0])
        shown = matrix.shown[place]
        half = (1 << matrix.coarse) >> 1
        found = []
        for cell, value in enumerate(values):
            block, states = self.block[cell], self.states[cell]
            block.append(value)
            near = sum(map(mul, block, matrix.near[place::-1]))
            far = sum(map(mul, states, shown)) >> (_SHOWN + _STATE - FINE)
            found.append((near + far + half) >> matrix.coarse)
        if place == BLOCK - 1:
            for cell in range(self.width):
                self._close(cell)
        return found

    def _close(self, cell: int) -> None:
        """The block is full: its values go into the states."""
        block = self.block[cell]
        added = [sum(map(mul, block, column)) for column in zip(*self.matrix.taken, strict=True)]
        states = self.states[cell]
        for pole, fade in enumerate(self.matrix.fade):
            states[pole] = ((states[pole] * fade) >> _FADE) + added[pole]
        block.clear()

    def extend(self, values: NDArray[Any]) -> NDArray[Any]:
        """g of many vectors, one a row: the numbers that `step` gives, one by one."""
        total = len(values)
        first = min((-len(self.block[0])) % BLOCK, total)
        last = total - (total - first) % BLOCK
        if not self._fast or last - first < 2 * BLOCK:
            return self._one_by_one(values)
        parts = [self._one_by_one(values[:first]), self._blocks(values[first:last]), self._one_by_one(values[last:])]
        return np.concatenate(parts)

    def _one_by_one(self, values: NDArray[Any]) -> NDArray[Any]:
        found = [self.step(row) for row in values.tolist()]
        return np.array(found, dtype=np.int64 if self._fast else object).reshape(len(found), self.width)

    def _blocks(self, values: NDArray[Any]) -> NDArray[Any]:
        """Whole blocks at once. All sums fit 64 bits (`Matrix.is_fast`); states are Python's whole numbers."""
        return np.stack([self._column(values[:, cell], cell) for cell in range(self.width)], axis=1)

    def _column(self, values: NDArray[Any], cell: int) -> Integers:
        matrix = self.matrix
        blocks = np.ascontiguousarray(values, dtype=np.int64).reshape(-1, BLOCK)
        near, taken, shown = _arrays(matrix)
        added = (blocks @ taken).tolist()
        states, before = self.states[cell], []
        for row in added:
            before.append(states)
            states = [
                ((state * fade) >> _FADE) + new for state, fade, new in zip(states, matrix.fade, row, strict=True)
            ]
        self.states[cell] = states
        # a state in three pieces of 31 bits, the highest with the sign
        limb, mask = 31, (1 << 31) - 1
        low = np.array([[state & mask for state in row] for row in before], dtype=np.int64)
        middle = np.array([[(state >> limb) & mask for state in row] for row in before], dtype=np.int64)
        high = np.array([[state >> (2 * limb) for state in row] for row in before], dtype=np.int64)
        carried = (middle @ shown) + ((low @ shown) >> limb)
        surplus = _STATE - FINE  # _SHOWN is one limb
        far = ((high @ shown) << (limb - surplus)) + (carried >> surplus)
        half = (1 << matrix.coarse) >> 1
        found: Integers = ((blocks @ near) + far + half) >> matrix.coarse
        return found.reshape(-1)


class Decoder:
    """The public side: released numbers in, running totals out. It sees nothing but what was released."""

    def __init__(self, matrix: Matrix, width: int) -> None:
        self.matrix, self.width = matrix, width
        self.block: list[list[float]] = [[] for _ in range(width)]
        self.states: list[list[float]] = [[0.0] * len(matrix.fade) for _ in range(width)]
        self.total: list[float] = [0.0] * width
        self._unit = float(1 / matrix.units)
        self._near, self._shown, self._taken, self._fade = _floats(matrix)

    def step(self, released: Any) -> list[float]:
        """The running totals after one more released vector."""
        place = len(self.block[0])
        shown, near = self._shown[place], self._near[place:0:-1]
        for cell, number in enumerate(released):
            block = self.block[cell]
            value = number * self._unit - sum(map(mul, self.states[cell], shown)) - sum(map(mul, block, near))
            block.append(value)
            self.total[cell] += value
        if place == BLOCK - 1:
            for cell, block in enumerate(self.block):
                added = [sum(map(mul, block, column)) for column in self._taken]
                kept = zip(self.states[cell], self._fade, added, strict=True)
                self.states[cell] = [state * fade + new for state, fade, new in kept]
                block.clear()
        return list(self.total)

    def extend(self, released: NDArray[Any]) -> NDArray[np.float64]:
        """The running totals after each of many."""
        total = len(released)
        first = min((-len(self.block[0])) % BLOCK, total)
        last = total - (total - first) % BLOCK
        if last - first < 2 * BLOCK:
            return np.array([self.step(row) for row in released.tolist()]).reshape(total, self.width)
        head = [self.step(row) for row in released[:first].tolist()]
        body = self._blocks(released[first:last])
        tail = [self.step(row) for row in released[last:].tolist()]
        return np.concatenate([np.array(part).reshape(-1, self.width) for part in (head, body, tail)])

    def _blocks(self, released: NDArray[Any]) -> NDArray[np.float64]:
        shown, taken, fade, solve = _inverse(self.matrix)
        blocks = released.astype(np.float64).reshape(-1, BLOCK, self.width) / float(self.matrix.units)
        solved = np.einsum("ij,bjw->biw", solve, blocks, optimize=True)
        added = np.einsum("jp,bjw->bpw", taken, solved, optimize=True)
        turn = np.diag(fade) - taken.T @ solve @ shown  # what a block makes of the states before it
        before = np.empty((len(blocks), len(fade), self.width))
        states = np.array(self.states).T
        for number in range(len(blocks)):
            before[number] = states
            states = turn @ states + added[number]
        self.states = states.T.tolist()
        solved -= np.einsum("ip,bpw->biw", solve @ shown, before, optimize=True)
        totals = np.array(self.total) + np.cumsum(solved.reshape(-1, self.width), axis=0)
        self.total = totals[-1].tolist()
        return np.asarray(totals, dtype=np.float64)


@lru_cache(maxsize=64)
def _arrays(matrix: Matrix) -> tuple[Integers, Integers, Integers]:
    near = np.zeros((BLOCK, BLOCK), dtype=np.int64)
    for place in range(BLOCK):
        near[place, place:] = matrix.near[: BLOCK - place]
    return near, np.array(matrix.taken, dtype=np.int64), np.array(matrix.shown, dtype=np.int64).T.copy()


@lru_cache(maxsize=64)
def _floats(matrix: Matrix) -> tuple[list[float], list[list[float]], list[list[float]], list[float]]:
    """Coefficients in units of 1: by lag, by [place][pole], by [pole][place], by pole."""
    return (
        [each / 2.0**FINE for each in matrix.near],
        [[each / 2.0**_SHOWN for each in row] for row in matrix.shown],
        [[each / 2.0**_STATE for each in column] for column in zip(*matrix.taken, strict=True)],
        [each / 2.0**_FADE for each in matrix.fade],
    )


@lru_cache(maxsize=64)
def _inverse(matrix: Matrix) -> tuple[NDArray[Any], ...]:
    """The same as arrays, and the inverse of C within a block."""
    near, shown, taken, fade = _floats(matrix)
    square = np.zeros((BLOCK, BLOCK))
    for place in range(BLOCK):
        square[place:, place] = near[: BLOCK - place]
    return np.array(shown), np.array(taken).T.copy(), np.array(fade), np.linalg.inv(square)
