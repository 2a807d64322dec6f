"""Only torch's own code sees rows of a curator.

Promise: `only_torch` gives a module of which every part that is run is torch's, and in which nothing of the given one
is left but numbers: made of its recipe where it has one (`recipes`); otherwise of its course of operations, which is
recorded by showing it stand-ins that hold no value (`torch.fx`) and written down once more, operation by operation,
with plain values. The operations are those listed here, which compute tensors from tensors and do nothing else; a
module that does anything else, or whose course depends on values, is refused. So code that users wrote runs before a
row is read, and never after. What fails on a row is told to no one: operations that fail at some values (to look up a
line that is not there) are left out, and a course does not print what it fails at, as torch's own does (`Course`).
"""

from __future__ import annotations

import copy
import inspect
import operator
import warnings
from typing import Any, Final

import torch
from torch import fx, nn
from torch.nn import functional

from tacit.errors import TacitError
from tacit.learning.neural.modules.recipes import made_again

_SHARED: Final = (
    "abs", "add", "amax", "amin", "bmm", "cat", "chunk", "clamp", "clamp_max", "clamp_min", "concat", "cos", "cosh",
    "cumsum", "div", "einsum", "exp", "expand", "expand_as", "flatten", "flip", "log", "log1p", "log_softmax",
    "logsumexp", "masked_fill", "matmul", "maximum", "mean", "minimum", "mm", "movedim", "mul", "narrow", "neg",
    "norm", "permute", "pow", "relu", "repeat", "repeat_interleave", "reshape", "roll", "rsqrt", "select", "sigmoid",
    "sin", "softmax", "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum", "swapaxes", "t", "tanh",
    "tile", "transpose", "tril", "triu", "unbind", "unflatten", "unsqueeze", "var", "view", "view_as", "where",
)  # fmt: skip
_METHODS: Final = frozenset([*_SHARED, "contiguous", "size", "dim", "float", "new_zeros", "new_ones"])
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

    def double(self) -> Course:
        """In float64, also what the course itself makes: it says float32 where its author did."""
        for node in self.graph.nodes:
            node.args, node.kwargs = (fx.node.map_aggregate(each, _doubled) for each in (node.args, node.kwargs))
            if node.op == "call_method" and node.target == "float":
                node.target = "double"
            elif node.target in (torch.zeros, torch.ones) and "dtype" not in node.kwargs:
                node.update_kwarg("dtype", torch.float64)
        self.recompile()
        found: Course = super().double()
        return found


def _doubled(value: Any) -> Any:
    return torch.float64 if value is torch.float32 else value


def only_torch(module: Any) -> Any:
    """The module made anew of plain values: of its recipe, or of its course of operations; or a refusal."""
    found = made_again(module)
    if found is not None:
        return found
    name = type(module).__name__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            traced = module if isinstance(module, fx.GraphModule) else fx.symbolic_trace(copy.deepcopy(module))
        except Exception as wrong:  # noqa: BLE001  # a forward pass may be any code
            raise TacitError(
                f"{name} has a forward pass of its own, whose code would see rows of the curator, and "
                f"it cannot be written down as a fixed course of torch's operations ({_said(wrong)}). {_HINT}"
            ) from None
    return _Copied(traced, name).course()


_HINT: Final = "Build the module of torch's own layers, for instance with nn.Sequential."
_PLAIN: Final = (bool, int, float, str, type(None), torch.dtype, type(Ellipsis))


class _Copied:
    """A course written down once more: each operation from the list, each argument a plain value or an operation."""

    def __init__(self, traced: Any, name: str) -> None:
        self._traced, self._name = traced, name
        self._parts: dict[str, Any] = {}
        self._tensors: dict[int, Any] = {}
        self._nodes: dict[Any, Any] = {}

    def course(self) -> Course:
        """The same course, with nothing of the old one in it."""
        graph = fx.Graph()
        for node in self._traced.graph.nodes:
            self._look(node)
            target = str(node.target) if isinstance(node.target, str) else node.target
            args, kwargs = self._plain(tuple(node.args)), {str(k): self._plain(v) for k, v in node.kwargs.items()}
            if node.op == "placeholder":
                args, kwargs = (), {}
            self._nodes[node] = graph.create_node(node.op, target, args, kwargs)
        root = nn.Module()
        for place, part in self._parts.items():
            _put(root, place, part)
        return Course(root, graph)

    def _look(self, node: Any) -> None:
        if node.op == "placeholder":
            good = not node.args
        elif node.op == "call_function":
            good = node.target in _functions() and _changes_nothing(node)
            if node.target is getattr:
                good = node.args[1] in ("shape", "T", "mT", "dtype", "device", "ndim")
        elif node.op == "call_method":
            good = node.target in _METHODS and "out" not in node.kwargs
        elif node.op == "call_module":
            good = self._keep(node.target, made_again(self._traced.get_submodule(node.target)))
        elif node.op == "get_attr":
            good = self._keep(node.target, self._tensor(node.target))
        else:
            good = bool(node.op == "output")
        if not good:
            target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", node.target)
            raise self._refusal(f"calls {target!r}, which is not among the operations that may see rows of a curator")

    def _keep(self, place: str, part: Any) -> bool:
        if part is not None:
            self._parts.setdefault(place, part)
        return part is not None

    def _tensor(self, place: str) -> Any:
        """A parameter or a buffer as plain numbers; the same one where it stands in two places."""
        own: Any = self._traced
        for each in place.split("."):
            own = own._modules.get(each, own._parameters.get(each, own._buffers.get(each)))
            if own is None:
                return None
        if type(own) not in (torch.Tensor, nn.Parameter):
            return None
        if id(own) not in self._tensors:
            copied = own.detach().clone()
            learns = type(own) is nn.Parameter
            self._tensors[id(own)] = nn.Parameter(copied, own.requires_grad) if learns else copied
        return self._tensors[id(own)]

    def _plain(self, value: Any) -> Any:
        if type(value) in (tuple, fx.immutable_collections.immutable_list, list):
            return tuple(map(self._plain, value)) if type(value) is tuple else [self._plain(each) for each in value]
        if type(value) is slice:
            return slice(*(self._plain(each) for each in (value.start, value.stop, value.step)))
        if type(value) is fx.Node:
            return self._nodes[value]
        if type(value) is torch.device and value.type == "cpu":
            return torch.device("cpu")
        if type(value) not in _PLAIN:
            raise self._refusal(f"has an argument of the type {type(value).__name__}")
        return value

    def _refusal(self, what: str) -> TacitError:
        return TacitError(f"The forward pass of {self._name} {what}. {_HINT}")


def _changes_nothing(node: Any) -> bool:
    """Whether a function writes into none of what it is given."""
    if "out" in node.kwargs or node.kwargs.get("inplace", False) is not False:
        return False
    try:
        given = inspect.signature(node.target).bind(*node.args, **node.kwargs).arguments
    except (TypeError, ValueError):  # torch's own operations have no signature, and write only where `out` says so
        return "inplace" not in node.kwargs
    return given.get("inplace", False) is False


def _put(root: Any, place: str, part: Any) -> None:
    *path, last = place.split(".")
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
