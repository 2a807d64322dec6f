"""What an evaluation shows: scores, a table of errors, a curve and a calibration, all made of one released vector.

Promise: everything here is post-processing of released numbers and public facts. Each score has two columns:
`score`, whose interval covers the noise (the score on these very rows), and `expected`, whose interval covers noise and
sampling (the score on new rows of the same kind, drawn one by one). Where an interval cannot be promised it is left
out: where one unit may have several rows, they are not drawn one by one, and a score whose rows do not stand out of the
noise has neither value nor interval. Each interval holds by itself; many of them do not hold all at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import TacitError
from tacit.learning.columns import Reals
from tacit.learning.evaluation.residuals import Residuals
from tacit.learning.evaluation.shares import Area, CellNoise, Ends, Share
from tacit.statistics.finding import Column, Finding, column

ALL = "all"


@dataclass(frozen=True, slots=True)
class Layout:
    """What is public about the released vector."""

    asks: str  # what the model was asked for: "probability", "score", "class" or "number"
    target: str
    model: str
    classes: tuple[Any, ...]
    groups: tuple[Any, ...]  # empty where there are none
    by: str | None
    bins: int
    may_fail: bool  # whether there is a cell for rows without a prediction
    low: float
    high: float  # of the target, where it is a number
    largest_error: float  # beyond which errors of a number count as this
    is_laplace: bool
    scale: float
    rows_per_unit: int

    @property
    def width(self) -> int:
        """The number of cells of a group and a true class: bins or predicted classes, and no prediction."""
        return (self.bins if self.is_curve else len(self.classes)) + self.may_fail

    @property
    def is_curve(self) -> bool:
        """Whether rows are counted by their score."""
        return self.asks in ("probability", "score")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the released vector."""
        many = max(len(self.groups), 1)
        return (many, 5) if self.asks == "number" else (many, len(self.classes), self.width)

    @property
    def noise(self) -> CellNoise:
        """The noise of each released number."""
        return CellNoise(self.is_laplace, self.scale)

    def facts(self) -> dict[str, Any]:
        """As a file holds it."""
        return {name: getattr(self, name) for name in type(self).__slots__}


