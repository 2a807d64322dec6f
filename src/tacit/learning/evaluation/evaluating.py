"""`evaluate`: how good a model is on private rows. The score of a model is a release too.

    learning.evaluate(model, clinic.rows("SELECT age, bmi, sex, smoker FROM patients"), "smoker", epsilon=0.2, by="sex")

Theorem (classes). A row adds 1 to one cell of (group, true class, score bin or predicted class), and which one depends
on that row and on the model alone (`predictions`). So r rows of a unit move the counts by at most r in the L1 norm and
in the L2 norm. Noise is added to every cell; every score follows from the noisy cells.
Theorem (numbers). A row adds one vector of five whole numbers to its group (`residuals`): at most 5 G**2 in the L1
norm, 5**(1/2) G**2 in the L2 norm, r rows r times as much.

Neighbours: one unit's rows, added or removed. Assumptions: the model is public (it was released, or trained on other
data); classes, groups and the target's bounds are public. A model that was trained on these very rows without privacy
is not public: its scores say no more than they cost, but the model itself may give the rows away.
Source: Dwork, McSherry, Nissim, Smith 2006; the ROC curve from a noisy histogram: Stoddard, Chen, Machanavajjhala 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.curator import Curator, Price, Rows
from tacit.curator.elsewhere import must_be_here
from tacit.errors import QuestionError
from tacit.learning.columns import Feature, Reals, features_of
from tacit.learning.evaluation.evaluation import Evaluation, Layout
from tacit.learning.evaluation.inside import is_network
from tacit.learning.evaluation.predictions import Predictor, Table, decoded, predictor
from tacit.learning.evaluation.residuals import GRID, in_steps, row_terms, steps_of
from tacit.learning.evaluation.residuals import largest_error as cut_at
from tacit.learning.evaluation.tested import tested_arrays, tested_whole
from tacit.learning.remembered import RememberedArrays, keyed_digest, token_of
from tacit.mechanisms import Gaussian
from tacit.noise import BitSource
from tacit.statistics.arrays import bounds_of
from tacit.statistics.counts.counting_noise import Noise, least_noise, price_of
from tacit.statistics.finding import Content, column
from tacit.statistics.source import Opened, Source, Whole, source_of

_MOST_BINS: Final = 100
_MOST_CELLS: Final = 100_000
_HAIR: Final = 5e-8


def evaluate(
    model: Any,
    rows: Any,
    target: Any = None,
    *,
    epsilon: parameters.Number,
    delta: parameters.Number = 0,
    by: Any = None,
    groups: Sequence[Any] | None = None,
    bins: int = 10,
    target_bounds: tuple[Any, Any] | None = None,
    largest_error: parameters.Number | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Evaluation:
    """Private scores of a fitted model: one of this room, the best of a `Search`, or a plain one of scikit-learn.

    rows: rows of a curator, with the model's columns and the target; or arrays, with the target as an array.
    target: the name of the column; left out where the model knows it. by: a column with listed values (with arrays also
    an array, with `groups` listing its values). bins: an even number of bins for the score of two classes; fewer bins
    have less noise. target_bounds: those of a number, where the data are arrays and the model does not know them.
    largest_error: for a number; larger errors count as this one. The smaller it is, the less noise there is, and the
    better a bad model looks. It is the distance of the bounds where left out.

    >>> from tacit import learning
    >>> model = learning.DecisionTreeClassifier(epsilon=1, max_depth=1, bounds=(0, 100), classes=["no", "yes"])
    >>> model = model.fit([[20], [80]], ["no", "yes"])
    >>> evaluate(model, [[20], [80]], ["no", "yes"], epsilon=1).finding.receipt["epsilon"]
    '1'
    """
    model = model._chosen() if hasattr(type(model), "_chosen") else model  # a search stands for its best model
    held = not isinstance(rows, (Rows, Source, Curator))  # by the caller
    found = _of_own_arrays(model) if held and is_network(model) else predictor(model)
    price, chance = parameters.budget(epsilon, delta)
    parameters.level("level", level)
    many = parameters.whole("bins", bins, least=2)
    if many % 2 or many > _MOST_BINS:
        raise parameters.refuse("bins", f"an even number up to {_MOST_BINS}, so that one half is an edge", bins)
    if isinstance(rows, Curator):
        raise parameters.refuse("rows", 'rows of a curator, curator.rows("SELECT ..."), or arrays', "a curator")
    if not held:
        for name, given in (("groups", groups), ("target_bounds", target_bounds)):
            if given is not None:
                raise parameters.refuse(name, "left out where a curator has the data: its policy states it", given)
        tested = _tested_rows(model, found, source_of(rows), target, by)
        found = found.acquainted(tested.features)
    else:
        tested = _tested_of_arrays(model, found, rows, target, by, groups, target_bounds)
    if found.asks in ("probability", "score") and len(tested.classes) != 2:
        found = replace(found, asks="class")  # a score of two classes is used where the rows have exactly these two
    facts = _Facts(found, tested, many, _largest(found, tested, largest_error))
    noise = facts.noise(price, chance)
    layout = facts.layout(type(model).__name__, noise)

    def compute(opened: Opened, bits: BitSource) -> Content:
        exact = facts.exact(*tested.read(opened))
        noisy = np.asarray(noise.release(exact.reshape(-1), bits=bits)).reshape(layout.shape)
        return Content(
            f"Evaluation of {layout.model} for {layout.target}",
            (column("number", noisy.reshape(-1)),),
            _notes(layout),
            {"released": noisy},
        )

    asked: dict[str, Any] = {
        "study": "evaluation",
        "rows_given": tested.digest,
        "model": found.digest,
        "cells": [
            layout.asks,
            list(layout.shape),
            layout.largest_error,
            layout.target,
            layout.by,
            [str(each) for each in layout.classes],
        ],
    }
    finding = tested.source.release(asked, _price(price, chance, noise), compute, level=level, analyst=analyst)
    return Evaluation(layout, finding)


def _of_own_arrays(model: Any) -> Predictor:
    """A network that runs as it is, since the caller holds the rows."""
    from tacit.learning.evaluation import networks  # torch is loaded for networks alone

    return networks.of_own_arrays(model)


def _whole(model: Any, data: Any) -> Any:
    from tacit.learning.evaluation import networks

    must_be_here(data)
    return networks.as_array(model, data)


def _largest(found: Predictor, tested: Tested, given: parameters.Number | None) -> float:
    if given is not None and found.asks != "number":
        raise parameters.refuse("largest_error", "left out where the model predicts classes", given)
    return cut_at(tested.high - tested.low, given)


def _price(epsilon: Fraction, delta: Fraction, noise: Noise) -> Price:
    return price_of(epsilon, delta, noise.event)


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """Rows to score a model on: where they come from, and how they are read once they are paid for."""

    source: Source
    target: str
    low: float
    high: float
    classes: tuple[Any, ...]
    groups: tuple[Any, ...]
    by: str | None
    read: Callable[[Opened], tuple[Table, Reals, Whole]]  # columns, the true class's place or number, the group's place
    digest: str = ""  # of arrays, under a key of this process
    features: tuple[Feature, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """The cells, from public facts."""

    found: Predictor
    tested: Tested
    bins: int
    largest: float

    @property
    def asks(self) -> str:
        """What the model is asked for."""
        return self.found.asks

    @property
    def may_fail(self) -> bool:
        return not self.found.is_ours and self.asks != "number"

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups, then sums or (classes, cells)."""
        many = max(len(self.tested.groups), 1)
        if self.asks == "number":
            return (many, 5)
        width = self.bins if self.asks != "class" else len(self.tested.classes)
        return (many, len(self.tested.classes), width + self.may_fail)

    def noise(self, epsilon: Fraction, delta: Fraction) -> Noise:
        size = int(np.prod(self.shape))
        if size > _MOST_CELLS:
            hint = "Take fewer bins, or leave `by` out."
            raise parameters.refuse("evaluation", f"one of at most {_MOST_CELLS:,} cells", f"{size:,} cells", hint)
        rows = self.tested.source.rows_per_unit
        l1, squared = (5 * GRID**2, 5 * GRID**4) if self.asks == "number" else (1, 1)
        return least_noise(rows * l1, rows * rows * squared, size, epsilon, delta)

    def layout(self, name: str, noise: Noise) -> Layout:
        return Layout(
            asks=self.asks,
            target=self.tested.target,
            model=name,
            classes=self.tested.classes,
            groups=self.tested.groups,
            by=self.tested.by,
            bins=self.bins,
            may_fail=self.may_fail,
            low=self.tested.low,
            high=self.tested.high,
            largest_error=self.largest,
            is_laplace=not isinstance(noise, Gaussian),
            scale=float(noise.scale),
            rows_per_unit=self.tested.source.rows_per_unit,
        )

    def exact(self, table: Table, true: Reals, group: Whole) -> Whole:
        """The whole numbers that noise is added to."""
        total = np.zeros(self.shape, dtype=np.int64)
        if not len(table) and self.found.made_up is None:
            return total
        low, high = self.tested.low, self.tested.high
        if self.asks == "number":
            said = self.found.places(table, lambda said: steps_of(said, low, high))
            largest = in_steps(self.largest, high - low)
            np.add.at(total, group, row_terms(steps_of(true, low, high).astype(np.int64), said, largest))
            return total
        place_of = _by_bin(self.bins) if self.asks != "class" else np.asarray
        cell = self.found.places(table, place_of)
        if self.asks == "class":
            cell = _renamed(cell, self.found.classes, self.tested.classes)
        counted = (cell >= 0) | self.may_fail
        cell = np.where(cell < 0, self.shape[2] - 1, cell)
        np.add.at(total, (group[counted], true.astype(np.int64)[counted], cell[counted]), 1)
        return total


