"""What a module is made of, as data: torch's own layers one after another, written down and made again.

    recipe_of(nn.Sequential(nn.Linear(3, 8), nn.Tanh()))  # -> ["Sequential", [["0", ["Linear", {...}]], ...]]

Promise: a recipe holds names of the layers below, numbers, texts and truth values; making a module from it runs nothing
else. It is only given where the module that is made from it has the same description and the same tensors. A module of
other code has no recipe (None): the caller who loads it says which module it was. A recipe has at most a thousand
layers, and says which tensors its module has before memory is taken for them.
"""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import nn

from tacit.errors import TacitError

LAYERS: Final = (
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "Conv1d", "Conv2d", "Conv3d", "Dropout", "ELU",
    "Embedding", "Flatten", "GELU", "GroupNorm", "Hardswish", "Hardtanh", "Identity", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "Linear", "LogSoftmax", "MaxPool1d", "MaxPool2d",
    "MaxPool3d", "Mish", "PReLU", "RMSNorm", "ReLU", "ReLU6", "SELU", "Sigmoid", "SiLU", "Softmax", "Softplus",
    "Softsign", "Tanh", "Tanhshrink", "Unflatten",
)  # fmt: skip
_ELSEWHERE: Final = {"device", "dtype", "min_value", "max_value"}
_MOST_DEEP: Final = 50
_MOST_LAYERS: Final = 1_000


def recipe_of(module: Any) -> Any:
    """The recipe; None where there is none."""
    try:
        found = _written(module)
        again = made_of(found)
    except (TacitError, TypeError, ValueError, AttributeError, RuntimeError):
        return None
    own, other = module.state_dict(), again.state_dict()
    same = {name: each.shape for name, each in own.items()} == {name: each.shape for name, each in other.items()}
    return found if same and repr(again) == repr(module) else None


def made_again(module: Any) -> Any:
    """A module of the same recipe and the same numbers, with nothing else of the given one; None without a recipe.

    A layer that would write over what it is fed gives its result apart; that is the same result.
    """
    own = dict(module.named_parameters(remove_duplicate=False))
    recipe = recipe_of(module)
    shared = len({id(each) for each in own.values()}) < len(own)  # one tensor in two places is more than data
    if recipe is None or shared:
        return None
    made = made_of(json.loads(json.dumps(recipe)))
    kept, tensors = module.state_dict(), made.state_dict()
    with torch.no_grad():
        for name, each in tensors.items():
            if type(kept[name]) is not torch.Tensor or kept[name].dtype != each.dtype:
                return None
            each.copy_(kept[name])
    for name, parameter in made.named_parameters():
        parameter.requires_grad_(bool(own[name].requires_grad))
    for layer, given in zip(made.modules(), module.modules(), strict=True):
        layer.training = bool(given.training)
        if getattr(layer, "inplace", False):
            layer.inplace = False
    return made


def _written(layer: Any) -> Any:
    name = type(layer).__name__
    if type(layer) is nn.Sequential:
        return [name, [[own, _written(each)] for own, each in layer.named_children()]]
    if name not in LAYERS or type(layer) is not getattr(nn, name):
        raise TacitError(f"{name} has no recipe.")
    return [name, {each: _plain(each, getattr(layer, each)) for each in _arguments(type(layer))}]


def _arguments(kind: Any) -> list[str]:
    """The arguments of a layer that it keeps under their own names."""
    return [
        name
        for name, each in inspect.signature(kind.__init__).parameters.items()
        if name not in _ELSEWHERE
        and name != "self"
        and not name.startswith("_")
        and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]


def _plain(name: str, value: Any) -> Any:
    """An argument as JSON has it. For a bias, it says whether there is one."""
    if name in ("bias", "affine", "elementwise_affine") and (value is None or isinstance(value, torch.Tensor)):
        return value is not None
    if isinstance(value, (tuple, list, torch.Size)):
        return [_plain(name, each) for each in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TacitError(f"{name} is no number, text or truth value.")


def made_of(recipe: Any) -> Any:
    """The module of a recipe, with weights that are to be replaced."""
    try:
        with torch.random.fork_rng(devices=[]):
            return _made(recipe, 0, itertools.count(1))
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError):
        raise TacitError("This is no recipe of a module: a layer of it cannot be made.") from None


def tensors_of(recipe: Any) -> dict[str, Any]:
    """The tensors that the recipe's module would have, without their memory."""
    with torch.device("meta"):
        made = made_of(recipe)
    return {**dict(made.named_parameters()), **dict(made.named_buffers())}


def _made(recipe: Any, depth: int, counted: Iterator[int]) -> Any:
    if depth > _MOST_DEEP or not isinstance(recipe, list) or len(recipe) != 2:
        raise TacitError("This is no recipe of a module.")
    if next(counted) > _MOST_LAYERS:
        raise TacitError(f"This is no recipe of a module: it has more than {_MOST_LAYERS:,} layers.")
    name, own = recipe
    if name == "Sequential" and isinstance(own, list):
        whole = nn.Sequential()
        for each in own:
            if (
                not isinstance(each, list)
                or len(each) != 2
                or not isinstance(each[0], str)
                or each[0] in whole._modules
            ):
                raise TacitError("This is no recipe of a module.")
            whole.add_module(each[0], _made(each[1], depth + 1, counted))
        return whole
    if name not in LAYERS or not isinstance(own, dict):
        raise TacitError(f"A recipe may not name {str(name)[:40]!r}.")
    kind = getattr(nn, name)
    known = set(_arguments(kind))
    if not set(own) <= known:
        raise TacitError(f"{name} has no argument {min(set(own) - known)[:40]!r}.")
    return kind(**{each: tuple(value) if isinstance(value, list) else value for each, value in own.items()})
