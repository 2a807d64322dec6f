"""Fitted networks as text and as files: weights in safetensors, with the receipt; never pickle.

    model.save("m.safetensors")
    model = learning.load("m.safetensors")             # or, where the module is the caller's own code:
    model = learning.load("m.safetensors", module)

Promise: a file holds released weights, public facts and the receipt; what is loaded predicts bit for bit what was
saved. A module of torch's own layers is written down as data (`recipes`); other code is not in the file, so the caller
who loads it says which module it was. Weights that do not fit it are refused, and so is a file that is damaged or made
up so that its model could not predict: the tensors of a recipe are compared with the file's before memory is taken for
them, and the model is tried on a made-up row.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import math
import numbers
import os
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tacit import parameters
from tacit.errors import TacitError
from tacit.learning.columns import Feature
from tacit.learning.neural.modules.recipes import made_of, recipe_of, tensors_of
from tacit.learning.neural.modules.traced import course_of
from tacit.statistics.finding import Finding

FORMAT: Final = "tacit.learning.neural"
VERSION: Final = "2"
_LEFT_OUT: Final = ("module_",)
_MOST_NUMBERS: Final = 1 << 28
"""What one row may become on its way through a module that a file says."""
_MALFORMED: Final = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
_PLAIN: Final = (type(None), str, numbers.Real, np.generic, Decimal, list, tuple, dict, np.ndarray)
_FACTS: Final[Mapping[str, Any]] = {
    "_day": str,
    "classes_": np.ndarray,
    "feature_names_in_": np.ndarray,
    "finding_": (Finding, type(None)),
    "n_features_in_": int,
    "n_iter_": int,
    "receipt_": dict,
}


def described(module: Any) -> str:
    """What the module is made of, in words: part of a study's key."""
    return course_of(module)


def digest_of(module: Any) -> str:
    """All its numbers: weights, what it keeps beside them, and which of them are one."""
    digest = hashlib.sha256()
    known: dict[int, str] = {}
    for kind in (module.named_parameters, module.named_buffers):
        for name, each in sorted(kind(remove_duplicate=False)):
            facts = [name, known.setdefault(id(each), name), list(each.shape), str(each.dtype)]
            content = each.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
            digest.update(json.dumps(facts).encode() + content.tobytes())
    return digest.hexdigest()


def released(module: Any) -> str:
    """The weights as text: what a ledger stores."""
    flat = [each.detach().reshape(-1).numpy().astype("<f4") for each in module.parameters()]
    return base64.b64encode(np.concatenate(flat).tobytes()).decode()


def restored(module: Any, text: str) -> Any:
    """A copy of the module with these weights."""
    own = contiguous(copy.deepcopy(module))
    flat = np.frombuffer(base64.b64decode(text), dtype="<f4")
    if len(flat) != sum(each.numel() for each in own.parameters()):
        raise TacitError("The stored weights are of another module.")
    start = 0
    with torch.no_grad():
        for each in own.parameters():
            part = flat[start : start + each.numel()].astype(np.float32)
            each.copy_(torch.from_numpy(part).reshape(each.shape))
            start += each.numel()
    return own


def contiguous(module: Any) -> Any:
    """The module, whose numbers now lie as a file has them: the order in memory decides the last bits of products."""
    with torch.no_grad():
        for each in _tensors(module).values():
            if not each.is_contiguous():
                each.data = each.detach().clone(memory_format=torch.contiguous_format)
    return module


