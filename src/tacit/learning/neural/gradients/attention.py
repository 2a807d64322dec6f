"""Multi-head attention, written as the products that it is, so that its weights have slopes of their own.

Promise: gives what torch.nn.MultiheadAttention gives. Layouts that are not written here (added keys, nested tensors)
are not understood: then gradients are made person by person (`per_sample`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tacit.learning.neural.gradients.tape import Tape, has_forward_of


def is_attention(layer: Any) -> bool:
    """Whether it is one that is written here."""
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
        q, k, v = _projected(tape, layer, query, key, value, same)
        rows, asked, width = q.shape
        heads = layer.num_heads
        q, k, v = (each.reshape(rows, each.shape[1], heads, -1).transpose(1, 2) for each in (q, k, v))
        mask = _mask(attn_mask, key_padding_mask, rows, heads, q.dtype)
        mixed, shares = _mixed(q, k, v, mask, layer.dropout if layer.training else 0.0, need_weights)
        mixed = mixed.transpose(1, 2).reshape(rows, asked, width)
        given = tape.linear(mixed, layer.out_proj.weight, layer.out_proj.bias)
        if not layer.batch_first:
            given = given.transpose(0, 1)
        if shares is None:
            return given, None
        return given, shares.mean(dim=1) if average_attn_weights else shares

    return forward


def _projected(tape: Tape, layer: Any, query: Any, key: Any, value: Any, same: bool) -> Any:
    bias, width = layer.in_proj_bias, layer.embed_dim
    if layer._qkv_same_embed_dim and same:
        return tape.linear(query, layer.in_proj_weight, bias).chunk(3, dim=-1)
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


def _mixed(q: Any, k: Any, v: Any, mask: Any, dropout: float, need_weights: bool) -> tuple[Any, Any]:
    """What each position takes of the values; and its shares, where somebody wants them: torch's own is faster."""
    if not need_weights:
        return functional.scaled_dot_product_attention(q, k, v, mask, dropout), None
    scores = q @ k.mT / (q.shape[-1] ** 0.5)
    shares = torch.softmax(scores if mask is None else scores + mask, dim=-1)
    return functional.dropout(shares, dropout) @ v, shares


def _mask(attention: Any, padding: Any, rows: int, heads: int, dtype: Any) -> Any:
    """What is added to scores: minus infinity where nothing may be looked at."""
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
