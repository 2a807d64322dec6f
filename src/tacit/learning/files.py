"""Models and scores as files: canonical JSON, read as data and never as code.

    model.save("m.json")
    model = learning.load("m.json")
    model = learning.load("net.safetensors")         # neural networks (`neural.fitted`)

Promise: a file holds what the object holds: its parameters, and what was released or is public. The same object gives
the same bytes, and what is loaded predicts bit for bit what was saved. Reading makes numbers, texts, lists and arrays,
and the few kinds of objects that are named here; nothing in a file is executed or imported by its name. A file that is
damaged, too new, or made up so that its model could not predict is refused with a sentence. The digest finds damage. It
is not a signature: anyone who can write the file can write another model.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from tacit import learning, parameters
from tacit.errors import TacitError
from tacit.learning.columns import Feature
from tacit.learning.evaluation.evaluation import Evaluation
from tacit.learning.model import Model
from tacit.learning.second_moments.second_moments import Moments
from tacit.statistics.finding import Finding

FORMAT: Final = "tacit.learning"
VERSION: Final = 1
_MOST_BYTES: Final = 1 << 30
_MOST_NESTED: Final = 100
_RECORDS: Final = {"Feature": Feature, "Moments": Moments}
_TYPES: Final = "biuf"
_NAME: Final = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*\Z")
_EXACT: Final = {
    "Fraction": re.compile(r"-?[0-9]+(/[0-9]+)?\Z"),
    "Decimal": re.compile(r"-?[0-9]+(\.[0-9]+)?(E[-+]?[0-9]{1,9})?\Z"),
}
_MOST_DIGITS: Final = 10_000
_MOST_TEXT: Final = 1 << 28
_REFUSED: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, MemoryError)


def save(thing: Model | Evaluation, path: str | Path) -> Path:
    """Write a fitted model, or an evaluation, to a file; returns the file's path."""
    target = Path(path)
    target.write_bytes(to_bytes(thing))
    return target


def load(path: str | Path, module: Any = None) -> Any:
    """The model or the evaluation of a file that `save` wrote.

    module: the module of a neural network, where that is the caller's own code, which no file holds.

    >>> import pathlib, tempfile
    >>> from tacit import learning
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> learning.StandardScaler(epsilon=1, bounds=(0, 100)).fit([[20], [30]]).save(path).name
    'model.json'
    >>> load(path).receipt_["epsilon"]
    '1'
    """
    source = Path(path)
    if _is_tensors(source):
        from tacit.learning.neural import load as load_network

        return load_network(source, module)
    if module is not None:
        raise parameters.refuse("module", "left out: the file holds no neural network", type(module).__name__)
    try:
        if source.stat().st_size > _MOST_BYTES:
            raise TacitError(f"{source} is larger than {_MOST_BYTES:,} bytes; a file of `save` is not.")
        payload = source.read_bytes()
    except OSError as error:
        raise TacitError(f"{source} cannot be read: {error.strerror or error}.") from None
    return from_bytes(payload, str(source))


def _is_tensors(source: Path) -> bool:
    """Whether it begins as a file of safetensors does: with the length of its head, then the head."""
    try:
        with source.open("rb") as file:
            begins = file.read(9)
    except OSError:
        return False
    return len(begins) == 9 and begins[8:] == b"{" and begins[:1] != b"{"


def to_bytes(thing: Model | Evaluation) -> bytes:
    """What `save` writes: the same bytes for the same object."""
    if isinstance(thing, Model) and not any(name.endswith("_") for name in vars(thing)):
        raise parameters.refuse("model", "one that was fitted: there is nothing to save", type(thing).__name__)
    content = _written(thing)
    head = {"format": FORMAT, "version": VERSION, "digest": _digest(content), "content": content}
    return _text(head).encode()


