"""A course of operations as plain data, and a module that follows it, step by step.

    FixedCourse([["input"], ["layer", "first", [["step", 0]], {}], ["output", ["step", 1]]], {"first": nn.Linear(2, 2)})

Promise: a course is JSON: names of `operations`, of layers and of tensors, numbers, texts, truth values, and places of
earlier steps. Nothing of it becomes code; what a step does is looked up in one table. Layers are made of recipes
(`recipes`), so all code that runs is torch's. What fails says what torch says, and prints nothing.

Where the recorded course drops numbers at random as a layer that trains does, this one does so only while it trains.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch import nn

from tacit.errors import TacitError
from tacit.learning.neural.modules.operations import ATTENTION, DROPOUT, FUNCTIONS

Watch = Callable[[Sequence[Any], int, Any], None]
"""Told of each step: what it is, its place, and its result."""
INPUT: Final = "input"
PLAIN: Final = (bool, int, float, str)
_OF_FLOATS: Final = ("torch.zeros", "torch.ones", "torch.arange")
"""What makes float32 of nothing; the last one only where it is told a real number."""
KINDS: Final = {
    str(each).removeprefix("torch."): each for each in (torch.float32, torch.float64, torch.int64, torch.bool)
}


class FixedCourse(nn.Module):
    """A module that follows a course; `parts` are its layers and tensors, by names with dots."""

    def __init__(self, steps: Any, parts: Mapping[str, Any]) -> None:
        super().__init__()
        self._steps = json.loads(json.dumps(steps))
        for place, part in parts.items():
            _put(self, place, part)

    @property
    def text(self) -> str:
        """The whole course."""
        return json.dumps(self._steps, sort_keys=True)

    def forward(self, rows: Any) -> Any:
        """What the course gives for these rows."""
        return self.followed(rows)

    def followed(self, rows: Any, watch: Watch | None = None) -> Any:
        """The same; with `watch`, step by step under someone's eyes."""
        found: list[Any] = []
        for place, (kind, *rest) in enumerate(self._steps):
            made = rows if kind == INPUT else self._made(kind, rest, found)
            if watch is not None:
                watch((kind, *rest), place, made)
            found.append(made)
        return found[-1]

    def _made(self, kind: str, rest: Any, found: Sequence[Any]) -> Any:
        if kind == "output":
            return _value(rest[0], found)
        if kind == "tensor":
            return self._tensor(rest[0])
        name, args, kwargs = rest[0], [_value(each, found) for each in rest[1]], rest[2]
        kwargs = {own: _value(each, found) for own, each in kwargs.items()}
        if kind == "layer":
            return self._part(name)(*args, **kwargs)
        if kind == "method":
            return getattr(args[0], name)(*args[1:], **kwargs)
        if not self.training and name == DROPOUT:
            return args[0] if args else kwargs["input"]
        if not self.training and name == ATTENTION:
            args, kwargs = [*args[:4], *([0.0] if args[4:] else []), *args[5:]], {**kwargs}
            if len(args) < 5:
                kwargs["dropout_p"] = 0.0
        return FUNCTIONS[name](*args, **kwargs)

    def _tensor(self, place: str) -> Any:
        path, _, last = place.rpartition(".")
        owner = self._part(path)
        return owner._parameters[last] if last in owner._parameters else owner._buffers[last]

    def _part(self, place: str) -> Any:
        own: Any = self
        for each in place.split(".") if place else ():
            own = own._modules[each]
        return own

    def double(self) -> FixedCourse:
        """In float64, also what the course itself makes: it says float32 where its author did."""
        self._steps = [_doubled(step) for step in self._steps]
        found: FixedCourse = super().double()
        return found


def step(place: int) -> Any:
    """An earlier step's result, as an argument."""
    return ["step", place]


def written(value: Any) -> Any:
    """A plain argument as a course has it; `TypeError` for what is none. Its type is exactly the one it seems."""
    if value is None or is_exactly(value, *PLAIN):
        return ["plain", value]
    if type(value) is torch.dtype and str(value).removeprefix("torch.") in KINDS:
        return ["kind", str(value).removeprefix("torch.")]
    if value is Ellipsis:
        return ["ellipsis"]
    if type(value) is torch.device and value.type == "cpu":
        return ["processor"]
    raise TypeError(type(value).__name__)