def save(model: Any, path: str | Path) -> Path:
    """Weights, public facts and the receipt of a fitted estimator."""
    from safetensors.torch import save as packed
    from sklearn.utils.validation import check_is_fitted

    from tacit.learning.files import as_json

    check_is_fitted(model)
    chosen = model.get_params(deep=False)
    fitted = {name: own for name, own in vars(model).items() if name not in chosen and name not in _LEFT_OUT}
    if fitted.get("finding_") is not None:  # the weights are in the file already
        fitted["finding_"] = replace(fitted["finding_"], arrays=_without_weights(fitted["finding_"].arrays))
    # copies of images matter only while it learns: they are not kept
    given = {name: _plain(own) for name, own in chosen.items() if name not in ("module", "augment")}
    content = {
        "model": type(model).__name__,
        "recipe": recipe_of(model.module_),
        "given": chosen["module"] is not None,
        "parameters": {name: as_json(own) for name, own in given.items()},
        "fitted": {name: as_json(_plain(own)) for name, own in fitted.items()},
    }
    tensors = {name: each.detach().clone().contiguous() for name, each in _tensors(model.module_).items()}
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    facts = {"format": FORMAT, "version": VERSION, "content": text, "digest": _digest(text, tensors)}
    target = Path(path)
    new = target.with_name(target.name + ".new")
    new.write_bytes(packed(tensors, metadata=facts))
    os.replace(new, target)
    return target


def load(path: str | Path, module: Any = None) -> Any:
    """The estimator of a file that `save` wrote; `module`: the one that was fitted, if it is the caller's code."""
    facts, tensors = _read(path)
    text = facts.get("content", "")
    if facts.get("digest") != _digest(text, tensors):
        raise TacitError(f"{path} is damaged: its content does not fit its digest. Save the model again.")
    try:
        content = json.loads(text)
        model = _estimator(content, module)
        if module is None and content["recipe"] is not None:
            _must_fit(tensors_of(content["recipe"]), tensors)
    except (TacitError, *_MALFORMED):
        raise TacitError(f"{path} is malformed. Save the model again.") from None
    own = contiguous(_module(model, content, module))
    known = _tensors(own)
    if set(known) != set(tensors) or any(known[name].shape != tensors[name].shape for name in known):
        raise parameters.refuse("module", "the one that the file was saved from", "one with other parameters")
    learned = {name for name, _ in own.named_parameters()}
    for name, each in tensors.items():
        if each.dtype != known[name].dtype or (name in learned and not bool(torch.isfinite(each).all())):
            allowed = f"finite numbers of the type {known[name].dtype}"
            raise TacitError(f"{path} is malformed: {name[:80]!r} must hold {allowed}. Save the model again.")
    with torch.no_grad():
        for name, each in known.items():
            each.copy_(tensors[name])
    model.module_ = own
    try:
        _tried(model, of_torch=module is None)
    except (TacitError, *_MALFORMED):
        raise TacitError(f"{path} is malformed: its model cannot predict. Save the model again.") from None
    return model


