"""Unions of column sets: few tables that hold all asked ones, each of at most this many cells. Public facts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tacit.statistics.counts.marginals import Columns, cells

MOST_JOINT_CELLS = 1 << 18
_MANY = 300  # beyond this many sets fewer covers are tried


def covers(asked: Sequence[Columns], sizes: Sequence[int], most: int = MOST_JOINT_CELLS) -> Iterator[list[Columns]]:
    """Different covers of the asked sets, from small unions to large ones; sets inside others come with those."""
    limit = max(cells(each, sizes) for each in asked)
    seen: set[tuple[Columns, ...]] = set()
    while limit <= most:
        found = cover(asked, sizes, limit)
        if tuple(found) not in seen:
            seen.add(tuple(found))
            yield found
        if len(found) == 1:
            return
        limit *= 2 if len(asked) <= _MANY else 8


def cover(asked: Sequence[Columns], sizes: Sequence[int], limit: int) -> list[Columns]:
    """A cover by unions of at most `limit` cells (an asked set that is larger stays alone), grown greedily.

    A union grows by the column with which it holds most of the sets that nothing holds yet, counting a set that it
    holds in part by the cube of that part.
    """
    left = [frozenset(each) for each in sorted(asked, key=lambda each: (-len(each), each)) if each]
    found: list[Columns] = []
    while left:
        block = set(left[0])
        while True:
            most = limit // cells(block, sizes)
            scores: dict[int, float] = {}
            for each in left:
                part = ((len(each & block) + 1) / len(each)) ** 3
                for place in each - block:
                    if sizes[place] <= most:
                        scores[place] = scores.get(place, 0.0) + part
            if not scores:
                break
            block.add(max(sorted(scores), key=lambda place: scores[place]))
        left = [each for each in left if not each <= block]
        found.append(tuple(sorted(block)))
    return found
