"""Posterior sampling: one draw from a "squashed" posterior over a public list of parameters.

Theorem. Let l_i(theta) be the log-likelihood of unit i under the parameter theta, clamped to [low, high], R = high -
low. Drawing theta with probability proportional to

    prior(theta) * exp(temper * sum_i l_i(theta)),     temper = epsilon/R      if one unit is added or removed,
                                                       temper = epsilon/(2R)   if one unit is replaced by another,

has a privacy loss of range epsilon, so it is epsilon-differentially private.

Assumptions: candidates and prior are public. A unit's log-likelihood depends on that unit's rows alone.

Proof. The exponential mechanism with scores sum_i (l_i(theta) - low), which differ from the above by a number that does
not depend on theta, so the law is the same. A unit that is added raises every score by something in [0, R], so the
scores are monotone of sensitivity R and temper epsilon/R has range epsilon; a unit that is replaced moves every score
by at most R either way.

Each clamped log-likelihood is rounded to a public grid (a millionth of R or finer) and counted in whole steps before
it is summed: sums of floats depend on the order of the rows, sums of integers do not. Rounding is monotone, so a
rounded one lies between the rounded bounds, whose distance is the R that is used. NaN counts as the lowest
log-likelihood.

Where epsilon is so large that temper would pass 1, temper is 1, the posterior itself, and the event is that much
cheaper.

Source: Dimitrakakis, Nelson, Mitrokotsa, Rubinstein 2014; Wang, Fienberg, Smola 2015; by the exponential mechanism of
McSherry, Talwar 2007.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.loss.events import Event
from tacit.mechanisms.candidates import public_candidates
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.grid import Grid, exponent_of
from tacit.mechanisms.whole_numbers import as_array
from tacit.noise import BitSource

_FINENESS = 20

_LARGEST_TOTAL = (1 << 63) - 1


@dataclass(frozen=True, slots=True, init=False)
class PosteriorSampling:
    """One of the public `candidates`, drawn from their tempered posterior; `bounds` clamp a unit's log-likelihood.

    >>> from tacit.mechanisms import declared_public
    >>> PosteriorSampling(declared_public(["fair", "bent"]), 1, (-3, 0)).event.kind
    'exponential'
    """

    candidates: tuple[Any, ...]
    prior: tuple[float, ...] | None
    low: float
    high: float
    grid: Grid
    replace: bool
    choice: Exponential

    def __init__(
        self,
        candidates: Any,
        epsilon: parameters.Number,
        bounds: tuple[float, float],
        *,
        prior: Sequence[float] | None = None,
        replace: bool = False,
        grid: parameters.Number | None = None,
    ) -> None:
        low, high = (float(parameters.rational("bounds", end)) for end in bounds)
        if not low < high:
            raise parameters.refuse("bounds", "two numbers, the lower one first", bounds)
        # frexp: high - low is below 2**e and at least 2**(e - 1)
        places = Grid(math.frexp(high - low)[1] - 1 - _FINENESS if grid is None else exponent_of(grid))
        span = int(np.diff(places.points(np.array([low, high])))[0])
        if span < 1:
            raise parameters.refuse("grid", "finer than the distance of the bounds", grid)
        # the posterior itself, of temper 1, spends this much, and more is never spent
        most = span * places.unit * (2 if replace else 1)
        put = object.__setattr__
        put(self, "candidates", tuple(public_candidates(candidates)))
        put(self, "prior", None if prior is None else _weights(prior, len(self.candidates)))
        put(self, "low", low)
        put(self, "high", high)
        put(self, "grid", places)
        put(self, "replace", bool(replace))
        spent = min(parameters.positive("epsilon", epsilon), most)
        put(self, "choice", Exponential(span, spent, monotone=not replace))

    @property
    def event(self) -> Event:
        """The one parameter that leaves."""
        return self.choice.event

    @property
    def temper(self) -> Fraction:
        """The power to which the likelihood is raised."""
        return self.choice.factor / self.grid.unit

    @property
    def scale(self) -> float:
        """The difference of log-likelihood that makes a parameter e times likelier: 1/temper."""
        return float(1 / self.temper)

    def error(self, confidence: parameters.Number) -> float:
        """The draw's total log-likelihood is this far below the best, or further, with at most 1 - confidence.

        Under a prior that is not flat the best one counts as the least likely candidate, and one that the prior rules
        out counts not at all.
        """
        count = len(self.candidates)
        if self.prior is not None:
            count = math.ceil(sum(self.prior) / min(weight for weight in self.prior if weight > 0))
        return self.choice.shortfall(count, confidence=confidence) * float(self.grid.unit)

    def choose(self, log_likelihoods: Any, *, bits: BitSource | None = None) -> Any:
        """A candidate, by an array of private log-likelihoods: a row for each unit, a column for each candidate."""
        array = as_reals(log_likelihoods)
        if array.ndim != 2 or array.shape[1] != len(self.candidates):
            found = f"an array of shape {array.shape}"
            raise parameters.refuse("log_likelihoods", f"rows of {len(self.candidates)} numbers", found)
        return self.choose_by_totals(self.totals(array), bits=bits)

    def totals(self, log_likelihoods: NDArray[np.float64]) -> NDArray[np.int64]:
        """Each candidate's clamped log-likelihoods above the lower bound, in steps of the grid, summed. Private."""
        # not by fmax: whether it passes on a signalling NaN depends on the place in the array
        known = np.where(np.isnan(log_likelihoods), self.low, log_likelihoods)
        clamped = np.minimum(np.maximum(known, self.low), self.high)
        lowest = self.grid.points(np.array([self.low]))
        above = self.grid.points(clamped) - lowest
        # In Python integers where int64 might overflow; clamped, which moves no two totals apart.
        if above.shape[0] > _LARGEST_TOTAL // max(int(above.max(initial=0)), 1):
            sums = above.astype(object).sum(axis=0)
            return np.array([min(int(each), _LARGEST_TOTAL) for each in sums], dtype=np.int64)
        return np.asarray(above.sum(axis=0, dtype=np.int64))

    def choose_by_totals(self, totals: Any, *, bits: BitSource | None = None) -> Any:
        """A candidate, by private whole totals such as `totals` computes, perhaps summed over several places."""
        return self.choice.choose(self.candidates, scores=totals, prior=self.prior, bits=bits)


def as_reals(values: Any) -> NDArray[np.float64]:
    """Numbers as float64: no content raises an error or warns, not even a whole number beyond all floats."""
    with np.errstate(all="ignore"):
        array = as_array(values)
        if array.dtype != object:
            return array.astype(np.float64)
        reals = [_real(item) for item in array.flat]
        return np.array(reals, dtype=np.float64).reshape(array.shape)


def _real(item: Any) -> float:
    try:
        return float(item)
    except OverflowError:
        return math.inf if item > 0 else -math.inf


def _weights(prior: Sequence[float], count: int) -> tuple[float, ...]:
    weights = tuple(float(parameters.non_negative("prior", weight)) for weight in prior)
    if len(weights) != count or not any(weights):
        raise parameters.refuse("prior", f"{count} weights, one of them above 0", prior)
    return weights
