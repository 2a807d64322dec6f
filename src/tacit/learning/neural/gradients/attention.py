"""Multi-head attention, written out as the products that it consists of, so that its weights have slopes of their own.

Promise: it gives what torch.nn.MultiheadAttention gives. Layouts that are not written here (added keys, nested tensors)
are not understood: then gradients are computed person by person (`per_sample`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tacit.learning.neural.gradients.products import multiplied
from tacit.learning.neural.gradients.shares import mixed, shares_of, sides
from tacit.learning.neural.gradients.tape import Tape, has_forward_of


def is_attention(layer: Any) -> bool:
    """Whether this layer has a layout that is written here."""
    return has_forward_of(layer, nn.MultiheadAttention) and layer.bias_k is None and not layer.add_zero_attn


def attending(tape: Tape, layer: Any) -> Callable[..., Any]:
    """A forward pass that reports to the tape."""

    def forward(
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:
        same = query is key and key is value
        if not layer.batch_first:
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
        projected = _projected(tape, layer, query, key, value, same)
        mask = _mask(attn_mask, key_padding_mask, len(query), layer.num_heads, query.dtype)
        if need_weights or layer.dropout:  # whether or not it trains now: a rehearsal must take the same way as a step
            taken, shares = _with_shares(projected, layer, mask)
        else:
            taken, shares = mixed(layer.num_heads, mask, *projected), None
        given = tape.linear(taken, layer.out_proj.weight, layer.out_proj.bias)
        if not layer.batch_first:
            given = given.transpose(0, 1)
        if shares is None or not need_weights:
            return given, None
        return given, shares.mean(dim=1) if average_attn_weights else shares

    return forward


def _projected(tape: Tape, layer: Any, query: Any, key: Any, value: Any, same: bool) -> Sequence[Any]:
    """q, k and v; side by side in one tensor where they are projections of the same input."""
    bias, width = layer.in_proj_bias, layer.embed_dim
    if layer._qkv_same_embed_dim and same:
        return [tape.linear(query, layer.in_proj_weight, bias)]
    if layer._qkv_same_embed_dim:
        parts = [(place * width, (place + 1) * width) for place in range(3)]
        fed = zip((query, key, value), parts, strict=True)
        return [tape.linear(each, layer.in_proj_weight, bias, part) for each, part in fed]
    weights = (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
    found = [tape.linear(each, own, None) for each, own in zip((query, key, value), weights, strict=True)]
    if bias is None:
        return found
    shifts = [(place * width, (place + 1) * width) for place in range(3)]
    return [tape.shift(each, bias, part) for each, part in zip(found, shifts, strict=True)]


def _with_shares(projected: Sequence[Any], layer: Any, mask: Any) -> tuple[Any, Any]:
    """What each position takes of the values, and its shares of them."""
    rows, heads = len(projected[0]), layer.num_heads
    q, k, v = (each.unflatten(-1, (heads, -1)).transpose(1, 2).flatten(0, 1) for each in sides(projected))
    scores = multiplied(q, k.mT).unflatten(0, (rows, heads)) / (q.shape[-1] ** 0.5)
    shares = functional.dropout(shares_of(scores, mask), layer.dropout, layer.training)
    taken = multiplied(shares.flatten(0, 1), v).unflatten(0, (rows, heads))
    return taken.transpose(1, 2).flatten(2), shares


def _mask(attention: Any, padding: Any, rows: int, heads: int, dtype: Any) -> Any:
    """What is added to scores: minus infinity where a position may not look."""
    total = None
    if attention is not None:
        total = _added(attention, dtype)
        total = total[None, None] if total.dim() == 2 else total.reshape(rows, heads, *total.shape[1:])
    if padding is not None:
        own = _added(padding, dtype)[:, None, None, :]
        total = own if total is None else total + own
    return total


def _added(mask: Any, dtype: Any) -> Any:
    if mask.dtype == torch.bool:
        return torch.zeros(mask.shape, dtype=dtype).masked_fill(mask, float("-inf"))
    return mask.to(dtype)