@dataclass(frozen=True, slots=True)
class _Scored:
    """One measure of one group: its value, and the two intervals."""

    label: str
    measure: str
    value: float | None
    near: Ends
    far: Ends


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """A model's scores on private rows. `scores` is the table to look at first.

    >>> from tacit import learning
    >>> model = learning.LinearRegression(epsilon=1, bounds=(0, 100), target_bounds=(0, 200))
    >>> found = learning.evaluate(model.fit([[20], [30]], [40, 60]), [[20], [30]], [40, 60], epsilon=1)
    >>> found.finding.receipt["epsilon"]
    '1'
    """

    layout: Layout
    finding: Finding

    @classmethod
    def of(cls, facts: Mapping[str, Any], finding: Finding) -> Evaluation:
        """As a file holds it."""
        return cls(Layout(**facts), finding)

    def _rehearse(self) -> None:
        """Make all that it shows: a file from which that fails is malformed."""
        self.scores, self.errors  # noqa: B018
        if self.layout.is_curve:
            self.curve  # noqa: B018
        if self.layout.asks == "probability":
            self.calibration  # noqa: B018

    @property
    def _released(self) -> Reals:
        return np.asarray(self.finding["released"], dtype=np.float64).reshape(self.layout.shape)

    def _parts(self) -> list[tuple[str, Reals, int]]:
        """All rows first, then each group: a label, the numbers, and how many released numbers each one sums."""
        whole = self._released
        parts = [(ALL, whole.sum(axis=0), len(whole))]
        if self.layout.groups:
            parts += [(str(label), own, 1) for label, own in zip(self.layout.groups, whole, strict=True)]
        return parts

    # -- scores ------------------------------------------------------------------------------------------

    @property
    def scores(self) -> Finding:
        """One row for each measure, side by side for each group."""
        rows: list[_Scored] = []
        for label, own, many in self._parts():
            if self.layout.asks == "number":
                measured = Residuals(
                    own, many, self.layout.noise, self.layout.largest_error, self.layout.high - self.layout.low
                ).measured(self._level)
                rows += [_Scored(label, *each) for each in measured]
            else:
                rows += [self._row(label, name, each) for name, each in self._shares(own, many).items()]
                if self.layout.is_curve:
                    rows.append(self._row(label, "area under the curve", self._area(own, many)))
        keys = [column("measure", [each.measure for each in rows])]
        if self.layout.groups:
            keys = [column(str(self.layout.by), [each.label for each in rows]), *keys]
        return self._made(f"Scores of {self.layout.model} for {self.layout.target}", (*keys, *self._measured(rows)))

    @property
    def _level(self) -> float:
        return self.finding.level

    def _row(self, label: str, name: str, each: Share | Area) -> _Scored:
        return _Scored(label, name, each.value, each.among_these(self._level), each.of_new_rows(self._level))

    def _measured(self, rows: list[_Scored]) -> tuple[Column, Column]:
        alone = self.layout.rows_per_unit == 1
        values = [each.value for each in rows]
        near, far = [each.near for each in rows], [each.far if alone else None for each in rows]
        return _with_ends("score", values, near), _with_ends("expected", values, far)

    def _shares(self, own: Reals, many: int) -> dict[str, Share]:
        """The shares that are shown, from counts by true class and cell."""
        layout, right = self.layout, self._right()
        noise, classes = layout.noise, layout.classes

        def share(hits: Any, misses: Any) -> Share:
            sums, cells = [float(own[each].sum()) for each in (hits, misses)], [int(np.sum(e)) for e in (hits, misses)]
            return Share(sums[0], sums[1], many * cells[0], many * cells[1], noise)

        found = {"accuracy": share(right, ~right)}
        if len(classes) == 2:
            rows = np.arange(2)[:, None] == np.ones((2, layout.width))
            second = self._predicted(1)
            found["false positive rate"] = share(second & ~rows, ~second & ~rows)
            found["false negative rate"] = share(~second & rows, second & rows)
            found["precision"] = share(second & rows, second & ~rows)
            found[f"share of {classes[1]}"] = share(rows, ~rows)
        else:
            for place, label in enumerate(classes):
                own_rows = np.arange(len(classes))[:, None] == np.full((len(classes), layout.width), place)
                found[f"error rate of {label}"] = share(own_rows & ~right, own_rows & right)
        return found

    def _predicted(self, place: int) -> Any:
        """Which cells predict this class, by true class and cell."""
        cells = np.arange(self.layout.width)
        if self.layout.is_curve:
            half = self.layout.bins // 2
            own = (cells >= half) & (cells < self.layout.bins) if place == 1 else cells < half
        else:
            own = cells == place
        return np.broadcast_to(own, (len(self.layout.classes), self.layout.width))

    def _right(self) -> Any:
        many = len(self.layout.classes)
        return np.stack([self._predicted(place)[0] for place in range(many)])

    def _area(self, own: Reals, many: int) -> Area:
        bins = self.layout.bins
        noise = replace(self.layout.noise, scale=self.layout.scale * many**0.5)
        return Area(own[0, :bins], own[1, :bins], noise)

    def __getitem__(self, measure: str) -> float | None:
        """The score of all rows, by the name of its measure; or of a group: `found["F", "accuracy"]`."""
        label, name = measure if isinstance(measure, tuple) else (ALL, measure)
        table = self.scores
        keys = list(table.rows())
        for row in keys:
            if row[-3] == name and (not self.layout.groups or row[0] == label):
                value = row[-2]
                return None if value is None else float(value)
        known = ", ".join(dict.fromkeys(str(row[-3]) for row in keys))
        raise TacitError(f"{name!r} is not among the measures: {known}.")

    # -- tables and curves -------------------------------------------------------------------------------

    @property
    def errors(self) -> Finding:
        """The table of true and predicted classes, in numbers of rows."""
        layout = self.layout
        if layout.asks == "number":
            return self.scores
        rows = []
        for label, own, many in self._parts():
            for true, name in enumerate(layout.classes):
                for place, other in enumerate([*layout.classes, *(["no prediction"] if layout.may_fail else [])]):
                    cells = self._predicted(place)[0] if place < len(layout.classes) else self._missing
                    reach = _reach(layout.noise, many * int(cells.sum()), self._level)
                    count = float(own[true][cells].sum())
                    rows.append((label, str(name), str(other), round(count), max(count - reach, 0.0), count + reach))
        keys = [column("true", [each[1] for each in rows]), column("predicted", [each[2] for each in rows])]
        if layout.groups:
            keys = [column(str(layout.by), [each[0] for each in rows]), *keys]
        counts = Column("rows", "integer", *(tuple(each[at] for each in rows) for at in (3, 4, 5)))
        note = "Intervals cover the noise."
        return self._made(f"Errors of {layout.model} for {layout.target}", (*keys, counts), (note,))

    @property
    def _missing(self) -> Any:
        return np.arange(self.layout.width) == self.layout.width - 1

    @property
    def curve(self) -> Finding:
        """The ROC curve: for each threshold of the score both rates, among all rows."""
        self._must_be_curve()
        _, own, many = self._parts()[0]
        layout, level = self.layout, self._level
        places = np.arange(layout.width)
        cuts = range(layout.bins, -1, -1)

        def rate(true: int, cut: int) -> Share:
            above, below = (places >= cut) & (places < layout.bins), (places < cut) & (places < layout.bins)
            sums, cells = [float(own[true][each].sum()) for each in (above, below)], [above.sum(), below.sum()]
            return Share(sums[0], sums[1], many * int(cells[0]), many * int(cells[1]), layout.noise)

        names = ("false positive rate", "true positive rate")
        columns = [_column_of(name, [rate(true, cut) for cut in cuts], level) for true, name in enumerate(names)]
        thresholds = column("threshold", [cut / layout.bins for cut in cuts])
        note = f"Rates of rows whose score is above the threshold. {_NOISE}"
        title = f"ROC curve of {layout.model} for {layout.target}"
        return self._made(title, (columns[0], columns[1], thresholds), (note,), "line")

    @property
    def calibration(self) -> Finding:
        """For each bin of the predicted probability, how often the second class was true, among all rows."""
        self._must_be_curve()
        layout, level = self.layout, self._level
        if layout.asks != "probability":
            raise TacitError(f"{layout.model} has scores and no probabilities, so there is nothing to calibrate.")
        _, own, many = self._parts()[0]
        shares = [
            Share(float(own[1, place]), float(own[0, place]), many, many, layout.noise) for place in range(layout.bins)
        ]
        middles = column("predicted", [(place + 0.5) / layout.bins for place in range(layout.bins)])
        note = f"Predicted probabilities are the middles of their bins. {_NOISE}"
        title = f"Calibration of {layout.model} for {layout.target}"
        return self._made(title, (middles, _column_of("observed", shares, level)), (note,), "line")

    def _must_be_curve(self) -> None:
        if not self.layout.is_curve:
            raise TacitError(
                f"{self.layout.model} was not evaluated by a score of two classes, so there is no curve. "
                "There are `scores` and `errors`."
            )

    def _made(
        self, title: str, columns: tuple[Column, ...], notes: tuple[str, ...] | None = None, drawing: str = "bars"
    ) -> Finding:
        said = self.finding.notes if notes is None else (*notes, *self.finding.notes[-1:])
        return replace(self.finding, title=title, columns=columns, notes=said, arrays={}, drawing=drawing)

    # -- looking and keeping -----------------------------------------------------------------------------

    @property
    def receipt(self) -> dict[str, str]:
        """Who paid what for it."""
        return self.finding.receipt

    @property
    def repeated(self) -> bool:
        """Whether it was already stored, and so cost nothing now."""
        return self.finding.repeated

    def save(self, path: str | Path) -> Path:
        """Write it to a JSON file, which `learning.load` reads."""
        from tacit.learning.files import save

        return save(self, path)

    def card(self) -> str:
        """A page with all tables and drawings, as HTML."""
        from tacit.learning.cards import evaluation_card

        return evaluation_card(self)

    def save_card(self, path: str | Path) -> Path:
        """Write the page to a file."""
        target = Path(path)
        target.write_text(self.card(), encoding="utf-8")
        return target

    def __str__(self) -> str:
        return str(self.scores)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.scores._repr_html_()


_NOISE = "Intervals cover the noise."


def _column_of(name: str, shares: list[Share], level: float) -> Column:
    ends = [each.among_these(level) if each.hit_cells and each.miss_cells else None for each in shares]
    return _with_ends(name, [each.value for each in shares], ends)


def _with_ends(name: str, values: list[float | None], ends: list[Ends]) -> Column:
    low, high = (tuple(None if each is None else each[side] for each in ends) for side in (0, 1))
    return Column(name, "real", tuple(values), low, high)


def _reach(noise: CellNoise, cells: int, level: float) -> float:
    """How far the noise of a sum of cells reaches at this level."""
    from tacit.statistics.moments.noise_sum import combination

    return combination([1.0] * cells, noise.is_laplace, noise.scale).quantile(level) if noise.scale else 0.0
