"""One choice by rank: a point of the grid, or a place of the line, as the theorem of `quantiles` states it.

Where the ranks inside a leaf are not known, its candidates are drawn by a bound of their weight, and one that is drawn
is kept with the probability weight / bound; only then is its rank asked for.

Theorem 3. Let w(y) > 0 be the weights, and let trials follow one another, with bounds g_i >= w on all candidates in
trial i. A trial draws y with probability g_i(y)/G_i, G_i the sum of g_i, and keeps it with probability w(y)/g_i(y). If
g_i is a function of what was drawn and found in earlier trials, the first candidate kept has the law w(y)/sum(w).
Proof. Given the trials before, trial i keeps y with probability w(y)/G_i. So given that it keeps one, which has
probability sum(w)/G_i, it keeps y with probability w(y)/sum(w), whatever came before: this is the law of the first one
kept, whichever trial that is. Some trial keeps one: a point that was asked for is known from then on, so a bound
stays above its weight only until all points have been asked for.

Bounds. F lies in [least, most] inside a leaf, so d (F - F(a)) - p M lies in an interval; the distance of zero from it
is no more than the score's, for a place as for the interval of a point. All candidates of a leaf share that bound:
one of them is drawn uniformly, and kept with probability exp(f (its score - the bound)).

Several trials are drawn before anything is asked, all with the same bounds, and the first one kept counts: those after
it are thrown away unseen. How many are drawn depends on the leaves that were drawn, not on which will be kept, so that
a trial is kept with the same probability wherever it stands. If none is kept all that was found is learned, and the
next trials have smaller bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from tacit import noise
from tacit.mechanisms.ranks import Found, Line, Lookup, Pieces, Whole
from tacit.noise.runs import drawing_from_runs

AHEAD = 12
_ENOUGH = 0.13
Asking: TypeAlias = Generator[list[Lookup], list[Found], int]
"""Yields what it must know, is sent what was found, and returns what was chosen."""
Task: TypeAlias = Generator[list[Lookup], list[Found], "list[Task]"]
"""A choice that stores what it chose, and returns the choices that can be made after it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: the wanted share p/d of its part, the factor on scores, the clamp W in rows."""

    share: Fraction
    factor: Fraction
    clamp: int
    split: int

    @property
    def per_row(self) -> Fraction:
        """How much the logarithm of a weight changes with a row."""
        return self.factor * self.share.denominator * self.split


@dataclass(frozen=True, slots=True)
class Part:
    """Where a choice is made: between two places, `start` the mass left of the first, `wanted` = (p M, d)."""

    first: int
    last: int
    start: int
    wanted: tuple[int, int]


def part_of(choice: Choice, ends: tuple[int, int], masses: tuple[int, int]) -> Part:
    """The part between two places with these masses left of them, and the wanted mass as a fraction."""
    numerator, denominator = choice.share.numerator, choice.share.denominator
    return Part(*ends, masses[0], (numerator * (masses[1] - masses[0]), denominator))


def choose_point(line: Line, part: Part, choice: Choice, bits: noise.BitSource) -> Asking:
    """A point whose stretch meets the part, by the distance of the wanted mass from its interval.

    The end of the line belongs to its last point.
    """
    split, clamp = choice.split, part.wanted[1] * choice.split * choice.clamp
    while True:
        final = int(line.pieces.stops[-1]) - 2
        if part.first > final:
            return final // split
        focused = _focused(line.pieces.between(part.first, min(part.last, final)), part, choice)
        starts = focused.starts // split
        numbers = (focused.stops - 1) // split - starts + 1
        # the part ends at the place `last`: nothing to the right of that counts
        rises = np.asarray(focused.slopes * (np.minimum(focused.stops, part.last) - focused.starts), dtype=np.int64)
        low, high = _distances(focused, rises, part, choice)
        bounds = np.minimum(np.maximum(np.maximum(low, -high), 0), clamp)
        certain = (focused.least == focused.most) | (bounds == clamp)
        draw = drawing_from_runs(-bounds, np.zeros_like(bounds), numbers, choice.factor)
        drawn: list[tuple[int, int | None]] = []
        enough = _enough(focused, part, choice)
        for index, offset in draw(bits, AHEAD):
            drawn.append((int(starts[index]) + offset, None if certain[index] else int(bounds[index])))
            if certain[index] or enough(index):
                break
        found = yield from _found(line, [point for point, bound in drawn if bound is not None])
        for point, bound in drawn:
            if bound is None:
                return point
            # a leaf lies in the part with all its points: a part's ends are places whose mass is known
            least, most = _interval(line, found, point)
            distance = max(_distance(least, part), -_distance(most, part), 0)
            if noise.bernoulli_exp(choice.factor * (min(distance, clamp) - bound), None, bits):
                return point
        _learn(line, found, found)


def choose_place(line: Line, part: Part, choice: Choice, bits: noise.BitSource) -> Asking:
    """A place of the part by the distance of its mass from the wanted one. Its mass is known afterwards."""
    split, clamp = choice.split, part.wanted[1] * choice.split * choice.clamp
    while True:
        focused = _focused(line.pieces.between(part.first, part.last), part, choice)
        focused = focused.cut_at([_crossing(focused, part, level) for level in (1 - clamp, 0, clamp)])
        lengths = focused.stops - focused.starts
        rises = np.asarray(focused.slopes * (lengths - 1), dtype=np.int64)
        # every piece with a slope is now beyond the clamp, or below the wanted mass, or above it, with all its places
        low, high = _distances(focused, rises, part, choice)
        bounds = np.minimum(np.maximum(np.maximum(low, -high), 0), clamp)
        rising = high < 0
        steps = part.wanted[1] * np.where((bounds == clamp) | (lengths == 1), 0, focused.slopes)
        certain = focused.least == focused.most
        draw = drawing_from_runs(-bounds, steps, lengths, choice.factor)
        drawn: list[tuple[int, int | None]] = []
        enough = _enough(focused, part, choice)
        for run, offset in draw(bits, AHEAD):
            place = int(focused.stops[run]) - 1 - offset if rising[run] else int(focused.starts[run]) + offset
            # beyond the clamp all places weigh alike, but the mass left of the place must be known afterwards
            kept = certain[run] or (bounds[run] == clamp and line.knows(place // split))
            drawn.append((place, None if kept else int(bounds[run])))
            if kept or bounds[run] == clamp or enough(run):
                break
        found = yield from _found(line, [place // split for place, bound in drawn if bound is not None])
        for place, bound in drawn:
            if bound is None:
                return place
            point, inside = divmod(place, split)
            least, most = _interval(line, found, point)
            distance = min(abs(_distance(least + (most - least) // split * inside, part)), clamp)
            if noise.bernoulli_exp(choice.factor * (distance - bound), None, bits):
                _learn(line, found, [point])
                return place
        _learn(line, found, found)


def _enough(pieces: Pieces, part: Part, choice: Choice) -> Callable[[int], bool]:
    """Whether, with a trial from this piece, one of those drawn so far is likely to be kept.

    Where the rows of a leaf lie evenly, a candidate is kept with probability (1 - exp(-x))/x, x the change of the
    logarithm of a weight over the leaf.
    """
    scale = float(choice.factor) * part.wanted[1]
    missing = 1.0

    def enough(index: int) -> bool:
        nonlocal missing
        change = scale * float(pieces.most[index] - pieces.least[index])
        missing *= 1 + math.expm1(-change) / change if change > 0 else 0
        return missing < _ENOUGH

    return enough


_Facts: TypeAlias = dict[int, tuple[Lookup, Found]]


def _found(line: Line, points: list[int]) -> Generator[list[Lookup], list[Found], _Facts]:
    """What must still be read about these points."""
    asked = [line.asked(point) for point in sorted(set(points)) if not line.knows(point)]
    answers = (yield asked) if asked else []
    return {each.point: (each, answer) for each, answer in zip(asked, answers, strict=True)}


def _interval(line: Line, found: _Facts, point: int) -> tuple[int, int]:
    """F at the two ends of the stretch of a point."""
    return line.interval_by(*found[point]) if point in found else line.interval(point)


def _learn(line: Line, found: _Facts, points: Iterable[int]) -> None:
    for point in points:
        if point in found:
            line.learn(*found[point])


def _distance(mass: int, part: Part) -> int:
    """d (F - F(a)) - p M."""
    return part.wanted[1] * (mass - part.start) - part.wanted[0]


def _focused(pieces: Pieces, part: Part, choice: Choice) -> Pieces:
    """The part with all pieces beyond the clamp as one on either side: they weigh alike, so few are left to race."""
    target, parts = part.wanted
    reach = choice.split * choice.clamp
    # pieces that end at or below the one mass, or begin at or above the other, lie beyond the clamp altogether
    lower, upper = part.start + target // parts - reach, part.start - (-target // parts) + reach
    low = max(int(np.searchsorted(pieces.least, lower, side="right")) - 2, 0)
    high = min(int(np.searchsorted(pieces.least, upper, side="left")) + 1, pieces.starts.size)
    return pieces.merged(low, high)


def _crossing(pieces: Pieces, part: Part, level: int) -> int:
    """The first place where d (F - F(a)) - p M reaches the level, or the end of the leaf in which it does."""
    target, parts = part.wanted
    goal = part.start - (-(level + target) // parts)  # the least mass that does
    index = int(np.searchsorted(pieces.least, goal, side="left")) - 1
    if index < 0:
        return int(pieces.starts[0])
    slope = int(pieces.slopes[index])
    steps = -((int(pieces.least[index]) - goal) // slope) if slope else int(pieces.stops[index] - pieces.starts[index])
    return min(int(pieces.starts[index]) + steps, int(pieces.stops[index]))


def _distances(pieces: Pieces, rises: Whole, part: Part, choice: Choice) -> tuple[Whole, Whole]:
    """d (F - F(a)) - p M at the first place of each piece, and `rises` later; where F is not known, its ends.

    Numbers beyond the clamp are cut, so that they fit a word.
    """
    target, parts = part.wanted
    whole, rest = divmod(target, parts)
    limit = choice.split * choice.clamp + 2
    low = parts * np.clip(pieces.least - (part.start + whole), -limit, limit) - rest
    high = parts * np.clip(pieces.most + rises - (part.start + whole), -limit, limit) - rest
    return low, high


def at_once(tasks: list[Task]) -> Generator[list[Lookup], list[Found], None]:
    """Go on with all choices that do not wait for another, then ask for what all of them need at once."""
    told: list[tuple[Task, list[Found] | None]] = [(task, None) for task in tasks]
    while told:
        waiting: list[tuple[Task, list[Lookup]]] = []
        for task, answers in told:  # grows while it is walked
            try:
                waiting.append((task, next(task) if answers is None else task.send(answers)))
            except StopIteration as done:
                told += [(each, None) for each in done.value]
        asked = list(dict.fromkeys(each for _, listed in waiting for each in listed))
        found = dict(zip(asked, (yield asked), strict=True)) if asked else {}
        told = [(task, [found[each] for each in listed]) for task, listed in waiting]
