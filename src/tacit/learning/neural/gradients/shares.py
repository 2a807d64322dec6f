"""What each position takes of the values: attention, head by head, as products of each person's matrices.

torch's own attention is one kernel that multiplies small matrices inside its threads, where the library for products is
slow: with two threads it takes twice the processor time. Head by head, scores stay in the processor's cache until their
use.

Promise: softmax(q k' / sqrt(numbers of a head) + mask) v, and the slopes of q, k and v. A position that may look at
nothing takes nothing. Each person's products are computed apart from the others' (`products.for_each`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from tacit.learning.neural.gradients.products import for_each


def mixed(heads: int, mask: Any, *projected: Any) -> Any:
    """people x positions x numbers, from q, k and v or from one tensor that has them side by side.

    mask: what is added to scores, people (or 1) x heads (or 1) x positions (or 1) x positions looked at; or None.
    """
    return _Mixed.apply(heads, mask, *projected)


class _Mixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, heads: int, mask: Any, *projected: Any) -> Any:
        first, second, third = sides(projected)
        scale = (first.shape[-1] // heads) ** -0.5
        taken = torch.empty_like(first, memory_format=torch.contiguous_format)
        kept = []
        for head, (into, q, k, v) in enumerate(_by_head(heads, taken, first, second, third)):
            own = None if mask is None else mask[:, min(head, mask.shape[1] - 1)]
            shares = shares_of(for_each(q, k.mT, scale), own)
            into.copy_(for_each(shares, v))
            kept.append(shares)
        ctx.save_for_backward(*projected, *kept)
        ctx.heads, ctx.scale = heads, scale
        return taken

    @staticmethod
    def backward(ctx: Any, slopes: Any) -> Any:
        projected, kept = ctx.saved_tensors[: -ctx.heads], ctx.saved_tensors[-ctx.heads :]
        found = [torch.empty_like(each, memory_format=torch.contiguous_format) for each in projected]
        parts = _by_head(ctx.heads, slopes, *sides(projected), *sides(found))
        for shares, (own, q, k, v, of_q, of_k, of_v) in zip(kept, parts, strict=True):
            of_v.copy_(for_each(shares.mT, own))
            of_scores = torch._softmax_backward_data(for_each(own, v.mT), shares, -1, shares.dtype)
            of_q.copy_(for_each(of_scores, k, ctx.scale))
            of_k.copy_(for_each(of_scores.mT, q, ctx.scale))
        return None, None, *found


def shares_of(scores: Any, mask: Any) -> Any:
    """How much each position takes of each other one: nothing where a mask leaves it none."""
    if mask is None:
        return torch.softmax(scores, -1)
    nothing = (mask == float("-inf")).all(dim=-1, keepdim=True)
    shares = torch.softmax((scores + mask).masked_fill(nothing, 0.0), -1)
    return shares.masked_fill(nothing, 0.0)


def sides(projected: Sequence[Any]) -> Sequence[Any]:
    """q, k and v."""
    return projected[0].chunk(3, dim=-1) if len(projected) == 1 else projected


def _by_head(heads: int, *tensors: Any) -> Iterator[tuple[Any, ...]]:
    """The parts of these tensors that belong to one head, head after head."""
    return zip(*(each.chunk(heads, dim=-1) for each in tensors), strict=True)
