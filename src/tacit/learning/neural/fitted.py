"""Fitted networks as text and as files: weights in safetensors, with the receipt; never pickle.

    model.save("m.safetensors")
    model = learning.load("m.safetensors")             # or, where the module is the caller's own code:
    model = learning.load("m.safetensors", module)

Promise: a file holds released weights, public facts and the receipt; what is loaded predicts bit for bit what was
saved. A module of torch's own layers is written down as data (`recipes`); other code is not in the file, so the caller
who loads it says which module it was. Weights that do not fit it are refused, and so is a file that is damaged or made
up.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from tacit import parameters
from tacit.errors import ParameterError, TacitError
from tacit.learning.neural.modules.recipes import made_of, recipe_of
from tacit.learning.neural.modules.traced import course_of

FORMAT: Final = "tacit.learning.neural"
VERSION: Final = "2"
_LEFT_OUT: Final = ("module_",)


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
            numbers = each.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
            digest.update(json.dumps(facts).encode() + numbers.tobytes())
    return digest.hexdigest()


def released(module: Any) -> str:
    """The weights as text: what a ledger stores."""
    flat = [each.detach().reshape(-1).numpy().astype("<f4") for each in module.parameters()]
    return base64.b64encode(np.concatenate(flat).tobytes()).decode()


def restored(module: Any, text: str) -> Any:
    """A copy of the module with these weights."""
    own = copy.deepcopy(module)
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
        own = _module(model, content, module)
    except ParameterError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise TacitError(f"{path} is malformed. Save the model again.") from None
    known = _tensors(own)
    if set(known) != set(tensors) or any(known[name].shape != tensors[name].shape for name in known):
        raise parameters.refuse("module", "the one that the file was saved from", "one with other parameters")
    with torch.no_grad():
        for name, each in known.items():
            each.copy_(tensors[name])
    model.module_ = own
    try:
        if model._features:
            model._rehearse()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError):
        raise TacitError(f"{path} is malformed: its model cannot predict. Save the model again.") from None
    return model


def _read(path: str | Path) -> tuple[dict[str, str], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="pt") as file:
            facts = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in list(file.keys())}
    except (OSError, SafetensorError) as error:
        raise TacitError(f"{path} cannot be read: {error}.") from None
    if facts.get("format") != FORMAT or facts.get("version") != VERSION:
        raise TacitError(f"{path} is no file of a neural network that this version knows.")
    return facts, tensors


def _estimator(content: Mapping[str, Any], module: Any) -> Any:
    from tacit.learning.files import of_json
    from tacit.learning.neural.estimators import NeuralClassifier, NeuralRegressor

    kinds: dict[str, Any] = {each.__name__: each for each in (NeuralClassifier, NeuralRegressor)}
    model = kinds[content["model"]](**{name: of_json(own) for name, own in content["parameters"].items()})
    for name, own in content["fitted"].items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__") or hasattr(type(model), name):
            raise ValueError(name)
        setattr(model, name, of_json(own))
    model.module = module
    return model


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
        found.update(name.encode() + str(tuple(tensors[name].shape)).encode() + tensors[name].numpy().tobytes())
    return found.hexdigest()


def _without_weights(arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {name: own for name, own in arrays.items() if name != "weights"}


def _plain(value: Any) -> Any:
    """The value as a file holds it: ranges and sets of classes become lists."""
    return list(value) if isinstance(value, range) else value
