"""Fitted networks as text and as files: weights in safetensors, with the receipt; never pickle.

    model.save("m.safetensors")
    model = neural.load("m.safetensors", module)

Promise: a file holds released weights and public facts. A module is code, so it is not in the file: whoever loads one
says which. Weights that do not fit it are refused.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from tacit import parameters
from tacit.errors import TacitError

FORMAT: Final = "tacit.learning.neural"
VERSION: Final = "1"


def described(module: Any) -> str:
    """What the module is made of, in words: part of a study's key."""
    return repr(module)


def digest_of(module: Any) -> str:
    """Where its weights start."""
    digest = hashlib.sha256()
    for name, each in sorted(module.state_dict().items()):
        digest.update(name.encode() + str(tuple(each.shape)).encode() + each.detach().contiguous().numpy().tobytes())
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
    """Weights and the receipt of a fitted estimator."""
    from safetensors.torch import save as packed
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if model._features:
        hint = "Rows of a curator have names and facts: use the fitted model in this process, or fit arrays."
        raise parameters.refuse("model", "one that was fitted to arrays as they are", type(model).__name__, hint)
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "model": type(model).__name__,
        "receipt": json.dumps(dict(model.receipt_), sort_keys=True),
        "shape": json.dumps(list(model._shape)),
        "scale": json.dumps(list(model._scale)),
        "classes": json.dumps([_plain(each) for each in getattr(model, "classes_", ())]),
    }
    tensors = {name: each.detach().clone() for name, each in model.module_.named_parameters()}
    target = Path(path)
    new = target.with_name(target.name + ".new")
    new.write_bytes(packed(tensors, metadata=facts))
    os.replace(new, target)
    return target


def load(path: str | Path, module: Any) -> Any:
    """The estimator of a file that `save` wrote, with the module that it was fitted with."""
    from safetensors import SafetensorError, safe_open

    from tacit.learning.neural.estimators import NeuralClassifier, NeuralRegressor

    kinds: dict[str, Any] = {each.__name__: each for each in (NeuralClassifier, NeuralRegressor)}
    try:
        with safe_open(str(path), framework="pt") as file:
            facts = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in list(file.keys())}
    except (OSError, SafetensorError) as error:
        raise TacitError(f"{path} cannot be read: {error}.") from None
    if facts.get("format") != FORMAT or facts.get("version") != VERSION or facts.get("model") not in kinds:
        raise TacitError(f"{path} is no file of a neural network that this version knows.")
    own = copy.deepcopy(module)
    known = dict(own.named_parameters())
    if set(known) != set(tensors) or any(known[name].shape != tensors[name].shape for name in known):
        raise parameters.refuse("module", "the one that the file was saved from", "one with other parameters")
    with torch.no_grad():
        for name, each in known.items():
            each.copy_(tensors[name])
    model = kinds[facts["model"]](module)
    model.module_, model._features, model.finding_ = own, (), None
    try:
        model.receipt_ = json.loads(facts["receipt"])
        model._shape, model._scale = tuple(json.loads(facts["shape"])), tuple(json.loads(facts["scale"]))
        if facts["model"] == "NeuralClassifier":
            model.classes_ = np.array(json.loads(facts["classes"]))
    except (KeyError, ValueError, TypeError):
        raise TacitError(f"{path} is malformed. Save the model again.") from None
    return model


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
