"""Book-keeping: one forward pass, one backward pass for slopes, and every person's clipped gradient is accounted for.

    forms = book_keeping(module, loss)(chunk)     # gradients of each parameter, one for each person

Promise: what comes back are the gradients of each person's sum of weighted losses, for every parameter that learns, in
the order of the module's parameters. A module with a layer that is not understood is recognised beforehand
(`not_understood`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from tacit.errors import TacitError
from tacit.learning.neural.gradients.attention import attending, is_attention
from tacit.learning.neural.gradients.convolution import is_image_layer, with_channels_last
from tacit.learning.neural.gradients.forgetting import forgetting
from tacit.learning.neural.gradients.forms import Form, PerPerson
from tacit.learning.neural.gradients.layers import fitting
from tacit.learning.neural.gradients.recurrent import is_recurrent, stepping
from tacit.learning.neural.gradients.tape import Changed, Tape, running
from tacit.learning.neural.people.batches import Chunk


def trained(module: Any) -> list[Any]:
    """The parameters that learn, each once."""
    return [each for each in module.parameters() if each.requires_grad]


def not_understood(module: Any) -> list[str]:
    """Layers that learn and are not understood, by their kind."""
    found = []
    within: set[int] = set()
    for layer in module.modules():
        if is_attention(layer):
            within.add(id(layer.out_proj))
        own = [each for each in layer.parameters(recurse=False) if each.requires_grad]
        if own and not (is_attention(layer) or is_recurrent(layer) or fitting(layer) or id(layer) in within):
            found.append(type(layer).__name__)
    return sorted(set(found))


def book_keeping(
    module: Any, loss: Callable[[Any, Any], Any], *, channels_last: bool = False
) -> Callable[[Chunk], list[Form]]:
    """The gradients of each chunk, by the tape; images have their channels last where the module allows it."""
    tape = Tape(module, channels_last=channels_last)
    changes = [*_changes(tape, module)]

    def gradients(chunk: Chunk) -> list[Form]:
        with forgetting(module), running(tape, chunk, changes):
            losses = row_losses(loss(module(*chunk.inputs), chunk.target), chunk.rows)
            if not losses.requires_grad:
                raise TacitError("The loss does not depend on any layer that learns.")
            found = tape.forms(losses, chunk.weights)
        return [found[each] if each in found else _unused(each, chunk.people) for each in tape.learning]

    return gradients


def _unused(parameter: Any, people: int) -> Form:
    """A gradient of zero for everyone: the pass did not use the parameter."""
    return PerPerson(torch.zeros((), dtype=parameter.dtype).expand(people, *parameter.shape))


def row_losses(losses: Any, rows: int) -> Any:
    """One loss for each row; several of one row are added. What was averaged over people cannot be clipped."""
    shape = tuple(getattr(losses, "shape", ()))
    if shape and shape[0] > rows > 1 and not shape[0] % rows:
        raise TacitError(
            f"The loss gave {shape[0]} numbers for {rows} rows: {shape[0] // rows} of each in one line, as of tokens. "
            "Keep the first dimension people's: losses.reshape(rows, -1); they are added."
        )
    if not shape or shape[0] != rows:
        raise TacitError(
            f"The loss must give one number for each row. Got the shape {shape} for {rows} rows. "
            'A loss of torch averages over people unless it is told not to: reduction="none".'
        )
    return losses if losses.dim() == 1 else losses.flatten(1).sum(dim=1)


def _changes(tape: Tape, module: Any) -> Iterator[Changed]:
    """The forward passes that all understood layers get in place of their own, so that they report."""
    inside: set[int] = set()
    for layer in list(module.modules()):
        if is_attention(layer) or is_recurrent(layer):
            inside |= {id(each) for each in layer.modules()}
            yield layer, "forward", attending(tape, layer) if is_attention(layer) else stepping(tape, layer)
            continue
        forward = with_channels_last(layer) if tape.channels_last and is_image_layer(layer) else None
        understood = fitting(layer)
        learns = any(tape.trains(each) for each in layer.parameters(recurse=False))
        if understood is not None and learns and id(layer) not in inside:
            forward = understood(tape, layer, forward or layer.forward)
        if forward is not None:
            yield layer, "forward", forward
