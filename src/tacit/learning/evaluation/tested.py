"""Arrays to score a model on: columns in the model's order, the target, and a public group.

Promise: types are those of the columns. A model of this room leaves out rows with a missing number, as it does where a
curator has the rows; any other model is shown them, and its prediction counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.curator.elsewhere import must_be_here
from tacit.learning.columns import Feature, Reals
from tacit.learning.evaluation.predictions import Predictor, Table
from tacit.learning.training import columns_of
from tacit.statistics.arrays import number_or_nan


@dataclass(frozen=True, slots=True, eq=False)
class TestedArrays:
    """Columns, the target as it was given, places of the groups, and which rows have all of it."""

    __test__ = False  # pytest would take it for a test

    table: Table
    target: NDArray[Any]
    group: NDArray[np.int64]
    groups: tuple[Any, ...]
    by: str | None
    there: NDArray[np.bool_]

    def numbers(self) -> Reals:
        """The target as numbers; NaN for anything else."""
        return np.array([number_or_nan(each) for each in self.target.tolist()], dtype=np.float64)

    def places(self, classes: Sequence[Any]) -> Reals:
        """The target's places among the classes; -1 for values that are none of them."""
        return _places(self.target, classes).astype(np.float64)


def tested_arrays(
    found: Predictor, data: Any, target: Any, by: Any, groups: Any, features: Sequence[Feature]
) -> TestedArrays:
    """What `evaluate(model, data, target, by=...)` means for arrays."""
    must_be_here(data)
    _must_be_array(target)
    if type(data) is dict:
        raise parameters.refuse("rows", "a matrix, a data frame, or rows of a curator", "a mapping")
    frame = hasattr(data, "columns")
    own = (
        [str(each) for each in data.columns] if frame else [f"x{place}" for place in range(np.asarray(data).shape[-1])]
    )
    columns = columns_of(data, own)
    names = list(found.names) if found.names is not None and frame else own[: found.width] if not frame else own
    if frame and found.names is None and isinstance(by, str) and len(own) != found.width:
        names = [name for name in own if name != by]
    lacking = [name for name in names if name not in columns]
    if lacking or len(names) != found.width or (not frame and len(own) != found.width):
        allowed = f"a table with the model's {found.width} columns"
        if found.names is not None:
            allowed += f": {', '.join(found.names)}"
        raise parameters.refuse("rows", allowed, f"{len(own)}: {', '.join(own)}")
    listed = {each.name: each.labels for each in features if each.options is not None}
    table = Table(tuple(_column(columns[name], name in listed) for name in names))
    truth = _truth(target, len(table))
    there = np.ones(len(table), dtype=bool)
    if found.is_ours:
        for name, each in zip(names, table.columns, strict=True):
            if name not in listed:
                there &= ~np.isnan(each.astype(np.float64)) if each.dtype.kind == "f" else True
    if by is None:
        return TestedArrays(table, truth, np.zeros(len(table), dtype=np.int64), (), None, there)
    label, values, options = _grouped(by, groups, columns, listed)
    if len(values) != len(table):
        raise parameters.refuse("by", f"one value for each of the {len(table):,} rows", len(values))
    which = _places(values, options)
    return TestedArrays(table, truth, which, options, label, there & (which >= 0))


def tested_whole(data: NDArray[Any], target: Any, by: Any, groups: Any) -> TestedArrays:
    """What it means for rows of any shape, as networks take them: they have no columns."""
    _must_be_array(target)
    table, truth = Table((data,)), _truth(target, len(data))
    there = np.ones(len(data), dtype=bool)
    if by is None:
        return TestedArrays(table, truth, np.zeros(len(data), dtype=np.int64), (), None, there)
    if isinstance(by, str):
        raise parameters.refuse("by", "an array with the group of each row, where rows have no columns", by)
    label, values, options = _grouped(by, groups, {}, {})
    if len(values) != len(data):
        raise parameters.refuse("by", f"one value for each of the {len(data):,} rows", len(values))
    which = _places(values, options)
    return TestedArrays(table, truth, which, options, label, which >= 0)


def _must_be_array(target: Any) -> None:
    if target is None or isinstance(target, str):
        allowed = "an array with the true value of each row, where the data are arrays"
        raise parameters.refuse("target", allowed, target)


def _truth(target: Any, many: int) -> NDArray[Any]:
    if hasattr(target, "detach"):  # a tensor
        target = np.asarray(target.detach().cpu())
    truth = np.asarray(target, dtype=None if isinstance(getattr(target, "dtype", None), np.dtype) else object)
    if truth.ndim != 1 or len(truth) != many:
        raise parameters.refuse("target", f"one value for each of the {many:,} rows", str(truth.shape))
    return truth


def _grouped(by: Any, groups: Any, columns: Any, listed: Any) -> tuple[str, NDArray[Any], tuple[Any, ...]]:
    if isinstance(by, str):
        if by not in columns:
            raise parameters.refuse("by", f"a column: {', '.join(columns)}", by)
        label, values = by, np.asarray(columns[by], dtype=object)
    else:
        label, values = "group", np.asarray(by, dtype=object)
    options = groups if groups is not None else listed.get(label)
    if options is None:
        raise parameters.refuse("groups", "a list of all groups; it is a public fact", None)
    found = tuple(each.item() if isinstance(each, np.generic) else each for each in options)
    if not found or len(set(found)) != len(found):
        raise parameters.refuse("groups", "a list of different groups", list(found))
    return label, values.reshape(-1), found


def _column(column: Any, listed: bool) -> NDArray[Any]:
    stated = getattr(column, "dtype", None)
    if not listed and isinstance(stated, np.dtype) and stated.kind in "iufb":
        return np.asarray(column, dtype=np.float64)
    return np.asarray(column, dtype=object)


def _places(values: NDArray[Any], options: Sequence[Any]) -> NDArray[np.int64]:
    known = {each: place for place, each in enumerate(options)}
    return np.array([known.get(each, -1) if _is_plain(each) else -1 for each in values.tolist()], dtype=np.int64)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool))
