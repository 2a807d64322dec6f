"""Sample and aggregate: any function at all, run on random blocks of the units, its results combined privately.

Theorem. Put every unit into one of `blocks` blocks, uniformly and independently of all else, run the function on each
block, clamp and round each result to a public grid of `steps` + 1 points on `bounds`. Then, for given blocks, adding,
removing or replacing one unit changes the result of at most one block, by at most `steps` points. So
  * "mean": the sum of the points has sensitivity `steps` (the mean of the results (high - low)/blocks), and discrete
    Laplace noise of scale steps/epsilon on it is epsilon-differentially private;
  * "median": the score -max(#results below y, #results above y) of each grid point y changes by at most 1, and
    choosing y with probability proportional to exp(epsilon score / 2) is epsilon-differentially private, with range
    epsilon.

Assumptions: neighbours add, remove or replace one unit. The function is called once for each block, empty ones too, and
what it returns depends on that block alone: it must not remember earlier calls. Here it is called plainly, in this
process: a function that writes to files, prints, or takes its time on purpose can still tell an onlooker something.
Only run functions that you trust not to do this. Of what they raise, warn or return, only the clamped result goes any
further.

Proof. The block of every other unit is drawn independently of this unit, so neighbours can be given the same blocks
but for it. It stands in one block; every other block holds the same units in the same order and gives the same
result. Whatever the changed block returns (or raises: then it counts as the public `default`), its point stays in
0..steps. For given blocks, both claims are those of the Laplace and of the exponential mechanism. They carry over to
random blocks, since a mixture of pairs of laws with the same weights keeps every bound on their ratio. Both counts in
the median's score move by at most 1 when one result moves anywhere, and so does the larger of the two.

Source: Nissim, Raskhodnikova, Smith 2007 (the idea); Smith 2011 (bounded outputs averaged).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.loss.events import Event
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.laplace import Laplace
from tacit.noise import BitSource, secure, uniform_below

Points: TypeAlias = NDArray[np.int64]

_MOST_STEPS = 1 << 24


@dataclass(frozen=True, slots=True)
class _Mean:
    """The mean of the results, by noise on the sum of their points."""

    noise: Laplace
    blocks: int

    @staticmethod
    def of(epsilon: Fraction, blocks: int, steps: int) -> _Mean:
        return _Mean(Laplace(steps, epsilon), blocks)

    @property
    def event(self) -> Event:
        return self.noise.event

    def aggregate(self, points: Points, bits: BitSource) -> Fraction:
        return Fraction(self.noise.release(int(points.sum()), bits=bits), self.blocks)

    def error(self, confidence: Fraction, step: Fraction) -> float:
        """The error in the unit of the results, each of which rounding moved by at most half a step."""
        return float(step * (Fraction(self.noise.error(confidence)) / self.blocks + Fraction(1, 2)))


@dataclass(frozen=True, slots=True)
class _Median:
    """The median of the results, by the exponential mechanism over all points."""

    choice: Exponential
    steps: int

    @staticmethod
    def of(epsilon: Fraction, blocks: int, steps: int) -> _Median:
        return _Median(Exponential(1, epsilon), steps)

    @property
    def event(self) -> Event:
        return self.choice.event

    def scores(self, points: Points) -> Points:
        """-max(#below, #above) for every point of the grid."""
        up_to = np.cumsum(np.bincount(points, minlength=self.steps + 1))
        below = np.concatenate([[0], up_to[:-1]])
        return np.asarray(-np.maximum(below, points.size - up_to), dtype=np.int64)

    def aggregate(self, points: Points, bits: BitSource) -> Fraction:
        return Fraction(self.choice.choose(range(self.steps + 1), scores=self.scores(points), bits=bits))

    def error(self, confidence: Fraction, step: Fraction) -> float:
        """The error in ranks among the results: how far the choice's score is below the median's."""
        return self.choice.shortfall(self.steps + 1, confidence=confidence)


_AGGREGATORS: dict[str, Callable[[Fraction, int, int], _Mean | _Median]] = {"mean": _Mean.of, "median": _Median.of}


@dataclass(frozen=True, slots=True, init=False)
class SampleAndAggregate:
    """Runs a function on `blocks` random blocks and releases the private mean or median of its results.

    `bounds` are public; so is `default` (their middle unless given), which stands for a block that fails.

    >>> SampleAndAggregate("0.5", 10, (0, 1)).event.kind
    'exponential'
    """

    epsilon: Fraction
    blocks: int
    low: Fraction
    high: Fraction
    steps: int
    default: int
    aggregator: _Mean | _Median

    def __init__(
        self,
        epsilon: parameters.Number,
        blocks: int,
        bounds: tuple[parameters.Number, parameters.Number],
        aggregator: str = "median",
        *,
        default: parameters.Number | None = None,
        steps: int = 1 << 12,
    ) -> None:
        if aggregator not in _AGGREGATORS:
            raise parameters.refuse("aggregator", " or ".join(map(repr, _AGGREGATORS)), aggregator)
        put = object.__setattr__
        put(self, "epsilon", parameters.positive("epsilon", epsilon))
        put(self, "blocks", parameters.whole("blocks", blocks, least=1))
        low, high = (parameters.rational("bounds", end) for end in bounds)
        if not low < high:
            raise parameters.refuse("bounds", "two numbers, the lower one first", bounds)
        put(self, "low", low)
        put(self, "high", high)
        put(self, "steps", parameters.whole("steps", steps, least=1))
        if self.steps > _MOST_STEPS:
            raise parameters.refuse("steps", f"at most {_MOST_STEPS}", steps)
        middle = (low + high) / 2 if default is None else parameters.rational("default", default)
        put(self, "default", self._point(middle))
        put(self, "aggregator", _AGGREGATORS[aggregator](self.epsilon, self.blocks, self.steps))

    @property
    def event(self) -> Event:
        """The one number that leaves."""
        return self.aggregator.event

    @property
    def scale(self) -> float:
        """(high - low) / blocks / epsilon: the scale of the mean's noise, and what one block weighs."""
        return float((self.high - self.low) / self.blocks / self.epsilon)

    def error(self, confidence: parameters.Number) -> float:
        """With this confidence, how far the answer is from the mean of the results, or in ranks from their median."""
        exact = parameters.open_probability("confidence", confidence)
        return self.aggregator.error(exact, (self.high - self.low) / self.steps)

    def release(
        self,
        function: Callable[[Any], Any],
        rows: Any,
        *,
        units: Sequence[Hashable] | None = None,
        bits: BitSource | None = None,
    ) -> float:
        """The private mean or median of `function` over random blocks of `rows`.

        `units` names the privacy unit of each row (every row its own unless given). An array is cut into arrays, any
        other sequence into lists. The function's results are numbers; anything else counts as the default.
        """
        source = secure() if bits is None else bits
        homes = self.blocks_of(len(rows), units, source)
        points = np.array([self._run(function, _rows_of(rows, homes == block)) for block in range(self.blocks)])
        place = self.aggregator.aggregate(points, source)
        answer = self.low + place * (self.high - self.low) / self.steps
        return float(min(max(answer, self.low), self.high))

    def blocks_of(self, count: int, units: Sequence[Hashable] | None, bits: BitSource) -> NDArray[np.int64]:
        """The block of every row: uniform for each unit, the same for all its rows."""
        if units is None:
            return uniform_below(self.blocks, count, bits)
        if len(units) != count:
            raise parameters.refuse("units", "one for each row", "another number of them")
        numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
        homes = uniform_below(self.blocks, len(numbers), bits)
        return homes[np.fromiter((numbers[unit] for unit in units), dtype=np.int64, count=count)]

    def _run(self, function: Callable[[Any], Any], block: Any) -> int:
        """The grid point of one block's result. Nothing that happens inside goes any further."""
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return self._point(parameters.rational("result", function(block)))
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None  # the person at the terminal, without what the function was doing
        except BaseException:  # noqa: BLE001  whatever a function raises is about private rows
            return self.default

    def _point(self, value: Fraction) -> int:
        """The number of the grid point nearest to a value, clamped to the bounds."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return int(share * self.steps + Fraction(1, 2))


def _rows_of(rows: Any, chosen: NDArray[np.bool_]) -> Any:
    if isinstance(rows, np.ndarray):
        return rows[chosen]
    return [rows[place] for place in np.flatnonzero(chosen)]
