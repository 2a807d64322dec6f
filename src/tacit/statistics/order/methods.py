"""Three ways to an order statistic: a choice by rank, smooth-sensitivity noise, and propose-test-release.

Each is a plan made of public facts (which quantiles, the grid between the bounds, r rows of a unit, epsilon, delta),
and becomes released codes when it is given sorted codes. Neighbours: one unit's rows added or removed; or, for arrays
whose number of rows is public, one row replaced.

Exponential. `tacit.mechanisms.Quantiles` and `Extreme` with r rows of a unit, on about 2**20 points between the bounds,
or fewer for epsilon below 1, unless a resolution is asked for: each doubling makes empty stretches between lumps of
rows twice as likely, and the error in ranks, about 1/epsilon rows, hides the step but for many million rows, or for
rows that lie close within wide bounds. Rows within one step are one point, and the note says how wide a step is. A
point is a function of its row alone, so neighbours stay neighbours. A replacement leaves the number of rows as it is,
and both have a theorem for it. A share of epsilon buys intervals (`rank_interval`).

Smooth. `windows` computes the smooth sensitivity, `smooth_choice` chooses noise, and a share of epsilon buys
intervals (`smooth_interval`). Several quantiles share epsilon and delta equally.

Propose-test-release. The caller proposes how far one unit moves the statistic at most. The distance to data where it
moves further comes from `windows`; the answer is Laplace noise for the proposed bound, or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np

from tacit import parameters
from tacit.loss import events
from tacit.mechanisms import Extreme, ProposeTestRelease, Quantiles, Refused
from tacit.mechanisms.grid import floor_log2
from tacit.noise import BitSource
from tacit.plan.picks.words import alike
from tacit.statistics.order.rank_interval import RankInterval
from tacit.statistics.order.roundest import roundest
from tacit.statistics.order.smooth_choice import choose_smooth
from tacit.statistics.order.windows import (
    Rank,
    Sorted,
    Whole,
    smooth_sensitivity,
    smooth_sensitivity_replaced,
    units_to_exceed,
)
from tacit.statistics.smooth_interval import SmoothInterval

Found: TypeAlias = tuple[int, int, int] | tuple[int, None, None] | None
"""A released code with the ends of its interval, or without, or nothing."""


MOST_BITS, LEAST_BITS = 20, 10
FINEST_BITS = 39
"""Bits of a grid that was asked for: about the most points that `tacit.mechanisms.Quantiles` chooses from."""


def bits_for(epsilon: Fraction) -> int:
    """A grid for choices by rank: a million points at epsilon 1, fewer below, where ranks are off by 1/epsilon rows."""
    return min(max(MOST_BITS + floor_log2(epsilon), LEAST_BITS), MOST_BITS)


def bits_of(codes: Fraction, span: int) -> int:
    """A grid for choices by rank whose points are at most this many codes apart; never finer than the codes."""
    return min(max(span.bit_length() - max(floor_log2(codes), 0), 1), FINEST_BITS)


@dataclass(frozen=True, slots=True)
class Frame:
    """What is public: the ends of the grid of codes, the rows of a unit, and whether neighbours replace a row."""

    low: int
    high: int
    rows: int
    replaced: bool
    bits: int = MOST_BITS  # a choice by rank is made from about 2**bits points
    step: Fraction = Fraction(1)  # how much one code means in values
    rounded: bool = False  # whether values were rounded to their codes
    meaning: str = "number"  # of the values: "number", "date" or "timestamp"

    @property
    def coarser(self) -> int:
        """The power of two codes that a choice by rank takes for one point, so that there are few enough points."""
        return max((self.high - self.low).bit_length() - self.bits, 0)

    @property
    def points(self) -> int:
        """How many points a choice by rank is made from."""
        return ((self.high - self.low) >> self.coarser) + 1

    def point_of(self, codes: Whole) -> Whole:
        """The points of codes. Differences within a point are lost, the order is not."""
        return (codes - self.low) >> self.coarser

    def code_of(self, point: int) -> int:
        """The least code of a point."""
        return self.low + (point << self.coarser)

    def shown(self, point: int) -> int:
        """The code of a point that is shown for it."""
        return roundest(self.code_of(point), min(self.code_of(point + 1) - 1, self.high), self.step)

    @property
    def moved(self) -> int:
        """The rows that are added or removed, or replaced."""
        return 1 if self.replaced else self.rows

    @property
    def alike(self) -> str:
        """In words, which different values a choice by rank takes for one; empty where it distinguishes all of them."""
        return alike(self.step * (1 << self.coarser) if self.coarser or self.rounded else None, self.meaning)

    def clamped(self, value: int, low: int | None, high: int | None) -> tuple[int, int, int] | tuple[int, None, None]:
        """A released code and its ends, where there are any, between the bounds, where the truth is."""
        inside = min(max(value, self.low), self.high)
        if low is None or high is None:
            return inside, None, None
        return inside, min(max(low, self.low), self.high), min(max(high, self.low), self.high)

    def line(self, codes: Whole, share: Fraction) -> Sorted:
        """Sorted codes with the quantile that is wanted."""
        return Sorted(codes, self.low, self.high, Rank(share), self.rows)


class Method(Protocol):
    """A planned release."""

    @property
    def event(self) -> events.Event:
        """What is charged."""

    @property
    def delta(self) -> Fraction:
        """The part of delta that is used."""

    def find(self, codes: Whole, bits: BitSource) -> list[Found]:
        """Released codes for sorted codes within the frame."""

    def note(self, level: Fraction) -> str:
        """What the intervals cover, and how good the values are."""


@dataclass(frozen=True, slots=True)
class ByRank:
    """The exponential mechanism."""

    frame: Frame
    shares: tuple[Fraction, ...]
    choice: Quantiles | Extreme
    intervals: tuple[RankInterval, ...] = ()  # one for each share, or one for all of them

    @staticmethod
    def of(
        frame: Frame,
        shares: tuple[Fraction, ...],
        epsilon: Fraction,
        interval_share: Fraction,
        level: Fraction,
        *,
        together: bool = False,
    ) -> ByRank:
        """Planned for this epsilon. A share buys intervals, which hold `together` with one width, or each by itself."""
        own, groups = epsilon * (1 - interval_share), [shares] if together else [(share,) for share in shares]
        each = epsilon * interval_share / len(groups)
        moved, replaced = frame.moved, frame.replaced
        intervals = tuple(
            RankInterval.of(frame.points, q, moved, each, level, replaced=replaced) for q in groups if each
        )
        if shares in ((Fraction(0),), (Fraction(1),)):
            return ByRank(frame, shares, Extreme(frame.points, shares[0] == 1, moved, own), intervals)
        if shares[0] == 0 or shares[-1] == 1:
            hint = "Ask for minimum or maximum by itself."
            raise parameters.refuse("q", "strictly between 0 and 1 for this method", [float(q) for q in shares], hint)
        return ByRank(frame, shares, Quantiles(frame.points, shares, moved, own, replaced=replaced), intervals)

    @property
    def event(self) -> events.Event:
        """The choices."""
        if not self.intervals:
            return self.choice.event
        return events.Composed((self.choice.event, *(each.event for each in self.intervals)))

    @property
    def delta(self) -> Fraction:
        """None of delta is used: the choices are pure."""
        return Fraction(0)

    def find(self, codes: Whole, bits: BitSource) -> list[Found]:
        """The chosen codes."""
        values, counts = np.unique(self.frame.point_of(codes), return_counts=True)
        below = np.cumsum(counts) - counts
        chosen = self.choice.choose(values, below, counts, int(counts.sum()), bits=bits)
        if not self.intervals:
            return [(self.frame.shown(point), None, None) for point in chosen]
        ends: list[tuple[int, int]] = []
        for interval in self.intervals:
            group = chosen[len(ends) : len(ends) + len(interval.shares)]
            ends += interval.around(group, [(values, counts)] * len(group), bits)
        # the least code of the lower point, the greatest of the upper one
        code = self.frame.code_of
        return [
            (self.frame.shown(point), code(low), min(code(high + 1) - 1, self.frame.high))
            for point, (low, high) in zip(chosen, ends, strict=True)
        ]

    def note(self, level: Fraction) -> str:
        """Ranks, and what intervals enclose."""
        rows = max(self.choice.errors(level))
        words = f"Chosen by rank: with probability {float(level):g} no rank is off by more than {rows:,} rows"
        words += self.frame.alike
        if isinstance(self.choice, Extreme):
            words += f" from row {self.choice.rank:,} counted from the end, which is what is aimed at"
            most, bound = ("greatest", "upper") if self.choice.greatest else ("least", "lower")
            ends = f"The interval encloses the rows' own {most} value; its {bound} end is the public bound"
        else:
            ends = "Each interval encloses the rows' own quantile"
        return f"{words}. {ends if self.intervals else 'interval_share=0: no intervals'}."


@dataclass(frozen=True, slots=True)
class BySmooth:
    """Noise for the smooth sensitivity."""

    frame: Frame
    shares: tuple[Fraction, ...]
    each: SmoothInterval  # the release of one of them

    @staticmethod
    def of(
        frame: Frame,
        shares: tuple[Fraction, ...],
        epsilon: Fraction,
        delta: Fraction,
        interval_share: Fraction,
        level: Fraction,
    ) -> BySmooth:
        """Planned for this epsilon and delta, shared equally."""
        part = epsilon / len(shares)
        noise = choose_smooth(part * (1 - interval_share), delta / len(shares)).noise()
        return BySmooth(frame, shares, SmoothInterval.of(noise, part * interval_share, level))

    @property
    def event(self) -> events.Event:
        """One release for each quantile."""
        return _each(self.each.event, len(self.shares))

    @property
    def delta(self) -> Fraction:
        """All of delta, where the noise uses it."""
        event = self.each.noise.event
        return event.delta * len(self.shares) if isinstance(event, events.Approximate) else Fraction(0)

    def find(self, codes: Whole, bits: BitSource) -> list[Found]:
        """The quantiles with noise, clamped to the bounds."""
        measure = smooth_sensitivity_replaced if self.frame.replaced else smooth_sensitivity
        found: list[Found] = []
        for share in self.shares:
            line = self.frame.line(codes, share)
            bounds = [measure(line, smoothness) for smoothness in self.each.smoothnesses]
            found.append(self.frame.clamped(*self.each.release(line.value, bounds, bits)))
        return found

    def note(self, level: Fraction) -> str:
        """Noise only."""
        words = "Noise follows the data's own smooth sensitivity, which is private"
        covered = "Each interval covers the noise on the rows' own quantile"
        return f"{words}. {'interval_share=0: no intervals' if self.each.size is None else covered}."


@dataclass(frozen=True, slots=True)
class ByTest:
    """Noise for a proposed bound, after a test."""

    frame: Frame
    shares: tuple[Fraction, ...]
    bound: int
    test: ProposeTestRelease
    level: Fraction

    @staticmethod
    def of(
        frame: Frame, shares: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction, bound: int, level: Fraction
    ) -> ByTest:
        """Planned for this epsilon and delta, shared equally."""
        count = len(shares)
        return ByTest(frame, shares, bound, ProposeTestRelease(epsilon / count, delta / count, bound=bound), level)

    @property
    def event(self) -> events.Event:
        """One test and release for each quantile."""
        return _each(self.test.event, len(self.shares))

    @property
    def delta(self) -> Fraction:
        """All of delta."""
        return self.test.event.delta * len(self.shares)

    def find(self, codes: Whole, bits: BitSource) -> list[Found]:
        """The quantiles with noise and intervals; nothing where the test refuses."""
        reach = int(self.test.error(self.level))
        found: list[Found] = []
        for share in self.shares:
            line = self.frame.line(codes, share)
            units = units_to_exceed(line, self.bound, replaced=self.frame.replaced)
            noisy = self.test.release(line.value, units, bits=bits)
            if isinstance(noisy, Refused):
                found.append(None)
                continue
            found.append(self.frame.clamped(noisy, noisy - reach, noisy + reach))
        return found

    def note(self, level: Fraction) -> str:
        """Noise only."""
        return "Intervals cover the noise. Where there is no value, the proposed bound failed the private test."


def _each(event: events.Event, count: int) -> events.Event:
    return event if count == 1 else events.Repeated(event, count)


def best(shares: Sequence[Fraction], rows: int, epsilon: Fraction, delta: Fraction, *, replaced: bool = False) -> str:
    """The method with the smaller expected error among evenly spaced rows, from public parameters only.

    `epsilon` is what is left for the values themselves once intervals are paid for.

    A choice by rank is off by about 2 r max(q, 1 - q) / epsilon rows (each level of the recursion has its part of
    epsilon), and by half a space between rows; smooth noise has the mean size of `smooth_choice` times r. For
    `replaced` rows a choice on the whole line is off by 2 r/epsilon; the rest is as for one row removed and one added.
    The least and the greatest are always choices by rank: their local sensitivity reaches to the bounds.
    """
    if 0 in shares or 1 in shares:
        return "exponential"
    steepest = max(max(share, 1 - share) for share in shares)
    if replaced:
        steepest = 2 * steepest if len(shares) > 2 else Fraction(1)
    by_rank = 2 * rows * float(steepest * Quantiles.levels_of(len(shares)) / epsilon) + 0.5
    smooth = (2 if replaced else 1) * rows * choose_smooth(epsilon / len(shares), delta / len(shares)).size
    return "exponential" if by_rank <= smooth else "smooth"
