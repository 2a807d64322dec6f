"""Only torch's own code sees rows of a curator.

Promise: `only_torch` gives a module of which every part that is run is torch's, and in which nothing of the given one
is left but plain data and numbers: made of its recipe where it has one (`recipes`); otherwise of its course of
operations, which is recorded by showing the module stand-ins that hold no value (`torch.fx`), written down as JSON,
checked, and followed (`courses`). A module that does anything but the listed `operations`, or whose course depends on
values, is refused. So code that users wrote runs before a row is read, and never after.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import fx, nn

from tacit.errors import TacitError
from tacit.learning.neural.modules.courses import INPUT, KINDS, FixedCourse, is_exactly, is_step, step, written
from tacit.learning.neural.modules.operations import FACTS, FUNCTIONS, METHODS, READ, name_of, refused_argument
from tacit.learning.neural.modules.recipes import made_again

_HINT: Final = "Build the module of torch's own layers, for instance with nn.Sequential."
_SEQUENCES: Final = (tuple, list, torch.Size, fx.immutable_collections.immutable_list)


def only_torch(module: Any) -> Any:
    """The module made anew of plain data: of its recipe, or of its course of operations; or a refusal."""
    found = made_again(module)
    if found is not None:
        return found
    name = type(module).__name__
    if isinstance(module, FixedCourse):
        return _plainly(module._steps, module, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            traced = module if isinstance(module, fx.GraphModule) else fx.symbolic_trace(copy.deepcopy(module))
        except Exception as wrong:  # noqa: BLE001  # a forward pass may be any code
            raise TacitError(
                f"{name} has a forward pass of its own, whose code would see rows of the curator, and "
                f"it cannot be written down as a fixed course of torch's operations ({_said(wrong)}). {_HINT}"
            ) from None
    return _plainly(_Recorded(name).course(traced.graph), traced, name)


def _plainly(steps: Any, given: Any, name: str) -> FixedCourse:
    """The course of these steps, once they are nothing but data."""
    try:
        own = json.loads(json.dumps(steps))
        good = isinstance(own, list) and all(is_step(each, place) for place, each in enumerate(own))
    except (TypeError, ValueError, RecursionError):
        good = False
    if not good:
        raise _refusal(name, "is no course of steps, or is nested too deeply")
    return _made_of(own, given, name)


class _Recorded:
    """A course as data: what is no plain argument, and no known function, is refused."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._places: dict[int, Any] = {}  # of each node: its step, or the value that it stands for

    def course(self, graph: Any) -> list[Any]:
        """The steps."""
        steps: list[Any] = []
        for node in graph.nodes:
            if node.op == "placeholder" and steps:
                if len(node.args) != 1:
                    raise _refusal(self._name, "takes several inputs, and a row of a curator is one")
                self._places[id(node)] = self._plain(node.args[0])
                continue
            self._places[id(node)] = step(len(steps))
            steps.append(self._step(node))
        return steps

    def _step(self, node: Any) -> list[Any]:
        if node.op == "placeholder":
            return [INPUT]
        if node.op == "output":
            return ["output", self._plain(node.args[0])]
        if node.op == "get_attr":
            return ["tensor", node.target]
        kind = {"call_module": "layer", "call_method": "method", "call_function": "call"}[node.op]
        name = node.target
        if kind == "call":
            name = name_of(node.target)
            if name is None:
                name = getattr(node.target, "__name__", type(node.target).__name__)
        if not isinstance(name, str):
            raise _refusal(self._name, f"has a name that is a {type(name).__name__}")
        return [kind, name, [*map(self._plain, node.args)], {key: self._plain(own) for key, own in node.kwargs.items()}]

    def _plain(self, value: Any) -> Any:
        if is_exactly(value, *_SEQUENCES):
            return ["tuple" if isinstance(value, tuple) else "list", [self._plain(each) for each in value]]
        if type(value) is slice:
            return ["slice", [self._plain(each) for each in (value.start, value.stop, value.step)]]
        if type(value) is fx.Node:
            if id(value) in self._places:
                return self._places[id(value)]
            raise _refusal(self._name, "has steps that are not in order")
        try:
            return written(value)
        except TypeError:
            raise _refusal(self._name, f"has an argument of the type {type(value).__name__}") from None


