"""Logistic regression by output perturbation and by objective perturbation, for minima that are nearly reached.

Both begin as `linear_rounds` does: the sums of each class are released, rows are moved to the released mean, shrunk to
a ball, and get a constant coordinate; |z| <= B. Then J(w) = sum l(y_i z_i.w) + ridge/2 |w|**2 + tilt.w is minimised,
with the clipped logistic loss l, |l'| <= 1/2 and 0 <= l'' <= 1/4. `minimum` gives a point w of a grid whose exact
gradient is proved to be at most t long; so the exact minimum w* is within t/ridge of it, for every data set, whatever
floating point did. The ridge is a fixed number and no multiple of the number of rows, which need not be known.

Theorem (output; tilt = 0). Let J' have r rows more. The gradient of J' at the minimum of J is that of the r rows, at
most r B/2 long, and J' bends by at least `ridge`: the minima are at most r B/(2 ridge) apart, and the points of the
grid at most S = (r B/2 + 2 t)/ridge. They are released with discrete noise for the L2 sensitivity S (Gaussian), or for
the L1 sensitivity S d**(1/2) (Laplace, pure epsilon). Several classes are separated one against the rest: k problems,
of which a unit moves each by S, so k**(1/2) S together.

Theorem (objective; one row a unit, two classes). Let the tilt b be normal, of variance s**2 in each coordinate. b and
the exact minimum w* determine each other: b = -gradient of the rest at w*, a Lipschitz map with a Lipschitz inverse.
So the ratio of w*'s densities under neighbours, J' having the row z more, is the product of
  det(H + l'' z z')/det(H) = 1 + l'' z'H**-1 z, between 1 and 1 + B**2/(4 ridge), as H is at least the ridge, and
  exp of (+-2 l' b.z + l'**2 |z|**2)/(2 s**2), where b.z is normal: at most (2 c |N| + c**2)/2, c = B/(2 s).
The privacy loss is at most ln(1 + B**2/(4 ridge)) + c**2/2 + c |N| with N standard normal, and E(1 - exp(e - loss))_+
is at most twice that of c**2/2 + c N, the loss of Gaussian noise of sensitivity B/2: so w* is (e + ln(1 + B**2/(4
ridge)), 2 delta)-private where Gaussian noise of deviation s is (e, delta)-private.

What is drawn is b on a grid of s/2**30 and finer, by the discrete law. Rounding b to the grid has a law within 1/(8
m**2) of the discrete one in total variation, m steps to a deviation: the error of the midpoint rule, at most an eighth
of the integral of |f''|. d coordinates and both neighbours add (1 + exp(epsilon)) d/(8 m**2) to delta. Rounding moves b
by g d**(1/2)/2 at most, so w is within (t + g d**(1/2)/2)/ridge of the w* of the b that was not rounded. Given that w*,
b is a function of the data, and so is w; under neighbours they are at most 2 (t + g d**(1/2)/2)/ridge apart, and w is
released with discrete Gaussian noise for that. The three releases (sums, w*, w given w*) are charged together.

How many steps the solver takes follows from public numbers and the released number of rows. Where that number may be
2**27 or more, nothing is minimised: noise around 0 is released, and a note says so. A price at which noise alone could
cause that is refused, so that at least 2**26 rows are needed for it.

Neighbours: one unit's rows, added or removed. Assumptions: bounds, listed values and classes are public; fewer than
2**27 rows.
Source: Chaudhuri, Monteleoni, Sarwate 2011 (both); Iyengar et al. 2019 (near minima); Redberg, Koskela, Wang 2023 (the
Gaussian curve for linear models). The constants are derived here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import noise, parameters
from tacit.curator import Price
from tacit.errors import QuestionError
from tacit.learning.calibrated import Noise, Part, calibrated, deviation
from tacit.learning.columns import Feature, Reals
from tacit.learning.linear.linear_rounds import Around, BeginsAround, Learned, around
from tacit.learning.linear.minimum import Problem, minimum, sides_of
from tacit.learning.linear.rounds import sums_part
from tacit.loss import calibrate, compose, events
from tacit.loss.numbers.rounding import dyadic_up, float_down, float_up, fraction_log_up, sqrt_up
from tacit.mechanisms import Gaussian
from tacit.noise import BitSource

OUTPUT, OBJECTIVE = "output", "objective"
_FIRST_SHARE = Fraction(20, 100)
_NEARNESS = Fraction(1, 1 << 10)  # t, as a share of B/2
_FINENESS = 1 << 40  # steps of the grid to B/(2 ridge), at least
_TILT_FINENESS = 1 << 30  # steps of the tilt's grid to its deviation, at least
_LAST_SHARE = Fraction(1, 200)  # of the budget, for the noise that covers the nearness
_DEVIATION = Fraction(1, 3)  # of a weight's noise in output perturbation: the ridge follows
_RIDGE_BY_TILT = Fraction(3, 10)  # in objective perturbation
_JACOBIAN = 4  # the ridge takes at most about one part in this many of epsilon
_HALVINGS = 12
_MOST_ROWS = 1 << 27
_GAUSSIAN_FAR, _LAPLACE_FAR = 11.0, 42.0  # deviations that noise stays within


@dataclass(frozen=True, slots=True)
class Perturbed(BeginsAround):
    """What is released, with which noise, at which price."""

    method: str
    ridge: Fraction
    tolerance: Fraction
    step: Fraction
    tilt: Fraction  # its deviation; 0 in output perturbation
    noises: tuple[Noise, ...]
    price: Price

    count = 1  # minimum; the number of steps is not shown

    @property
    def tilt_step(self) -> Fraction:
        """The grid of the tilt: a power of two."""
        return power_below(self.tilt / _TILT_FINENESS)

    def learn(self, columns: Sequence[NDArray[Any]], meanings: list[str], bits: BitSource) -> Learned:
        """The sums, then the minimum. columns: the codes of each feature, and last the places of the rows' classes."""
        begun = self.around.begin(columns, meanings, self.noises[0], bits)
        places = [1] if self.around.classes == 2 else list(range(self.around.classes))
        most = self.most_rows(begun.count)
        notes: tuple[str, ...] = ()
        if most > _MOST_ROWS:  # a released number: beyond it the proof could fail for some rows and not for others
            found = [np.zeros(len(begun.rows), dtype=object) for _ in places]
            notes = (f"There may be more than {_MOST_ROWS:,} rows, too many for this method. Nothing was learned.",)
        else:
            found = [self._minimum(begun.rows, sides_of(begun.classes, each), most, bits) for each in places]
        exact = np.stack(found, axis=1)
        noisy = self.noises[1].release(exact, bits=bits)
        return Learned(np.asarray(noisy, dtype=np.float64) * float(self.step), begun.centre, begun.sums, notes)

    def most_rows(self, released: float) -> int:
        """A bound on the number of rows, from the released count; it fails with probability below 1e-24."""
        many = self.around.classes
        far = _GAUSSIAN_FAR * math.sqrt(many) if isinstance(self.noises[0], Gaussian) else _LAPLACE_FAR * many
        return math.ceil(released + far * deviation(self.noises[0]) / self.around.first_constant)

    def _minimum(self, rows: Any, sides: Reals, most: int, bits: BitSource) -> Any:
        tilt = np.zeros(len(rows))
        if self.tilt:
            own = self.tilt_step
            drawn = noise.discrete_gaussian((self.tilt / own) ** 2, len(rows), bits)
            tilt = np.asarray(drawn, dtype=np.float64) * float(own)
        longest = float_up(longest_row(self.around))
        most_tilt = float(self.tilt) * (math.sqrt(len(rows)) + _GAUSSIAN_FAR)
        problem = Problem(rows, sides, self.reach, longest, float(self.ridge), tilt, most, most_tilt)
        return minimum(problem, float(self.step), float_down(self.tolerance))


