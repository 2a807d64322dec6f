"""What a forward pass leaves behind for norms: what each layer was fed, and where the slopes of its output go.

Promise: inside `Tape.running` parameters ask for no gradients, so the backward pass computes slopes of outputs only,
once. Afterwards `forms` holds every trainable parameter's gradients in a form of `forms`, one for each person. What a
layer was fed or gave must not be overwritten by what comes after it: that would change norms silently, so it is
noticed (tensors count their changes) and refused.

Layers that are not one product (attention, recurrent layers) are computed here by products, through `Tape.linear`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.nn import functional

from tacit.errors import TacitError
from tacit.learning.neural.gradients.forms import Form, PerPerson, joined, outer
from tacit.learning.neural.gradients.products import linear

Made: TypeAlias = Callable[[Any], list[tuple[Any, Form]]]
"""From the slopes of an output to (parameter, form) pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """One use of a layer: its output, what it was fed (to see whether that changed), and what to make of the slopes."""

    output: Any
    fed: Any
    versions: tuple[int, int]
    made: Made


class Tape:
    """The uses of one pass, for `people` people with the same number of rows each."""

    def __init__(self, module: Any, people: int, *, channels_last: bool = False) -> None:
        self.module, self.people, self.channels_last = module, people, channels_last
        self.uses: list[Use] = []
        self._trained = {id(each) for each in module.parameters() if each.requires_grad}

    def trains(self, parameter: Any) -> bool:
        """Whether it is there and learns."""
        return parameter is not None and id(parameter) in self._trained

    def record(self, output: Any, fed: Any, made: Made) -> Any:
        """Remember a use; returns the output, which from now on has slopes."""
        if not output.requires_grad:
            output.requires_grad_()
        self.uses.append(Use(output, fed, (output._version, fed._version), made))
        return output

    def by_person(self, tensor: Any) -> Any:
        """rows x ... x numbers as people x positions x numbers."""
        return tensor.reshape(self.people, -1, tensor.shape[-1])

    def linear(self, fed: Any, weight: Any, bias: Any, part: tuple[int, int] | None = None) -> Any:
        """x W' + b, remembered; with `part`, of these lines of W and b only."""
        lines = slice(None) if part is None else slice(*part)
        output = linear(fed, weight[lines], None if bias is None else bias[lines])
        own = fed.detach()
        return self.record(output, own, self.product(weight, bias, own, part))

    def shift(self, fed: Any, bias: Any, part: tuple[int, int]) -> Any:
        """x + these lines of b, remembered."""

        def made(slopes: Any) -> list[tuple[Any, Form]]:
            b = functional.pad(self.by_person(slopes), (part[0], len(bias) - part[1]))
            return [(bias, PerPerson(b.sum(dim=1)))] if self.trains(bias) else []

        return self.record(fed + bias[slice(*part)], fed.detach(), made)

    def product(self, weight: Any, bias: Any, fed: Any, part: tuple[int, int] | None = None) -> Made:
        """The gradients of W and b, from what was fed."""

        def made(slopes: Any) -> list[tuple[Any, Form]]:
            b = self.by_person(slopes)
            if part is not None:
                b = functional.pad(b, (part[0], len(weight) - part[1]))
            found: list[tuple[Any, Form]] = []
            if self.trains(weight):
                found.append((weight, outer(self.by_person(fed), b)))
            if self.trains(bias):
                found.append((bias, PerPerson(b[:, 0] if b.shape[1] == 1 else b.sum(dim=1))))
            return found

        return made

    def forms(self, losses: Any, weights: Any) -> dict[Any, Form]:
        """The gradients of the sum of weight times loss over each person's rows, by parameter."""
        for use in self.uses:
            if (use.output._version, use.fed._version) != use.versions:
                raise TacitError(
                    "A tensor that a layer was fed, or gave, was overwritten in place; norms could not be trusted. "
                    "Write y = relu(x) instead of relu_(x), and x = x + y instead of x += y."
                )
        slopes = torch.autograd.grad(losses, [use.output for use in self.uses], weights, allow_unused=True)
        found: dict[Any, list[Form]] = {}
        for use, slope in zip(self.uses, slopes, strict=True):
            if slope is None:
                slope = torch.zeros_like(use.output)
            with torch.no_grad():
                for parameter, form in use.made(slope.detach()):
                    found.setdefault(parameter, []).append(form)
        self.uses.clear()
        with torch.no_grad():
            return {each: joined(forms, tuple(each.shape)) for each, forms in found.items()}


def has_forward_of(layer: Any, kind: Any) -> bool:
    """Whether it is of this kind, and its forward pass is torch's: neither its class nor itself has another."""
    return isinstance(layer, kind) and type(layer).forward is kind.forward and "forward" not in vars(layer)


@contextmanager
def running(tape: Tape, prepare: Callable[[Tape], Iterator[Callable[[], None]]]) -> Iterator[Tape]:
    """Layers report to the tape, and parameters ask for no gradients; afterwards all is as it was.

    `prepare` changes layers one by one, and says of each how it becomes what it was.
    """
    asking = [each for each in tape.module.parameters() if each.requires_grad]
    fast = torch.backends.mha.get_fastpath_enabled()
    with ExitStack() as undo:
        undo.callback(torch.backends.mha.set_fastpath_enabled, fast)
        for step in prepare(tape):
            undo.callback(step)
        torch.backends.mha.set_fastpath_enabled(False)  # it would pass by the layers inside
        for each in asking:
            undo.callback(each.requires_grad_, True)
            each.requires_grad_(False)
        yield tape
