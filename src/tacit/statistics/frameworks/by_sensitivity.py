"""Noise for anyone's function whose local sensitivity at a distance its author can tell.

The author's promise. `local_sensitivity(rows, k)` bounds how far the function moves between y and a neighbour of y, for
every y within k units of the rows (added or removed), and the bound of a data set at k is at most that of any neighbour
at k + 1. The exact one, the maximum over all such y, does both. Both functions must succeed on all data, or the results
mean nothing. Nothing here can check that; the author can, on all data sets of a small grid.

SmoothSensitivity. S = max over k of exp(-b k) min(LS(k), width), with the width of the output's bounds for k above
`farthest`, is a b-smooth bound of the local sensitivity of the clamped function: S(x) >= LS(0), and LS(k; x) <=
LS(k + 1; x') (beyond `farthest` nothing is more than the width). `tacit.mechanisms.Smooth` does the rest, and
`smooth_interval` the interval that a share of epsilon buys.

ProposeTestRelease. The least k with LS(k) > bound, at most `farthest` + 1, changes by at most 1 between neighbours and
is 0 where one neighbour moves the function by more than the bound: what `tacit.mechanisms.ProposeTestRelease` needs.

DistanceToProperty. How many units must be added or removed before the rows have a property (or lose it) changes by at
most 1 between neighbours, whatever the property, and so does its part up to `most`: Laplace noise of scale 1/epsilon.

The functions run isolated (`isolated`), once, on all rows, in a time that is public. One that fails counts as mid-way
between the output's bounds, with the whole width as its sensitivity (as distance 0): the promise is broken then, but
nothing else leaves.

Neighbours: one unit's row, added or removed.
Source: Nissim, Raskhodnikova, Smith 2007; Dwork and Lei 2009.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import mechanisms, parameters
from tacit.curator import Price
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.frameworks.isolated import MOST_NUMBERS, Isolated, identity_of
from tacit.statistics.frameworks.own_functions import Output, Rows, asked, name_of, outputs
from tacit.statistics.order.smooth_choice import choose_smooth
from tacit.statistics.smooth_interval import INTERVAL_SHARE, SmoothInterval, read_share
from tacit.statistics.source import Opened


@dataclass(frozen=True, slots=True)
class _Measured:
    """The function's number and its local sensitivity at the distances 0, 1, ..., farthest, in one call."""

    function: Callable[[Any], Any]
    local_sensitivity: Callable[[Any, int], Any]
    farthest: int

    def __call__(self, rows: Rows) -> list[float]:
        moves = [float(self.local_sensitivity(rows, k)) for k in range(self.farthest + 1)]
        return [float(np.asarray(self.function(rows), dtype=np.float64).reshape(())), *moves]


class _Bounded:
    """What both frameworks make of their function, its local sensitivity, and the public facts about them."""

    __slots__ = ()

    function: Callable[[Any], Any]
    local_sensitivity: Callable[[Any, int], Any]
    output_bounds: Any
    farthest: int
    seconds: float

    def _isolated(self) -> Isolated:
        farthest = parameters.whole("farthest", self.farthest)
        if farthest > MOST_NUMBERS - 2:
            raise parameters.refuse("farthest", f"at most {MOST_NUMBERS - 2}", farthest)
        for name, given in (("function", self.function), ("local_sensitivity", self.local_sensitivity)):
            if not callable(given):
                raise parameters.refuse(name, "a function", type(given).__name__)
        Isolated(self.function, 1, self.seconds, 1)  # so that the error names the function to blame
        return Isolated(_Measured(self.function, self.local_sensitivity, farthest), farthest + 2, self.seconds, 1)

    @property
    def _output(self) -> Output:
        known = outputs(self.output_bounds)
        if len(known) != 1:
            raise parameters.refuse("output_bounds", "one pair: these frameworks are about one number", len(known))
        return known[0]

    @property
    def _identity(self) -> dict[str, Any]:
        """What shapes the result."""
        names = [identity_of(each) for each in (self.function, self.local_sensitivity)]
        ends = [str(self._output.low), str(self._output.high)]
        return {"functions": names, "output_bounds": ends, "farthest": self.farthest, "seconds": str(self.seconds)}

    def _read(self, told: list[float] | None) -> tuple[Fraction, list[float]]:
        """The clamped value and the local sensitivities, each at most the width, never falling with the distance."""
        width = float(self._output.width)
        if told is None or not math.isfinite(told[0]) or any(math.isnan(each) for each in told):
            return self._output.middle, [width] * (self.farthest + 1)
        moves = np.maximum.accumulate(np.clip(np.array(told[1:]), 0.0, width))
        return self._output.read(told[0]), moves.tolist()