def _made_of(steps: Any, given: Any, name: str) -> FixedCourse:
    """The course of these steps, with layers and tensors made anew of those of `given`."""
    parts: dict[str, Any] = {}
    for place, (kind, *rest) in enumerate(steps):
        last = place == len(steps) - 1
        if (kind == "output") is not last or (kind == INPUT) is not (place == 0):
            raise _refusal(name, "does not go from one input to one output")
        if kind in ("layer", "tensor"):
            parts[rest[0]] = _part(given, rest[0], kind)
            good = parts[rest[0]] is not None
        elif kind == "call":
            good = rest[0] in FUNCTIONS and (rest[0] != READ or (_plain_at(rest[1], 1) in FACTS and len(rest[1]) == 2))
        else:
            good = kind in (INPUT, "output") or (kind == "method" and rest[0] in METHODS and not _plain_at(rest[1], 0))
        if not good and kind == "tensor":
            raise _refusal(name, f"takes {rest[0]!r}, which is no plain tensor of numbers or truth values")
        if not good:
            raise _refusal(name, f"calls {rest[0]!r}, which is not among the operations that may see rows of a curator")
        if kind in ("call", "method"):
            wrong = refused_argument(rest[0], [_known(each) for each in rest[1]], _known_by_name(rest[2]))
            if wrong is not None:
                raise _refusal(name, f"calls {rest[0]!r} with an argument {wrong!r} that is not allowed there")
    _tied(parts, given)
    made = FixedCourse(steps, parts)
    made.training = bool(given.training)
    return made


def _plain_at(args: Any, place: int) -> Any:
    """The plain value of an argument; None where it is none."""
    return args[place][1] if place < len(args) and args[place][0] == "plain" else None


def _known(own: Any) -> Any:
    """A plain argument's value; anything else as it stands."""
    return own[1] if own[0] == "plain" else own


def _known_by_name(own: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _known(each) for name, each in own.items()}


def _part(given: Any, place: str, kind: str) -> Any:
    """A layer or a tensor under this name, made anew; None where it is of a kind that may not see rows."""
    own: Any = given
    for each in place.split("."):
        own = own._modules.get(each, own._parameters.get(each, own._buffers.get(each)))
        if own is None:
            return None
    if kind == "layer":
        return made_again(own) if isinstance(own, nn.Module) else None
    if not is_exactly(own, torch.Tensor, nn.Parameter) or own.dtype not in KINDS.values():
        return None
    if own.layout != torch.strided or own.device.type != "cpu":
        return None
    copied = torch.empty(own.shape, dtype=own.dtype).copy_(own.detach())
    return nn.Parameter(copied, own.requires_grad) if type(own) is nn.Parameter else copied


def _tied(parts: dict[str, Any], given: Any) -> None:
    """A parameter that stands in two places of the given module does so in the parts too."""
    first: dict[int, Any] = {}
    for name, each in given.named_parameters(remove_duplicate=False):
        place, inner = next(
            ((own, name[len(own) + 1 :]) for own in parts if f"{name}.".startswith(f"{own}.")), (None, "")
        )
        if place is None:
            continue
        if id(each) not in first:
            first[id(each)] = parts[place].get_parameter(inner) if inner else parts[place]
        elif not inner:
            parts[place] = first[id(each)]
        else:
            path, _, last = inner.rpartition(".")
            parts[place].get_submodule(path)._parameters[last] = first[id(each)]


def _refusal(name: str, what: str) -> TacitError:
    return TacitError(f"The forward pass of {name} {what}. {_HINT}")


def course_of(module: Any) -> str:
    """What the module is made of and what it does, in words: part of a study's key."""
    lines = [[name, type(each).__name__, _settings(each)] for name, each in module.named_modules()]
    return json.dumps([*lines, module.text if isinstance(module, FixedCourse) else None])


def _settings(layer: Any) -> list[str]:
    """All plain settings of a layer: its own description leaves some out."""
    plain = (bool, int, float, str, tuple)
    own = {name: value for name, value in vars(layer).items() if isinstance(value, plain)}
    named = {name: value.__name__ for name, value in vars(layer).items() if hasattr(value, "__name__")}
    return [layer.extra_repr(), *(f"{name}={value}" for name, value in sorted((own | named).items()))]


def _said(wrong: Exception) -> str:
    text = str(wrong).strip().splitlines()
    return text[0][:120] if text else type(wrong).__name__