def _must_fit(known: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
    """Refuse tensors that are not those of the module."""
    for name in {*known, *tensors}:
        if known[name].shape != tensors[name].shape or known[name].dtype != tensors[name].dtype:
            raise ValueError(name)


class _Bounded(TorchDispatchMode):
    """Refuses each result of an operation that is too large; with tensors that hold nothing, before it is computed."""

    def __torch_dispatch__(self, operation: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        found = operation(*given, **(named or {}))
        for each in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(each, torch.Tensor) and each.numel() > _MOST_NUMBERS:
                raise ValueError("too large")
        return found


def _tried(model: Any, of_torch: bool) -> None:
    """Use the model for made-up rows: of torch's layers only, once their computation is known to be of a fair size."""
    own, wrong = copy.copy(model), None
    own._features = ()
    for kind in (torch.float32, torch.int64):  # nothing says which of both its rows have
        try:
            if of_torch:
                bare = copy.deepcopy(model.module_).to("meta").eval()
                with torch.no_grad(), _Bounded():
                    bare(torch.zeros((1, *model._shape), device="meta", dtype=kind))
            found = own._outputs(torch.zeros((1, *model._shape), dtype=kind))
        except Exception as error:  # noqa: BLE001  # a module that is given may be any code
            wrong = wrong or error
            continue
        many = len(model.classes_) if model._kind == "class" else 1
        if found.shape != (1, many) and not (many == 1 and found.size == 1):
            raise ValueError("it gives another number of numbers for a row")
        if model._features:
            model._rehearse()
        return
    raise ValueError("it fails at a row of its shape") from wrong


def _read(path: str | Path) -> tuple[dict[str, str], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="pt") as file:
            facts = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in list(file.keys())}
    except (OSError, SafetensorError, *_MALFORMED) as error:
        raise TacitError(f"{path} cannot be read: {error}.") from None
    if facts.get("format") != FORMAT or facts.get("version") != VERSION:
        raise TacitError(f"{path} is no file of a neural network that this version knows.")
    return facts, tensors


def _estimator(content: Mapping[str, Any], module: Any) -> Any:
    from tacit.learning.files import of_json
    from tacit.learning.neural.estimators import NeuralClassifier, NeuralRegressor

    kinds: dict[str, Any] = {each.__name__: each for each in (NeuralClassifier, NeuralRegressor)}
    chosen = {name: of_json(own) for name, own in content["parameters"].items()}
    if type(content["given"]) is not bool or {"module", "augment"} & set(chosen):
        raise ValueError("parameters")
    model = kinds[content["model"]](**chosen)
    _must_be_settings(model)
    for name, own in content["fitted"].items():
        known = name in model.get_params(deep=False) or name in _LEFT_OUT or hasattr(type(model), name)
        if known or not name.isidentifier() or name.startswith("__"):
            raise ValueError(name)
        setattr(model, name, of_json(own))
    _must_be_facts(model)
    model.module = module
    return model


def _must_be_settings(model: Any) -> None:
    """Refuse parameters that no fit has."""
    from tacit.learning.neural.settings import settings_of

    settings_of(model, Fraction(1), Fraction(1, 2))
    for name in ("epsilon", "delta"):
        if getattr(model, name) is not None:
            parameters.as_written(name, getattr(model, name))
    for name in ("bounds", "values", "classes", "target_bounds"):
        if not isinstance(getattr(model, name, None), _PLAIN):
            raise TypeError(name)


def _must_be_facts(model: Any) -> None:
    """Refuse facts about rows and outputs with which no prediction can be made."""
    model._shape, model._scale, model._features = tuple(model._shape), tuple(model._scale), tuple(model._features)
    if not model._shape or not all(type(each) is int and each > 0 for each in model._shape):
        raise ValueError("shape")
    if math.prod(model._shape) > _MOST_NUMBERS:
        raise ValueError("shape")
    if [type(each) for each in model._scale] != [float, float] or not all(map(math.isfinite, model._scale)):
        raise ValueError("scale")
    if model._features and (sum(each.size for each in model._features),) != model._shape:
        raise ValueError("features")
    if not all(isinstance(each, Feature) for each in model._features):
        raise TypeError("features")
    classes = vars(model).get("classes_")
    if model._kind == "class" and not (isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes)):
        raise ValueError("classes")
    for name, kind in _FACTS.items():
        if name in vars(model) and not isinstance(vars(model)[name], kind):
            raise TypeError(name)
    if vars(model).get("n_features_in_", 1) < 1:
        raise ValueError("n_features_in_")


def _module(model: Any, content: Mapping[str, Any], module: Any) -> Any:
    """The module: from the file, or as it is given."""
    if module is None:
        if content["recipe"] is None:
            hint = 'Say which it was: learning.load("m.safetensors", module).'
            raise parameters.refuse("module", "given: the network was made with code of its own", None, hint)
        own = made_of(content["recipe"])
        model.module = own if content["given"] else None
        return copy.deepcopy(own)
    if isinstance(module, nn.Module):
        return copy.deepcopy(module)
    return model._module(model._shape, len(model.classes_) if hasattr(model, "classes_") else 1)


def _tensors(module: Any) -> dict[str, Any]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _digest(text: str, tensors: Mapping[str, Any]) -> str:
    found = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        found.update(name.encode() + str(tuple(tensors[name].shape)).encode())
        found.update(tensors[name].reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _without_weights(arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {name: own for name, own in arrays.items() if name != "weights"}


def _plain(value: Any) -> Any:
    """The value as a file holds it: ranges and sets of classes become lists."""
    return list(value) if isinstance(value, range) else value
