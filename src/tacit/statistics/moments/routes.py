"""Two ways to the moments behind a line: of rows clamped to their bounds, and of rows clipped to frames found by rank.

Both give matrices in units of half a width and say where these widths lie: `Placed`. Which way is taken depends on
public facts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.curator import Price
from tacit.loss import events
from tacit.noise import BitSource
from tacit.statistics.moments.bounded import Bounded
from tacit.statistics.moments.clipping import FINE
from tacit.statistics.moments.frames import Frames, Framing, framed
from tacit.statistics.moments.matrices import Matrices, centres, matrices, release, scales
from tacit.statistics.moments.second_moments import Design, design, sums_of
from tacit.statistics.moments.several import Several
from tacit.statistics.source import Opened

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Placed:
    """What the matrices are about, in the data's own units.

    A column's number is its value less `middles` over `halves`; the target's value is taken less `slopes` times the
    features first. With fewer than `least_rows` rows it is not known where they lie.
    """

    middles: Reals
    halves: Reals
    slopes: Reals
    least_rows: float
    words: str
    arrays: dict[str, Any]


class Route(Protocol):
    """A way to the moments."""

    @property
    def price(self) -> Price:
        """What it costs."""

    def release(self, opened: Opened, bits: BitSource) -> tuple[Matrices, Placed]:
        """The moments, and what they are about."""


@dataclass(frozen=True, slots=True)
class InBounds:
    """Rows clamped to their bounds, or clipped to a ball that was asked for; all of epsilon is for the moments."""

    asked: Several

    @property
    def price(self) -> Price:
        return self.asked.design.noise.price

    def release(self, opened: Opened, bits: BitSource) -> tuple[Matrices, Placed]:
        own = self.asked.design
        none = np.zeros(len(own.columns))
        return release(own, opened, bits), Placed(centres(own), scales(own), none, 0.0, self.asked.clipping, {})


@dataclass(frozen=True, slots=True)
class InFrames:
    """Rows clipped to frames; a share of epsilon finds them."""

    framing: Framing
    design: Design
    epsilon: Fraction

    @classmethod
    def of(cls, asked: Several, aim: int, epsilon: Fraction, delta: Fraction) -> InFrames:
        """The route for the columns that were asked about."""
        columns, rows = asked.design.columns, asked.source.rows_per_unit
        framing = Framing.of(columns, aim, rows, epsilon)
        unit = tuple(Bounded(each.name, -FINE // 2, FINE, Fraction(2, FINE)) for each in columns)
        return cls(framing, design(unit, None, rows, epsilon * (1 - framing.share), delta), epsilon)

    @property
    def price(self) -> Price:
        moments = self.design.noise.price
        return Price(events.Composed((self.framing.event, moments.event)), self.epsilon, moments.delta)

    def release(self, opened: Opened, bits: BitSource) -> tuple[Matrices, Placed]:
        columns, aim = self.framing.columns, self.framing.aim
        codes = opened.values(*(each.name for each in columns))
        frames = self.framing.find(codes, bits)
        exact = self.design.of(sums_of(framed(codes, frames, aim)))
        noisy = np.array([float(each) for each in self.design.noise.release(exact, bits)])
        return matrices(self.design, noisy), _placed(
            frames, columns, aim, self.framing.least_rows() if frames.narrowed else 0.0
        )


def _placed(frames: Frames, columns: tuple[Bounded, ...], aim: int, least_rows: float) -> Placed:
    steps = np.array([float(each.step) for each in columns])
    middles = np.array([each.centre for each in frames.columns]) * steps
    halves = np.array([each.half for each in frames.columns]) * steps
    slopes = np.zeros(len(columns))
    said = [
        f"{each.name} from {middle - half:.6g} to {middle + half:.6g}"
        for each, frame, middle, half in zip(columns, frames.columns, middles, halves, strict=True)
        if frame.narrowed and not (frames.line and each is columns[aim])
    ]
    arrays: dict[str, Any] = {"middle": middles.tolist(), "half": halves.tolist()}
    if frames.line is not None:
        height, slope = frames.line
        across = 1 - aim
        middles[aim] = height * steps[aim]
        slopes[across] = slope * steps[aim] / steps[across]
        said.append(
            f"{columns[aim].name} to within {halves[aim]:.6g} of {middles[aim]:.6g} + {slopes[across]:.6g} "
            f"{columns[across].name}"
        )
        arrays["middle"] = middles.tolist()
    arrays["start"] = slopes.tolist()
    words = (
        f"Each value is clamped to its bounds, and rows are clipped to where most of them lie: {'; '.join(said)}. "
        "The line and its intervals are those of the clipped rows; where many rows lie beyond, as in skewed columns, "
        "the line of all rows may lie outside them. learning.LinearRegression tells of rows that are not clipped."
        if said
        else "Each value is clamped to its bounds."
    )
    return Placed(middles, halves, slopes, least_rows, words, arrays)
