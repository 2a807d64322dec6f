"""Convolutions as products: what each output position sees is one line of numbers.

Theorem. A convolution is the product of its weight with the patches of its padded input, one line for each position of
the output; so a person's gradient is the sum over positions of slope (x) patch. With groups, each group of channels has
a product of its own.

Images go through with their channels last, where the module allows it: then the patches are copied in longer pieces,
and torch has faster kernels for the layers between convolutions. Values and gradients are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tacit.learning.neural.gradients.forms import Form, PerPerson
from tacit.learning.neural.gradients.tape import Made, Tape, has_forward_of


def convolved(tape: Tape, layer: Any, fed: Any, output: Any) -> Made:
    """Conv1d, Conv2d, Conv3d."""

    def made(slopes: Any) -> list[Any]:
        b = slopes.flatten(2)  # rows x channels x positions
        found: list[Any] = []
        if tape.trains(layer.weight):
            found.append((layer.weight, _weight(tape, layer, fed, b)))
        if layer.bias is not None and tape.trains(layer.bias):
            found.append((layer.bias, PerPerson(b.sum(dim=2).reshape(tape.people, -1, b.shape[1]).sum(dim=1))))
        return found

    return made


def is_image_layer(layer: Any) -> bool:
    """Whether this layer is faster with channels last."""
    kinds = (nn.Conv2d, nn.MaxPool2d)
    return any(has_forward_of(layer, kind) for kind in kinds) and not getattr(layer, "return_indices", False)


def with_channels_last(layer: Any) -> Callable[[Any], Any]:
    """Its forward pass, with channels last in its input and its output."""

    def forward(input: Any) -> Any:  # as torch names it
        return type(layer).forward(layer, _channels_last(input) if input.dim() == 4 else input)

    return forward


def _channels_last(images: Any) -> Any:
    if images.shape[1] > 1:
        return images.contiguous(memory_format=torch.channels_last)
    height, width = images.shape[2:]  # a single channel is last anyway, and its strides must say so
    return images.contiguous().as_strided(images.shape, (height * width, 1, width, 1))


def _weight(tape: Tape, layer: Any, fed: Any, b: Any) -> Form:
    groups = layer.groups
    rows, channels, positions = b.shape
    if groups == 1:
        last = fed.dim() == 4 and fed.shape[1] > 1 and fed.is_contiguous(memory_format=torch.channels_last)
        seen = patches(fed, layer, last=last)[:, 0]
        form = tape.outer(tape.by_person(seen), tape.by_person(b.mT))
        if not last:
            return PerPerson(form.own.reshape(-1, *layer.weight.shape)) if isinstance(form, PerPerson) else form
        kernel = (*layer.kernel_size, fed.shape[1])
        if isinstance(form, PerPerson):
            return PerPerson(form.own.reshape(-1, channels, *kernel), order=(0, 3, 1, 2))
        first = seen.reshape(rows, positions, *kernel).movedim(-1, 2).reshape(rows, positions, math.prod(kernel))
        return tape.outer(tape.by_person(first), tape.by_person(b.mT))
    slopes = b.reshape(rows * groups, channels // groups, positions)
    own = tape.for_each(slopes, patches(fed, layer).flatten(0, 1))
    return PerPerson(own.reshape(tape.people, -1, *layer.weight.shape).sum(dim=1))


def patches(fed: Any, layer: Any, *, last: bool = False) -> Any:
    """What each output position sees: rows x groups x positions x (channels of the group times the kernel).

    last: the kernel times the channels instead, of one group.
    """
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
    if last:
        return x.movedim(1, -1).reshape(rows, 1, out.numel(), -1)
    x = x.reshape(rows, groups, channels // groups, *out, *kernel)
    order = (0, 1, *range(3, 3 + sizes), 2, *range(3 + sizes, 3 + 2 * sizes))
    return x.permute(order).reshape(rows, groups, out.numel(), -1)
