"""What people get wrong about losses and kinds of numbers, said in words that help.

Promise: nothing here decides about privacy. A loss of one number for each pair of rows would be refused anyway, as it
mixes people; here it is refused with the two shapes that made it so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tacit.errors import TacitError
from tacit.learning.neural.gradients.forgetting import forgetting
from tacit.learning.neural.gradients.hooked import row_losses
from tacit.learning.neural.people.batches import Chunk


def refuse_pairs(module: Any, loss: Callable[[Any, Any], Any], chunks: Sequence[Chunk]) -> None:
    """Refuse a loss that gives no number for each row, or one for each pair of rows; chunks are of different sizes."""
    pairs, shapes = [], ("", "")
    for chunk in chunks:
        rows = chunk.rows
        try:
            with torch.no_grad(), forgetting(module):
                output = module(*chunk.inputs)
                losses = loss(output, chunk.target)
        except Exception:  # noqa: BLE001  # the rehearsal says so
            return
        row_losses(losses, rows)
        pairs.append(losses.dim() > 1 and losses.shape[1] == rows)
        shapes = (_with_n(output, rows), _with_n(chunk.target, rows))
    if all(pairs):
        hint = "Give y the shape (n, 1), or squeeze the output." if shapes[1] == "(n,)" else "Give both one shape."
        raise TacitError(
            f"The loss gives n x n numbers for n rows, where each row must have its own: the output has the shape "
            f"{shapes[0]} and the target {shapes[1]}. {hint}"
        )


def _with_n(tensor: Any, rows: int) -> str:
    """Its shape, with n for the number of rows."""
    shape = [
        ("n" if size == rows and not place else str(size)) for place, size in enumerate(getattr(tensor, "shape", ()))
    ]
    return f"({', '.join(shape)}{',' if len(shape) == 1 else ''})"


def advice(said: str, whole: bool) -> str:
    """What may help where torch said so; `whole`: rows are of whole numbers."""
    if "in-place" in said or "inplace" in said:
        return " Leave out inplace=True."
    if whole and re.search(r"dtype|\b[Ll]ong\b|bias type|Int\b", said):
        return (
            " X has whole numbers. If the first layer wants real ones: X.astype('float32'), or X.float() of a tensor."
        )
    return ""
