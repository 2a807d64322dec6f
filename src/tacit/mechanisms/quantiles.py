"""Quantiles by the exponential mechanism: values of a public grid, chosen by how near their rank is to the wanted one.

Setting. Rows lie on the points 0..N-1 of a public grid, in cells. Neighbours differ in all rows of one unit, at most r,
spread over the cells in any way. `ranks` defines the line of N K places and the mass F(y) left of a place, in which a
row weighs K.

One choice. In a part [a, b] of the line with mass M = F(b) - F(a) and for q = p/d, the wanted mass is t = p M/d. A
place y has the score -min(|d (F(y) - F(a)) - p M|, d K W); a point x has the distance of p M from the interval of
d (F - F(a)) over its stretch in the part, with the same clamp. W is public. The choice is exponential, with the factor
f = epsilon/(2 r max(p, d - p) K).

Theorem 1 (cells). All cells' choices together have a privacy loss of bounded range epsilon.
Proof. Add one row. If it puts mass m (at most K) into the part, of which m' <= m lies left of y, then
d (F(y) - F(a)) - p M changes by d m' - p m, which is in [-p m, (d - p) m]. Its absolute value, its distance from an
interval both ends of which move like that, and their minimum with a constant change by no more: at most
max(p, d - p) m. So if a unit puts mass m_c into cell c, the loss of that cell's choice has the range
2 f max(p, d - p) m_c = epsilon m_c/(r K) (see `exponential`), around zero. Choices of different cells are independent,
their losses add, ranges of sums are sums of ranges, and the m_c add up to at most r K.

Theorem 2 (several quantiles together). Let q_1 < ... < q_m. Choose a place for the middle one on the whole line, then
for the others on the two parts that it cuts, with q relative to the quantiles at the part's ends, and so on; the last
ones, which cut nothing, choose a point. There are L = ceil(log2(m + 1)) levels, and with epsilon/L for every choice all
of it is a composition of L choices of bounded range epsilon/L.
Proof. Given the places of the levels above, the parts of one level are fixed and share no mass: Theorem 1's proof reads
the same with (cell, part) in place of cell. Each level is thus of bounded range epsilon/L, whatever the levels above
said, which is adaptive composition.
For m <= 2 there is nothing to gain: each quantile is chosen as a point on the whole line with epsilon/m.

Replaced rows. Let neighbours have the same number of rows, at most r of one cell being replaced by others. On the whole
line M is n and stays, and F(y) moves by at most r K, so that d F(y) - p M moves by at most d r K in size, and with it
scores: f = epsilon/(2 d r K) is enough (a row removed and one added would need epsilon/(4 r max(p, d - p) K)). A part
that others cut may lose a row to another part; there a replacement is both, as Theorem 2 has it with 2 r rows.

Least and greatest. The wanted rank is min(k, n/2) for the least, n - min(k, n/2) for the greatest, k public. With
d = 2: adding a row changes 2 F(y) - min(2 k, n) by -1, ..., 2, in size at most 2, so p and d are 0 and 2 above. k is
such that the empty part of the grid beyond all rows is chosen at most 5 times in 100. With replaced rows n stays, and a
row moves 2 F(y) by 2 as well.

What is known of the ranks (`ranks`) need not be all: `rank_choice` draws from these very laws all the same, and asks
for what it needs (Theorem 3 there).

Utility. A choice misses its rank by more than (2 r max(q, 1 - q)/epsilon)(ln(N) + t) with probability at most exp(-t)
(N K + 1 in place of N for a place); W is that number at t = 20, so that the clamp hardly matters.

Source: Smith 2011 (exponential mechanism for quantiles); Kaplan, Schnapp, Stemmer 2022 (the recursion, for distinct
values and replace-one neighbours); spreading ties, the clamp, cells and r rows of a unit are argued here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import noise, parameters
from tacit.loss import events
from tacit.loss.numbers.rounding import fraction_log_up
from tacit.mechanisms.rank_choice import Choice, Part, Task, at_once, choose_place, choose_point, part_of
from tacit.mechanisms.ranks import Found, Leaves, Line, Lookup, Whole
from tacit.parameters import Number

SPLIT = 1 << 16
_TAIL = 20
_MOST_POINTS = 1 << 40
_LARGEST = 1 << 62
_MOST_PARTS = 10**6
_GRAIN, _OFF, _NEAR, _LIKELY, _MOVED = 2, 16, 2, 6, 3

Choosing: TypeAlias = Generator[list[Lookup], list[Found], list[int]]
"""Yields questions about ranks, is sent what was found, and returns the chosen points."""
Nearby: TypeAlias = Callable[[Whole, Whole, int], NDArray[np.bool_]]
"""Which of a cell's leaves (the rows below each, those in each, all rows) are worth reading row by row."""


