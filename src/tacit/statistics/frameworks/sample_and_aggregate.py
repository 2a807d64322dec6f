"""Sample and aggregate: any function of rows, run on random blocks of the units, its results combined privately.

Theorem. Put every unit into one of `blocks` blocks, uniformly and independently, and run the function on each block by
itself. Adding, removing or replacing one unit changes one block, and so one result, whatever the function does. Each
number of the results, clamped to its public bounds and rounded to a grid, is combined with its own part of epsilon:
  * "mean", "median": `tacit.mechanisms.SampleAndAggregate`, whose proof is the one for given blocks;
  * "smooth": the median of the results plus noise for its smooth sensitivity, where one result of a fixed number of
    them is replaced (`order.windows`, Theorem 2, and `tacit.mechanisms.Smooth`); with a delta it has less noise.
Together they cost the sum of the parts. Intervals: the noise of "mean" has a public size; for the medians a share of
each part buys one (`rank_interval`, where replacing a result counts as two rows, and `smooth_interval`). They enclose
the mean or the median of the blocks' results, on the grid.

Assumption: a result depends on its own block alone. `isolated` sees to that: a process for each block, which has run
no other; a block that fails, is late, or gives something else than the wanted numbers counts as the public `default`.

Neighbours: one unit's row, added or removed. What is hidden and what is not: see `isolated`.
Source: Nissim, Raskhodnikova, Smith 2007; Smith 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from tacit import mechanisms, parameters
from tacit.curator import Price
from tacit.loss import events
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.frameworks.isolated import Isolated, identity_of
from tacit.statistics.frameworks.own_functions import Output, asked, name_of, outputs
from tacit.statistics.order.rank_interval import RankInterval
from tacit.statistics.order.smooth_choice import choose_smooth
from tacit.statistics.order.windows import Rank, Sorted, Whole, smooth_sensitivity_replaced
from tacit.statistics.smooth_interval import INTERVAL_SHARE, SmoothInterval, read_share
from tacit.statistics.source import Opened

_AGGREGATORS = ("median", "mean", "smooth")
_STEPS = 1 << 12
_FINE_STEPS = 1 << 30


@dataclass(frozen=True, slots=True)
class SampleAndAggregate:
    """A function of rows (an array with a line for each unit) whose numbers lie in `output_bounds`.

    One pair of bounds for one number, a list of pairs for several. `seconds` is what one block may take.

    >>> from tacit.statistics.frameworks.examples import middle_row
    >>> SampleAndAggregate(middle_row, 3, (0, 100), seconds=2).seconds
    2
    """

    function: Callable[[Any], Any]
    blocks: int
    output_bounds: Any
    aggregator: str = "median"
    default: Any = None
    seconds: float = 1.0
    workers: int = 2
    progress: bool = False

    def __post_init__(self) -> None:
        parameters.whole("blocks", self.blocks, least=1)
        if self.aggregator not in _AGGREGATORS:
            raise parameters.refuse("aggregator", "one of " + ", ".join(map(repr, _AGGREGATORS)), self.aggregator)
        self._defaults()
        self._isolated()

    def release(
        self,
        data: Any,
        columns: Any = None,
        *,
        epsilon: Number,
        delta: Number = 0,
        interval_share: Number = INTERVAL_SHARE,
        bounds: Any = None,
        values: Any = None,
        rows_per_unit: int | None = None,
        level: Number = "0.95",
        analyst: str | None = None,
    ) -> Finding:
        """The combined results; `interval_share` of epsilon buys intervals, but for "mean", which has them anyway."""
        given = asked(
            "SampleAndAggregate",
            data,
            columns,
            epsilon=epsilon,
            delta=delta,
            bounds=bounds,
            values=values,
            rows_per_unit=rows_per_unit,
            level=level,
        )
        known, defaults, isolated = outputs(self.output_bounds), self._defaults(), self._isolated()
        count = len(known)
        bought = read_share(interval_share) * (self.aggregator != "mean")
        part, slip = given.epsilon / count, given.delta / count
        parts = [self._combiner(each, part, slip, bought, given.level) for each in known]
        blocks = mechanisms.SampleAndAggregate(1, self.blocks, (0, 1))

        def compute(opened: Opened, bits: BitSource) -> Content:
            rows = given.rows(opened)
            homes = blocks.blocks_of(len(rows), None, bits)
            results = runner.run([rows[homes == block] for block in range(self.blocks)])
            released, low, high = [], [], []
            for place, (part, output, default) in enumerate(zip(parts, known, defaults, strict=True)):
                read = [output.read(None if each is None else each[place], default) for each in results]
                value, *ends = (min(max(each, output.low), output.high) for each in part.combine(read, bits))
                released.append(float(value))
                low.append(float(ends[0]) if ends else None)
                high.append(float(ends[1]) if ends else None)
            shown = column("value", released, *((None, None) if None in low else (low, high)))
            keys = () if count == 1 else (column("number", list(range(count))),)
            words = (
                f"{self.blocks} random blocks, combined by {self.aggregator}; a block that fails counts as the default."
            )
            centre = "mean" if self.aggregator == "mean" else "median"
            covered = f"Intervals enclose the {centre} of the blocks' results: they cover the noise."
            notes = (words, "interval_share=0: no intervals." if None in low else covered)
            return Content(f"Sample and aggregate: {name_of(self.function)}", (*keys, shown), notes)

        text = {
            "study": "sample_and_aggregate",
            "function": identity_of(self.function),
            "blocks": self.blocks,
            "aggregator": self.aggregator,
            "output_bounds": [[str(each.low), str(each.high)] for each in known],
            "default": [str(each) for each in defaults],
            "seconds": str(self.seconds),
            "epsilon": str(given.epsilon),
            "delta": str(given.delta),
            "interval_share": str(bought),
        }
        event = parts[0].event if count == 1 else events.Composed(tuple(each.event for each in parts))
        price = Price(event, given.epsilon, sum((each.delta for each in parts), Fraction(0)))
        with isolated.ready(self.blocks, self.progress) as runner:
            return given.source.release(text, price, compute, level=given.level, analyst=analyst)

    def _isolated(self) -> Isolated:
        return Isolated(self.function, len(outputs(self.output_bounds)), self.seconds, self.workers)

    def _defaults(self) -> tuple[Fraction, ...]:
        known = outputs(self.output_bounds)
        if self.default is None:
            return tuple(each.middle for each in known)
        given = [self.default] if len(known) == 1 and not hasattr(self.default, "__len__") else list(self.default)
        if len(given) != len(known):
            raise parameters.refuse("default", f"{len(known)} numbers, one for each output", len(given))
        found = tuple(parameters.rational("default", each) for each in given)
        return tuple(min(max(value, each.low), each.high) for value, each in zip(found, known, strict=True))

    def _combiner(
        self, output: Output, epsilon: Fraction, delta: Fraction, share: Fraction, level: Fraction
    ) -> Combiner:
        if self.aggregator == "smooth":
            return _SmoothMedian.of(output, epsilon, delta, share, level)
        own, ends = epsilon * (1 - share), (output.low, output.high)
        core = mechanisms.SampleAndAggregate(own, self.blocks, ends, self.aggregator, steps=_STEPS)
        if self.aggregator == "mean":
            return _Mean(core, output, level)
        interval = RankInterval.of(_STEPS + 1, [Fraction(1, 2)], 2, epsilon * share, level) if share else None
        return _Median(core, output, interval)


class Combiner(Protocol):
    """How the results for one number become a released one."""

    @property
    def event(self) -> events.Event:
        """What is charged."""

    @property
    def delta(self) -> Fraction:
        """The part of delta that is used."""

    def combine(self, results: list[Fraction], bits: BitSource) -> tuple[Fraction, ...]:
        """The number, and the ends of its interval where it has one."""


@dataclass(frozen=True, slots=True)
class _Mean:
    """The mechanism's own mean of grid points."""

    core: mechanisms.SampleAndAggregate
    output: Output
    level: Fraction
    delta: Fraction = Fraction(0)

    @property
    def event(self) -> events.Event:
        return self.core.event

    def combine(self, results: list[Fraction], bits: BitSource) -> tuple[Fraction, ...]:
        place = self.core.aggregator.aggregate(points_of(results, self.output, self.core.steps), bits)
        value = self.output.low + place * self.output.width / self.core.steps
        off = Fraction(self.core.error(self.level))
        return value, value - off, value + off


