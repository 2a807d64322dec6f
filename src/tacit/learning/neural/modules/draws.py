"""What random layers draw must be people's own: as many numbers more as there are people more, by torch's generator.

The theorem of `floats` thinks of draws as people's: whoever is moved to another place takes theirs along. One number
that a whole chunk shares (a branch that is taken or not, as in stochastic depth) is nobody's: who is moved to another
chunk meets another one, and the sum moves by more than one person may move it. Such a module gets its gradients person
by person, where each has draws of their own. Draws of Python's or numpy's generator are refused: those are not secret,
and how far they came tells how many chunks there were.

Promise: a pass is watched at two numbers of people. Each operation that draws must draw in proportion to them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tacit.errors import TacitError
from tacit.learning.neural.people.batches import Chunk, People

_FEWER, _MORE = 3, 4


class _Counted(TorchDispatchMode):
    """Notes how many numbers each operation draws."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if torch.Tag.nondeterministic_seeded in func.tags:
            first = found[0] if isinstance(found, (tuple, list)) else found
            self.numbers.append(first.numel())
        return found


def draws_of_several(gradients: Callable[[Chunk], Any], people: People) -> bool:
    """Whether something that is drawn is not in proportion to how many people there are; or a refusal."""
    counted = []
    for many in (_FEWER, _MORE):
        before = random.getstate(), _of_numpy()
        with _Counted() as own:
            gradients(people.made_up(many))
        if (random.getstate(), _of_numpy()) != before:
            raise TacitError(
                "The module or the loss draws from Python's or numpy's generator, which is not secret and knows how "
                "many chunks there were. Draw with torch: torch.rand, nn.Dropout."
            )
        counted.append(own.numbers)
    fewer, more = counted
    return [each * _MORE for each in fewer] != [each * _FEWER for each in more]


def _of_numpy() -> Any:
    kind, words, *rest = np.random.get_state(legacy=True)
    return kind, np.asarray(words).tobytes(), tuple(rest)
