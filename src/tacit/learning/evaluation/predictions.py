"""What a fixed model predicts for a row: a function of that row alone, which never fails.

Promise: the cell that a row is counted in depends on the row and on the model, and not on the other rows, their number
or their order. A product of matrices adds up in an order that depends on how many rows a call has, and whoever brings a
model can make that as large as they like, with weights that cancel. So

- models of this room, made anew of plain numbers, say the same of a row in every block, bit for bit: they work number
  by number (`columns.products`), and networks compute each row by itself;
- so do trees and linear models of scikit-learn, or are made to (`by_row`);
- only their last step, a logistic function or a share, is rounded in any order, by far less than a billionth: a row
  that is within a billionth of the edge of a cell, or whose block fails, is shown to the model again, alone, and that
  prediction counts;
- any other model of scikit-learn sees one row at a time. Only classes of scikit-learn, numpy and scipy are taken,
  without functions that users wrote (`inside`), and random states inside a model are put back before each row.

A row at which a model fails, or predicts what is neither a number nor one of its classes, has no prediction and is
counted in a cell for such rows. What a model prints or warns of is dropped.

How long it takes. The author of a model chooses at which rows it fails and which rows lie near an edge, and each row
that is shown alone costs a call of the model. So a model that fails at a listed value, or may fail at a number, always
sees one row at a time. Infinite numbers on the way are no failure. And made-up rows, which follow from public facts, go
with every table and are shown alone where few real rows are, so that one more row is one among many.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn import config_context
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from tacit import parameters
from tacit.learning.columns import Feature, Reals
from tacit.learning.evaluation.by_row import by_row, may_refuse_a_number, takes_names
from tacit.learning.evaluation.inside import is_ours, look_over, random_states, refuse_shadows
from tacit.statistics.source import Whole

NONE: Final = -1
"""The place of a row that has no prediction."""
_NEAR: Final = 1e-9  # far above what the order of sums can change
_BLOCK: Final = 1 << 14
_ALONE: Final = 16
"""At least this many rows are shown alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Predictor:
    """A model that was checked: what it is asked for, its classes and its columns."""

    model: Any
    asks: str  # "probability", "score", "class" or "number"
    classes: tuple[Any, ...]
    names: tuple[str, ...] | None  # of its columns, where it knows them
    width: int
    is_ours: bool
    in_blocks: bool
    digest: str
    made_up: Table | None = None

    def acquainted(self, features: Sequence[Feature]) -> Predictor:
        """The same for private rows of these columns: before anything is paid, it is tried on made-up ones."""
        every = _made_up(features, max([_ALONE, *(each.size for each in features)]))
        blocks = self.in_blocks
        if any(each.options is None for each in features) and may_refuse_a_number(self.model):
            blocks = False
        if blocks:
            try:
                with _quietly(self.model):
                    self._asked(every)
            except Exception:  # noqa: BLE001  # whatever it is: it may come again
                blocks = False
        return replace(self, in_blocks=blocks, made_up=every[:_ALONE])

    def places(self, table: Table, place_of: Callable[[Reals], Reals]) -> Whole:
        """The cell of each row, by a step function of the prediction; NONE where there is none."""
        shown, many = (table if self.made_up is None else table.followed_by(self.made_up)), len(table)
        with _quietly(self.model):
            if not self.in_blocks:
                return self._told(self._one_by_one(shown, range(len(shown))), place_of)[:many]
            said, unsure = self._by_blocks(shown)
            found, moved = place_of(said), _NEAR * np.maximum(np.abs(said), 1.0)
            near = np.zeros(len(said), dtype=bool)
            if self.asks != "class":  # whether a class is near another is said by its scores
                near = (place_of(said - moved) != found) | (place_of(said + moved) != found)
            alone = np.flatnonzero((near | unsure)[:many])
            alone = np.concatenate([alone, np.arange(many, len(shown))[: max(0, _ALONE - len(alone))]])
            said[alone] = self._one_by_one(shown, alone)
            return self._told(said, place_of)[:many]

    def _told(self, said: Reals, place_of: Callable[[Reals], Reals]) -> Whole:
        found = place_of(said)
        return np.where(np.isfinite(found) & np.isfinite(said), found, NONE).astype(np.int64)

    def _by_blocks(self, table: Table) -> tuple[Reals, NDArray[np.bool_]]:
        """For each row: the probability of the second class, the place of the predicted class, or a number.

        Also whether it must be shown alone.
        """
        said, unsure = np.full(len(table), np.nan), np.zeros(len(table), dtype=bool)
        waiting = [(start, min(start + _BLOCK, len(table))) for start in range(0, len(table), _BLOCK)]
        while waiting:
            start, end = waiting.pop()
            try:
                found, sure = self._asked(table[start:end])
            except Exception:  # noqa: BLE001  # some row in it fails: halve the block, in the end down to that row
                if end - start > 1:
                    middle = (start + end) // 2
                    waiting += [(start, middle), (middle, end)]
                continue
            said[start:end] = found
            unsure[start:end] = ~sure
        return said, unsure

    def _one_by_one(self, table: Any, rows: Any) -> Reals:
        said = np.full(len(rows), np.nan)
        kept = random_states(self.model)
        for place, row in enumerate(rows):
            for put_back in kept:
                put_back()
            try:
                said[place] = self._asked(table[row : row + 1])[0][0]
            except Exception:  # noqa: BLE001, S112  # whatever it is, it may have to do with the row
                continue
        return said

    def _asked(self, rows: Any) -> tuple[Reals, NDArray[np.bool_]]:
        """What the model predicts, and whether the largest of several scores stands out."""
        plain = self.is_ours or (_all_numbers(rows) and not takes_names(self.model))
        shown = _shown(rows, None if plain else self.names)
        sure, none = np.ones(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
        if self.asks == "number":
            return np.asarray(self.model.predict(shown), dtype=np.float64).reshape(len(rows)), sure
        if self.asks == "probability":
            return np.asarray(self.model.predict_proba(shown), dtype=np.float64)[:, 1], sure
        if self.asks == "score":
            return special.expit(np.asarray(self.model.decision_function(shown), dtype=np.float64)), sure
        if self.in_blocks and hasattr(self.model, "predict_proba"):
            scores = np.sort(np.asarray(self.model.predict_proba(shown)), axis=1)
            sure, none = scores[:, -1] - scores[:, -2] > _NEAR, np.isnan(scores[:, -1])
        elif self.in_blocks and hasattr(self.model, "decision_function"):
            raw = np.asarray(self.model.decision_function(shown)).reshape(len(rows), -1)
            scores = np.sort(raw if raw.shape[1] > 1 else np.hstack([raw, -raw]), axis=1)
            sure = scores[:, -1] - scores[:, -2] > _NEAR * np.maximum(np.abs(scores).max(axis=1), 1.0)
            none = np.isnan(scores[:, -1])
        known = {each: place for place, each in enumerate(self.classes)}
        labels = np.asarray(self.model.predict(shown)).reshape(len(rows)).tolist()
        said = np.array([known.get(each, np.nan) for each in labels], dtype=np.float64)
        return np.where(none, np.nan, said), sure


def predictor(model: Any) -> Predictor:
    """The model as `evaluate` uses it; refused where it is not fitted, or not what it is said to be."""
    if not (is_classifier(model) or is_regressor(model)):
        raise parameters.refuse("model", "a classifier or a regressor of scikit-learn's kind", type(model).__name__)
    ours = is_ours(model)  # a class that was derived from one of ours is not ours
    if ours:
        refuse_shadows(model)
        check_is_fitted(model)
        model = model._without_own_code()
    else:
        look_over(model, set())
    check_is_fitted(model)
    try:
        # everything below asks this copy, never the model that was handed over
        fixed = model._fixed() if ours else copy.deepcopy(model)
        digest = hashlib.sha256(fixed._as_bytes() if ours else pickle.dumps(model)).hexdigest()  # never read again
    except (TypeError, AttributeError, pickle.PicklingError):
        hint = "A model is a fixed object: it can be copied."
        raise parameters.refuse("model", "one that can be written down", type(model).__name__, hint) from None
    return asked_of(fixed, ours, ours or by_row(fixed), digest)


def asked_of(model: Any, is_ours: bool, in_blocks: bool, digest: str) -> Predictor:
    """What a model that may see rows is asked for."""
    names = getattr(model, "feature_names_in_", None)
    known = None if names is None else tuple(str(each) for each in names)
    width = getattr(model, "n_features_in_", None)
    if width is None:
        raise parameters.refuse("model", "one that knows its number of columns (n_features_in_)", type(model).__name__)
    if is_regressor(model):
        return Predictor(model, "number", (), known, int(width), is_ours, in_blocks, digest)
    classes = np.asarray(getattr(model, "classes_", None))
    if classes.ndim != 1 or len(classes) < 2:
        raise parameters.refuse("model", "one with at least two classes_, of one target", type(model).__name__)
    asks = "class"
    if len(classes) == 2:
        asks = "probability" if hasattr(model, "predict_proba") else asks
        asks = "score" if asks == "class" and hasattr(model, "decision_function") else asks
    return Predictor(model, asks, tuple(classes.tolist()), known, int(width), is_ours, in_blocks, digest)


@contextlib.contextmanager
def _quietly(model: Any) -> Iterator[None]:
    """Drop what is printed or warned of, and put random states back as they were."""
    kept = random_states(model)
    nowhere = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            config_context(assume_finite=True),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        for put_back in kept:
            put_back()


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of one length that can be cut into rows; types are those of the columns, never of what is in them.

    Rows of another shape, as images are, are one column.
    """

    columns: tuple[NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, rows: slice) -> Table:
        return Table(tuple(each[rows] for each in self.columns))

    def followed_by(self, other: Table) -> Table:
        """These rows, then the others."""
        pairs = zip(self.columns, other.columns, strict=True)
        return Table(tuple(np.concatenate([own, more]) for own, more in pairs))

    def kept(self, there: NDArray[np.bool_]) -> Table:
        """Some of the rows."""
        return Table(tuple(each[there] for each in self.columns))


def _all_numbers(table: Table) -> bool:
    return all(each.dtype.kind == "f" for each in table.columns)


def _shown(table: Table, names: Sequence[str] | None) -> Any:
    """The table as a model takes it: a frame where the model knows names, otherwise a matrix, or rows of any shape."""
    if table.columns[0].ndim > 1:
        return table.columns[0]
    if names is not None:
        from tacit.answer.exported import library

        pandas = library("pandas")
        return pandas.DataFrame(dict(zip(names, table.columns, strict=True)), columns=list(names))
    if _all_numbers(table):
        return np.stack(table.columns, axis=1)
    mixed = np.empty((len(table), len(table.columns)), dtype=object)
    for place, each in enumerate(table.columns):
        mixed[:, place] = each
    return mixed


def decoded(codes: Whole, features: Sequence[Feature], meanings: Sequence[str]) -> tuple[Table, NDArray[np.bool_]]:
    """Rows of codes as the values that they mean, and which rows have a value in every column."""
    columns: list[NDArray[Any]] = []
    there = np.ones(len(codes), dtype=bool)
    for place, (each, meaning) in enumerate(zip(features, meanings, strict=True)):
        own = codes[:, place]
        if each.options is None:
            columns.append(own.astype(np.float64) * float(each.step))
            continue
        found = each.places(own, meaning)
        there &= found >= 0
        columns.append(_labels(each)[np.maximum(found, 0)])
    return Table(tuple(columns)), there


def _labels(feature: Feature) -> NDArray[Any]:
    """The listed values, as numbers where all of them are."""
    labels = np.empty(feature.size, dtype=object)
    labels[:] = feature.labels
    return labels.astype(np.float64) if all(isinstance(each, (int, float)) for each in feature.labels) else labels


def _made_up(features: Sequence[Feature], many: int) -> Table:
    """Rows that follow from public facts: every listed value, both bounds and the middle."""
    turn = np.arange(many)
    columns = []
    for each in features:
        if each.options is None:
            columns.append((each.low + turn % 3 * (each.width / 2)) * float(each.step))
        else:
            columns.append(_labels(each)[turn % each.size])
    return Table(tuple(columns))
