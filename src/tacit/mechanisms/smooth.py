"""Smooth-sensitivity noise: as much noise as this data needs, without telling how much that is.

Setting. f is a function of the data. LS(x) is the most that f moves from x to a neighbour. S is a smooth bound of it
with smoothness b: S(x) >= LS(x) and S(x) <= exp(b) S(y) for all neighbours x, y. Its value on the data is private.

Theorem. Let f(x) be whole numbers. Releasing round(f(x) + m S(x) Z), Z from the law of the kind, costs what is
stated, for the public smoothness b and the public multiple m that `smooth_calibration` computes (and proves) for the
kind:

    kind         law of Z                              cost              smoothness, unless the caller chooses
    "laplace"    exp(-|z|)/2                           (epsilon, delta)  epsilon / (2 ln(2/delta)), at most 1
    "cauchy"     proportional to 1/(1 + z**2)          epsilon           epsilon / 6
    "quartic"    proportional to 1/(1 + z**4)          epsilon           epsilon / 10
    "student"    Student's t, `degrees` of freedom     epsilon or rho    epsilon / (2 (degrees + 2))
    "lognormal"  Laplace times a log-normal            rho (zCDP)        sqrt(2 rho) / 10

Assumptions: the relation of neighbours is the caller's, the same for LS and for S. One number at a time.

Whole numbers and reals. Rounding f + m S Z is post-processing of the continuous release, and for whole f the same as
adding round(m S Z), which is how it is drawn (`tacit.noise`, exactly, for the rational scale m S). Reals are first
rounded to a public grid of step g, which moves two values at most one step further apart: LS of the rounded values,
in steps, is at most LS/g + 1. So T = S/g + 1 bounds it, and T is as smooth as S: S(x)/g + 1 <= exp(b) S(y)/g + 1 <=
exp(b) (S(y)/g + 1). For whole numbers T = max(S, 1) is used: it bounds LS, is as smooth as S, and keeps the noise
from vanishing. T leaves only through the noise.

Rounding in S. The caller computes S in floats. A relative error of up to 2**-42 is provided for: T takes S (1 +
2**-41), so it is still at least LS, and the calibration holds for a smoothness larger by 2**-40, which covers the
ratio of two such errors.

How S is read: a negative number as 0, NaN and infinity as the largest float. No content raises an error.

Sources: Nissim, Raskhodnikova, Smith 2007; Bun and Steinke 2019 (Student's t and Laplace-log-normal noise).
"""

from __future__ import annotations

import math
import numbers
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit import parameters
from tacit.loss.events import Event
from tacit.mechanisms import smooth_calibration
from tacit.mechanisms.base import ordinary
from tacit.mechanisms.grid import Grid, exponent_of
from tacit.mechanisms.smooth_noise import SmoothNoise
from tacit.mechanisms.whole_numbers import WholeNumbers
from tacit.noise import BitSource, secure

_UPWARD = 1 + Fraction(1, 2**41)


@dataclass(frozen=True, slots=True, init=False)
class Smooth:
    """Noise for a private smooth sensitivity of the public `smoothness`.

    Values are whole numbers, or reals on the multiples of `grid`, a power of two. A caller may choose a `smoothness`:
    larger makes S smaller and the multiple of it larger.

    >>> Smooth("0.5", "1e-6").smoothness > 0
    True
    """

    event: Event
    smoothness: Fraction
    multiple: Fraction
    noise: SmoothNoise
    lattice: WholeNumbers | Grid

    def __init__(
        self,
        epsilon: parameters.Number | None = None,
        delta: parameters.Number | None = None,
        *,
        rho: parameters.Number | None = None,
        kind: str = "laplace",
        smoothness: parameters.Number | None = None,
        degrees: int | None = None,
        grid: parameters.Number | None = None,
    ) -> None:
        asked = {"epsilon": epsilon, "delta": delta, "rho": rho, "degrees": degrees}
        given = {name: value for name, value in asked.items() if value is not None}
        wanted = None if smoothness is None else parameters.positive("smoothness", smoothness)
        calibration = smooth_calibration.calibrate(kind, wanted, given)
        ordinary("epsilon or rho", calibration.multiple, "one with a multiple out of range")
        put = object.__setattr__
        put(self, "event", calibration.event)
        put(self, "smoothness", calibration.smoothness)
        put(self, "multiple", calibration.multiple)
        put(self, "noise", calibration.noise)
        put(self, "lattice", WholeNumbers() if grid is None else Grid(exponent_of(grid)))

    @property
    def scale(self) -> float:
        """The scale of the noise for each unit of smooth sensitivity."""
        return float(self.multiple)

    def error(self, confidence: parameters.Number, smooth_sensitivity: parameters.Number) -> int | float:
        """The smallest t exceeded with probability at most 1 - confidence, if this were the smooth sensitivity.

        That is a public guess here: an error computed from the private one must not leave.
        """
        level = float(1 - parameters.open_probability("confidence", confidence))
        guess = parameters.non_negative("smooth_sensitivity", smooth_sensitivity)
        spread = float(self._steps(guess) * self.multiple)

        def exceeded(t: int) -> bool:
            return self.noise.survival((t + 0.5) / spread) > level

        low, high = -1, 0
        while exceeded(high):
            low, high = high, 2 * high + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if exceeded(middle) else (low, middle)
        return self.lattice.error(high)

    def release(self, value: Any, smooth_sensitivity: Any, *, bits: BitSource | None = None) -> Any:
        """`value` with noise: an int for an int, a multiple of the grid's step for a real. Both numbers are private."""
        source = secure() if bits is None else bits
        spread = self._steps(_read(smooth_sensitivity)) * self.multiple

        def draw(size: int | None) -> int:
            if size is not None:
                raise parameters.refuse(
                    "value", "one number", "an array", "Each number has its own smooth sensitivity."
                )
            return self.noise.draw(spread, source)

        return self.lattice.release(value, draw)

    def _steps(self, smooth_sensitivity: Fraction) -> Fraction:
        """T, the smooth sensitivity of the value as it is read, in steps."""
        raised = smooth_sensitivity * _UPWARD / self.lattice.unit
        return max(raised, Fraction(1)) if isinstance(self.lattice, WholeNumbers) else raised + 1


def _read(smooth_sensitivity: Any) -> Fraction:
    if isinstance(smooth_sensitivity, bool) or not isinstance(smooth_sensitivity, numbers.Real):
        found = f"a value of type {type(smooth_sensitivity).__name__}"
        raise parameters.refuse("smooth_sensitivity", "a real number", found)
    if isinstance(smooth_sensitivity, numbers.Rational):
        # Python integers all the way: those of numpy overflow
        exact = Fraction(int(smooth_sensitivity.numerator), int(smooth_sensitivity.denominator))
        return max(exact, Fraction(0))
    number = float(smooth_sensitivity)
    return Fraction(max(number, 0.0) if math.isfinite(number) else sys.float_info.max)
