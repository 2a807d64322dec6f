"""The operations that a course may have, by name: torch's own, which compute tensors from tensors and do nothing else.

Promise: none of them runs code that it is given, keeps anything, or writes into what it is given (arguments by which
one would are refused: `refused_argument`). On real numbers and truth values they fail or succeed by shapes and kinds
alone (`kinds`): what looks up lines, or decomposes a matrix, is not among them, as it fails at some values.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch.nn import functional

_SHARED: Final = (
    "abs", "add", "amax", "amin", "bmm", "cat", "chunk", "clamp", "clamp_max", "clamp_min", "concat", "cos", "cosh",
    "cumsum", "div", "einsum", "exp", "expand", "expand_as", "flatten", "flip", "log", "log1p", "log_softmax",
    "logsumexp", "masked_fill", "matmul", "maximum", "mean", "minimum", "mm", "movedim", "mul", "narrow", "neg",
    "norm", "permute", "pow", "relu", "repeat", "repeat_interleave", "reshape", "roll", "rsqrt", "select", "sigmoid",
    "sin", "softmax", "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum", "swapaxes", "t", "tanh",
    "tile", "transpose", "tril", "triu", "unbind", "unflatten", "unsqueeze", "var", "view", "view_as", "where",
)  # fmt: skip
_AS_FUNCTIONS: Final = (
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "celu", "conv1d", "conv2d", "conv3d", "dropout", "elu", "gelu", "group_norm", "hardswish",
    "hardtanh", "instance_norm", "interpolate", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid",
    "max_pool1d", "max_pool2d", "max_pool3d", "mish", "normalize", "pad", "relu", "relu6", "rms_norm",
    "scaled_dot_product_attention", "selu", "sigmoid", "silu", "softmax", "softplus", "softsign", "tanh", "unfold",
)  # fmt: skip
_OPERATORS: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "matmul", "neg", "pow", "getitem", "mod", "gt", "lt", "ge", "le",
    "eq", "ne", "and_", "or_", "invert",
)  # fmt: skip
_MADE: Final = ("arange", "zeros", "ones", "zeros_like", "ones_like")

METHODS: Final = frozenset([*_SHARED, "contiguous", "size", "dim", "float", "double", "new_zeros", "new_ones"])
FACTS: Final = ("shape", "T", "mT", "dtype", "device", "ndim")
"""What may be asked of a tensor by name."""
READ: Final = "getattr"
DROPOUT: Final = "functional.dropout"
ATTENTION: Final = "functional.scaled_dot_product_attention"


def _functions() -> Mapping[str, Any]:
    found: dict[str, Any] = {READ: getattr}
    for word, place, names in (
        ("torch", torch, _SHARED + _MADE),
        ("functional", functional, _AS_FUNCTIONS),
        ("operator", operator, _OPERATORS),
    ):
        found |= {f"{word}.{name}": getattr(place, name) for name in names if hasattr(place, name)}
    return found


FUNCTIONS: Final = _functions()
_NAMES: Final = {id(each): name for name, each in FUNCTIONS.items()}


def name_of(function: Any) -> str | None:
    """The name of a function that a course may call: this very object, and none that says it is equal to it."""
    return _NAMES.get(id(function))


_LEFT_OUT: Final[Mapping[str, Any]] = {"inplace": False, "out": None, "running_mean": None, "running_var": None}
"""Arguments by which a function would write into something, and what they are where it does not."""


def refused_argument(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """An argument by which this operation would do more than compute, or could fail at some values."""
    given = {**kwargs, **dict(zip(_arguments(name), args, strict=False))}
    for each, harmless in _LEFT_OUT.items():
        if given.get(each, harmless) is not harmless:
            return each
    if name.rpartition(".")[2] in ("norm", "normalize"):  # the nuclear norm decomposes matrices
        orders = (*args[1:2], kwargs.get("p"))
        if not all(each is None or type(each) is int or type(each) is float for each in orders):
            return "p"
    return None


def _arguments(name: str) -> list[str]:
    """The names of a function's arguments; torch's compiled ones have none, and write only where `out` says so."""
    try:
        return list(inspect.signature(FUNCTIONS[name]).parameters)
    except (KeyError, TypeError, ValueError):
        return []
