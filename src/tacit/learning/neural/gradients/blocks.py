"""Sums over blocks of people: a few blocks in a row in float32, and those sums in float64 (theorem: `floats`).

Promise: how a chunk is cut follows from public sizes alone, and a block's product involves only the block's people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import torch

from tacit.learning.neural.floats import TOGETHER, block_of

_LONG: Final = 1 << 21
"""The size of a parameter above which blocks are added one by one, to hold less in memory."""
SHORT: Final = 1 << 12
"""The size of a parameter up to which the blocks of a whole chunk are computed at once."""


def groups(people: int, together: int) -> Iterator[tuple[slice, int]]:
    """Parts of a chunk, each of this many blocks that are added in float32: by the chunk's public size alone."""
    length = block_of(people)
    start = 0
    while start < people:
        many = max(1, min(together, (people - start) // length))  # the last block may be shorter, and is alone then
        stop = min(start + many * length, people)
        yield slice(start, stop), many
        start = stop


def room_for(numbers: int) -> Any:
    """Where products of blocks are written: a line for each block of a group, or one alone where lines are long."""
    return torch.empty(numbers if numbers > _LONG else numbers * TOGETHER, dtype=torch.float32)


def add_blocks(total: Any, room: Any, people: int, product: Callable[[slice, int, Any], None]) -> None:
    """Add the products of all blocks: those of a group in float32, the groups' sums in float64.

    Short lines are computed all at once, since one call for each would cost more, and each is a group of its own.
    """
    if not len(total):
        return
    short = len(total) <= SHORT
    together = min(people if short else TOGETHER, len(room) // len(total))
    added = torch.empty(0 if short else len(total), dtype=torch.float32)
    for part, many in groups(people, together):
        lines = room[: many * len(total)].view(many, -1)
        product(part, many, lines)
        if short:
            total.add_(lines.sum(dim=0, dtype=torch.float64))
            continue
        total.add_(lines[0] if many == 1 else torch.sum(lines, dim=0, out=added))
