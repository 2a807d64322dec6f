"""Only torch's own code sees rows of a curator.

Promise: `only_torch` gives a module of which every part that is run is torch's: the module itself where all its layers
are torch's own; otherwise its course of operations, which is recorded by showing it stand-ins that hold no value
(`torch.fx`). The operations are those listed here, which compute tensors from tensors and do nothing else; a module
that does anything else, or whose course depends on values, is refused. So code that users wrote runs before a row is
read, and never after. What fails on a row is told to no one: operations that fail at some values (to look up a line
that is not there) are left out, and a course does not print what it fails at, as torch's own does (`Course`).
"""

from __future__ import annotations

import operator
import warnings
from typing import Any, Final

import torch
from torch import fx
from torch.nn import functional

from tacit.errors import TacitError

_SHARED: Final = (
    "abs", "add", "amax", "amin", "bmm", "cat", "chunk", "clamp", "clamp_max", "clamp_min", "concat", "cos", "cosh",
    "cumsum", "div", "einsum", "exp", "expand", "expand_as", "flatten", "flip", "log", "log1p", "log_softmax",
    "logsumexp", "masked_fill", "matmul", "maximum", "mean", "minimum", "mm", "movedim", "mul", "narrow", "neg",
    "norm", "permute", "pow", "relu", "repeat", "repeat_interleave", "reshape", "roll", "rsqrt", "select", "sigmoid",
    "sin", "softmax", "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum", "swapaxes", "t", "tanh",
    "tile", "transpose", "tril", "triu", "unbind", "unflatten", "unsqueeze", "var", "view", "view_as", "where",
)  # fmt: skip
_METHODS: Final = frozenset([*_SHARED, "contiguous", "size", "dim", "float", "long", "new_zeros", "new_ones"])
_LAYERS_AS_FUNCTIONS: Final = (
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


def _functions() -> frozenset[Any]:
    places = ((torch, _SHARED), (functional, _LAYERS_AS_FUNCTIONS), (operator, _OPERATORS))
    found = [getattr(place, name) for place, names in places for name in names if hasattr(place, name)]
    made = [torch.arange, torch.zeros, torch.ones, torch.zeros_like, torch.ones_like, getattr]
    return frozenset(found + made)


class Course(fx.GraphModule):
    """A course of operations that fails silently: torch's writes to the terminal what it was given when it failed."""

    def recompile(self) -> Any:
        """Its code, made anew; and called as any module is."""
        code = super().recompile()
        type(self).__call__ = torch.nn.Module.__call__
        return code


def is_torchs(module: Any) -> bool:
    """Whether all layers are torch's own."""
    return all(
        type(each).__module__.startswith("torch.nn.") and "forward" not in vars(each) for each in module.modules()
    )


def only_torch(module: Any) -> Any:
    """The module, or its course of operations; or a refusal."""
    if is_torchs(module):
        return module
    hint = "Build the module of torch's own layers, for instance with nn.Sequential."
    if isinstance(module, fx.GraphModule):
        found = Course(module, module.graph)  # made anew from its course, whatever its code was before
        _must_be_listed(found, type(module).__name__, hint)
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            traced = fx.symbolic_trace(module)
        except Exception as wrong:  # noqa: BLE001  # a forward pass may be any code
            raise TacitError(
                f"{type(module).__name__} has a forward pass of its own, whose code would see rows of the curator, and "
                f"it cannot be written down as a fixed course of torch's operations ({_said(wrong)}). {hint}"
            ) from None
    found = Course(traced, traced.graph)
    _must_be_listed(found, type(module).__name__, hint)
    return found


def _must_be_listed(found: Any, name: str, hint: str) -> None:
    allowed = _functions()
    for node in found.graph.nodes:
        good = True
        if node.op == "call_function":
            good = node.target in allowed
            if node.target is getattr:
                good = node.args[1] in ("shape", "T", "mT", "dtype", "device", "ndim")
        elif node.op == "call_method":
            good = node.target in _METHODS
        elif node.op == "call_module":
            good = is_torchs(found.get_submodule(node.target))
        if not good:
            target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", node.target)
            raise TacitError(
                f"The forward pass of {name} calls {target!r}, which is not among the operations that may see rows of "
                f"a curator. {hint}"
            )


def course_of(module: Any) -> str:
    """What the module is made of and what it does, in words: part of a study's key."""
    lines = [f"{name}: {type(each).__name__} {_settings(each)}" for name, each in module.named_modules()]
    if isinstance(module, fx.GraphModule):
        lines.append(str(module.graph))
    return "\n".join(lines)


def _settings(layer: Any) -> list[str]:
    """All plain settings of a layer: its own description leaves some out."""
    plain = (bool, int, float, str, tuple)
    own = {name: value for name, value in vars(layer).items() if isinstance(value, plain)}
    named = {name: value.__name__ for name, value in vars(layer).items() if hasattr(value, "__name__")}
    return [layer.extra_repr(), *(f"{name}={value}" for name, value in sorted((own | named).items()))]


def _said(wrong: Exception) -> str:
    text = str(wrong).strip().splitlines()
    return text[0][:120] if text else type(wrong).__name__
