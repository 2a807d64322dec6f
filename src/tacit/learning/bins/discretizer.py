"""`KBinsDiscretizer`: numbers cut into bins, at public places or at private quantiles that are bought once.

Theorem. "uniform" bins have equal widths between public bounds: nothing is read, and nothing is charged. "quantile"
bins end at values chosen by rank, column after column, each with an equal share of epsilon (`tacit.mechanisms.
Quantiles`, whose theorem counts r rows of a unit); by basic composition the whole is pure epsilon. Which bin a row is
in follows from released edges: cutting other rows is free.

Neighbours: one unit's rows, added or removed. Assumptions: bounds are public.
Source: as in `tacit.mechanisms.quantiles`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tacit import parameters
from tacit.curator import Price
from tacit.errors import QuestionError
from tacit.learning.bins.binned import Binned
from tacit.learning.bins.bins import MOST_BINS, Bins, stated, uniform
from tacit.learning.columns import Feature, Reals
from tacit.learning.training import Training, training
from tacit.loss import events
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.order.methods import ByRank, Frame, bits_for
from tacit.statistics.source import Opened

STRATEGIES: Final = ("quantile", "uniform")
ENCODINGS: Final = ("ordinal", "onehot-dense")
_LEVEL = Fraction(parameters.LEVEL)


class KBinsDiscretizer(TransformerMixin, Binned):
    """Numbers as bins.

    n_bins: how many; equal quantiles may leave fewer. encode: "ordinal" numbers the bins, "onehot-dense" has a column
    of 0 and 1 for each. strategy: "quantile" bins hold about equally many rows and are paid for; "uniform" ones have
    equal widths and are free. epsilon: the price of quantiles, which is pure; a delta is not used. bounds: public facts
    about arrays. `edges_` is what models on bins take: `BoostedBinsClassifier(bins=cut.edges_)`.

    >>> bins = KBinsDiscretizer(3, epsilon=1, bounds=(0, 100)).fit([[20], [30], [80]])
    >>> bins.transform([[50]]).shape
    (1, 1)
    """

    def __init__(
        self,
        n_bins: int = 5,
        *,
        encode: str = "ordinal",
        strategy: str = "quantile",
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
    ) -> None:
        self.n_bins = n_bins
        self.encode = encode
        self.strategy = strategy
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> KBinsDiscretizer:  # noqa: N803
        """Buy the edges of all columns of X, rows of a curator or arrays; y is not used."""
        many = parameters.whole("n_bins", self.n_bins, least=2)
        if many > MOST_BINS:
            raise parameters.refuse("n_bins", f"at most {MOST_BINS:,}", many)
        for name, known in (("strategy", STRATEGIES), ("encode", ENCODINGS)):
            if getattr(self, name) not in known:
                raise parameters.refuse(name, " or ".join(map(repr, known)), getattr(self, name))
        if self.strategy == "quantile":
            self._budget()
        given = training(self, X, y, None)
        listed = [each.name for each in given.features if each.options is not None]
        if listed:
            raise QuestionError(f"KBinsDiscretizer is for numbers; {listed[0]!r} has listed values. Leave it out.")
        if self.strategy == "uniform":
            self._keep_bins(None, tuple(uniform(each, many) for each in given.features))
        else:
            self._keep_bins(*self._bought(given, many, analyst))
        self.bin_edges_ = [np.array(each.ends) for each in self._bins]
        self.n_bins_ = np.array([each.size for each in self._bins])
        self.edges_ = {each.feature.name: list(each.ends[1:-1]) for each in self._bins}
        return self

    def _bought(self, given: Training, many: int, analyst: str | None) -> tuple[Finding, tuple[Bins, ...]]:
        epsilon, _ = self._budget()
        shares = tuple(Fraction(place, many) for place in range(1, many))
        own = epsilon / len(given.features)
        plans = [ranks(each, given.source.rows_per_unit, shares, own) for each in given.features]
        names = [each.name for each in given.features]

        def compute(opened: Opened, bits: BitSource) -> Content:
            found: list[list[float]] = []
            for each, plan in zip(given.features, plans, strict=True):
                codes = np.sort(np.clip(opened.values(each.name)[:, 0], each.low, each.low + each.width))
                chosen = plan.find(codes, bits)
                found.append([float(code[0] * each.step) for code in chosen if code is not None])
            table = (
                column("column", [name for name, edges in zip(names, found, strict=True) for _ in edges]),
                column("edge", [edge for edges in found for edge in edges]),
            )
            return Content(f"Quantiles of {', '.join(names)}", table, (), {"edges": np.array(found)})

        price = Price(events.Composed(tuple(each.event for each in plans)), epsilon)
        asked = {"study": "bins", "bins": many, "names": names}
        finding = given.source.release(asked, price, compute, analyst=analyst)
        chosen = np.asarray(finding["edges"]).reshape(len(names), -1)
        bins = [stated(each, sorted(set(edges.tolist()))) for each, edges in zip(given.features, chosen, strict=True)]
        return finding, tuple(bins)

    def transform(self, X: Any) -> Reals:  # noqa: N803
        """The numbers of the bins, or columns of 0 and 1."""
        found = np.stack(self._binned(X), axis=1)
        if self.encode == "ordinal":
            return found.astype(np.float64)
        return (
            np.hstack([own[:, None] == np.arange(size) for own, size in zip(found.T, self.n_bins_, strict=True)]) * 1.0
        )

    def inverse_transform(self, X: Any) -> Reals:  # noqa: N803
        """The middles of bins."""
        check_is_fitted(self)
        found = np.asarray(X, dtype=np.float64)
        columns = []
        at = 0
        for place, own in enumerate(self._bins):
            middles = np.array([(low + high) / 2 for low, high in pairwise(own.ends)])
            if self.encode == "ordinal":
                columns.append(middles[np.clip(found[:, place], 0, own.size - 1).astype(np.int64)])
            else:
                columns.append(middles[np.argmax(found[:, at : at + own.size], axis=1)])
                at += own.size
        return np.stack(columns, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The columns' own names; with "onehot-dense" one for each bin."""
        check_is_fitted(self)
        names = [each.name for each in self._features]
        if input_features is not None:
            given = [str(each) for each in input_features]
            named = getattr(self, "feature_names_in_", None)
            if len(given) != len(names):
                raise ValueError(f"input_features should have length equal to number of features ({len(names)})")
            if named is not None and given != [str(each) for each in named]:
                raise ValueError("input_features is not equal to feature_names_in_")
            names = given
        if self.encode != "ordinal":
            names = [f"{name}_{place}" for name, size in zip(names, self.n_bins_, strict=True) for place in range(size)]
        return np.array(names, dtype=object)


def ranks(feature: Feature, rows_per_unit: int, shares: tuple[Fraction, ...], epsilon: Fraction) -> ByRank:
    """The choice of one column's edges."""
    high = feature.low + feature.width
    frame = Frame(feature.low, high, rows_per_unit, False, bits_for(epsilon), feature.step, True)
    return ByRank.of(frame, shares, epsilon, Fraction(0), _LEVEL)
