"""Small tensors of several parameters side by side, so that one norm and one sum serve all of them.

A module has many biases and scales. The norms and the weighted sum of each are a dozen calls of torch, and for such
small tensors the calls take most of the time. Side by side they are one line of numbers for each person.

Promise: which forms are taken together follows from public sizes alone. A line begins at a line of the processor's
cache, with zeros at its end: otherwise the bits of its norm would depend on the place in the chunk (`products`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import torch

from tacit.learning.neural.gradients.blocks import room_for
from tacit.learning.neural.gradients.forms import Form, PerPerson

_SMALL: Final = 1 << 10
"""The size of a parameter up to which it is taken together with others."""
_LINE: Final = 16
_FEW: Final = 3
"""With this many forms, copying is worth it."""


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A form, and where its numbers stand in the flat sum of all parameters: one stretch, or several in a row."""

    form: Form
    stretches: tuple[slice, ...]

    def add_to(self, total: Any, weights: Any, room: Any) -> None:
        """Add the sum of weight times gradient to the flat sum of all parameters."""
        if len(self.stretches) == 1:
            self.form.add_to(total[self.stretches[0]], weights, room)
            return
        own, start = torch.zeros(math.prod(self.form.shape), dtype=torch.float64), 0
        self.form.add_to(own, weights, room)
        for stretch in self.stretches:
            stop = start + stretch.stop - stretch.start
            total[stretch].add_(own[start:stop])
            start = stop


def gathered(forms: Sequence[Form]) -> list[Placed]:
    """All forms, of which the small ones may stand side by side."""
    stops = [*accumulate(math.prod(each.shape) for each in forms)]
    stretches = [slice(start, stop) for start, stop in zip([0, *stops[:-1]], stops, strict=True)]
    placed = [Placed(form, (stretch,)) for form, stretch in zip(forms, stretches, strict=True)]
    small = [each for each in placed if _is_small(each.form)]
    if len(small) < _FEW:
        return placed
    taken = {id(each) for each in small}
    together = PerPerson(torch.cat([*_lines(small)], dim=1))
    return [
        *(each for each in placed if id(each) not in taken),
        Placed(together, tuple(each.stretches[0] for each in small)),
    ]


def room_of(sizes: Sequence[int]) -> Any:
    """Where products of blocks are written (`room_for`), for parameters of these sizes."""
    together = sum(each for each in sizes if each <= _SMALL)
    return room_for(max(*sizes, together + _LINE))


def _is_small(form: Form) -> bool:
    return isinstance(form, PerPerson) and form.order is None and math.prod(form.shape) <= _SMALL


def _lines(small: Sequence[Placed]) -> Iterator[Any]:
    people = numbers = 0
    for each in small:
        own: Any = each.form.parts[0]
        people, numbers = len(own), numbers + math.prod(each.form.shape)
        yield own.reshape(people, -1)
    yield torch.zeros(people, -numbers % _LINE, dtype=torch.float32)
