"""A module held still while it is tried: what it keeps and draws is put back afterwards.

Promise: random layers rest but where a rehearsal asks for them, the random state outside is not touched, and buffers,
parameters and attributes are what they were. A module that changes its own tensors while it computes is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from tacit.errors import TacitError


def same_numbers(own: Any, other: Any) -> bool:
    """Also where some are no numbers."""
    nothing = own.isnan()
    return bool(torch.equal(nothing, other.isnan()) and torch.equal(own[~nothing], other[~nothing]))


class Quiet:
    """Random layers hold still, the random state outside is not touched, and buffers stay as they are."""

    def __init__(self, module: Any) -> None:
        self._modes = [(each, each.training) for each in module.modules()]
        tensors = [*module.named_buffers(), *module.named_parameters()]
        self._before = [(name, each, each.detach().clone()) for name, each in tensors]
        self._own = [(each, dict(vars(each))) for each in module.modules()]
        self._module = module
        self._fork: Any = torch.random.fork_rng(devices=[])

    def __enter__(self) -> None:
        self._fork.__enter__()
        self._module.eval()

    def back(self) -> None:
        """Give layers the attributes that they had before."""
        for each, own in self._own:
            for name in set(vars(each)) - set(own):
                del vars(each)[name]
            vars(each).update(own)
        self._module.eval()

    @contextlib.contextmanager
    def as_it_trains(self) -> Iterator[None]:
        """Layers in the modes that they had before."""
        for each, mode in self._modes:
            each.training = mode
        yield
        self._module.eval()
        for name, each, before in self._before:
            if not same_numbers(each.detach(), before):
                raise TacitError(
                    f"{name!r} of the module changes while it computes, so it would keep what it saw of rows, "
                    "which no noise protects. Leave out what changes it."
                )

    def __exit__(self, *problem: Any) -> None:
        self.back()
        for each, mode in self._modes:
            each.training = mode
        with torch.no_grad():
            for _, each, before in self._before:
                each.copy_(before)
        self._fork.__exit__(*problem)
