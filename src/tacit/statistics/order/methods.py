"""Three ways to an order statistic: a choice by rank, smooth-sensitivity noise, and propose-test-release.

Each is a plan made of public facts (which quantiles, the grid between the bounds, r rows of a unit, epsilon, delta),
and becomes released codes when it is given sorted codes. Neighbours: one unit's rows added or removed; or, for arrays
whose number of rows is public, one row replaced.

Exponential. `tacit.mechanisms.Quantiles` and `Extreme` with r rows of a unit, on about 2**20 points between the bounds,
or fewer for epsilon below 1: each doubling makes empty stretches between lumps of rows twice as likely, and the error
in ranks, about 1/epsilon rows, hides the step but for many million rows. A point is a function of its row alone, so
neighbours stay neighbours. A replacement is one row removed and one added, so there r = 2. Intervals, where a share of
epsilon buys them: with E the rows by which a choice's rank is off at most with the wanted confidence, ceil(E/(1 - q))
made-up rows below all others (or ceil(E/q) above) move the wanted rank down (up) by at least E, so the chosen ends
enclose the quantile. Made-up rows are the same for neighbours.

Smooth. `order_windows` computes the smooth sensitivity, `smooth_choice` chooses noise. Several quantiles share epsilon
and delta equally.

Propose-test-release. The caller proposes how far one unit moves the statistic at most. The distance to data where it
moves further comes from `order_windows`; the answer is Laplace noise for the proposed bound, or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np

from tacit import parameters
from tacit.loss import events
from tacit.mechanisms import Extreme, ProposeTestRelease, Quantiles, Refused, Smooth
from tacit.mechanisms.grid import floor_log2
from tacit.noise import BitSource
from tacit.statistics.order.smooth_choice import choose_smooth
from tacit.statistics.order.windows import (
    Rank,
    Sorted,
    Whole,
    smooth_sensitivity,
    smooth_sensitivity_replaced,
    units_to_exceed,
)

Found: TypeAlias = tuple[int, int, int] | tuple[int, None, None] | None
"""A released code with the ends of its interval, or without, or nothing."""


MOST_BITS, LEAST_BITS = 20, 10


def bits_for(epsilon: Fraction) -> int:
    """A grid for choices by rank: a million points at epsilon 1, fewer below, where ranks are off by 1/epsilon rows."""
    return min(max(MOST_BITS + floor_log2(epsilon), LEAST_BITS), MOST_BITS)


@dataclass(frozen=True, slots=True)
class Frame:
    """What is public: the ends of the grid of codes, the rows of a unit, and whether neighbours replace a row."""

    low: int
    high: int
    rows: int
    replaced: bool
    bits: int = MOST_BITS  # a choice by rank is made from about 2**bits points

    @property
    def coarser(self) -> int:
        """The power of two codes that a choice by rank takes for one point, so that there are few enough points."""
        return max((self.high - self.low).bit_length() - self.bits, 0)

    @property
    def points(self) -> int:
        """How many points a choice by rank is made from."""
        return ((self.high - self.low) >> self.coarser) + 1

    def point_of(self, codes: Whole) -> Whole:
        """The points of codes; what lies in between is lost, the order is not."""
        return (codes - self.low) >> self.coarser

    def code_of(self, point: int) -> int:
        """The least code of a point."""
        return self.low + (point << self.coarser)

    @property
    def moved(self) -> int:
        """The rows by which neighbours differ."""
        return 2 if self.replaced else self.rows

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
    ends: tuple[Quantiles, ...] = ()  # one for each share, used for both of its ends
    level: Fraction = Fraction(19, 20)

    @staticmethod
    def of(
        frame: Frame, shares: tuple[Fraction, ...], epsilon: Fraction, interval_share: Fraction, level: Fraction
    ) -> ByRank:
        """Planned for this epsilon, of which a share is for intervals."""
        extreme = shares in ((Fraction(0),), (Fraction(1),))
        own = epsilon * (1 - interval_share)
        if extreme:
            if interval_share:
                raise parameters.refuse("interval_share", "0 for the least and the greatest", float(interval_share))
            return ByRank(frame, shares, Extreme(frame.points, shares[0] == 1, frame.moved, own))
        if shares[0] == 0 or shares[-1] == 1:
            hint = "Ask for minimum or maximum by itself."
            raise parameters.refuse("q", "strictly between 0 and 1 for this method", [float(q) for q in shares], hint)
        choice = Quantiles(frame.points, shares, frame.moved, own)
        each = epsilon * interval_share / (2 * len(shares))
        ends = tuple(Quantiles(frame.points, [share], frame.moved, each) for share in shares) if each else ()
        return ByRank(frame, shares, choice, ends, level)

    @property
    def event(self) -> events.Event:
        """The choices."""
        if not self.ends:
            return self.choice.event
        return events.Composed((self.choice.event, *(events.Repeated(each.event, 2) for each in self.ends)))

    @property
    def delta(self) -> Fraction:
        """None."""
        return Fraction(0)

    def find(self, codes: Whole, bits: BitSource) -> list[Found]:
        """The chosen codes."""
        values, counts = np.unique(self.frame.point_of(codes), return_counts=True)
        chosen = [self.frame.code_of(each) for each in _chosen(self.choice, values, counts, bits)]
        if not self.ends:
            return [(each, None, None) for each in chosen]
        found: list[Found] = []
        for value, share, end in zip(chosen, self.shares, self.ends, strict=True):
            off = end.errors(1 - (1 - self.level) / 2)[0]
            lower = _chosen(end, *_with(values, counts, 0, math.ceil(off / (1 - share))), bits)[0]
            upper = _chosen(end, *_with(values, counts, self.frame.points - 1, math.ceil(off / share)), bits)[0]
            low, high = sorted((self.frame.code_of(lower), self.frame.code_of(upper + 1) - 1))
            found.append((value, min(low, value), max(min(high, self.frame.high), value)))
        return found

    def note(self, level: Fraction) -> str:
        """Ranks."""
        rows = max(self.choice.errors(level))
        words = f"Chosen by rank: with probability {float(level):g} no rank is off by more than {rows:,} rows"
        if isinstance(self.choice, Extreme):
            return f"{words} from row {self.choice.rank:,} counted from the end, which is what is aimed at."
        ends = "Intervals enclose the rows' own quantile" if self.ends else "interval_share= buys intervals of values"
        return f"{words}. {ends}."


def _chosen(choice: Quantiles | Extreme, values: Whole, counts: Whole, bits: BitSource) -> list[int]:
    below = np.cumsum(counts) - counts
    return choice.choose(values, below, counts, int(counts.sum()), bits=bits)


def _with(values: Whole, counts: Whole, point: int, rows: int) -> tuple[Whole, Whole]:
    """The tally with made-up rows at a point."""
    place = int(np.searchsorted(values, point))
    if place < values.size and values[place] == point:
        more = counts.copy()
        more[place] += rows
        return values, more
    return np.insert(values, place, point), np.insert(counts, place, rows)


@dataclass(frozen=True, slots=True)
class BySmooth:
    """Noise for the smooth sensitivity."""

    frame: Frame
    shares: tuple[Fraction, ...]
    noise: Smooth

    @staticmethod
    def of(frame: Frame, shares: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction) -> BySmooth:
        """Planned for this epsilon and delta, shared equally."""
        count = len(shares)
        return BySmooth(frame, shares, choose_smooth(epsilon / count, delta / count).noise())

    @property
    def event(self) -> events.Event:
        """One release for each quantile."""
        return _each(self.noise.event, len(self.shares))

    @property
    def delta(self) -> Fraction:
        """All of it, where the noise has use for it."""
        event = self.noise.event
        return event.delta * len(self.shares) if isinstance(event, events.Approximate) else Fraction(0)

    def find(self, codes: Whole, bits: BitSource) -> list[Found]:
        """The quantiles with noise, clamped to the bounds."""
        found: list[Found] = []
        for share in self.shares:
            line = self.frame.line(codes, share)
            measure = smooth_sensitivity_replaced if self.frame.replaced else smooth_sensitivity
            noisy = self.noise.release(line.value, measure(line, self.noise.smoothness), bits=bits)
            found.append((min(max(noisy, self.frame.low), self.frame.high), None, None))
        return found

    def note(self, level: Fraction) -> str:
        """Its size is private."""
        return "Noise follows the data's own smooth sensitivity, which is private, and so are intervals."


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
        """All of it."""
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
            low, value, high = (
                min(max(each, self.frame.low), self.frame.high) for each in (noisy - reach, noisy, noisy + reach)
            )
            found.append((value, low, high))
        return found

    def note(self, level: Fraction) -> str:
        """Noise only."""
        return "Intervals cover the noise. Where there is no value, the proposed bound failed the private test."


def _each(event: events.Event, count: int) -> events.Event:
    return event if count == 1 else events.Repeated(event, count)


def best(shares: Sequence[Fraction], rows: int, epsilon: Fraction, delta: Fraction) -> str:
    """The method with the smaller expected error among evenly spaced rows, from public parameters only.

    A choice by rank is off by about 2 r max(q, 1 - q) / epsilon rows (each level of the recursion has its part of
    epsilon), and by half a space between rows; smooth noise has the mean size of `smooth_choice` times r. The least and
    the greatest always are choices: their local sensitivity reaches to the bounds.
    """
    if 0 in shares or 1 in shares:
        return "exponential"
    steepest = max(max(share, 1 - share) for share in shares)
    by_rank = 2 * rows * float(steepest * Quantiles.levels_of(len(shares)) / epsilon) + 0.5
    smooth = rows * choose_smooth(epsilon / len(shares), delta / len(shares)).size
    return "exponential" if by_rank <= smooth else "smooth"
