"""Which layers are understood, and what each makes of what it was fed and of the slopes of its output.

Promise: a layer is understood only where its forward pass is torch's own (a subclass with another one is not), so what
is assumed of it here is what it does. `fitting` returns None for the rest: then gradients are made person by person
(`per_sample`). The first dimension is people's rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import nn
from torch.nn import functional

from tacit.learning.neural.gradients.convolution import convolved
from tacit.learning.neural.gradients.forms import Lookup, PerPerson
from tacit.learning.neural.gradients.tape import Made, Tape, has_forward_of

Understood: TypeAlias = Callable[[Tape, Any, Any, Any], Made]


def linear(tape: Tape, layer: Any, fed: Any, output: Any) -> Made:
    """x W' + b."""
    return tape.product(layer.weight, layer.bias, fed)


def multiplying(tape: Tape, layer: Any) -> Callable[[Any], Any]:
    """The forward pass of a linear layer, by the faster product, which reports to the tape."""

    def forward(input: Any) -> Any:  # as torch names it
        return tape.linear(input, layer.weight, layer.bias)

    return forward


def embedding(tape: Tape, layer: Any, fed: Any, output: Any) -> Made:
    """Lines of a table. The line of `padding_idx` does not learn."""

    def made(slopes: Any) -> list[Any]:
        places = fed.reshape(tape.people, -1)
        b = tape.by_person(slopes)
        if layer.padding_idx is not None:
            b = torch.where((places == layer.padding_idx)[:, :, None], torch.zeros(()), b)
        return [(layer.weight, Lookup(places, b, layer.num_embeddings))]

    return made


def scaled(normalised: Callable[[Any, Any], Any], channels_first: bool) -> Understood:
    """Layers that bring each row to a common size, then multiply and shift: by channel, or by the last dimensions."""

    def understood(tape: Tape, layer: Any, fed: Any, output: Any) -> Made:
        def made(slopes: Any) -> list[Any]:
            found = []
            bias = getattr(layer, "bias", None)
            if layer.weight is not None and tape.trains(layer.weight):
                own = normalised(layer, fed) * slopes
                found.append((layer.weight, PerPerson(_summed(tape, own, layer.weight.shape, channels_first))))
            if bias is not None and tape.trains(bias):
                found.append((bias, PerPerson(_summed(tape, slopes, bias.shape, channels_first))))
            return found

        return made

    return understood


def _summed(tape: Tape, own: Any, shape: Any, channels_first: bool) -> Any:
    """Added over everything but people and the parameter's own dimensions."""
    if channels_first:
        own = own.flatten(2).sum(dim=2) if own.dim() > 2 else own
    return own.reshape(tape.people, -1, *shape).sum(dim=1)


def _layer_norm(layer: Any, fed: Any) -> Any:
    return functional.layer_norm(fed, layer.normalized_shape, None, None, layer.eps)


def _rms_norm(layer: Any, fed: Any) -> Any:
    return functional.rms_norm(fed, layer.normalized_shape, None, layer.eps)


def _group_norm(layer: Any, fed: Any) -> Any:
    return functional.group_norm(fed, layer.num_groups, None, None, layer.eps)


def _instance_norm(layer: Any, fed: Any) -> Any:
    return functional.instance_norm(fed, eps=layer.eps)


_UNDERSTOOD: dict[Any, Understood] = {
    nn.Linear: linear,
    nn.Embedding: embedding,
    nn.Conv1d: convolved,
    nn.Conv2d: convolved,
    nn.Conv3d: convolved,
    nn.LayerNorm: scaled(_layer_norm, False),
    nn.RMSNorm: scaled(_rms_norm, False),
    nn.GroupNorm: scaled(_group_norm, True),
    nn.InstanceNorm1d: scaled(_instance_norm, True),
    nn.InstanceNorm2d: scaled(_instance_norm, True),
    nn.InstanceNorm3d: scaled(_instance_norm, True),
}


def fitting(layer: Any) -> Understood | None:
    """What is understood of a layer, or None."""
    for kind, understood in _UNDERSTOOD.items():
        if has_forward_of(layer, kind):
            return understood
    return None
