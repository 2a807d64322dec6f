"""A module's weights and an optimiser's memory as named tensors and one line of JSON: what a journal saves."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import torch

from tacit.errors import TacitError


def state_of(module: Any, optimiser: Any) -> tuple[dict[str, Any], str]:
    """Tensors by name, and everything else as JSON."""
    tensors = {f"module.{name}": _copied(each) for name, each in _own(module).items()}
    kept = optimiser.state_dict()
    plain: dict[str, Any] = {"groups": kept["param_groups"], "state": {}}
    for place, own in kept["state"].items():
        plain["state"][str(place)] = {}
        for name, value in own.items():
            if isinstance(value, torch.Tensor):
                tensors[f"optimiser.{place}.{name}"] = _copied(value)
            else:
                plain["state"][str(place)][name] = value
    return tensors, json.dumps(plain, sort_keys=True)


def put_back(module: Any, optimiser: Any, tensors: dict[str, Any], plain: str) -> None:
    """What `state_of` took; all of it is looked at before any of it is used."""
    weights = _weights(module, tensors)
    try:
        state, groups = _of_optimiser(optimiser, tensors, plain)
        optimiser.load_state_dict({"state": state, "param_groups": groups})
    except (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError):
        raise _damaged("its optimiser is not the one of this run") from None
    with torch.no_grad():
        for name, each in _own(module).items():
            each.copy_(weights[name])


def _weights(module: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """Parameters and buffers by name, of the module's shapes and kinds of numbers."""
    prefix = "module."
    found = {name.removeprefix(prefix): each for name, each in tensors.items() if name.startswith(prefix)}
    known, learned = _own(module), {name for name, _ in module.named_parameters()}
    if set(found) != set(known):
        raise TacitError("The saved state is of another module: its parameters have other names.")
    for name, each in known.items():
        if each.shape != found[name].shape:
            raise TacitError(f"The saved state is of another module: {name!r} has another shape.")
        if each.dtype != found[name].dtype:
            raise _damaged(f"{name!r} holds {found[name].dtype}, and not {each.dtype}")
        if name in learned and not bool(torch.isfinite(found[name]).all()):
            raise _damaged(f"{name!r} holds numbers that are not finite")
    return found


def _of_optimiser(optimiser: Any, tensors: dict[str, Any], plain: str) -> tuple[dict[int, dict[str, Any]], Any]:
    """The optimiser's memory, by the place of each parameter, and its settings."""
    read = json.loads(plain, parse_constant=_no_constant)
    state: dict[int, dict[str, Any]] = {int(place): dict(own) for place, own in read["state"].items()}
    for name, each in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "optimiser":
            if each.dtype.is_floating_point and not bool(torch.isfinite(each).all()):
                raise ValueError(name)
            place, _, own = rest.partition(".")
            state.setdefault(int(place), {})[own] = each
        elif kind != "module":
            raise ValueError(name)
    many, present, groups = 0, optimiser.state_dict()["param_groups"], read["groups"]
    for own, saved in zip(present, groups, strict=True):
        many += len(own["params"])
        if own["params"] != saved["params"] or set(own) - set(saved) - {"initial_lr"}:
            raise ValueError("groups")
        for name in set(own) & set(saved):
            saved[name] = _like(own[name], saved[name])
    if not all(0 <= place < many for place in state):
        raise ValueError("places")
    return state, groups


def _like(own: Any, saved: Any) -> Any:
    """A setting that was saved, if it is of the kind of the present one."""
    if isinstance(own, (list, tuple)):
        return type(own)(_like(each, other) for each, other in zip(own, saved, strict=True))
    kinds: tuple[type, ...] = (type(own),)
    if own is None or isinstance(own, bool):
        kinds = (bool, type(None))
    elif isinstance(own, (int, float)):
        kinds = (int, float)
    if type(saved) not in kinds or (isinstance(saved, float) and not math.isfinite(saved)):
        raise ValueError("settings")
    return saved


def _damaged(why: str) -> TacitError:
    return TacitError(f"The saved state is damaged: {why}. Start the run again in another folder.")


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(constant)


def _own(module: Any) -> dict[str, Any]:
    """Parameters and buffers, each once."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _copied(tensor: Any) -> Any:
    """A copy whose numbers lie one after another, as a file has them."""
    return tensor.detach().clone(memory_format=torch.contiguous_format)
