"""What a model learns from: rows of a curator, or arrays with public facts; read before anything is paid.

    model.fit(clinic.rows("SELECT age, bmi, smoker FROM patients"), "smoker")    # the policy states what is public
    model.fit(X, y)                                                              # bounds=, values=, classes= do

Promise: only public facts decide here. Rows of a curator are charged to its ledger; arrays have none, a row of them is
a unit, and the receipt says what a fit cost. Rows with a missing value, or one that is not listed, are left out, row by
row. Matrices of numbers are checked as scikit-learn does, so that a matrix with a value that is not a finite number is
refused before anything is released: the holder of arrays sees them anyway. A curator never refuses because of a row.

Real numbers of arrays are put on a grid of 2**17 steps between their bounds, so that sums of products are exact in
floating point (`sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from tacit import parameters
from tacit.curator import Curator, Rows
from tacit.curator.elsewhere import must_be_here
from tacit.errors import QuestionError
from tacit.learning.columns import Feature, features_of
from tacit.learning.remembered import RememberedArrays, token_of
from tacit.statistics.arrays import array_source
from tacit.statistics.source import ArraySource, Source, source_of

DECLARED_PUBLIC: Final = "declared public"
_BITS = 17
_BLOCK = 1 << 12


@dataclass(frozen=True, slots=True)
class Training:
    """A source, which of its columns are features, which is the target, and the classes as their owner writes them."""

    source: Source
    features: tuple[Feature, ...]
    target: Feature | None
    classes: tuple[Any, ...]

    @property
    def columns(self) -> tuple[Feature, ...]:
        """The features, then the target."""
        return self.features if self.target is None else (*self.features, self.target)


@dataclass(frozen=True, slots=True, eq=False)
class Through:
    """Data on their way to a model, whose source is replaced: to learn a price, or because it is paid for already."""

    data: Any
    stand_in: Callable[[Training], Source]


def training(model: Any, data: Any, target: Any, kind: str | None) -> Training:
    """What `fit(data, target)` means. `kind` is "number", "class", or None where there is no target."""
    must_be_here(data)
    if isinstance(data, Through):
        found = training(model, data.data, target, kind)
        return replace(found, source=data.stand_in(found))
    if isinstance(data, Curator):
        raise parameters.refuse("X", 'rows of a curator, curator.rows("SELECT ..."), or arrays', "a curator")
    if isinstance(data, (Rows, Source)):
        return _of_rows(model, source_of(data), target, kind)
    return _of_arrays(model, data, target, kind)


def _of_rows(model: Any, source: Source, target: Any, kind: str | None) -> Training:
    from tacit.learning.evaluation.inside import refuse_others  # it knows all models, which know this

    refuse_others(model)
    for name in ("bounds", "values", "classes", "target_bounds"):
        if getattr(model, name, None) is not None:
            allowed = "left out where a curator has the data: its policy states it"
            raise parameters.refuse(name, allowed, getattr(model, name))
    names = [each.name for each in source.variables]
    if kind is None:
        if target is not None:
            raise parameters.refuse("y", "left out: this model has no target", target)
        aim = None
    else:
        if not isinstance(target, str):
            hint = "On the command line it is --target."
            raise parameters.refuse("y", f"the name of a column: {', '.join(names)}", target, hint)
        aim = source.variable(target).name
    known = features_of(source.variables, [aim] if aim is not None and kind == "class" else [])
    features = tuple(each for each in known if each.name != aim)
    if not features:
        raise QuestionError("There is no feature: the rows have the target alone.")
    found = next((each for each in known if each.name == aim), None)
    if kind == "number" and found is not None and found.options is not None:
        hint = "Take a classifier, like BoostedBinsClassifier."
        raise QuestionError(f"Column {aim!r} has listed values; a regression needs a number between bounds. {hint}")
    classes = found.labels if found is not None and kind == "class" else ()
    if kind == "class":
        _at_least_two(classes)
    ordered = source.of(*(each.name for each in (*features, *((found,) if found else ()))))
    _remember(model, [each.name for each in features])
    model._target_name = aim
    return Training(ordered, features, found, classes)


def _remember(model: Any, names: Sequence[str]) -> None:
    """As scikit-learn does for a frame."""
    model.n_features_in_ = len(names)
    model.feature_names_in_ = np.array(names, dtype=object)


def _of_arrays(model: Any, data: Any, target: Any, kind: str | None) -> Training:
    if kind is not None and target is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    token = token_of(data)
    if type(data) is dict:
        raise parameters.refuse("X", "a matrix, a data frame, or rows of a curator", "a mapping")
    values = getattr(model, "values", None)
    if values is None:
        data = validate_data(model, data, dtype="numeric")
        names = _names_of(model)
        columns = dict(zip(names, _by_column(data), strict=True))
    else:
        validate_data(model, data, skip_check_array=True)
        names = _names_of(model)
        columns = columns_of(data, names)
    bounds, listed = bounds_by_name(model.bounds, names, values), dict(_by_name(values, names) or {})
    aim, classes = _target_name(names), ()
    if kind is not None:
        y = column_or_1d(target, warn=True)
        check_consistent_length(next(iter(columns.values())), y)
        if kind == "class":
            classes = classes_of(model.classes, y)
            listed[aim] = list(classes)
        else:
            y = _finite(y).astype(np.float64)  # so that whole numbers get the same grid as reals
            if model.target_bounds is None:
                hint = "They are public facts; the data are not looked at to find them."
                raise parameters.refuse("target_bounds", "given as (low, high)", None, hint)
            bounds[aim] = model.target_bounds
        columns[aim] = y
    source = _coarse(array_source(columns, None, bounds, listed), token)
    known = features_of(source.variables)
    if kind is None:
        return Training(source, known, None, ())
    return Training(source, known[:-1], known[-1], classes)


def _by_column(matrix: Any) -> Any:
    """The columns, each in one piece of memory: a matrix has its rows so, and is turned a block at a time."""
    turned = np.empty(matrix.shape[::-1], dtype=matrix.dtype)
    for start in range(0, len(matrix), _BLOCK):
        turned[:, start : start + _BLOCK] = matrix[start : start + _BLOCK].T
    return turned


def columns_of(data: Any, names: Sequence[str]) -> dict[str, Any]:
    """The columns of a frame or a matrix, by name."""
    if hasattr(data, "columns"):
        return {name: data[own] for name, own in zip(names, list(data.columns), strict=True)}
    matrix = np.asarray(data)
    if matrix.ndim != 2:
        raise parameters.refuse("X", "a table of rows and columns", f"{matrix.ndim} dimensions")
    return {name: matrix[:, place] for place, name in enumerate(names)}


def _names_of(model: Any) -> list[str]:
    named = getattr(model, "feature_names_in_", None)
    return [f"x{place}" for place in range(model.n_features_in_)] if named is None else [str(each) for each in named]


def _target_name(names: Sequence[str]) -> str:
    name = "y"
    while name in names:
        name += "_"
    return name


def _by_name(given: Any, names: Sequence[str]) -> Mapping[str, Any] | None:
    """Facts by the names of columns; a mapping may also say them by their number."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise parameters.refuse("values", "a mapping from columns to their listed values", given)
    return {names[key] if isinstance(key, int) and key < len(names) else str(key): own for key, own in given.items()}