def plan_perturbed(
    features: tuple[Feature, ...], classes: int, rows_per_unit: int, epsilon: Fraction, delta: Fraction, method: str
) -> Perturbed:
    """The releases for a budget, from public numbers; or a refusal."""
    made = _planned(around(features, classes), rows_per_unit, epsilon, delta, method)
    if 2 * made.most_rows(0) > _MOST_ROWS:  # refused here, not after the charge
        hint = "Give more of a price, or take method='newton' or 'gradient'."
        allowed = f"so large that {_MOST_ROWS // 2:,} rows are told from none for method={method!r}"
        raise parameters.refuse("epsilon", allowed, float(epsilon), hint)
    return made


def _planned(own: Around, rows_per_unit: int, epsilon: Fraction, delta: Fraction, method: str) -> Perturbed:
    if method == OUTPUT:
        return _output(own, rows_per_unit, epsilon, delta)
    if delta == 0:
        raise QuestionError("method='objective' needs a delta: its noise is Gaussian. Give one, or use 'output'.")
    if own.classes > 2:
        raise QuestionError(f"method='objective' is for two classes, not {own.classes}. Use 'output' or 'gradient'.")
    if rows_per_unit > 1:
        told = f"a unit may have {rows_per_unit} rows"
        raise QuestionError(f"method='objective' needs units of one row, and {told}. Use 'output' or 'newton'.")
    return _objective(own, epsilon, delta)