@dataclass(frozen=True, slots=True)
class _Median:
    """The mechanism's own median of grid points, and an interval by rank."""

    core: mechanisms.SampleAndAggregate
    output: Output
    interval: RankInterval | None
    delta: Fraction = Fraction(0)

    @property
    def event(self) -> events.Event:
        own = self.core.event
        return own if self.interval is None else events.Composed((own, self.interval.event))

    def combine(self, results: list[Fraction], bits: BitSource) -> tuple[Fraction, ...]:
        points = points_of(results, self.output, self.core.steps)
        chosen = int(self.core.aggregator.aggregate(points, bits))
        found = [Fraction(chosen)]
        if self.interval is not None:
            ((low, high),) = self.interval.around([chosen], [np.unique(points, return_counts=True)], bits)
            half = Fraction(1, 2)  # a result is within half a step of its point
            found += [low - half, high + half]
        return tuple(self.output.low + each * self.output.width / self.core.steps for each in found)


@dataclass(frozen=True, slots=True)
class _SmoothMedian:
    """The median with noise for its smooth sensitivity."""

    smooth: SmoothInterval
    output: Output
    delta: Fraction

    @staticmethod
    def of(output: Output, epsilon: Fraction, delta: Fraction, share: Fraction, level: Fraction) -> _SmoothMedian:
        chosen = choose_smooth(epsilon * (1 - share), delta)
        smooth = SmoothInterval.of(chosen.noise(), epsilon * share, level)
        return _SmoothMedian(smooth, output, chosen.spent_delta)

    @property
    def event(self) -> events.Event:
        return self.smooth.event

    def combine(self, results: list[Fraction], bits: BitSource) -> tuple[Fraction, ...]:
        line = Sorted(np.sort(points_of(results, self.output, _FINE_STEPS)), 0, _FINE_STEPS, Rank(Fraction(1, 2)))
        bounds = [smooth_sensitivity_replaced(line, smoothness) for smoothness in self.smooth.smoothnesses]
        found = (each for each in self.smooth.release(line.value, bounds, bits) if each is not None)
        return tuple(self.output.low + each * self.output.width / _FINE_STEPS for each in found)


def points_of(results: list[Fraction], output: Output, steps: int) -> Whole:
    """Results within their bounds as the nearest of `steps` + 1 points."""
    return np.array([int((each - output.low) / output.width * steps + Fraction(1, 2)) for each in results])
