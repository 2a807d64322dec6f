"""What a network learns from: rows of a curator as vectors by public facts, or arrays and tensors as they are.

Promise: only public facts decide here. Rows of a curator become vectors as every model here has them (`columns`): a
number between its bounds is one coordinate in [-1, 1], a listed value one of 1 among zeros. Rows of a class that is not
listed are left out, row by row. All rows of a unit are one person's, who is sampled and clipped as one. Their order
follows from these rows alone, so that others cannot change a bit of their sum. Labels of arrays that are not among the
classes are refused before anything is released: the holder of arrays sees them anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, IterableDataset

from tacit import parameters
from tacit.learning.columns import Feature
from tacit.learning.neural.people.batches import MOST_ROWS
from tacit.learning.training import Training, classes_of, training
from tacit.statistics.arrays import bounds_of
from tacit.statistics.source import ArraySource, Opened, Source


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Given:
    """A source, what is public about its rows, and how they become tensors once they are paid for."""

    source: Source
    shape: tuple[int, ...]
    dtype: Any
    target: str
    names: tuple[str, ...]
    features: tuple[Feature, ...]
    classes: tuple[Any, ...]
    scale: tuple[float, float]  # of a number to learn: the middle of its bounds, and half of their distance
    rows_per_unit: int
    people: Callable[[Opened], tuple[Any, Any, Any]]  # inputs, targets, and whose each row is (None: a row is a person)

    @property
    def together(self) -> dict[str, Any]:
        """What a trainer must know of persons with several rows."""
        return {} if self.rows_per_unit == 1 else {"rows_per_unit": self.rows_per_unit}

    def nobody(self) -> tuple[Any, Any]:
        """No rows, of the right shapes."""
        aim = torch.zeros(0, dtype=torch.long if self.classes else torch.float32)
        return torch.zeros((0, *self.shape), dtype=self.dtype), aim


def given_rows(model: Any, data: Any, target: Any, kind: str) -> Given:
    """Rows of a curator, or arrays whose public facts are stated."""
    found: Training = training(model, data, target, kind)
    if found.source.rows_per_unit > MOST_ROWS:
        allowed = f"at most {MOST_ROWS:,}: a step computes as many rows for each person, also where there are fewer"
        raise parameters.refuse("rows_per_unit", allowed, found.source.rows_per_unit, "Say fewer: rows_per_unit=8.")
    several = found.source.rows_per_unit > 1
    names = [each.name for each in found.columns]
    aim = found.target
    assert aim is not None

    def people(opened: Opened) -> tuple[Any, Any, Any]:
        codes, units = opened.by_unit(*names) if several else (opened.values(*names), None)
        meanings = opened.meanings(*names)
        inputs = _coordinates(codes[:, :-1], found.features, meanings[:-1])
        if kind == "class":
            places = aim.places(codes[:, -1], meanings[-1])
            known = places >= 0
            whose = None if units is None else units[known]
            return torch.from_numpy(inputs[known]), torch.from_numpy(places[known]), whose
        own = _coordinates(codes[:, -1:], (aim,), meanings[-1:])[:, 0]
        return torch.from_numpy(inputs), torch.from_numpy(own), units

    scale = (0.0, 1.0) if kind == "class" else (aim.middle, aim.half)
    shape = (sum(each.size for each in found.features),)
    return Given(
        found.source,
        shape,
        torch.float32,
        aim.name,
        tuple(each.name for each in found.features),
        found.features,
        found.classes,
        scale,
        found.source.rows_per_unit,
        people,
    )


def _coordinates(codes: Any, features: Any, meanings: Any) -> NDArray[np.float32]:
    columns = []
    for place, (each, meaning) in enumerate(zip(features, meanings, strict=True)):
        if each.options is None:
            left = np.clip(codes[:, place] - each.low, 0, each.width).astype(np.float64)
            columns.append((2.0 * left / each.width - 1.0)[:, None])
        else:
            found = each.places(codes[:, place], meaning)
            columns.append((found[:, None] == np.arange(each.size)[None]).astype(np.float64))
    return np.hstack(columns).astype(np.float32)


def given_arrays(model: Any, data: Any, target: Any, kind: str) -> Given:
    """Arrays, tensors or a Dataset, taken as they are; or by their public facts where these are stated."""
    if isinstance(data, (DataLoader, IterableDataset)):
        loader = isinstance(data, DataLoader) and not isinstance(data.dataset, IterableDataset)
        hint = "Give its .dataset: samples are drawn here." if loader else "People are drawn by their places."
        raise parameters.refuse("X", "arrays, tensors, or a Dataset with places", type(data).__name__, hint)
    if model.bounds is not None or model.values is not None:
        return given_rows(model, data, target, kind)
    if target is None and hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "shape"):
        pairs = [data[place] for place in range(len(data))]
        data = torch.stack([torch.as_tensor(each[0]) for each in pairs])
        target = np.array([each[1] for each in pairs])
    if target is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    inputs = data if isinstance(data, torch.Tensor) else torch.from_numpy(_numbers(data))
    if inputs.dim() < 2:
        raise ValueError("Expected 2D array, got 1D array instead. Reshape your data.")
    # the network that is made where none is given wants real numbers
    real = inputs.dtype.is_floating_point or model.module is None
    inputs = inputs.float() if real else inputs.long()
    _finite("X", inputs)
    y = np.asarray(target)
    if y.ndim and y.size != len(y):
        hint = (
            "Of one column for each class: y.argmax(axis=1)." if kind == "class" else "Fit one model for each number."
        )
        raise parameters.refuse("y", "one label for each row", f"the shape {y.shape}", hint)
    y = y.reshape(-1)
    if len(y) != len(inputs):
        raise parameters.refuse("X and y", "of one length", f"{len(inputs)} and {len(y)} rows")
    if y.dtype.kind == "f":
        _finite("y", torch.from_numpy(y.astype(np.float64)))
    classes: tuple[Any, ...] = ()
    scale = (0.0, 1.0)
    if kind == "class":
        classes = classes_of(model.classes, y)
        aim = _places(y, classes)
    else:
        if model.target_bounds is None:
            hint = "They are public facts; the data are not looked at to find them."
            raise parameters.refuse("target_bounds", "given as (low, high)", None, hint)
        low, high = (float(each) for each in bounds_of("y", model.target_bounds))
        scale = ((low + high) / 2, (high - low) / 2)
        aim = np.clip((y.astype(np.float64) - scale[0]) / scale[1], -1.0, 1.0).astype(np.float32)
    model.n_features_in_ = int(inputs.shape[1])

    def people(opened: Opened) -> tuple[Any, Any, Any]:
        return inputs, torch.from_numpy(aim), None

    shape = tuple(inputs.shape[1:])
    return Given(ArraySource((), {}, {}), shape, inputs.dtype, "y", (), (), classes, scale, 1, people)


def _finite(name: str, found: Any) -> None:
    """Refuse numbers that are none, as scikit-learn does: the holder of arrays sees them anyway."""
    if found.dtype.is_floating_point and not bool(torch.isfinite(found).all()):
        wrong = "NaN" if bool(torch.isnan(found).any()) else "infinity or a value too large for dtype('float32')"
        raise ValueError(f"Input {name} contains {wrong}.")


def _numbers(data: Any) -> Any:
    if hasattr(data, "toarray"):
        raise parameters.refuse("X", "a dense array", f"a sparse {type(data).__name__}", "Use X.toarray().")
    array = np.asarray(data)
    if array.dtype.kind not in "fiub":
        names = getattr(data, "columns", ())
        texts = [str(name) for name in names if np.asarray(data[name]).dtype.kind not in "fiub"]
        if texts:
            hint = f"Say which values there are, values={{{texts[0]!r}: [...]}}, and bounds=; or leave them out."
            raise parameters.refuse("X", "columns of numbers", f"no numbers in {', '.join(texts)}", hint)
        raise parameters.refuse("X", "numbers", f"the type {array.dtype}")
    return np.ascontiguousarray(array)


def _places(y: Any, classes: tuple[Any, ...]) -> NDArray[np.int64]:
    known = {each: place for place, each in enumerate(classes)}
    found = [known.get(each, -1) for each in y.tolist()]
    if -1 in found:
        raise parameters.refuse("y", f"labels among the classes {list(classes)}", y[found.index(-1)].item())
    return np.array(found, dtype=np.int64)


def vectors_of(model: Any, data: Any) -> Any:
    """The rows to predict for."""
    if model._features:
        return torch.from_numpy(np.ascontiguousarray(model._vectors(data)))
    found = data if isinstance(data, torch.Tensor) else torch.from_numpy(_numbers(data))
    shape = tuple(model._shape)
    if found.dim() != len(shape) + 1 or tuple(found.shape[1:]) != shape:
        expected = f"rows of the shape {shape}: the model was fitted on arrays of such rows, and not on named columns"
        many = f"X has {found.shape[1]} features, " if found.dim() == 2 else ""
        raise parameters.refuse("X", expected, f"{many}the shape {tuple(found.shape)}")
    if found.dtype.is_floating_point or getattr(model, "_whole", False):
        return found
    return found.float()
