"""The minimum of clipped logistic losses with a ridge, to a stated nearness that is proved each time.

J(w) = sum l(y_i z_i.w) + ridge/2 |w|**2 + tilt.w, with l'(t) = -min(1/(1 + exp t), 1/2), rows |z_i| <= B, and y_i = -1
or 1. l is convex, |l'| <= 1/2, and l' is Lipschitz with 1/4. So J bends by at least `ridge` and by at most
M = n B**2/4 + ridge in every direction.

Promise: `minimum` returns whole numbers k with |gradient of J at w = step k| <= tolerance, for the exact J, whatever
rounding did on the way. J bends by `ridge`, so the exact minimum is within tolerance/ridge of w.

How it is reached. Nesterov's accelerated steps with the constants of a strongly convex function, from 0: after T steps
|gradient|**2 <= 2 K |gradient at 0|**2 exp(-T/K**(1/2)), K = M/ridge (Nesterov 2004, theorem 2.2.3, with J - J* <=
|gradient|**2/(2 ridge) and |gradient|**2 <= 2 M (J - J*)). T is taken from n and public numbers for an eighth of the
tolerance, as |gradient at 0| <= n B/2 + |tilt|; in place of n a larger, released number is used, and in place of |tilt|
a public bound: the tilt hides the rows, and a time that gave its length away would say something about them. Neither
rows nor tilt decide how many steps there are.

How it is proved. The gradient at w is computed once more, and a bound of all rounding is added to its length. With u =
2**-53: a score is off by at most (d + 4) u |w| B; a residual by a quarter of that and 2**-48 (exp is within 8 units in
its last place); sums of m terms in any order by m u times the sum of their sizes (Higham 2002, chapter 3). The sum of
these bounds is doubled. It grows with n: below 2**27 rows it is far below the tolerances that `perturbed` asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.learning.columns import Reals
from tacit.learning.linear.rounds import BLOCK, Short, blocks
from tacit.parameters import ROUNDOFF
from tacit.statistics.source import Whole

_RESIDUAL = 2.0**-48
_SPARE = 8.0  # how much smaller than the tolerance the theorem makes the gradient
_MOST_STARTS = 64


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows in whole numbers, one in each column, `reach` to 1; classes as sides, -1 or 1."""

    rows: Short
    sides: Reals
    reach: int
    longest: float  # B: no row is longer
    ridge: float
    tilt: Reals
    most: int | None = None  # rows, at most: a released number; the exact one if left out
    most_tilt: float | None = None  # its length, at most: a public number; the exact one where left out

    @property
    def count(self) -> int:
        """n: the number of rows."""
        return int(self.rows.shape[1])

    @property
    def bound(self) -> int:
        """At least n. The number of steps follows from it, so that the time says no more about n than was released."""
        return self.count if self.most is None else self.most

    @property
    def largest_bend(self) -> float:
        """M: the most that J bends."""
        return self.bound * self.longest**2 / 4 + self.ridge

    def gradient(self, weights: Reals) -> Reals:
        """In floating point; `doubt` says how far off."""
        total = np.zeros_like(weights)
        scaled = weights / self.reach
        with np.errstate(over="ignore"):
            for part, block in blocks(self.rows):
                sides = self.sides[part]
                found = np.minimum(1 / (1 + np.exp(sides * (scaled @ block))), 0.5)
                total -= block @ (sides * found)
        return np.asarray(total / self.reach + self.ridge * weights + self.tilt)

    def doubt(self, weights: Reals) -> float:
        """At most how far `gradient` is from the exact one, in length."""
        size = math.sqrt(float(weights @ weights))
        whole = self.count * self.longest
        residual = (len(weights) + 4) * ROUNDOFF * size * self.longest / 4 + _RESIDUAL
        terms = BLOCK + self.count / BLOCK + 4
        ends = self.ridge * size + math.sqrt(float(self.tilt @ self.tilt)) + whole / 2
        return 2 * (whole * residual + terms * ROUNDOFF * whole / 2 + 8 * ROUNDOFF * ends)

    def is_proved(self, weights: Reals, tolerance: float) -> bool:
        """Whether the exact gradient there is at most this long."""
        found = self.gradient(weights)
        length = math.sqrt(float(found @ found)) * (1 + 2.0**-40)
        return length + self.doubt(weights) <= tolerance

    def steps(self, tolerance: float) -> int:
        """T: the number of steps."""
        condition = self.largest_bend / self.ridge
        tilt = math.sqrt(float(self.tilt @ self.tilt)) if self.most_tilt is None else self.most_tilt
        first = self.bound * self.longest / 2 + tilt
        needed = math.log(max(2 * condition * (first * _SPARE / tolerance) ** 2, 2.0))
        return math.ceil(math.sqrt(condition) * needed)

    def accelerated(self, start: Reals, steps: int) -> Reals:
        """Nesterov's steps."""
        root = math.sqrt(self.largest_bend / self.ridge)
        momentum = (root - 1) / (root + 1)
        here, ahead = start, start
        for _ in range(steps):
            following = ahead - self.gradient(ahead) / self.largest_bend
            here, ahead = following, following + momentum * (following - here)
        return here


def minimum(problem: Problem, step: float, tolerance: float) -> NDArray[Any]:
    """Whole numbers k: at k times `step`, a power of two, the gradient is at most `tolerance` long."""
    steps = problem.steps(tolerance)
    weights = np.zeros(len(problem.rows))
    for _ in range(_MOST_STARTS):
        weights = problem.accelerated(weights, steps)
        weights = np.rint(weights / step) * step
        if problem.is_proved(weights, tolerance):
            return np.array([int(each) for each in weights / step], dtype=object)
    raise ArithmeticError("No minimum was proved: there are more rows than floating point adds up closely enough.")


def sides_of(classes: Whole, place: int) -> Reals:
    """1 for rows of that class, -1 for all others."""
    return np.where(classes == place, 1.0, -1.0)