def bounds_by_name(bounds: Any, names: Sequence[str], values: Any = None) -> dict[str, Any]:
    """(low, high) for all numbers, or for each of them: low and high may be sequences, or `bounds` a mapping."""
    listed = set(_by_name(values, names) or {})
    numbers = [name for name in names if name not in listed]
    hint = "They are public facts; the data are not looked at to find them."
    if bounds is None:
        if not numbers:
            return {}
        raise parameters.refuse("bounds", "given as (low, high), or for each column", None, hint)
    if isinstance(bounds, Mapping):
        known = {names[key] if isinstance(key, int) and key < len(names) else str(key): b for key, b in bounds.items()}
        for name in numbers:
            if name not in known:
                raise parameters.refuse("bounds", f"given for every number, also for {name!r}", sorted(known), hint)
        return {name: known[name] for name in numbers}
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise parameters.refuse("bounds", "(low, high), or a mapping from columns to them", bounds, hint) from None
    if np.ndim(low) == 0 and np.ndim(high) == 0:
        return dict.fromkeys(numbers, (low, high))
    lows, highs = np.broadcast_to(low, len(numbers)), np.broadcast_to(high, len(numbers))
    return {name: (lows[place].item(), highs[place].item()) for place, name in enumerate(numbers)}


def classes_of(stated: Any, y: Any) -> tuple[Any, ...]:
    """All classes: a list, or those in y where they are declared public."""
    if isinstance(stated, str) and stated == DECLARED_PUBLIC:
        check_classification_targets(_finite(y))
        found = np.unique(y).tolist()
    elif stated is None or isinstance(stated, str):
        hint = f"They are public facts. If those in y are, say so: classes={DECLARED_PUBLIC!r}."
        raise parameters.refuse("classes", "a list of all classes", stated, hint)
    else:
        found = [each.item() if isinstance(each, np.generic) else each for each in stated]
        if len(set(found)) != len(found):
            raise parameters.refuse("classes", "different from each other", found)
    return _at_least_two(tuple(found))


def _at_least_two(classes: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(classes) < 2:
        raise parameters.refuse("classes", "at least two; a model of one class has nothing to learn", list(classes))
    return classes


def _finite(y: Any) -> Any:
    array = np.asarray(y)
    if array.dtype.kind in "fc" and not np.all(np.isfinite(array)):
        wrong = "NaN" if np.isnan(array).any() else "infinity or a value too large for dtype('float64')"
        raise ValueError(f"Input y contains {wrong}.")
    return array


def _coarse(source: ArraySource, token: str) -> ArraySource:
    """Numbers on grids of at most 2**17 steps; which grid depends on the bounds alone."""
    known, columns = [], dict(source.columns)
    for each in source.known:
        assert each.low is not None
        assert each.high is not None
        shift = max(0, (each.high - each.low).bit_length() - _BITS)
        if each.meaning == "number" and shift:
            columns[each.name] >>= shift  # made for this source alone
            each = replace(each, low=each.low >> shift, high=each.high >> shift, step=each.step * (1 << shift))
        known.append(each)
    return RememberedArrays(tuple(known), columns, source.missing, token)
