"""Laplace noise on whole numbers, or on a grid of reals.

Theorem. Let f(x) be a vector of integers with L1 sensitivity S: sum |f_i(x) - f_i(y)| <= S for all neighbours x, y.
Adding to each coordinate independent noise of mass (1 - a)/(1 + a) * a**|k|, a = exp(-1/scale), is pure
epsilon-differentially private for epsilon = S/scale.
Proof. The ratio of the masses of an output o under x and y is exp(sum (|o_i - f_i(y)| - |o_i - f_i(x)|)/scale), at most
exp(S/scale) by the triangle inequality. It is reached at o = f(x) when the distance is S.

Error. Pr[|noise| > t] = 2 a**(t+1)/(1 + a) for whole t >= 0, transcendental (a is, by Lindemann's theorem) and so never
equal to a rational level. As 2a/(1 + a) <= 1 it is at most exp(-t/scale): the noise exceeds scale * ln(1/r), rounded up
to a whole number, with probability at most r.

Assumptions. The caller's sensitivity holds under the caller's neighbour relation (add or remove one unit by default; a
histogram has S = 1 then, and S = 2 if one unit is replaced). Reals go through `grid`, whose theorem gives S in steps.
Noise is drawn exactly (`tacit.noise.discrete_laplace`).

Source: Dwork, McSherry, Nissim, Smith 2006; on the integers Ghosh, Roughgarden, Sundararajan 2009.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit import noise, parameters
from tacit.loss.events import DiscreteLaplace
from tacit.loss.numbers.rounding import fraction_log_up
from tacit.mechanisms.base import only_one, ordinary, quantile
from tacit.mechanisms.grid import Grid, lattice
from tacit.mechanisms.whole_numbers import WholeNumbers
from tacit.noise.functions import Interval
from tacit.noise.reals import Enclosure, exp_enclosure
from tacit.parameters import Number


@dataclass(frozen=True, slots=True, init=False)
class Laplace:
    """Laplace noise for values of this L1 sensitivity, by its epsilon or its scale.

    With an exact sensitivity (int) the values are whole numbers, as many as you like. With a float sensitivity, or a
    `grid` (a power of two), they are reals, at most `size` of them.

    >>> Laplace(1, "0.1").scale
    10.0
    """

    event: DiscreteLaplace
    lattice: WholeNumbers | Grid

    def __init__(
        self,
        sensitivity: Number,
        epsilon: Number | None = None,
        *,
        scale: Number | None = None,
        size: int = 1,
        grid: Number | None = None,
    ) -> None:
        places = lattice(sensitivity, size, grid)
        units = places.taxicab(parameters.rational("sensitivity", sensitivity))
        if only_one(epsilon=epsilon, scale=scale) == "epsilon":
            spread = units / parameters.positive("epsilon", epsilon)
            ordinary("epsilon", spread * places.unit, epsilon)
        else:
            spread = parameters.positive("scale", scale) / places.unit
            ordinary("scale", spread * places.unit, scale)
        object.__setattr__(self, "event", DiscreteLaplace(units, ordinary("sensitivity", spread, sensitivity)))
        object.__setattr__(self, "lattice", places)

    @property
    def scale(self) -> float:
        """The scale of the noise in the unit of the values."""
        return float(self.event.scale * self.lattice.unit)

    def error(self, confidence: Number) -> int | float:
        """The smallest t that the noise of one number exceeds with probability at most 1 - confidence.

        >>> Laplace(1, "0.1").error("0.95")
        30
        """
        level = 1 - parameters.open_probability("confidence", confidence)
        decay = math.exp(-float(min(1 / self.event.scale, Fraction(1000))))
        guess = self.event.scale * Fraction(fraction_log_up(1 / level) + math.log(2 / (1 + decay)))
        return self.lattice.error(quantile(self._tail, level, math.floor(guess)))

    def release(self, values: Any, *, bits: noise.BitSource | None = None) -> Any:
        """`values` with noise: integers for integers, multiples of the grid's step for reals."""
        source = noise.secure() if bits is None else bits
        scale = self.event.scale
        return self.lattice.release(values, lambda size: noise.discrete_laplace(scale, size, source))

    def _tail(self, t: int, precision: int) -> Enclosure:
        """Pr[|noise| > t] = 2 a**(t+1) / (1 + a)."""
        power = Interval(*exp_enclosure(-(t + 1) / self.event.scale, precision), precision)
        a = Interval(*exp_enclosure(-1 / self.event.scale, precision), precision)
        return (Interval.of(2, precision) * power / (Interval.of(1, precision) + a)).enclosure