def _by_bin(bins: int) -> Callable[[Reals], Reals]:
    """Edges are slightly above multiples of 1/bins: a probability of one half stays below one, and is not near it."""

    def place_of(said: Reals) -> Reals:
        places = np.clip(np.ceil((said - _HAIR) * bins) - 1, 0.0, bins - 1.0)
        return np.asarray(np.where((said >= -_HAIR) & (said <= 1 + _HAIR), places, np.nan))

    return place_of


def _renamed(cell: Whole, own: Sequence[Any], listed: Sequence[Any]) -> Whole:
    """The places of the model's classes among those of the rows."""
    places = np.array([listed.index(each) if each in listed else -1 for each in own] + [-1], dtype=np.int64)
    return np.asarray(places[cell])


def _tested_rows(model: Any, found: Predictor, source: Source, target: Any, by: Any) -> Tested:
    aim = target if target is not None else getattr(model, "_target_name", None)
    names = [each.name for each in source.variables]
    if not isinstance(aim, str):
        raise parameters.refuse("target", f"the name of a column: {', '.join(names)}", target)
    if by is not None and not isinstance(by, str):
        raise parameters.refuse("by", f"the name of a column with listed values: {', '.join(names)}", by)
    aim = source.variable(aim).name
    group = None if by is None else source.variable(by).name
    is_number = found.asks == "number"
    listed = [name for name in (None if is_number else aim, group) if name is not None]
    known = {each.name: each for each in features_of(source.variables, listed)}
    if is_number and known[aim].options is not None:
        raise QuestionError(f"Column {aim!r} has listed values; a regression is scored on a number between bounds.")
    chosen = _columns_for(found, names, aim, group, source)
    used = list(dict.fromkeys([*chosen, aim, *([] if group is None else [group])]))
    narrow = source.of(*used)
    features = [known[name] for name in chosen]
    places = [used.index(name) for name in chosen]
    own = known[aim]
    classes = () if is_number else _classes(found, own.labels)
    order = np.array([classes.index(each) for each in own.labels] if classes else [0])

    def read(opened: Opened) -> tuple[Table, Reals, Whole]:
        codes, meanings = opened.values(*used), opened.meanings(*used)
        table, there = decoded(codes[:, places], features, [meanings[place] for place in places])
        at = used.index(aim)
        if is_number:
            true = codes[:, at].astype(np.float64) * float(own.step)
        else:
            found_at = own.places(codes[:, at], meanings[at])
            there &= found_at >= 0
            true = order[found_at].astype(np.float64)
        which = np.zeros(len(codes), dtype=np.int64)
        if group is not None:
            which = known[group].places(codes[:, used.index(group)], meanings[used.index(group)])
            there &= which >= 0
        return table.kept(there), true[there], which[there]

    low, high = (own.middle - own.half, own.middle + own.half) if is_number else (0.0, 1.0)
    labels = () if group is None else known[group].labels
    return Tested(narrow, aim, low, high, classes, labels, group, read, features=tuple(features))