def from_bytes(payload: bytes, name: str = "The file") -> Any:
    """What `to_bytes` wrote."""
    try:
        head = json.loads(payload, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise TacitError(f"{name} is no file of a model: it is not JSON, or not whole.") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT or set(head) != _HEAD:
        raise TacitError(f"{name} is no file of a model: it does not say that it is one ({FORMAT}).")
    if head["version"] != VERSION:
        known = f"This version of tacit reads version {VERSION}."
        raise TacitError(f"{name} is of version {head['version']!r}, which is not known. {known}")
    try:
        if head["digest"] != _digest(head["content"]):
            raise TacitError(f"{name} is damaged: its content does not fit its digest. Save the model again.")
        thing = _read(head["content"])
        if not isinstance(thing, (Model, Evaluation)):
            raise ValueError("neither a model nor an evaluation")
        thing._rehearse()
    except _REFUSED as error:
        raise TacitError(f"{name} is malformed: {_said(error)}. Save the model again.") from None
    return thing


_HEAD: Final = {"format", "version", "digest", "content"}


def _said(error: BaseException) -> str:
    return f"{error.args[0] if error.args and isinstance(error.args[0], str) else type(error).__name__}".rstrip(".")


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _digest(content: Any) -> str:
    return hashlib.sha256(_text(content).encode()).hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_constant(constant: str) -> Any:
    raise ValueError(constant)


def as_json(value: Any) -> Any:
    """Numbers, texts, lists, arrays, columns and findings as JSON has them."""
    return _written(value)


def of_json(value: Any) -> Any:
    """What `as_json` wrote."""
    return _read(value)


# -- writing: plain JSON for what JSON has, {"kind": value} for the rest -----------------------------------


def _written(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return {"scalar": [value.dtype.str, _element(value.item())]}
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return _element(value)
    if isinstance(value, (Fraction, Decimal)):
        return {type(value).__name__: str(value)}
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, list):
        return [_written(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [_written(each) for each in value]}
    if isinstance(value, Mapping):
        return {"dict": [[_written(key), _written(own)] for key, own in value.items()]}
    if isinstance(value, Finding):
        return {"Finding": json.loads(value.to_bytes()), "repeated": value.repeated}
    if isinstance(value, Evaluation):
        return {"Evaluation": [_written(value.layout.facts()), _written(value.finding)]}
    if type(value).__name__ in _RECORDS and type(value) is _RECORDS[type(value).__name__]:
        return {type(value).__name__: {name: _written(getattr(value, name)) for name in _fields(type(value))}}
    if isinstance(value, Model):
        return _model(value)
    hint = "A file holds numbers, texts, lists, arrays, and what was released."
    raise parameters.refuse("model", "made of what a file can hold", type(value).__name__, hint)


def _model(model: Model) -> dict[str, Any]:
    chosen = model.get_params(deep=False)
    kept = {name: own for name, own in vars(model).items() if name not in chosen}
    return {
        "model": type(model).__name__,
        "parameters": {name: _written(own) for name, own in chosen.items()},
        "fitted": {name: _written(own) for name, own in kept.items()},
    }


def _array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    # the order in memory decides how a product is added up, and so its last bits
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    flat = array.ravel(order="C").tolist()
    if array.dtype.kind == "O":
        return {"array": ["object", list(array.shape), order, [_written(each) for each in flat]]}
    if array.dtype.kind not in _TYPES + "U":
        raise parameters.refuse("model", "made of arrays of numbers, truth values or texts", str(array.dtype))
    return {"array": [array.dtype.str, list(array.shape), order, [_element(each) for each in flat]]}


def _element(value: Any) -> Any:
    """A number as JSON has it; as a word where it is not finite."""
    return {"float": str(value)} if isinstance(value, float) and not np.isfinite(value) else value


def _fields(record: type) -> tuple[str, ...]:
    return tuple(inspect.signature(record).parameters)


# -- reading -----------------------------------------------------------------------------------------------


def _read(value: Any, depth: int = 0) -> Any:
    if depth > _MOST_NESTED:
        raise ValueError("it is nested too deeply")
    if not isinstance(value, (dict, list)):
        return value
    if isinstance(value, list):
        return [_read(each, depth + 1) for each in value]
    if "model" in value:
        return _read_model(value, depth)
    if set(value) == {"Finding", "repeated"}:
        content = json.dumps(value["Finding"]).encode()
        return Finding.from_bytes(content, repeated=value["repeated"] is True)
    if len(value) != 1:
        raise ValueError(f"no kind of value has the names {', '.join(sorted(value))}")
    (kind, own), *_ = value.items()
    if kind == "float":
        return float(_one_of(own, ("nan", "inf", "-inf")))
    if kind == "scalar":
        return _typed(own[0]).type(_number(own[1]))
    if kind in ("Fraction", "Decimal"):
        return _exact(kind, own)
    if kind == "array":
        return _read_array(own, depth)
    if kind == "tuple":
        return tuple(_read(each, depth + 1) for each in own)
    if kind == "dict":
        return {_read(key, depth + 1): _read(each, depth + 1) for key, each in own}
    if kind == "Evaluation":
        return Evaluation.of(*(_read(each, depth + 1) for each in own))
    if kind in _RECORDS:
        return _RECORDS[kind](**{str(name): _read(each, depth + 1) for name, each in own.items()})
    raise ValueError(f"{kind!r} is no kind of value")


def _read_model(value: dict[str, Any], depth: int) -> Model:
    if set(value) != {"model", "parameters", "fitted"}:
        raise ValueError("a model has parameters and what was fitted, and nothing else")
    made = getattr(learning, _one_of(value["model"], learning.__all__))
    if not (isinstance(made, type) and issubclass(made, Model)):
        raise ValueError(f"{value['model']!r} is no model")
    chosen = {str(name): _read(own, depth + 1) for name, own in value["parameters"].items()}
    model: Model = made(**chosen)
    for name, own in value["fitted"].items():
        if not _NAME.match(name) or hasattr(made, name) or name in chosen:
            raise ValueError(f"{name!r} is nothing that a fit leaves behind")
        setattr(model, name, _read(own, depth + 1))
    return model


def _read_array(own: Any, depth: int) -> Any:
    kind, shape, order, flat = own
    if kind == "object":
        array: np.ndarray[Any, Any] = np.empty(len(flat), dtype=object)
        for place, each in enumerate(flat):
            array[place] = _read(each, depth + 1)
    else:
        type_ = _typed(kind)
        if type_.kind == "U" and type_.itemsize * len(flat) > _MOST_TEXT:
            raise ValueError("its texts are declared longer than they are")
        array = np.array([_number(each) for each in flat], dtype=type_)
    shaped = array.reshape([parameters.whole("shape", each, least=0) for each in shape])
    return np.asarray(shaped, order="F" if _one_of(order, ("C", "F")) == "F" else "C")


def _exact(kind: str, text: Any) -> Fraction | Decimal:
    """A fraction or a decimal, unless a few characters of it stand for more digits than anyone means."""
    if not isinstance(text, str) or len(text) > _MOST_DIGITS or not _EXACT[kind].match(text):
        raise ValueError(f"its {kind} is no number as `save` writes it")
    if kind == "Fraction":
        return Fraction(text)
    found = Decimal(text)
    if found and abs(found.adjusted()) > _MOST_DIGITS:
        raise ValueError("its Decimal has too many digits")
    return found


def _number(value: Any) -> Any:
    return _read(value) if isinstance(value, dict) else value


def _typed(name: Any) -> Any:
    found = np.dtype(str(name))
    if found.kind not in _TYPES + "U":
        raise ValueError(f"{name!r} is no type of numbers or texts")
    return found


def _one_of(value: Any, allowed: Any) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{value!r} is not one of {', '.join(allowed)}")
    return value