@dataclass(frozen=True, slots=True)
class SmoothSensitivity(_Bounded):
    """A function of rows with `local_sensitivity(rows, k)`: noise for its smooth sensitivity.

    >>> from tacit.statistics.frameworks.examples import largest_gap_at, middle_row
    >>> SmoothSensitivity(middle_row, largest_gap_at, (0, 100)).output_bounds
    (0, 100)
    """

    function: Callable[[Any], Any]
    local_sensitivity: Callable[[Any, int], Any]
    output_bounds: Any
    farthest: int = 100
    seconds: float = 10.0

    def __post_init__(self) -> None:
        _ = self._isolated(), self._output

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
        """The function's value with noise; `interval_share` of epsilon buys its interval."""
        facts = {"bounds": bounds, "values": values, "rows_per_unit": rows_per_unit, "level": level}
        given = asked("SmoothSensitivity", data, columns, epsilon=epsilon, delta=delta, **facts)
        output = self._output
        bought = read_share(interval_share)
        chosen = choose_smooth(given.epsilon * (1 - bought), given.delta)
        released = SmoothInterval.of(chosen.noise(output.grid), given.epsilon * bought, given.level)

        def compute(opened: Opened, bits: BitSource) -> Content:
            value, moves = self._read(runner.run([given.rows(opened)])[0])
            smooth = [smooth_bound(moves, float(output.width), float(each)) for each in released.smoothnesses]
            found = (each for each in released.release(value, smooth, bits) if each is not None)
            shown = column("value", *([float(output.read(each))] for each in found))
            covered = "The interval covers the noise." if bought else "interval_share=0: no interval."
            notes = ("Noise follows the data's own smooth sensitivity, which is private.", covered)
            return Content(f"Smooth sensitivity: {name_of(self.function)}", (shown,), notes)

        text = {
            "study": "smooth_sensitivity",
            **self._identity,
            "epsilon": str(given.epsilon),
            "delta": str(given.delta),
            "interval_share": str(bought),
        }
        price = Price(released.event, given.epsilon, chosen.spent_delta)
        with self._isolated().ready(1) as runner:
            return given.source.release(text, price, compute, level=given.level, analyst=analyst)


def smooth_bound(moves: list[float], width: float, smoothness: float) -> float:
    """max over k of exp(-b k) LS(k), with the whole width beyond the listed distances."""
    listed = [*moves, width]
    return max(math.exp(-smoothness * k) * move for k, move in enumerate(listed))


