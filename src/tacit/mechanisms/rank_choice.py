"""One choice by rank: a point of the grid, or a place of the line, as the theorem of `quantiles` states it.

Promise: candidates that weigh alike are drawn together, and all others one by one, so a choice costs as
much as there are values within the clamp; its law is exact. `TooNarrow` is raised before a bit is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit import noise
from tacit.mechanisms.ranks import Pieces, TooNarrow, Whole
from tacit.noise.runs import choose_from_runs


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: the wanted share p/d of its part, the factor on scores, the clamp W in rows."""

    share: Fraction
    factor: Fraction
    clamp: int
    split: int


def share_of(choice: Choice, mass: int) -> tuple[int, int]:
    """(p M, d): the wanted mass as a fraction."""
    return choice.share.numerator * mass, choice.share.denominator


def choose_point(
    ends: tuple[int, int],
    start: int,
    wanted: tuple[int, int],
    choice: Choice,
    bits: noise.BitSource,
    line: Pieces,
) -> int:
    """A point whose stretch meets the part between the ends, by the distance of the wanted mass from its interval.

    `start` is the mass left of the part. The end of the line belongs to its last point.
    """
    split, final = choice.split, int(line.stops[-1]) - 2
    first, last = ends
    if first > final:
        return final // split
    part = _focused(line.between(first, min(last, final)), start, wanted, choice)
    starts = part.starts // split
    numbers = (part.stops - 1) // split - starts + 1
    # the part ends at the place `last`: nothing to the right of that counts
    rises = np.asarray(part.slopes * (np.minimum(part.stops, last) - part.starts), dtype=np.int64)
    low, high = _distances(part, rises, start, wanted, choice)
    scores = -np.minimum(np.maximum(np.maximum(low, -high), 0), wanted[1] * split * choice.clamp)
    chosen = noise.exponential_race(scores, choice.factor, bits, numbers.astype(np.float64))
    return int(starts[chosen]) + int(noise.uniform_below(int(numbers[chosen]), None, bits))


def choose_place(
    ends: tuple[int, int],
    start: int,
    wanted: tuple[int, int],
    choice: Choice,
    bits: noise.BitSource,
    line: Pieces,
) -> int:
    """A place of the part by the distance of its mass from the wanted one; `start` is the mass left of the part."""
    clamp = wanted[1] * choice.split * choice.clamp
    part = _focused(line.between(*ends), start, wanted, choice)
    part = part.cut_at([_crossing(part, start, wanted, level) for level in (1 - clamp, 0, clamp)])
    lengths = part.stops - part.starts
    rises = np.asarray(part.slopes * (lengths - 1), dtype=np.int64)
    first, last = _distances(part, rises, start, wanted, choice)
    # every piece is now beyond the clamp, or below the wanted mass, or above it, with all its places
    beyond = (first >= clamp) | (last <= -clamp)
    rising = (last < 0) & ~beyond
    tops = np.where(beyond, -clamp, np.where(rising, last, -first))
    steps = wanted[1] * np.where(beyond | (lengths == 1), 0, part.slopes)
    run, place = choose_from_runs(tops, steps, lengths, choice.factor, bits)
    return int(part.stops[run]) - 1 - place if rising[run] else int(part.starts[run]) + place


def _focused(part: Pieces, start: int, wanted: tuple[int, int], choice: Choice) -> Pieces:
    """The part with all pieces beyond the clamp as one on either side: they weigh alike, so few are left to race."""
    target, parts = wanted
    reach = choice.split * choice.clamp
    # pieces that end at or below the one mass, or begin at or above the other, lie beyond the clamp altogether
    lower, upper = start + target // parts - reach, start - (-target // parts) + reach
    low = max(int(np.searchsorted(part.least, lower, side="right")) - 2, 0)
    high = min(int(np.searchsorted(part.least, upper, side="left")) + 1, part.starts.size)
    return part.merged(low, high)


def _crossing(part: Pieces, start: int, wanted: tuple[int, int], level: int) -> int:
    """The first place where d (F - F(a)) - p M reaches the level."""
    target, parts = wanted
    goal = start - (-(level + target) // parts)  # the least mass that does
    index = int(np.searchsorted(part.least, goal, side="left")) - 1
    if index < 0:
        return int(part.starts[0])
    slope = int(part.slopes[index])
    steps = -((int(part.least[index]) - goal) // slope) if slope else int(part.stops[index] - part.starts[index])
    return min(int(part.starts[index]) + steps, int(part.stops[index]))


def _distances(part: Pieces, rises: Whole, start: int, wanted: tuple[int, int], choice: Choice) -> tuple[Whole, Whole]:
    """d (F - F(a)) - p M at the first place of each piece, and `rises` later; where F is not known, its ends.

    Numbers beyond the clamp are cut, so that they fit a word. Unknown ranks must lie beyond it altogether.
    """
    target, parts = wanted
    whole, rest = divmod(target, parts)
    limit = choice.split * choice.clamp + 2
    low = parts * np.clip(part.least - (start + whole), -limit, limit) - rest
    high = parts * np.clip(part.most + rises - (start + whole), -limit, limit) - rest
    unknown = part.least != part.most
    clamp = parts * choice.split * choice.clamp
    if (unknown & (low < clamp) & (high > -clamp)).any():
        raise TooNarrow
    return low, high
