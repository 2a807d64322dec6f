"""Convolutions as products: what each output position sees is one line of numbers.

Theorem. A convolution is the product of its weight with the patches of its padded input, one line for each position of
the output; so a person's gradient is the sum over positions of slope (x) patch. With groups, each group of channels has
a product of its own.
"""

from __future__ import annotations

from typing import Any

from torch.nn import functional

from tacit.learning.neural.gradients.forms import PerPerson, outer
from tacit.learning.neural.gradients.tape import Made, Tape


def convolved(tape: Tape, layer: Any, fed: Any, output: Any) -> Made:
    """Conv1d, Conv2d, Conv3d."""

    def made(slopes: Any) -> list[Any]:
        b = slopes.flatten(2)  # rows x channels x positions
        found: list[Any] = []
        if tape.trains(layer.weight):
            seen = patches(fed, layer)  # rows x groups x positions x numbers
            found.append((layer.weight, _weight(tape, layer, seen, b)))
        if layer.bias is not None and tape.trains(layer.bias):
            found.append((layer.bias, PerPerson(b.sum(dim=2).reshape(tape.people, -1, b.shape[1]).sum(dim=1))))
        return found

    return made


def _weight(tape: Tape, layer: Any, seen: Any, b: Any) -> Any:
    groups = layer.groups
    rows, channels, positions = b.shape
    if groups == 1:
        form = outer(tape.by_person(seen[:, 0]), tape.by_person(b.mT))
        return PerPerson(form.own.reshape(-1, *layer.weight.shape)) if isinstance(form, PerPerson) else form
    own = b.reshape(rows, groups, channels // groups, positions) @ seen
    return PerPerson(own.reshape(tape.people, -1, *layer.weight.shape).sum(dim=1))


def patches(fed: Any, layer: Any) -> Any:
    """What each output position sees: rows x groups x positions x (channels of the group times the kernel)."""
    padding = layer._reversed_padding_repeated_twice
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    x = functional.pad(fed, padding, mode=mode) if any(padding) else fed
    sizes = len(layer.kernel_size)
    for axis in range(sizes):
        reach = (layer.kernel_size[axis] - 1) * layer.dilation[axis] + 1
        x = x.unfold(2 + axis, reach, layer.stride[axis])
        x = x[..., :: layer.dilation[axis]]
    rows, channels = x.shape[:2]
    groups = layer.groups
    out, kernel = x.shape[2 : 2 + sizes], x.shape[2 + sizes :]
    x = x.reshape(rows, groups, channels // groups, *out, *kernel)
    order = (0, 1, *range(3, 3 + sizes), 2, *range(3 + sizes, 3 + 2 * sizes))
    return x.permute(order).reshape(rows, groups, out.numel(), -1)