def _columns_for(found: Predictor, names: Sequence[str], aim: str, group: str | None, source: Source) -> list[str]:
    """The columns that the model is shown, in its order."""
    if found.names is not None:
        return [source.variable(name).name for name in found.names]
    others = [name for name in names if name != aim]
    if len(others) != found.width and group is not None:
        others = [name for name in others if name != group]
    if len(others) != found.width:
        allowed = f"{found.width} columns besides the target, as the model has no names for them"
        raise parameters.refuse("rows", allowed, f"{len(others)}: {', '.join(others)}")
    return others


def _classes(found: Predictor, listed: Sequence[Any]) -> tuple[Any, ...]:
    """The model's classes first, in its order; then those that only the rows have."""
    if not set(found.classes) & set(listed):
        allowed = f"a column with the model's classes: {', '.join(map(str, found.classes))}"
        raise parameters.refuse("target", allowed, ", ".join(map(str, listed)))
    return (*found.classes, *(each for each in listed if each not in found.classes))


def _tested_of_arrays(
    model: Any, found: Predictor, data: Any, target: Any, by: Any, groups: Any, target_bounds: Any
) -> Tested:
    is_number = found.asks == "number"
    bounds = target_bounds if target_bounds is not None else getattr(model, "target_bounds", None)
    features = getattr(model, "_features", ())
    if is_network(model) and not features and not hasattr(data, "columns"):
        given = tested_whole(_whole(model, data), target, by, groups)
    else:
        given = tested_arrays(found, data, target, by, groups, features)
    low, high = 0.0, 1.0
    if is_number:
        if bounds is None:
            hint = "They are public facts; the data are not looked at to find them."
            raise parameters.refuse("target_bounds", "given as (low, high)", None, hint)
        exact = bounds_of("target", bounds)
        low, high = float(exact[0]), float(exact[1])
        true = given.numbers()
        there = given.there & np.isfinite(true)
    else:
        true = given.places(found.classes)
        there = given.there & (true >= 0)
    table, true, which = given.table.kept(there), true[there], given.group[there]
    classes = () if is_number else found.classes
    digest = keyed_digest([*table.columns, true, which])
    return Tested(
        RememberedArrays((), {}, {}, token_of(data)),
        "y",
        low,
        high,
        classes,
        given.groups,
        given.by,
        lambda _: (table, true, which),
        digest,
    )


def _notes(layout: Layout) -> tuple[str, ...]:
    said = ["Intervals of `score` cover the noise: the score on these rows."]
    if layout.rows_per_unit == 1:
        said.append("Those of `expected` cover noise and sampling: the score on new rows like these.")
    else:
        said.append("Sampling is not covered, as rows of one unit are not drawn one by one.")
    if layout.asks == "number":
        said.append(
            "Predictions and targets are clamped to the target's bounds"
            + (
                f", and errors beyond {layout.largest_error:.6g} count as that: scores look better than they are. "
                if layout.largest_error < layout.high - layout.low
                else ". "
            )
            + "R2 has no interval for new rows."
        )
    elif layout.is_curve:
        said.append(f"The second class, {layout.classes[1]}, is predicted where its score is above one half.")
    said.append("Rows with a missing or unlisted value are left out.")
    return tuple(said)