def longest_row(own: Around) -> Fraction:
    """B, rounded up, where `reach` is 1."""
    return sqrt_up(Fraction(own.constant**2 + own.reach**2, own.reach**2))


def power_below(number: Fraction) -> Fraction:
    """The largest power of two that is not above it."""
    found = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length())
    return found if found <= number else found / 2


def _first(own: Around, r: int, share: Fraction) -> Part:
    return sums_part(r, own.first_constant, own.first_reach, own.coordinates, own.classes, share)


def _output(own: Around, r: int, epsilon: Fraction, delta: Fraction) -> Perturbed:
    pulled = longest_row(own) / 2
    tolerance = pulled * _NEARNESS
    size, scores, share = own.coordinates + 1, own.scores, 1 - _FIRST_SHARE
    root = math.isqrt(size - 1) + 1
    if delta > 0:
        wide = calibrate.gaussian_sigma(1, epsilon, delta) * sqrt_up(scores / share)
    else:
        wide = Fraction(3, 2) * root * scores / (epsilon * share)
    ridge = dyadic_up(r * pulled * wide / _DEVIATION, 8)
    step = power_below(r * pulled / ridge / _FINENESS)
    moved = math.ceil((r * pulled + 2 * tolerance) / ridge / step)
    parts = [
        _first(own, r, _FIRST_SHARE),
        Part(scores * root * moved, scores * moved * moved, size * scores, share),
    ]
    noises, price = calibrated(parts, epsilon, delta)
    return Perturbed(own, OUTPUT, ridge, tolerance, step, Fraction(0), noises, price)


def _objective(own: Around, epsilon: Fraction, delta: Fraction) -> Perturbed:
    least = calibrate.gaussian_sigma(1, epsilon, delta)
    missed = delta / 2

    def made(share: Fraction) -> Perturbed | None:
        """The releases with this share of epsilon for the tilt, where all of it fits the budget."""
        found = _with_tilt(own, epsilon * share, missed, least)
        if found is None or compose([found.price.event]).delta(epsilon) > delta:
            return None
        return Perturbed(
            own, OBJECTIVE, found.ridge, found.tolerance, found.step, found.tilt, found.noises,
            Price(found.price.event, epsilon, delta),
        )  # fmt: skip

    low, high, best = Fraction(0), Fraction(1), None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        better = made(middle)
        low, high, best = (low, middle, best) if better is None else (middle, high, better)
    if best is None:
        raise QuestionError(f"No objective perturbation fits delta {float(delta):g}. Use a larger delta, or 'newton'.")
    return best


def _with_tilt(own: Around, epsilon: Fraction, missed: Fraction, least: Fraction) -> Perturbed | None:
    """The releases whose tilt is worth (epsilon, missed); None where delta is too small for the tilt's grid."""
    longest, size = longest_row(own), own.coordinates + 1
    pulled = longest / 2
    rounded = (1 + 3 ** math.ceil(epsilon)) * Fraction(size, 8 * _TILT_FINENESS**2)
    if missed <= 2 * rounded:
        return None
    curve = (missed - rounded) / 2
    ridge = dyadic_up(_JACOBIAN * longest**2 / 4 / epsilon, 8)
    ridge = max(ridge, dyadic_up(_RIDGE_BY_TILT * _tilt(longest, ridge, epsilon, curve), 8))
    tilt = _tilt(longest, ridge, epsilon, curve)
    tolerance = pulled * _NEARNESS
    step = power_below(pulled / ridge / _FINENESS)
    apart = 2 * (tolerance + power_below(tilt / _TILT_FINENESS) * sqrt_up(Fraction(size)) / 2) / ridge
    moved = math.ceil(apart / step)
    first = _first(own, 1, _FIRST_SHARE)
    length = sqrt_up(Fraction(first.squared))
    noises = (
        Gaussian(sensitivity=length, sigma=length * least * sqrt_up(1 / _FIRST_SHARE), size=first.size),
        Gaussian(sensitivity=moved, sigma=moved * least * sqrt_up(1 / _LAST_SHARE), size=size),
    )
    charged = events.Composed((noises[0].event, events.Approximate(epsilon, missed), noises[1].event))
    return Perturbed(own, OBJECTIVE, ridge, tolerance, step, tilt, noises, Price(charged, epsilon, missed))


def _tilt(longest: Fraction, ridge: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The tilt's deviation: Gaussian noise for the part of epsilon that the determinant leaves."""
    taken = Fraction(fraction_log_up(1 + longest**2 / (4 * ridge)))
    return calibrate.gaussian_sigma(longest / 2, epsilon - taken, delta)