@dataclass(frozen=True, slots=True)
class End:
    """An end of a part: the quantile that it stands for, and how many rows it may be off (hardly ever more)."""

    share: Fraction
    off: Fraction


@dataclass(frozen=True, slots=True)
class Node:
    """A quantile of the recursion, and the ones it leaves to its two parts."""

    place: int
    choice: Choice
    centre: Fraction  # the wanted rank is hardly ever further from q n than this
    left: Node | None
    right: Node | None


@dataclass(frozen=True, slots=True, init=False)
class Quantiles:
    """Quantiles q (ascending) of rows on a grid of `points`; `sensitivity` rows a unit, added or `replaced`.

    >>> Quantiles(8, ["1/4", "3/4"], 1, "0.5").event.kind  # a choice for each
    'repeated'
    """

    points: int
    shares: tuple[Fraction, ...]
    sensitivity: int
    epsilon: Fraction
    replaced: bool
    tree: Node = field(repr=False, compare=False)  # the choices of quantiles that are chosen together, worked out once

    def __init__(self, points: int, shares: Any, sensitivity: int, epsilon: Number, *, replaced: bool = False) -> None:
        wanted = tuple(parameters.open_probability("q", share) for share in shares)
        if not wanted or list(wanted) != sorted(set(wanted)):
            raise parameters.refuse("shares", "different numbers in ascending order", [float(each) for each in wanted])
        _initialise(self, points, sensitivity, epsilon)
        object.__setattr__(self, "shares", wanted)
        object.__setattr__(self, "replaced", replaced)
        whole = _node(self, 0, len(wanted), End(Fraction(0), Fraction(0)), End(Fraction(1), Fraction(0)))
        object.__setattr__(self, "tree", whole)
        for node in _nodes(self.tree) if self.together else ():
            _check(node.choice)
        for choice in () if self.together else self._apart():
            _check(choice)

    @property
    def together(self) -> bool:
        """Whether the quantiles are chosen one inside the other."""
        return len(self.shares) > 2

    @property
    def levels(self) -> int:
        """How many choices one unit's rows are part of."""
        return self.levels_of(len(self.shares))

    @staticmethod
    def levels_of(count: int) -> int:
        """The same for this many quantiles."""
        return count.bit_length() if count > 2 else count

    @property
    def event(self) -> events.Event:
        """All choices of all cells."""
        one = events.Exponential(self.epsilon / self.levels)
        return one if self.levels == 1 else events.Repeated(one, self.levels)

    @property
    def split(self) -> int:
        """K."""
        return SPLIT if self.together else 1

    def windows(self) -> tuple[tuple[Fraction, int], ...]:
        """(q, reach): the ranks worth knowing beforehand are those within `reach` of q n; others are asked for."""
        reaches = [_near(choice) + math.ceil(centre) for choice, centre in self._choices()]
        return tuple(zip(self.shares, reaches, strict=True))

    def likely(self) -> tuple[int, ...]:
        """For each quantile the rows around q n among which it mostly lies, where rows lie close."""
        return tuple(math.ceil(_LIKELY / choice.per_row + centre / _MOVED) for choice, centre in self._choices())

    def nearby(self) -> Nearby:
        """Which leaves of a cell are likely to be drawn from."""
        around = list(
            zip(self.shares, self.likely(), [float(each.per_row) for each, _ in self._choices()], strict=True)
        )

        def likely(below: Whole, rows: Whole, total: int) -> NDArray[np.bool_]:
            meets = [_meets(below, rows, math.floor(share * total), *further) for share, *further in around]
            return np.asarray(np.logical_or.reduce(meets))

        return likely

    def _choices(self) -> list[tuple[Choice, Fraction]]:
        """The choice of each quantile, and how far the rank that it wants may be from q n."""
        if self.together:
            return [(node.choice, node.centre) for node in _nodes(self.tree)]
        return [(choice, Fraction(0)) for choice in self._apart()]

    @property
    def grain(self) -> int:
        """Leaves of this many rows are small enough: a choice keeps what it draws from one about every other time."""
        return min(_grain(choice) for choice, _ in self._choices())

    def errors(self, confidence: Number) -> tuple[int, ...]:
        """For each quantile, by how many rows its rank is off at most, with at least this confidence, at worst."""
        missing = (1 - parameters.open_probability("confidence", confidence)) / len(self.shares)
        if not self.together:
            return tuple(_reach(each, self.points, missing) for each in self._apart())
        found: dict[int, int] = {}

        def visit(node: Node | None, before: int, after: int) -> None:
            if node is None:
                return
            share = node.choice.share
            own = _reach(node.choice, self.points * node.choice.split + 1, missing)
            found[node.place] = own + math.ceil((1 - share) * before + share * after)
            visit(node.left, before, found[node.place])
            visit(node.right, found[node.place], after)

        visit(self.tree, 0, 0)
        return tuple(found[place] for place in range(len(self.shares)))

    def choose(
        self, values: Any, below: Any, counts: Any, total: int, *, bits: noise.BitSource | None = None
    ) -> list[int]:
        """A point for each quantile, ascending, in one cell: from all its values, the rows below each and at each."""
        return _answered(self.choosing((values, values, below, counts), total, bits=bits))

    def choosing(self, leaves: Leaves, total: int, *, bits: noise.BitSource | None = None) -> Choosing:
        """The same from leaves; it asks for whatever else must be known: see `ranks`."""
        source = noise.secure() if bits is None else bits
        line = Line(self.points, self.split, leaves, total)
        found = [0] * len(self.shares)
        end = self.points * self.split

        def apart(place: int, choice: Choice) -> Task:
            part = part_of(choice, (0, end), (0, total))
            found[place] = yield from choose_point(line, part, choice, source)
            return []

        def visit(node: Node | None, ends: tuple[int, int], masses: tuple[int, int]) -> Task:
            if node is None:
                return []
            part = part_of(node.choice, ends, masses)
            if node.left is None and node.right is None:
                found[node.place] = yield from choose_point(line, part, node.choice, source)
                return []
            place = yield from choose_place(line, part, node.choice, source)
            mass = line.mass(place)
            found[node.place] = min(place // SPLIT, self.points - 1)
            return [
                visit(node.left, (ends[0], place), (masses[0], mass)),
                visit(node.right, (place, ends[1]), (mass, masses[1])),
            ]

        if self.together:
            yield from at_once([visit(self.tree, (0, end), (0, total * SPLIT))])
            return found
        yield from at_once([apart(place, choice) for place, choice in enumerate(self._apart())])
        return sorted(found)

    def _apart(self) -> list[Choice]:
        return [_choice(share, self, self.points, 1, whole=True) for share in self.shares]


@dataclass(frozen=True, slots=True, init=False)
class Extreme:
    """About the least (or greatest) value: the one that about `rank` rows lie below (or above).

    >>> Extreme(8, True, 1, "0.5").event.kind
    'exponential'
    """

    points: int
    greatest: bool
    sensitivity: int
    epsilon: Fraction

    def __init__(self, points: int, greatest: bool, sensitivity: int, epsilon: Number) -> None:
        _initialise(self, points, sensitivity, epsilon)
        object.__setattr__(self, "greatest", greatest)
        _check(self._choice)

    levels = 1

    @property
    def event(self) -> events.Event:
        """The choices of all cells."""
        return events.Exponential(self.epsilon)

    @property
    def rank(self) -> int:
        """k: the empty grid beyond it wins 1 time in 20 at most."""
        return math.ceil(Fraction(fraction_log_up(Fraction(20 * self.points))) * 2 * self.sensitivity / self.epsilon)

    @property
    def reach(self) -> int:
        """How far from the wanted rank ranks are worth knowing beforehand."""
        return _near(self._choice)

    @property
    def likely(self) -> int:
        """The rows around the wanted rank among which it mostly lies, where rows lie close."""
        return math.ceil(_LIKELY / self._choice.per_row)

    def nearby(self) -> Nearby:
        """Which leaves of a cell are likely to be drawn from."""
        rank, reach, per_row = self.rank, self.likely, float(self._choice.per_row)

        def likely(below: Whole, rows: Whole, total: int) -> NDArray[np.bool_]:
            near = min(rank, total // 2)
            return _meets(below, rows, total - near if self.greatest else near, reach, per_row)

        return likely

    @property
    def grain(self) -> int:
        """Leaves of this many rows are small enough."""
        return _grain(self._choice)

    def errors(self, confidence: Number) -> tuple[int, ...]:
        """The rows by which the rank is off at most, with at least this confidence, at worst."""
        return (_reach(self._choice, self.points, 1 - parameters.open_probability("confidence", confidence)),)

    def choose(
        self, values: Any, below: Any, counts: Any, total: int, *, bits: noise.BitSource | None = None
    ) -> list[int]:
        """The point in one cell; the arguments are those of `Quantiles.choose`."""
        return _answered(self.choosing((values, values, below, counts), total, bits=bits))

    def choosing(self, leaves: Leaves, total: int, *, bits: noise.BitSource | None = None) -> Choosing:
        """The same from leaves, as in `Quantiles.choosing`."""
        source = noise.secure() if bits is None else bits
        line = Line(self.points, 1, leaves, total)
        near = min(2 * self.rank, total)
        part = Part(0, self.points, 0, (2 * total - near if self.greatest else near, 2))
        found: list[int] = []

        def choose() -> Task:
            found.append((yield from choose_point(line, part, self._choice, source)))
            return []

        yield from at_once([choose()])
        return found

    @property
    def _choice(self) -> Choice:
        factor = self.epsilon / (4 * self.sensitivity)
        return Choice(Fraction(1, 2), factor, _clamp(2 * factor, self.points), 1)


def _initialise(built: Quantiles | Extreme, points: int, sensitivity: int, epsilon: Number) -> None:
    size = parameters.whole("points", points, least=1)
    if size > _MOST_POINTS:
        raise parameters.refuse("points", f"at most {_MOST_POINTS}", points)
    object.__setattr__(built, "points", size)
    object.__setattr__(built, "sensitivity", parameters.whole("sensitivity", sensitivity, least=1))
    object.__setattr__(built, "epsilon", parameters.positive("epsilon", epsilon))


def _choice(share: Fraction, of: Quantiles, candidates: int, split: int, *, whole: bool) -> Choice:
    steeper = max(share.numerator, share.denominator - share.numerator)
    if of.replaced:
        steeper = share.denominator if whole else 2 * steeper
    factor = of.epsilon / of.levels / (2 * of.sensitivity * steeper * split)
    return Choice(share, factor, _clamp(factor * share.denominator * split, candidates), split)


def _near(choice: Choice) -> int:
    """Among rows that lie close, candidates beyond this many rows are hardly ever chosen."""
    return math.ceil(Fraction(choice.clamp, _NEAR)) + 1


def _meets(below: Whole, rows: Whole, wanted: int, reach: float, per_row: float) -> NDArray[np.bool_]:
    """Which leaves come within reach of a rank: the more rows a leaf has, the more it is drawn from by its bound."""
    further = reach + np.log1p(per_row * rows) / per_row
    return np.asarray((below <= wanted + further) & (below + rows >= wanted - further))


def _grain(choice: Choice) -> int:
    return int(_GRAIN / choice.per_row)


def _clamp(per_row: Fraction, candidates: int) -> int:
    """W: far enough that all candidates beyond it together weigh exp(-20) of one at the wanted rank."""
    return math.ceil((Fraction(fraction_log_up(Fraction(candidates))) + _TAIL) / per_row)


def _reach(choice: Choice, candidates: int, missing: Fraction) -> int:
    return math.ceil(Fraction(fraction_log_up(Fraction(candidates) / missing)) / choice.per_row)


def _check(choice: Choice) -> None:
    """Scores are whole numbers that must fit a word."""
    if choice.share.denominator > _MOST_PARTS:
        raise parameters.refuse("q", "a number of at most six decimals", float(choice.share))
    if choice.share.denominator * choice.split * (choice.clamp + 2) >= _LARGEST:
        raise parameters.refuse("epsilon", "larger, or the rows of a unit fewer: scores outgrow 62 bits", "too little")


def _answered(choosing: Choosing) -> list[int]:
    """What is chosen where everything is known, so that nothing is asked."""
    try:
        next(choosing)
    except StopIteration as done:
        chosen: list[int] = done.value
        return chosen
    raise parameters.refuse("values", "all values of the rows, each with the rows below it and at it", "fewer")


def _node(of: Quantiles, low: int, high: int, before: End, after: End) -> Node | None:
    if low == high:
        return None
    place = (low + high) // 2
    share = (of.shares[place] - before.share) / (after.share - before.share)
    centre = (1 - share) * before.off + share * after.off
    alone = high - low == 1
    whole = before.share == 0 and after.share == 1
    choice = _choice(share, of, of.points if alone else of.points * SPLIT + 1, SPLIT, whole=whole)
    # how far a choice misses among rows that lie close, and a little more
    cut = End(of.shares[place], centre + Fraction(choice.clamp, _OFF))
    return Node(place, choice, centre, _node(of, low, place, before, cut), _node(of, place + 1, high, cut, after))


def _nodes(node: Node | None) -> list[Node]:
    return [] if node is None else [*_nodes(node.left), node, *_nodes(node.right)]
