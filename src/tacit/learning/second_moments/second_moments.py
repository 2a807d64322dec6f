"""`SecondMoments`: one noisy matrix of everything's sums and products, bought once; linear models follow free.

    bought = SecondMoments(epsilon=1, delta=1e-6).fit(clinic.rows("SELECT age, bmi, charge, smoker FROM patients"))
    LinearRegression().fit(bought, "charge")                   # free
    LinearDiscriminantAnalysis().fit(bought, "smoker")         # free
    PCA(n_components=2).fit(bought)                            # free

Theorem, assumptions and source: `gram`. What follows from the matrix is post-processing, for any choice of features and
target among its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit import parameters
from tacit.errors import QuestionError
from tacit.learning.columns import Feature, Reals
from tacit.learning.model import Model, scales
from tacit.learning.second_moments.centred import Centred, centred
from tacit.learning.second_moments.gram import Design, design
from tacit.learning.second_moments.sums import is_pushed_down
from tacit.learning.training import Training, training
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.moments.positive import nearest_positive
from tacit.statistics.source import ArraySource, Opened

_NOTE = "Sums of the columns as vectors: numbers run from -1 to 1 between their bounds, listed values are 1 or 0."
SHRUNK = (
    "Rows far from the released mean were shrunk to a ball around it, which keeps the noise small; what is computed "
    "from these sums is about such rows."
)


@dataclass(frozen=True, slots=True)
class Moments:
    """Released sums of products of (1, coordinates), in units of the vectors, and the deviation of each one's noise.

    Coordinates are taken around `centre`, which is 0 for a matrix that is bought once for many models. `whole`: no row
    was shrunk.
    """

    features: tuple[Feature, ...]
    matrix: Reals
    deviations: Reals
    centre: Reals
    whole: bool

    @property
    def count(self) -> float:
        """The number of rows, at least 1."""
        return max(float(self.matrix[0, 0]), 1.0)

    def places(self, names: Sequence[str]) -> list[int]:
        """The positions of the coordinates of these columns."""
        starts, at = {}, 1
        for each in self.features:
            starts[each.name] = range(at, at + each.size)
            at += each.size
        return [place for name in names for place in starts[name]]

    def feature(self, name: str) -> Feature:
        """A column by its name."""
        for each in self.features:
            if each.name.casefold() == str(name).casefold():
                return each
        known = ", ".join(each.name for each in self.features)
        raise QuestionError(f"Column {name!r} is not among the second moments' columns: {known}.")

    def mean(self, names: Sequence[str]) -> Reals:
        """Means of the coordinates, within their bounds."""
        places = self.places(names)
        least = [-1.0 if self.feature(name).options is None else 0.0 for name in names for _ in range(self._size(name))]
        own = self.centre[[place - 1 for place in places]]
        return np.clip(own + self.matrix[0, places] / self.count, least, 1.0)

    def _size(self, name: str) -> int:
        return self.feature(name).size

    def second(self, names: Sequence[str], others: Sequence[str]) -> Reals:
        """Mean products of coordinates around the centre, as released."""
        return np.asarray(self.matrix[np.ix_(self.places(names), self.places(others))] / self.count)

    def covariance(self, names: Sequence[str]) -> Reals:
        """The covariances of coordinates: the nearest matrix that can be one."""
        return nearest_positive(self.raw_covariance(names))

    def raw_covariance(self, names: Sequence[str]) -> Reals:
        """The covariances of coordinates, as released."""
        places = self.places(names)
        away = self.mean(names) - self.centre[[place - 1 for place in places]]
        return self.second(names, names) - np.outer(away, away)

    def noise(self, names: Sequence[str]) -> float:
        """How far the noise moves the covariances in the direction it moves them most, about: 2 sigma sqrt(d)/n."""
        places = self.places(names)
        deviations = self.deviations[np.ix_(places, places)]
        return 2.0 * float(np.sqrt(np.square(deviations).sum(axis=1).max())) / self.count


class SecondMoments(Model):
    """All sums and products of columns, with noise, charged once.

    epsilon, delta: the price; without a delta the noise is Laplace's. bounds, values: public facts about arrays.

    >>> bought = SecondMoments(epsilon=1, bounds=(0, 100)).fit([[20, 30], [30, 40]])
    >>> bought.covariance_.shape
    (2, 2)
    """

    def __init__(self, *, epsilon: Any = None, delta: Any = 0, bounds: Any = None, values: Any = None) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.values = values

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> SecondMoments:  # noqa: N803
        """Buy the matrix of all columns of X; y is not used, as in every scikit-learn transformer."""
        epsilon, delta = self._budget()
        given = training(self, X, y, None)
        self.moments_, finding = bought(
            given, design(given.columns, given.source.rows_per_unit, epsilon, delta), analyst
        )
        self._keep(finding, given.features)
        names = [each.name for each in given.features]
        half, middle = scales(given.features)
        self.columns_ = np.array([name for each in given.features for name in each.coordinates], dtype=object)
        self.count_ = self.moments_.count
        self.mean_ = middle + half * self.moments_.mean(names)
        self.covariance_ = self.moments_.covariance(names) * np.outer(half, half)
        return self


def bought(given: Training, made: Design | Centred, analyst: str | None) -> tuple[Moments, Finding]:
    """The matrix of these columns, paid for."""

    def compute(opened: Opened, bits: BitSource) -> Content:
        found = made.release(opened, bits)
        matrix, centre = found.matrix, found.centre
        names = ["1", *(name for each in made.features for name in each.coordinates)]
        sums = [matrix[0, 0], *(matrix[0, 1:] + matrix[0, 0] * centre)]
        table = (column("column", names), column("sum", np.array(sums)))
        notes = (_NOTE,) if found.whole else (_NOTE, SHRUNK)
        arrays = {"matrix": matrix, "deviations": found.deviations, "centre": centre, "whole": found.whole}
        return Content(f"Second moments of {', '.join(each.name for each in made.features)}", table, notes, arrays)

    finding = given.source.release(made.asked, made.price, compute, analyst=analyst)
    matrix, deviations, centre = (np.asarray(finding[name]) for name in ("matrix", "deviations", "centre"))
    whole = isinstance(made, Design) or bool(finding["whole"])
    return Moments(made.features, matrix, deviations, centre, whole), finding


def moments_for(
    model: Model,
    data: Any,
    y: Any,
    kind: str | None,
    analyst: str | None,
    *,
    products: bool = True,
    around_mean: bool = False,
    whole_if_clear: bool = False,
    check: Callable[[Sequence[Feature]], None] = lambda _: None,
) -> tuple[Moments, list[str], str | None, tuple[Any, ...]]:
    """The moments that a model is made from (bought before, or bought now), its features, its target and its classes.

    check: refuses features that the model cannot use, before anything is paid.
    """
    if isinstance(data, SecondMoments):
        return _from(model, data, y, kind, check)
    epsilon, delta = model._budget()
    given = training(model, data, y, kind)
    check(given.features)
    facts = (given.columns, given.source.rows_per_unit, epsilon, delta)
    # arrays are in memory; on a curator the sums of few columns are one query, and rows stay where they are
    made: Design | Centred
    if around_mean and (isinstance(given.source, ArraySource) or not is_pushed_down(given.columns)):
        made = centred(*facts, whole_if_clear=whole_if_clear)
    else:
        made = design(*facts, products=products)
    moments, finding = bought(given, made, analyst)
    model._keep(finding, given.features)
    return moments, [f.name for f in given.features], given.target.name if given.target else None, given.classes


def _from(
    model: Model, release: SecondMoments, y: Any, kind: str | None, check: Callable[[Sequence[Feature]], None]
) -> tuple[Moments, list[str], str | None, tuple[Any, ...]]:
    if not hasattr(release, "moments_"):
        raise parameters.refuse("X", "second moments that were fitted", release)
    moments = release.moments_
    target = None
    if kind is None and y is not None:
        raise parameters.refuse("y", "left out: this model has no target", y)
    if kind is not None:
        if not isinstance(y, str):
            raise parameters.refuse("y", "the name of a column of the second moments", y)
        target = moments.feature(y)
        if (target.options is None) != (kind == "number"):
            wanted = "a number between bounds" if kind == "number" else "a column with listed values"
            raise QuestionError(f"The target {target.name!r} of {type(model).__name__} must be {wanted}.")
    features = [each for each in moments.features if each is not target]
    if not features:
        raise QuestionError("There is no feature besides the target.")
    check(features)
    model._keep(release.finding_, features)
    model.n_features_in_ = len(features)
    model._target_name = target.name if target else None
    model.feature_names_in_ = np.array([each.name for each in features], dtype=object)
    names = [each.name for each in features]
    return moments, names, target.name if target else None, target.labels if target and kind == "class" else ()
