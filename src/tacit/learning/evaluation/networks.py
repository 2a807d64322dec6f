"""A network on arrays of the caller's own: rows of any shape, and whatever code the module has.

Promise: each row is computed by itself, from the same place in memory, so that its prediction does not depend on the
others. Code of the caller's own starts anew at every row: it gets a copy of the module, and torch draws the same. What
else it may keep between rows (in globals, or in parameters that it writes to) is in the hands of whoever holds the
arrays. Whether numbers are of 64 or of 32 bits is decided by a row of zeros of the shape that the model was fitted on.
"""

from __future__ import annotations

import copy
import hashlib
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import nn

from tacit import parameters
from tacit.learning.evaluation.inside import refuse_shadows
from tacit.learning.evaluation.predictions import Predictor, asked_of
from tacit.learning.neural.people.rows import vectors_of


def of_own_arrays(model: Any) -> Predictor:
    """The network as `evaluate` uses it where the caller holds the rows."""
    refuse_shadows(model)
    check_is_fitted(model)
    own = copy.copy(model)
    own._outputs = partial(_outputs, model, copy.deepcopy(model.module_).eval())
    code = "".join(f"{id(type(each))} " for each in model.module_.modules())  # equal weights may have other code
    digest = hashlib.sha256(model._as_bytes() + code.encode()).hexdigest()
    return asked_of(own, bool(model._features), True, digest)


def as_array(model: Any, data: Any) -> NDArray[Any]:
    """Arrays, tensors or lists whose rows have the model's shape, as the model was fitted on them."""
    given = data.detach().cpu() if isinstance(data, torch.Tensor) else data
    array = np.asarray(given)
    shape = tuple(model._shape)
    if array.dtype.kind not in "fiub" or array.shape[1:] != shape or not array.ndim:
        allowed = f"an array of numbers whose rows have the shape {shape}"
        raise parameters.refuse("rows", allowed, f"the shape {array.shape} of {array.dtype}")
    found = array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)
    try:
        _kind(copy.deepcopy(model.module_).eval(), torch.from_numpy(np.zeros((1, *shape), dtype=found.dtype)))
    except Exception as error:  # noqa: BLE001  # whatever the module says of it
        kinds = "whole numbers" if found.dtype.kind == "i" else "real numbers"
        allowed = "of the type that the model was fitted on"
        raise parameters.refuse("rows", allowed, f"{kinds}: {type(error).__name__}: {error}"[:200]) from None
    return found


def _kind(module: Any, row: Any) -> Any:
    """In which numbers the module can compute."""
    with torch.no_grad():
        try:
            copy.deepcopy(module).double()(row)
        except RuntimeError:  # code of the caller's own may say float32 somewhere
            module(row.float() if row.dtype.is_floating_point else row)
            return torch.float32
    return torch.float64


def _outputs(model: Any, module: Any, data: Any) -> NDArray[np.float64]:
    """What the module gives for each row; NaN for a row at which it fails."""
    inputs = vectors_of(model, data)
    if inputs.dtype.is_floating_point:
        inputs = inputs.double()
    row = torch.zeros_like(inputs[:1]) if len(inputs) else inputs.new_zeros((1, *inputs.shape[1:]))
    kind = _kind(module, row)
    ready = copy.deepcopy(module).to(kind)
    row = row.to(kind) if row.dtype.is_floating_point else row
    plain = all(type(each).__module__.startswith("torch.nn.modules.") for each in module.modules())
    many = len(model.classes_) if hasattr(model, "classes_") else 1
    found = np.full((len(inputs), many), np.nan)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        for place, each in enumerate(inputs):
            row.copy_(each[None])
            try:
                found[place] = (ready if plain else _anew(ready))(row).reshape(many).double().numpy()
            except Exception:  # noqa: BLE001, S112  # whatever it is, it has to do with the row
                continue
    return found


def _anew(module: nn.Module) -> nn.Module:
    """The module as it was, with the same parameters; torch draws from the beginning."""
    torch.manual_seed(0)
    return copy.deepcopy(module, {id(each): each for each in module.parameters()})
