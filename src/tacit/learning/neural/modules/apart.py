"""Modules that keep people apart whatever the numbers are: known layers, one after another.

A rehearsal looks at made-up people, and whoever writes a module knows what made-up people look like: a module can mix
people only where a row has numbers that no rehearsal meets. Whoever may ask about a curator's rows may not see them, so
there a module must be one of which it is known that it mixes no one, or gradients are made person by person.

Theorem. Each layer below computes row i of its output from row i of its input alone, given that the first dimension is
rows and that the layer takes it as that: a convolution takes one dimension less for a single image, `nn.Flatten(0)` and
`nn.Softmax(0)` work on rows themselves. Shapes do not depend on values, so one forward pass shows all of them, and by
induction the whole module keeps rows apart. What floating point does is the assumption of `floats`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import nn

_BY_NUMBER: Final = (
    nn.Dropout, nn.ELU, nn.Embedding, nn.GELU, nn.Hardswish, nn.Hardtanh, nn.Identity, nn.LeakyReLU, nn.Mish, nn.ReLU,
    nn.ReLU6, nn.SELU, nn.Sigmoid, nn.SiLU, nn.Softplus, nn.Softsign, nn.Tanh, nn.Tanhshrink,
)  # fmt: skip
_OF_IMAGES: Final = {
    3: (nn.Conv1d, nn.MaxPool1d, nn.AvgPool1d, nn.AdaptiveAvgPool1d, nn.AdaptiveMaxPool1d, nn.InstanceNorm1d),
    4: (nn.Conv2d, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d, nn.InstanceNorm2d),
    5: (nn.Conv3d, nn.MaxPool3d, nn.AvgPool3d, nn.AdaptiveAvgPool3d, nn.AdaptiveMaxPool3d, nn.InstanceNorm3d),
}


def _later(dimension: Any, dims: int) -> bool:
    """Whether it is said, and is not that of rows."""
    return isinstance(dimension, int) and dimension % dims != 0


def _has(dimensions: int) -> Callable[[Any, int], bool]:
    return lambda layer, dims: dims == dimensions


_RULES: Final[dict[Any, Callable[[Any, int], bool]]] = {
    **dict.fromkeys(_BY_NUMBER, lambda layer, dims: True),
    **{kind: _has(dims) for dims, kinds in _OF_IMAGES.items() for kind in kinds},
    nn.Linear: lambda layer, dims: dims >= 2,
    nn.PReLU: lambda layer, dims: dims >= 2,
    nn.GroupNorm: lambda layer, dims: dims >= 2,
    nn.LayerNorm: lambda layer, dims: dims > len(layer.normalized_shape),
    nn.RMSNorm: lambda layer, dims: dims > len(layer.normalized_shape),
    nn.Flatten: lambda layer, dims: _later(layer.start_dim, dims),
    nn.Unflatten: lambda layer, dims: _later(layer.dim, dims),
    nn.Softmax: lambda layer, dims: _later(layer.dim, dims),
    nn.LogSoftmax: lambda layer, dims: _later(layer.dim, dims),
}
"""Of each known layer, whether it keeps rows apart where its input has this many dimensions."""


def keeps_apart(module: Any, rows: Any) -> bool:
    """Whether the module is known to keep rows apart; `rows` are made-up ones of the shape that it is to be fed."""
    with torch.no_grad():
        try:
            return _followed(module, rows) is not None
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):
            return False


def _followed(module: Any, fed: Any) -> Any:
    """What it gives; None where it is not known to keep rows apart."""
    if type(module) is nn.Sequential and "forward" not in vars(module):
        for each in module._modules.values():  # also one that stands there twice
            fed = _followed(each, fed)
            if fed is None:
                return None
        return fed
    rule = next((own for kind, own in _RULES.items() if type(module) is kind), None)
    if rule is None or "forward" in vars(module) or not rule(module, fed.dim()):
        return None
    given = module(fed)
    return given if given.dim() and len(given) == len(fed) else None