def _value(own: Any, found: Sequence[Any]) -> Any:
    """An argument as torch takes it."""
    kind, *rest = own
    if kind == "plain":
        return rest[0]
    if kind == "step":
        return found[rest[0]]
    if kind in ("list", "tuple"):
        each = [_value(one, found) for one in rest[0]]
        return each if kind == "list" else tuple(each)
    if kind == "slice":
        return slice(*(_value(one, found) for one in rest[0]))
    return KINDS[rest[0]] if kind == "kind" else Ellipsis if kind == "ellipsis" else torch.device("cpu")


def taken(own: Any) -> set[int]:
    """The places of all earlier steps that stand somewhere in this."""
    if isinstance(own, dict):
        return {place for each in own.values() for place in taken(each)}
    if not isinstance(own, (list, tuple)):
        return set()
    if own and own[0] == "step":
        return {own[1]}
    return {place for each in own for place in taken(each)}


def is_exactly(value: Any, *kinds: Any) -> bool:
    """Whether its class is one of these: the very same, and none that says it is equal to it."""
    return any(type(value) is each for each in kinds)


def is_step(own: Any, place: int) -> bool:
    """Whether this is a step that may stand at this place, in its form alone."""
    if not isinstance(own, list) or not own or not isinstance(own[0], str):
        return False
    kind, *rest = own
    if kind == INPUT:
        return not rest
    if kind == "output":
        return len(rest) == 1 and _is_argument(rest[0], place)
    if kind == "tensor":
        return len(rest) == 1 and isinstance(rest[0], str)
    if kind not in ("layer", "method", "call") or len(rest) != 3 or not isinstance(rest[0], str):
        return False
    args, kwargs = rest[1:]
    known = isinstance(args, list) and isinstance(kwargs, dict)
    return known and all(_is_argument(each, place) for each in (*args, *kwargs.values()))


def _is_argument(own: Any, place: int) -> bool:
    if not isinstance(own, list) or not own or not isinstance(own[0], str):
        return False
    kind, *rest = own
    if kind in ("ellipsis", "processor"):
        return not rest
    if len(rest) != 1:
        return False
    (value,) = rest
    if kind == "plain":
        return value is None or is_exactly(value, *PLAIN)
    if kind == "step":
        return type(value) is int and 0 <= value < place
    if kind == "kind":
        return isinstance(value, str) and value in KINDS
    inside = isinstance(value, list) and all(_is_argument(each, place) for each in value)
    return inside and (kind in ("list", "tuple") or (kind == "slice" and len(value) == 3))


def _doubled(one: Any) -> Any:
    """A step in which float32 is float64."""
    if one == ["kind", "float32"]:
        return ["kind", "float64"]
    if isinstance(one, dict):
        return {name: _doubled(each) for name, each in one.items()}
    if not isinstance(one, list):
        return one
    if one[:2] == ["method", "float"]:
        return ["method", "double", *map(_doubled, one[2:])]
    if one[:1] == ["call"] and one[1] in _OF_FLOATS and "dtype" not in one[3]:
        given = [each[1] for each in (*one[2], *one[3].values()) if each[0] == "plain"]
        if one[1] != _OF_FLOATS[-1] or any(type(each) is float for each in given):
            return [*one[:2], _doubled(one[2]), {**_doubled(one[3]), "dtype": ["kind", "float64"]}]
    return [_doubled(each) for each in one]


def _put(root: Any, place: str, part: Any) -> None:
    """Into containers of their own, under the same name."""
    *path, last = place.split(".")
    try:
        for each in path:
            if each not in root._modules:
                root.add_module(each, nn.Module())
            root = root._modules[each]
        if isinstance(part, nn.Parameter):
            root.register_parameter(last, part)
        elif isinstance(part, torch.Tensor):
            root.register_buffer(last, part)
        else:
            root.add_module(last, part)
    except (KeyError, TypeError):
        raise TacitError(
            f"A part of the module is called {last!r}, which stands for something else. Rename it."
        ) from None
