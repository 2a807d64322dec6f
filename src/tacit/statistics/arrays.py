"""Plain arrays as a source: what is public about them is what the caller says, never what they hold.

Promise: nothing about the contents decides what happens. Values beyond the bounds are clamped; values that are missing,
not a number, or not among the listed ones leave their row out; only types, lengths and public facts are refused. A
type is one that the column states (an array's, a frame's). A list states none, and none is guessed from what is in it:
a guess is the same for all rows, so one row could change how all others are read.

The grid. Columns of an integer type between whole bounds are their own codes. All else gets a grid of a power of two,
with about 2**32 steps between the bounds, on which rounding is exact arithmetic in floating point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.plan.row_plan import Variable
from tacit.statistics.source import ArraySource

_STEPS = 32
_BLOCK = 1 << 14
_LEAST_RANGE, _LARGEST_RANGE = Fraction(1, 10**290), Fraction(10**307)


def array_source(data: Any, names: Sequence[str] | None, bounds: Any, values: Any) -> ArraySource:
    """The source of arrays."""
    vectors = _vectors(data, names)
    lengths = {len(vector) for vector, _ in vectors.values()}
    if len(lengths) != 1:
        raise parameters.refuse("data", "columns of one length", sorted(lengths))
    known: list[Variable] = []
    codes: dict[str, NDArray[Any]] = {}
    missing: dict[str, NDArray[np.bool_]] = {}
    for name, (vector, whole) in vectors.items():
        listed, limits = _of(values, name), _of(bounds, name)
        if (listed is None) == (limits is None):
            hint = "They are public facts; the data are not looked at to find them."
            raise parameters.refuse(
                f"bounds or values of {name!r}", "given as exactly one of the two", "neither or both", hint
            )
        made = _listed_codes(name, vector, listed) if listed is not None else _number_codes(name, vector, whole, limits)
        variable, codes[name], missing[name] = made
        known.append(variable)
    return ArraySource(tuple(known), codes, missing)


def _vectors(data: Any, names: Sequence[str] | None) -> dict[str, tuple[NDArray[Any], bool]]:
    """The columns, each with whether its type is one of whole numbers."""
    if hasattr(data, "columns") and hasattr(data, "__getitem__") and not isinstance(data, Mapping):
        data = {str(name): data[name] for name in (data.columns if names is None else names)}  # a data frame
    if isinstance(data, Mapping):
        chosen = list(data) if names is None else list(names)
        for name in chosen:
            if name not in data:
                raise parameters.refuse("columns", f"among {', '.join(map(str, data))}", name)
        found = {str(name): (_vector(data[name]), _states_whole(data[name])) for name in chosen}
    else:
        array = _typed(data)
        if array.ndim not in (1, 2):
            raise parameters.refuse("data", "a vector or a matrix", f"{array.ndim} dimensions")
        width = 1 if array.ndim == 1 else array.shape[1]
        chosen = [f"x{place}" for place in range(width)] if names is None else list(names)
        if array.ndim == 1 and names is None:
            chosen = ["x"]
        if len(chosen) != width:
            raise parameters.refuse("columns", f"one name for each of the {width} columns", len(chosen))
        matrix = array.reshape(len(array), width)
        found = {str(name): (matrix[:, place], _states_whole(data)) for place, name in enumerate(chosen)}
    if not found:
        raise parameters.refuse("data", "at least one column", "none")
    return found


def _vector(column: Any) -> NDArray[Any]:
    vector = _typed(column)
    if vector.ndim != 1:
        raise parameters.refuse("data", "vectors", f"{vector.ndim} dimensions")
    return vector


def _typed(column: Any) -> NDArray[Any]:
    """As an array of its own type, or of objects: numpy would find a type by looking at all of them."""
    if isinstance(getattr(column, "dtype", None), np.dtype):
        return np.asarray(column)
    listed = next((getattr(column, name) for name in ("to_pylist", "to_list") if hasattr(column, name)), None)
    return np.array(column if listed is None else listed(), dtype=object)


def _states_whole(column: Any) -> bool:
    """Whether the type is one of whole numbers, with or without room for missing ones."""
    stated = getattr(column, "dtype", None)
    if stated is not None and hasattr(stated, "is_integer"):  # of polars
        return bool(stated.is_integer()) or str(stated) == "Boolean"
    return getattr(stated, "kind", "O") in "iub"


def _of(given: Any, name: str) -> Any:
    if isinstance(given, Mapping):
        return given.get(name)
    return given


def _listed_codes(name: str, vector: NDArray[Any], listed: Any) -> tuple[Variable, NDArray[Any], NDArray[np.bool_]]:
    options = list(listed)
    if not options or len(set(options)) != len(options):
        raise parameters.refuse(f"values of {name!r}", "a list of different values", options[:5])
    places = {value: place for place, value in enumerate(options)}
    if vector.dtype.kind in "biuU":  # plain values of one type: each of them is looked up once
        held, back = np.unique(vector, return_inverse=True)
        codes = np.array([places.get(_plain(value), -1) for value in held.tolist()], dtype=np.int64)[back.ravel()]
    else:
        codes = np.array([places.get(_plain(value), -1) for value in vector.tolist()], dtype=np.int64)
    known = Variable(name, "text", Fraction(1), 0, len(options) - 1, tuple(str(each) for each in options), False)
    return known, codes, codes < 0


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, int, float, bool)) else None


def _number_codes(
    name: str, vector: NDArray[Any], stated: bool, limits: Any
) -> tuple[Variable, NDArray[Any], NDArray[np.bool_]]:
    low, high = bounds_of(name, limits)
    if vector.dtype.kind == "O":  # numbers and None: what cannot be read is missing
        vector = np.array([number_or_nan(value) for value in vector.tolist()], dtype=np.float64)
    if vector.dtype.kind not in "iufb":
        raise parameters.refuse(f"data of {name!r}", "numbers, or texts with listed values", str(vector.dtype))
    whole = stated and low.denominator == high.denominator == 1
    if not whole and not _LEAST_RANGE <= high - low <= _LARGEST_RANGE:
        allowed = "between 1e-290 and 1e307 apart, so that every step between them is a float"
        raise parameters.refuse(f"bounds of {name!r}", allowed, (float(low), float(high)))
    step = Fraction(1) if whole else Fraction(2) ** (math.frexp(float(high - low))[1] - _STEPS)
    first, last = math.ceil(low / step), math.floor(high / step)
    if max(abs(first), abs(last)) >= 1 << 52:
        raise parameters.refuse(
            f"bounds of {name!r}", "such that the range is not tiny compared with the values", (float(low), float(high))
        )
    if vector.dtype.kind in "iub" and whole:
        missing = np.zeros(len(vector), dtype=bool)
        codes = np.clip(vector, first, last).astype(np.int64)
    else:
        codes, missing = _on_grid(vector, 1 / float(step), first, last)
    whole_type = vector.dtype.kind in "iub" and whole  # has no room for missing values
    return Variable(name, "number", step, first, last, None, not whole, not whole_type), codes, missing


def _on_grid(vector: NDArray[Any], per_unit: float, first: int, last: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The nearest whole numbers of steps within the bounds, and which are no number; `per_unit` is a power of two.

    A block at a time, which stays near the processor while it is worked on.
    """
    codes, missing = np.empty(len(vector), dtype=np.int64), np.empty(len(vector), dtype=bool)
    for start in range(0, len(vector), _BLOCK):
        part = slice(start, start + _BLOCK)
        with np.errstate(all="ignore"):  # what is no 64-bit number is missing or clamped, without a warning
            real = vector[part].astype(np.float64)
            real *= per_unit
        np.isnan(real, out=missing[part])
        np.copyto(real, 0.0, where=missing[part])
        np.clip(real, first, last, out=real)
        np.rint(real, out=real)
        codes[part] = real
    return codes, missing


def number_or_nan(value: Any) -> float:
    """A number as a float; NaN for anything else."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def bounds_of(name: str, limits: Any) -> tuple[Fraction, Fraction]:
    """(low, high) as exact numbers; refused where they are not two numbers in ascending order."""
    allowed = "two finite numbers, the lower one first, e.g. (0, 100)"
    try:
        low, high = limits
    except (TypeError, ValueError):
        raise parameters.refuse(f"bounds of {name!r}", allowed, limits) from None
    exact = parameters.rational("bounds", low, allowed), parameters.rational("bounds", high, allowed)
    if exact[0] >= exact[1]:
        raise parameters.refuse(f"bounds of {name!r}", allowed, (float(exact[0]), float(exact[1])))
    return exact
