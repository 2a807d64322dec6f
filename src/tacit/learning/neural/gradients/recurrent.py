"""LSTM and GRU, step by step, written out as products, so that their weights have slopes of their own.

Promise: it gives what torch.nn.LSTM and torch.nn.GRU give. Projections and packed sequences are not written here: then
gradients are computed person by person (`per_sample`), or refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tacit.learning.neural.gradients.tape import Tape, has_forward_of


def is_recurrent(layer: Any) -> bool:
    """Whether this layer is one that is written here."""
    return any(has_forward_of(layer, kind) for kind in (nn.LSTM, nn.GRU)) and (layer.proj_size == 0)


def stepping(tape: Tape, layer: Any) -> Callable[..., Any]:
    """A forward pass that reports to the tape."""

    def forward(fed: Any, hx: Any = None) -> Any:
        x = fed if layer.batch_first else fed.transpose(0, 1)
        ways = 2 if layer.bidirectional else 1
        is_lstm = isinstance(layer, nn.LSTM)
        started = (None if hx is None else hx) if is_lstm else (None if hx is None else (hx,))
        lasts: list[tuple[Any, ...]] = []
        for depth in range(layer.num_layers):
            given = []
            for way in range(ways):
                place = ways * depth + way
                begun = None if started is None else tuple(each[place] for each in started)
                output, last = _one_way(tape, layer, x, depth, way, begun)
                given.append(output)
                lasts.append(last)
            x = torch.cat(given, dim=-1)
            if depth < layer.num_layers - 1:
                x = functional.dropout(x, layer.dropout, layer.training)
        ends = tuple(torch.stack([last[each] for last in lasts]) for each in range(2 if is_lstm else 1))
        return (x if layer.batch_first else x.transpose(0, 1)), (ends if is_lstm else ends[0])

    return forward


def _one_way(tape: Tape, layer: Any, x: Any, depth: int, way: int, begun: Any) -> tuple[Any, tuple[Any, ...]]:
    suffix = f"_l{depth}" + ("_reverse" if way else "")
    weight, again = getattr(layer, f"weight_ih{suffix}"), getattr(layer, f"weight_hh{suffix}")
    biases = [getattr(layer, f"bias_{kind}{suffix}") if layer.bias else None for kind in ("ih", "hh")]
    moved = tape.linear(x, weight, biases[0])
    rows, times = x.shape[:2]
    zeros = torch.zeros(rows, layer.hidden_size, dtype=x.dtype)
    state = (zeros, zeros) if begun is None else begun
    step = _lstm if isinstance(layer, nn.LSTM) else _gru
    found = [zeros] * times
    for time in reversed(range(times)) if way else range(times):
        state = step(moved[:, time], tape.linear(state[0], again, biases[1]), state)
        found[time] = state[0]
    return torch.stack(found, dim=1), state if isinstance(layer, nn.LSTM) else state[:1]


def _lstm(moved: Any, recalled: Any, state: Any) -> tuple[Any, Any]:
    opens, forgets, new, shows = (moved + recalled).chunk(4, dim=-1)
    cell = torch.sigmoid(forgets) * state[1] + torch.sigmoid(opens) * torch.tanh(new)
    return torch.sigmoid(shows) * torch.tanh(cell), cell


def _gru(moved: Any, recalled: Any, state: Any) -> tuple[Any, ...]:
    resets, updates, new = zip(moved.chunk(3, dim=-1), recalled.chunk(3, dim=-1), strict=True)
    kept = torch.sigmoid(updates[0] + updates[1])
    fresh = torch.tanh(new[0] + torch.sigmoid(resets[0] + resets[1]) * new[1])
    return ((1 - kept) * fresh + kept * state[0],)