@dataclass(frozen=True, slots=True)
class ProposeTestRelease(_Bounded):
    """A function of rows with `local_sensitivity(rows, k)`: noise for a proposed `bound`, if a private test agrees.

    >>> from tacit.statistics.frameworks.examples import largest_gap_at, middle_row
    >>> ProposeTestRelease(middle_row, largest_gap_at, "0.5", (0, 100)).farthest
    100
    """

    function: Callable[[Any], Any]
    local_sensitivity: Callable[[Any, int], Any]
    bound: Number
    output_bounds: Any
    farthest: int = 100
    seconds: float = 10.0

    def __post_init__(self) -> None:
        _ = self._isolated(), self._output, parameters.positive("bound", self.bound)

    def release(
        self,
        data: Any,
        columns: Any = None,
        *,
        epsilon: Number,
        delta: Number,
        bounds: Any = None,
        values: Any = None,
        rows_per_unit: int | None = None,
        level: Number = "0.95",
        analyst: str | None = None,
    ) -> Finding:
        """The function's value with noise, or no value where the test fails."""
        facts = {"bounds": bounds, "values": values, "rows_per_unit": rows_per_unit, "level": level}
        given = asked("ProposeTestRelease", data, columns, epsilon=epsilon, delta=delta, **facts)
        output = self._output
        bound = float(parameters.positive("bound", self.bound))
        test = mechanisms.ProposeTestRelease(given.epsilon, given.delta, bound=bound)
        if test.threshold >= self.farthest:
            hint = f"With this epsilon and delta, farthest={2 * test.threshold + 1} would do."
            raise parameters.refuse(
                "farthest", f"above {test.threshold}, or no data pass the test", self.farthest, hint
            )

        def compute(opened: Opened, bits: BitSource) -> Content:
            value, moves = self._read(runner.run([given.rows(opened)])[0])
            noisy = test.release(value, int(np.searchsorted(moves, bound, side="right")), bits=bits)
            title = f"Propose, test, release: {name_of(self.function)}"
            if isinstance(noisy, mechanisms.Refused):
                return Content(title, (column("value", [None]),), ("The proposed bound failed the private test.",))
            off = test.error(given.level)
            ends = [float(output.read(each)) for each in (noisy, noisy - off, noisy + off)]
            shown = column("value", [ends[0]], [ends[1]], [ends[2]])
            return Content(title, (shown,), ("Intervals cover the noise.",))

        stated = {"epsilon": str(given.epsilon), "delta": str(given.delta), "bound": str(self.bound)}
        text = {"study": "propose_test_release", **self._identity, **stated}
        with self._isolated().ready(1) as runner:
            price = Price(test.event, given.epsilon, given.delta)
            return given.source.release(text, price, compute, level=given.level, analyst=analyst)


@dataclass(frozen=True, slots=True)
class DistanceToProperty:
    """How many units must come or go until the rows have a property: `distance(rows)`, counted up to `most`.

    >>> from tacit.statistics.frameworks.examples import rows_missing_to_a_thousand
    >>> DistanceToProperty(rows_missing_to_a_thousand, most=1000).most
    1000
    """

    distance: Callable[[Any], Any]
    most: int = 10**9
    seconds: float = 10.0

    def __post_init__(self) -> None:
        if parameters.whole("most", self.most, least=1) > 2**53:
            raise parameters.refuse("most", "at most 2**53: distances travel as floats", self.most)
        Isolated(self.distance, 1, self.seconds, 1)

    def release(
        self,
        data: Any,
        columns: Any = None,
        *,
        epsilon: Number,
        bounds: Any = None,
        values: Any = None,
        rows_per_unit: int | None = None,
        level: Number = "0.95",
        analyst: str | None = None,
    ) -> Finding:
        """The distance with noise, from 0 to `most`."""
        facts = {"bounds": bounds, "values": values, "rows_per_unit": rows_per_unit, "level": level}
        given = asked("DistanceToProperty", data, columns, epsilon=epsilon, delta=0, **facts)
        noise = mechanisms.Laplace(1, given.epsilon)
        isolated = Isolated(self.distance, 1, self.seconds, 1)

        def compute(opened: Opened, bits: BitSource) -> Content:
            told = runner.run([given.rows(opened)])[0]
            exact = 0 if told is None or math.isnan(told[0]) else int(min(max(told[0], 0.0), float(self.most)))
            noisy, off = noise.release(exact, bits=bits), int(noise.error(given.level))
            value, low, high = (min(max(each, 0), self.most) for each in (noisy, noisy - off, noisy + off))
            shown = column("distance", [value], [low], [high])
            return Content(
                f"Distance to a property: {name_of(self.distance)}", (shown,), ("Intervals cover the noise.",)
            )

        text = {"study": "distance_to_property", "function": identity_of(self.distance), "most": self.most}
        text |= {"seconds": str(self.seconds), "epsilon": str(given.epsilon)}
        with isolated.ready(1) as runner:
            price = Price(noise.event, given.epsilon)
            return given.source.release(text, price, compute, level=given.level, analyst=analyst)
