"""`DecisionTreeClassifier` and `RandomForestClassifier`: trees grown by private choices, pure epsilon.

Theorem, assumptions and source: `growing`. For small tables: with a few hundred rows, and epsilon of a few tenths, one
well-chosen split is more than any model with noise on many numbers can tell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from tacit import parameters
from tacit.learning.bins.binned import Binned
from tacit.learning.bins.bins import cut_columns, read_bins
from tacit.learning.columns import Reals
from tacit.learning.second_moments.discriminant import in_order
from tacit.learning.training import training
from tacit.learning.trees.growing import Growing, Grown, leaf_of
from tacit.noise import BitSource
from tacit.statistics.finding import Content, column
from tacit.statistics.source import Opened, Whole

_BINS = 16
_DEEPEST, _MOST_TREES = 12, 1_000


class _Trees(ClassifierMixin, Binned):
    """What the two share."""

    bins: Any
    max_depth: Any
    classes_: Any
    _splits: Whole
    _leaves: Whole

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _grow(self, data: Any, y: Any, trees: int | None, analyst: str | None) -> None:
        epsilon, _ = self._budget()
        depth = None if self.max_depth is None else parameters.whole("max_depth", self.max_depth, least=1)
        if depth is not None and depth > _DEEPEST:
            raise parameters.refuse("max_depth", f"at most {_DEEPEST}", depth)
        given = training(self, data, y, "class")
        bins = cut_columns(given.features, self.bins, _BINS)
        plan = Growing(bins, len(given.classes), given.source.rows_per_unit, epsilon, trees, depth)
        assert given.target is not None
        target = given.target

        def compute(opened: Opened, bits: BitSource) -> Content:
            columns, (codes,), counts = read_bins(opened, bins, target.name)
            aims = target.places(codes, opened.meanings(target.name)[0])
            known = aims >= 0
            grown = plan.grow([each[known] for each in columns], aims[known], counts[known], bits)
            return _content(plan, grown, target.name)

        edges = [list(each.edges) if each.edges else each.size for each in bins]
        asked: dict[str, Any] = {
            "study": "trees",
            "target": target.name,
            "edges": edges,
            "trees": trees,
            "depth": depth,
        }
        asked |= {"names": [each.feature.name for each in bins], "classes": len(given.classes)}
        finding = given.source.release(asked, plan.price, compute, analyst=analyst)
        self._keep_bins(finding, bins)
        self.classes_, order = in_order(given.classes)
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        self._splits = np.asarray(finding["splits"])
        self._leaves = places[np.asarray(finding["leaves"])]
        self.max_depth_ = (self._splits.shape[1] + 1).bit_length() - 1
        self.count_ = float(finding["rows"])

    def _rehearse(self) -> None:
        """Also check that every leaf has a class, and every split a column: made-up rows do not reach all of them."""
        trees, nodes, two = self._splits.shape
        if two != 2 or self._leaves.shape != (trees, nodes + 1) or (nodes + 1) & nodes:
            raise ValueError("the trees are not whole")
        for name, found, many in (
            ("split", self._splits[..., 0], len(self._features)),
            ("leaf", self._leaves, len(self.classes_)),
        ):
            if found.dtype.kind not in "iu" or np.any((found < 0) | (found >= many)):
                raise ValueError(f"a {name} is of nothing that there is")
        super()._rehearse()

    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """The share of trees that say each class, in the order of `classes_`."""
        bins = self._binned(X)
        votes = np.zeros((len(bins[0]), len(self.classes_)))
        for splits, leaves in zip(self._splits, self._leaves, strict=True):
            said = leaves[leaf_of(splits, self._bins, bins)]
            votes[np.arange(len(votes)), said] += 1.0
        return votes / len(self._splits)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The class that most trees say."""
        votes = self.predict_proba(X)
        return self.classes_[np.argmax(votes, axis=1)]


def _content(plan: Growing, grown: Grown, target: str) -> Content:
    trees, nodes, _ = grown.splits.shape
    lines = [(tree, node, *grown.splits[tree, node]) for tree in range(trees) for node in range(nodes)]
    names = [plan.bins[place].feature.name for _, _, place, _ in lines]
    ways = [_said(plan, int(place), int(at)) for _, _, place, at in lines]
    table = (
        column("tree", [int(line[0]) for line in lines]),
        column("node", [int(line[1]) for line in lines]),
        column("column", names),
        column("left where", ways),
    )
    arrays = {"splits": grown.splits, "leaves": grown.leaves, "rows": grown.rows}
    return Content(f"Trees of {target}", table, (), arrays)


def _said(plan: Growing, place: int, at: int) -> str:
    own = plan.bins[place]
    return f"below {own.ends[at + 1]:g}" if own.is_ordered else f"is {own.labels[at]}"


class DecisionTreeClassifier(_Trees):
    """One tree, each split of which is chosen by permute and flip.

    epsilon: the price, which is pure; a delta is not used. max_depth: by the bought number of rows where left out.
    bins: how many of equal width a number is cut into, or edges by column. bounds, values: public facts about arrays;
    classes: the list of classes, or "declared public" where those in y are.

    >>> model = DecisionTreeClassifier(epsilon=1, max_depth=2, bounds=(0, 100), classes=["no", "yes"])
    >>> model.fit([[20], [80]], ["no", "yes"]).predict([[50]])[0] in ("no", "yes")
    True
    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        max_depth: Any = None,
        bins: Any = None,
        bounds: Any = None,
        values: Any = None,
        classes: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.max_depth = max_depth
        self.bins = bins
        self.bounds = bounds
        self.values = values
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> DecisionTreeClassifier:  # noqa: N803
        """Learn from rows of a curator and the name of the target, or from arrays."""
        self._grow(X, y, 1, analyst)
        return self


class RandomForestClassifier(_Trees):
    """Several trees, each of which looks at a random part of the splits; they share epsilon, and vote.

    n_estimators: how many, by the bought number of rows where left out: few rows make few good trees. epsilon: the
    price, which is pure; a delta is not used. max_depth: by the bought number of rows where left out. bins: how many of
    equal width a number is cut into, or edges by column. bounds, values: public facts about arrays; classes: the list
    of classes, or "declared public" where those in y are.

    >>> model = RandomForestClassifier(3, epsilon=1, max_depth=2, bounds=(0, 100), classes=["no", "yes"])
    >>> model.fit([[20], [80]], ["no", "yes"]).predict([[50]])[0] in ("no", "yes")
    True
    """

    def __init__(
        self,
        n_estimators: Any = None,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        max_depth: Any = None,
        bins: Any = None,
        bounds: Any = None,
        values: Any = None,
        classes: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.epsilon = epsilon
        self.delta = delta
        self.max_depth = max_depth
        self.bins = bins
        self.bounds = bounds
        self.values = values
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> RandomForestClassifier:  # noqa: N803
        """Learn from rows of a curator and the name of the target, or from arrays."""
        trees = None if self.n_estimators is None else parameters.whole("n_estimators", self.n_estimators, least=1)
        if trees is not None and trees > _MOST_TREES:
            raise parameters.refuse("n_estimators", f"at most {_MOST_TREES:,}", trees)
        self._grow(X, y, trees, analyst)
        return self
