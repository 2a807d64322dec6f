"""What a forward pass leaves behind for norms: what each layer was fed, and where the slopes of its output go.

Promise: inside `running` parameters ask for no gradients, so the backward pass computes slopes of outputs only,
once. Afterwards `forms` holds every trainable parameter's gradients in a form of `forms`, one for each person. What a
layer was fed or gave must not be overwritten by what comes after it: that would change norms silently, so it is
detected (tensors count their changes) and refused.

A tape is made once for a run: the layers' other forward passes are made then, and put in place for each chunk.

Layers that are not one product (attention, recurrent layers) are computed here by products, through `Tape.linear`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.nn import functional

from tacit.errors import TacitError
from tacit.learning.neural.gradients.forms import Form, PerPerson, joined, outer
from tacit.learning.neural.gradients.products import for_each, linear, room_for_each
from tacit.learning.neural.people.batches import Chunk, Room

Changed: TypeAlias = tuple[Any, str, Callable[..., Any]]
"""A layer, the name of one of its methods, and what stands in for it while the tape runs."""
Made: TypeAlias = Callable[[Any], list[tuple[Any, Form]]]
"""Makes (parameter, form) pairs from the slopes of an output."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """One use of a layer: its output, its input (to see whether that changed), and how the slopes become forms."""

    output: Any
    fed: Any
    versions: tuple[int, int]
    made: Made


class Tape:
    """The uses of one pass, for `people` people with the same number of rows each."""

    def __init__(self, module: Any, *, channels_last: bool = False) -> None:
        self.channels_last = channels_last
        self.learning = [each for each in module.parameters() if each.requires_grad]
        self.people = 0
        self.uses: list[Use] = []
        self._trained = {id(each) for each in self.learning}
        self._room: Room | None = None
        self._places = 0

    def begin(self, chunk: Chunk) -> None:
        """Prepare for a pass over this chunk."""
        self.people, self._room, self._places = chunk.people, chunk.room, 0
        self.uses.clear()

    def trains(self, parameter: Any) -> bool:
        """Whether the parameter exists and learns."""
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

    def for_each(self, left: Any, right: Any) -> Any:
        """The product of two matrices for each person, in memory that the next chunk writes over, if it has any."""
        if self._room is None:
            return for_each(left, right)
        sizes = (len(left), left.shape[1], right.shape[2])
        self._places += 1
        key = ("product", self._places, *sizes, left.dtype)
        if key not in self._room:
            self._room[key] = room_for_each(*sizes, left.dtype)
        return for_each(left, right, out=self._room[key])

    def outer(self, a: Any, b: Any) -> Form:
        """The form of a weight that people's positions multiply."""
        return outer(a, b, self.for_each)

    def product(self, weight: Any, bias: Any, fed: Any, part: tuple[int, int] | None = None) -> Made:
        """The gradients of W and b, from what was fed."""

        def made(slopes: Any) -> list[tuple[Any, Form]]:
            b = self.by_person(slopes)
            if part is not None:
                b = functional.pad(b, (part[0], len(weight) - part[1]))
            found: list[tuple[Any, Form]] = []
            if self.trains(weight):
                found.append((weight, self.outer(self.by_person(fed), b)))
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
    """Whether a layer is of this kind and its forward pass is torch's: neither its class nor it has another."""
    return isinstance(layer, kind) and type(layer).forward is kind.forward and "forward" not in vars(layer)


@contextmanager
def running(tape: Tape, chunk: Chunk, changes: Sequence[Changed]) -> Iterator[Tape]:
    """Layers report to the tape, and parameters ask for no gradients; afterwards all is as it was."""
    asking = [each for each in tape.learning if each.requires_grad]
    fast = torch.backends.mha.get_fastpath_enabled()
    done: list[tuple[Any, str]] = []
    tape.begin(chunk)
    try:
        torch.backends.mha.set_fastpath_enabled(False)  # it would bypass the layers inside
        for layer, name, own in changes:
            if name in vars(layer):
                raise TacitError(f"A {type(layer).__name__} has another {name} than when the run began.")
            layer.__dict__[name] = own  # setting it through the module checks more, and takes longer
            done.append((layer, name))
        for each in asking:
            each.requires_grad_(False)
        yield tape
    finally:
        for each in asking:
            each.requires_grad_(True)
        for layer, name in done:
            del layer.__dict__[name]
        torch.backends.mha.set_fastpath_enabled(fast)
        tape.uses.clear()
