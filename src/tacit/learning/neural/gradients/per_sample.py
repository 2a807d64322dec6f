"""Gradients person by person through torch.func, for layers that are not understood: slower, and held in memory.

Promise: `torch.func.vmap` computes one person's loss from that person's rows alone, whatever the module does; a module
that it cannot follow (values decide what is computed, or state is changed) is refused. What it returns are the computed
gradients themselves (`forms.PerPerson`), so they go through the same clipping, sums and noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.func import functional_call, grad, vmap

from tacit.learning.neural.gradients.forgetting import forgetting
from tacit.learning.neural.gradients.forms import Form, PerPerson
from tacit.learning.neural.gradients.hooked import row_losses
from tacit.learning.neural.people.batches import Chunk


def per_sample(module: Any, loss: Callable[[Any, Any], Any]) -> Callable[[Chunk], list[Form]]:
    """The gradients of each chunk, one computed tensor for each person and parameter."""
    names = [name for name, each in module.named_parameters() if each.requires_grad]
    kept = {name: each for name, each in module.named_parameters() if not each.requires_grad}
    kept |= dict(module.named_buffers())

    def person(learning: dict[str, Any], inputs: tuple[Any, ...], target: Any, weights: Any) -> Any:
        given = functional_call(module, ({**kept, **learning}), inputs)
        return (row_losses(loss(given, target), len(weights)) * weights).sum()

    def gradients(chunk: Chunk) -> list[Form]:
        learning = {name: each.detach() for name, each in module.named_parameters() if each.requires_grad}

        def by_person(tensor: Any) -> Any:
            return tensor.reshape(chunk.people, -1, *tensor.shape[1:])

        inputs = tuple(by_person(each) for each in chunk.inputs)
        with forgetting(module), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the notes say that a layer is slow here
            found = vmap(grad(person), in_dims=(None, 0, 0, 0), randomness="different")(
                learning, inputs, by_person(chunk.target), by_person(chunk.weights)
            )
        return [PerPerson(found[name].detach()) for name in names]

    return gradients


def one_by_one(module: Any, loss: Callable[[Any, Any], Any]) -> Callable[[Chunk], list[Form]]:
    """The same by ordinary backward passes, one for each person alone."""
    order = [each for each in module.parameters() if each.requires_grad]

    def gradients(chunk: Chunk) -> list[Form]:
        copies = chunk.rows // chunk.people
        found: list[list[Any]] = [[] for _ in order]
        # random layers draw for each place apart, so that nobody's draws follow from what was drawn for others
        seeds = torch.randint(0, 1 << 32, (chunk.people,)).tolist()
        for place, seed in enumerate(seeds):
            torch.default_generator.manual_seed(seed)
            own = slice(place * copies, (place + 1) * copies)
            fed = (each[own].clone() for each in chunk.inputs)  # a layer may write over what it is fed
            with forgetting(module):
                losses = row_losses(loss(module(*fed), chunk.target[own]), copies)
                total = (losses * chunk.weights[own]).sum()
                slopes = torch.autograd.grad(total, order, allow_unused=True)
            for kept, parameter, slope in zip(found, order, slopes, strict=True):
                kept.append(torch.zeros_like(parameter) if slope is None else slope.detach())
        return [PerPerson(torch.stack(each)) for each in found]

    return gradients
