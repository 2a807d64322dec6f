"""A module's weights and an optimiser's memory as named tensors and one line of JSON: what a journal saves."""

from __future__ import annotations

import json
from typing import Any

import torch

from tacit.errors import TacitError


def state_of(module: Any, optimiser: Any) -> tuple[dict[str, Any], str]:
    """Tensors by name, and everything else as JSON."""
    tensors = {f"module.{name}": each.detach().clone() for name, each in _own(module).items()}
    kept = optimiser.state_dict()
    plain: dict[str, Any] = {"groups": kept["param_groups"], "state": {}}
    for place, own in kept["state"].items():
        plain["state"][str(place)] = {}
        for name, value in own.items():
            if isinstance(value, torch.Tensor):
                tensors[f"optimiser.{place}.{name}"] = value.detach().clone()
            else:
                plain["state"][str(place)][name] = value
    return tensors, json.dumps(plain, sort_keys=True)


def put_back(module: Any, optimiser: Any, tensors: dict[str, Any], plain: str) -> None:
    """What `state_of` took."""
    read = json.loads(plain)
    state: dict[int, dict[str, Any]] = {int(place): dict(own) for place, own in read["state"].items()}
    weights: dict[str, Any] = {}
    for name, each in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "module":
            weights[rest] = each
        elif kind == "optimiser":
            place, _, own = rest.partition(".")
            state.setdefault(int(place), {})[own] = each
    known = _own(module)
    if set(weights) != set(known):
        raise TacitError("The saved state is of another module: its parameters have other names.")
    with torch.no_grad():
        for name, each in known.items():
            if each.shape != weights[name].shape:
                raise TacitError(f"The saved state is of another module: {name!r} has another shape.")
            each.copy_(weights[name])
    optimiser.load_state_dict({"state": state, "param_groups": read["groups"]})


def _own(module: Any) -> dict[str, Any]:
    """Parameters and buffers, each once."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}
