"""How many rows of one unit a join can have: the same number in whatever order the sources are written.

A row of a join is a row of each source (of an outer join, or none). Where the declared path leads to a column that the
policy calls a table's `key`, a row of the one source says which row of the other it is: an arrow. Public sources have
no arrows; each row meets at most `fan_out` rows of one, as if it had so many.

Theorem (JOIN). Let S be sources from which all others are reached by arrows. The rows of S determine the whole row, so
there are at most as many as the product of the numbers of rows of S. The least such product takes, the source with the
fewest rows from every group of sources that reach one another and that no arrow leads into. The order in which sources
are written does not matter.

Theorem (LEFT). Let P be what stands before, at most p rows of a unit, and B have b rows. A row that meets m rows of B
becomes max(m, 1). So P LEFT JOIN B is as JOIN, with the arrows into B alone: where B is missing, the row of P
determines that. It is also at most n + p - 1, n being the bound on the pairs: if there is a pair, at most p - 1 rows
stay alone.

Theorem (RIGHT, FULL). As LEFT with the sides changed: at most n + b - 1, at most p b, and b where a row of B determines
the row of P. FULL: without a pair p + b rows; with one at most n + (p - 1) + (b - 1); p + b where a row of either side
determines the other's, since every row is then in one row of the join at most or is counted on its own side; p b where
all rows of a unit meet. After these, and where the second bound of LEFT is the lower one, the sources so far are taken
as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tacit.errors import QuestionError

MOST_JOINED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Bound:
    """Sources (or several taken as one), how many rows of a unit each has, and the arrows between them."""

    sources: tuple[frozenset[str], ...]
    rows: tuple[int, ...]
    arrows: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def of(cls, alias: str, rows: int) -> Bound:
        """One source."""
        return cls((frozenset({alias}),), (rows,))

    @property
    def most(self) -> int:
        """The most rows of one unit."""
        reached = [self._reached(place) for place in range(len(self.rows))]
        groups = {
            frozenset(there for there in reached[place] if place in reached[there]) for place in range(len(reached))
        }
        first = [group for group in groups if not any(self._leads(other, group) for other in groups - {group})]
        return math.prod(min(self.rows[place] for place in group) for group in first)

    def joined(self, alias: str, rows: int, into: Iterable[str] = (), back: Iterable[str] = ()) -> Bound:
        """With one more source. Each row of those in `into` names a row of it; its rows name one of each in `back`."""
        new = len(self.rows)
        arrows = {(self._place(each), new) for each in into}
        # the row of one source does not determine a row of several sources taken as one
        arrows |= {(new, place) for each in back if self.sources[place := self._place(each)] == {each}}
        return Bound((*self.sources, frozenset({alias})), (*self.rows, rows), self.arrows | arrows)

    def left(self, alias: str, rows: int, into: Iterable[str], back: Iterable[str]) -> Bound:
        """P LEFT JOIN B."""
        into = tuple(into)
        kept = self.joined(alias, rows, into)
        pairs = self.joined(alias, rows, into, back).most
        alone = pairs + self.most - 1
        return kept if kept.most <= alone else kept.as_one(alone)

    def right(self, alias: str, rows: int, into: Iterable[str], back: Iterable[str]) -> Bound:
        """P RIGHT JOIN B."""
        pairs = self.joined(alias, rows, into, back)
        bounds = [self.most * rows, pairs.most + rows - 1]
        if pairs.says_all(alias):
            bounds.append(rows)
        return pairs.as_one(min(bounds))

    def full(self, alias: str, rows: int, into: Iterable[str], back: Iterable[str], *, all_meet: bool) -> Bound:
        """P FULL JOIN B; `all_meet`: of a unit with rows on both sides every row meets some."""
        into = tuple(into)
        pairs = self.joined(alias, rows, into, back)
        here = self.most
        bounds = [max(here * rows, here + rows), max(here + rows, pairs.most + here + rows - 2)]
        if all_meet:
            bounds.append(here * rows)
        if into or pairs.says_all(alias):
            bounds.append(here + rows)
        return pairs.as_one(min(bounds))

    def as_one(self, rows: int) -> Bound:
        """All sources taken as one source, of which only the number of rows is known."""
        return Bound((frozenset().union(*self.sources),), (rows,))

    def times(self, alias: str, rows: int) -> Bound:
        """With one more source, of which each row meets at most this many rows."""
        return replace(self, sources=(*self.sources, frozenset({alias})), rows=(*self.rows, rows))

    def says_all(self, alias: str) -> bool:
        """Whether the row of this source determines those of all others."""
        return len(self._reached(self._place(alias))) == len(self.rows)

    def _place(self, alias: str) -> int:
        return next(place for place, aliases in enumerate(self.sources) if alias in aliases)

    def _reached(self, place: int) -> frozenset[int]:
        found, new = {place}, [place]
        while new:
            here = new.pop()
            further = {there for start, there in self.arrows if start == here} - found
            found |= further
            new += further
        return frozenset(found)

    def _leads(self, group: frozenset[int], other: frozenset[int]) -> bool:
        return any((start, end) in self.arrows for start in group for end in other)


def few(rows: int) -> int:
    """The number, or a refusal where no sum could hold this many rows."""
    if rows > MOST_JOINED:
        raise QuestionError(
            f"The sources let one unit have {rows:,} rows, more than {MOST_JOINED:,}. "
            "Ask for fewer: tacit_rows_per_unit."
        )
    return rows
