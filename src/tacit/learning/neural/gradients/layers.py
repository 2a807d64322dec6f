"""Which layers are understood, and what each makes of what it was fed and of the slopes of its output.

Promise: a layer is understood only where its forward pass is torch's own (a subclass with another one is not), so it
does what is assumed of it here. `fitting` returns None for other layers: then gradients are computed person by person
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

Forward: TypeAlias = Callable[[Any], Any]
Understood: TypeAlias = Callable[[Tape, Any, Forward], Forward]
"""Makes, from a layer and its forward pass, a pass that gives the same and reports to the tape."""


def multiplying(tape: Tape, layer: Any, computed: Forward) -> Forward:
    """x W' + b, by the faster product."""

    def forward(input: Any) -> Any:  # as torch names it
        return tape.linear(input, layer.weight, layer.bias)

    return forward


def normalising(tape: Tape, layer: Any, computed: Forward) -> Forward:
    """A layer norm; its means and deviations serve again for the gradient of its weight."""

    def forward(input: Any) -> Any:  # as torch names it
        shape, fed = layer.normalized_shape, input.detach()
        output, *found = torch.native_layer_norm(input, shape, layer.weight, layer.bias, layer.eps)
        mean, inverse = (each.detach() for each in found)

        def normalised() -> Any:
            return (fed - mean).mul_(inverse)

        return tape.record(output, fed, _of_scale(tape, layer, normalised, channels_first=False))

    return forward


def reporting(gradients: Callable[[Tape, Any, Any, Any], Made]) -> Understood:
    """Layers that compute as before; for each, how gradients follow from its input, its output and the slopes."""

    def understood(tape: Tape, layer: Any, computed: Forward) -> Forward:
        def forward(input: Any) -> Any:  # as torch names it
            output, own = computed(input), input.detach()
            return tape.record(output, own, gradients(tape, layer, own, output))

        return forward

    return understood


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

    def gradients(tape: Tape, layer: Any, fed: Any, output: Any) -> Made:
        return _of_scale(tape, layer, lambda: normalised(layer, fed), channels_first=channels_first)

    return reporting(gradients)


def _of_scale(tape: Tape, layer: Any, normalised: Callable[[], Any], *, channels_first: bool) -> Made:
    """The gradients of a weight and a bias that scale and shift rows of a common size."""

    def made(slopes: Any) -> list[Any]:
        found = []
        weight = layer.weight
        bias: Any = getattr(layer, "bias", None)
        if tape.trains(weight):
            own = normalised().mul_(slopes)
            found.append((weight, PerPerson(_summed(tape, own, weight.shape, channels_first))))
        if tape.trains(bias):
            found.append((bias, PerPerson(_summed(tape, slopes, bias.shape, channels_first))))
        return found

    return made


def _summed(tape: Tape, own: Any, shape: Any, channels_first: bool) -> Any:
    """Added over everything but people and the parameter's own dimensions."""
    if channels_first:
        own = own.flatten(2).sum(dim=2) if own.dim() > 2 else own
    return own.reshape(tape.people, -1, *shape).sum(dim=1)


def _rms_norm(layer: Any, fed: Any) -> Any:
    return functional.rms_norm(fed, layer.normalized_shape, None, layer.eps)


def _group_norm(layer: Any, fed: Any) -> Any:
    return functional.group_norm(fed, layer.num_groups, None, None, layer.eps)


def _instance_norm(layer: Any, fed: Any) -> Any:
    return functional.instance_norm(fed, eps=layer.eps)


_UNDERSTOOD: dict[Any, Understood] = {
    nn.Linear: multiplying,
    nn.Embedding: reporting(embedding),
    nn.Conv1d: reporting(convolved),
    nn.Conv2d: reporting(convolved),
    nn.Conv3d: reporting(convolved),
    nn.LayerNorm: normalising,
    nn.RMSNorm: scaled(_rms_norm, False),
    nn.GroupNorm: scaled(_group_norm, True),
    nn.InstanceNorm1d: scaled(_instance_norm, True),
    nn.InstanceNorm2d: scaled(_instance_norm, True),
    nn.InstanceNorm3d: scaled(_instance_norm, True),
}


def fitting(layer: Any) -> Understood | None:
    """How a layer is understood; None where it is not."""
    for kind, understood in _UNDERSTOOD.items():
        if has_forward_of(layer, kind):
            return understood
    return None
