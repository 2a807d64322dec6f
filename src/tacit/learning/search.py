"""`Search`: the best of several candidates for a model's parameters, paid for as a whole. A drop-in for `GridSearchCV`.

A fifth of the rows is held out by coins. A run fits one candidate to the others and releases its score on those that
were held out, with noise (`held_out`). Two ways to pay for many runs:

- "composition": every candidate runs once, and all of it is composed; all scores are released.
- A random number of runs, each of a candidate drawn uniformly; only the best is released: its parameters, its score
  and its model. "logarithmic", "geometric" or, without a delta, "poisson" is the law of the number.

Theorem. With runs of pure epsilon e the random number costs 2 e, 3 e or e (1 + mean/2) (`selection.trials`), however
many candidates there are; with a delta the runs' Renyi divergences give the price (`selection.renyi_trials`).
"best" takes composition where that leaves a run at least as much as the logarithmic law does: for two candidates, or a
few more where there is a delta.

The released model is the one of the best run: it is not fitted again, which would cost more. Neighbours: one unit's
rows, added or removed. Source: Liu, Talwar 2019; Papernot, Steinke 2022.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit import parameters
from tacit.curator import Price
from tacit.errors import QuestionError
from tacit.learning.calibrated import Noise
from tacit.learning.evaluation.held_out import Halves, apart, most_of, released_score, row_errors, score_noise
from tacit.learning.evaluation.residuals import largest_error
from tacit.learning.model import Model
from tacit.learning.training import Through, Training
from tacit.loss import compose, events
from tacit.noise import BitSource
from tacit.statistics.estimating import StudyEstimate, estimate
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.prepaid import Prepaid, Replayed, price_within
from tacit.statistics.selection.hyperparameters import best_run
from tacit.statistics.selection.renyi_trials import epsilon_of_best
from tacit.statistics.selection.trials import LAWS, NegativeBinomial, Trials, law_of
from tacit.statistics.source import Opened

_LAWS: Final = ("best", "composition", *LAWS)
_FACTS: Final = ("epsilon", "delta", "bounds", "values", "classes", "target_bounds")
_MOST_COMPOSED, _MOST_CANDIDATES = 8, 1_000
_FIT_SHARE = Fraction(2, 3)  # of a run, where a unit may be both learned from and scored with
_LESS = Fraction(9, 10)  # how finely the price of a run is sought


@dataclass(frozen=True, slots=True)
class Runs:
    """What each run costs, and all of them together."""

    number: Trials | None  # None: every candidate once
    fit_epsilon: Fraction
    fit_delta: Fraction
    fits: tuple[events.Event, ...]  # of each candidate
    scored: Noise
    price: Price


def _if_best_has(name: str) -> Any:
    return available_if(lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name))


class Search(MetaEstimatorMixin, BaseEstimator):
    """The best parameters of a model, and that model.

    estimator: a classifier or a regressor of this room, without an epsilon: the search says what a fit may cost.
    param_grid: as in `GridSearchCV`. epsilon, delta: the price of the whole search. law: how runs are paid for;
    trials: the mean of their random number, that of the candidates (at least 5) where left out. largest_error: of a
    number, as in `evaluate`: larger errors count as this one. The smaller it is, the less noise there is, and the
    better a bad model looks. It is the distance of the target's bounds where left out.

    Fitted: `best_estimator_`, `best_params_`, `best_index_`, `best_score_` (of the held-out rows, with noise: the share
    of right classes, or 1 less the mean squared error as a share of the largest one that counts); the best of several
    noisy scores is too good on average. `cv_results_` where all candidates ran.

    >>> from tacit import learning
    >>> tree = learning.DecisionTreeClassifier(bounds=(0, 100), classes=["no", "yes"])
    >>> search = Search(tree, {"max_depth": [1, 2]}, epsilon=1)
    >>> search.epsilon
    1
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        law: str = "best",
        trials: Any = None,
        largest_error: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.law = law
        self.trials = trials
        self.largest_error = largest_error

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "input_tags", "target_tags"):
            setattr(tags, name, copy.deepcopy(getattr(own, name)))
        tags.non_deterministic = True
        return tags

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> Search:  # noqa: N803
        """Search with rows of a curator and the name of the target, or with arrays: one charge, before any row."""
        candidates = self._candidates()
        if self.epsilon is None:
            raise parameters.refuse("epsilon", "given: the price of the whole search", None)
        epsilon, delta = parameters.budget(self.epsilon, self.delta)
        known: list[Training] = []
        asked: list[Any] = []

        def made(place: int, own: Fraction, slip: Fraction) -> Any:
            return clone(self.estimator).set_params(**candidates[place], epsilon=own, delta=slip)

        def priced(place: int, own: Fraction, slip: Fraction) -> events.Event:
            def stopped(stop: Callable[[Any], Any]) -> None:
                def stand_in(given: Training) -> Any:
                    known[:] = [given]
                    return stop(given.source)

                made(place, own, slip).fit(Through(X, stand_in), y)

            told, price = price_within(stopped)
            asked[place:] = [told]
            return price.event

        first = [priced(place, epsilon, delta) for place in range(len(candidates))]
        assert len(first) == len(candidates)
        given = known[0]
        self._check_largest(given)
        plan = plan_runs(given, len(candidates), self.law, self._mean(len(candidates)), epsilon, delta, priced)

        def compute(opened: Opened, bits: BitSource) -> Content:
            halves = apart(opened, given, bits)

            def run(place: int) -> tuple[float, tuple[float, str]]:
                own, event = (plan.fit_epsilon, plan.fit_delta), plan.fits[place]
                paid = Prepaid(given.source, halves.learned, bits, *own, only=event)  # one allowance, whatever it does
                model = made(place, *own).fit(Through(X, lambda asks: paid.sharing(asks.source)), y)
                return _scored(model, given, halves, plan.scored, self.largest_error, bits)

            if plan.number is None:
                return _all_of(run, candidates)
            return _best_of(best_run(plan.number, len(candidates), run, bits), candidates)

        whole: dict[str, Any] = {
            "study": "search",
            "law": repr(plan.number),
            "price": [str(epsilon), str(delta)],
            "fits": asked,
            "largest error": str(self.largest_error),
        }
        whole |= {"model": type(self.estimator).__name__, "candidates": [_written(each) for each in candidates]}
        whole |= {"fixed": _written(self.estimator.get_params())}
        finding = given.source.release(whole, plan.price, compute, analyst=analyst)
        self._keep(finding, candidates, X, y, lambda place: made(place, plan.fit_epsilon, plan.fit_delta))
        return self

    def estimate(self, X: Any, y: Any = None) -> StudyEstimate:  # noqa: N803
        """What `fit` with these rows of a curator would cost. Free: nothing is charged, run or read."""
        return estimate(clone(self).fit, X, y)

    def _chosen(self) -> Any:
        """What `evaluate` scores: the best model."""
        check_is_fitted(self)
        return self.best_estimator_

    def _candidates(self) -> list[dict[str, Any]]:
        if not isinstance(self.estimator, Model) or not (is_classifier(self.estimator) or is_regressor(self.estimator)):
            allowed = "a classifier or a regressor of tacit.learning: what others cost is not known"
            raise parameters.refuse("estimator", allowed, type(self.estimator).__name__)
        if getattr(self.estimator, "epsilon", None) is not None:
            hint = "Give the search an epsilon; it says what each fit may cost."
            raise parameters.refuse("estimator", "without an epsilon of its own", self.estimator.epsilon, hint)
        if self.law not in _LAWS:
            raise parameters.refuse("law", f"one of {', '.join(map(repr, _LAWS))}", self.law)
        found = [dict(each) for each in ParameterGrid(self.param_grid)]
        if not 1 <= len(found) <= _MOST_CANDIDATES:
            raise parameters.refuse("param_grid", f"1 to {_MOST_CANDIDATES:,} candidates", len(found))
        for name in sorted({name for each in found for name in each}):
            if name in _FACTS:
                raise parameters.refuse("param_grid", "parameters that are neither the price nor public facts", name)
        return found

    def _check_largest(self, given: Training) -> None:
        if self.largest_error is None:
            return
        if given.classes or given.target is None:
            raise parameters.refuse("largest_error", "left out where the model predicts classes", self.largest_error)
        largest_error(2 * given.target.half, self.largest_error)

    def _mean(self, candidates: int) -> parameters.Number:
        given: parameters.Number = max(candidates, 5) if self.trials is None else self.trials
        return given

    def _keep(
        self, finding: Finding, candidates: Sequence[dict[str, Any]], data: Any, target: Any, made: Callable[[int], Any]
    ) -> None:
        place, text = int(finding["place"]), finding["model"]
        self.finding_, self.receipt_ = finding, finding.receipt
        if place < 0 or not text:
            hint = "Ask at another price, or with other candidates."
            raise QuestionError(f"No run of the search gave a model, and what was charged stays charged. {hint}")
        stored = Finding.from_bytes(str(text).encode())
        best = made(place).fit(Through(data, lambda own: Replayed(own.source, stored)), target)
        best.receipt_ = finding.receipt  # the model cost what the search cost
        self.best_index_, self.best_params_, self.best_estimator_ = place, candidates[place], best
        self.best_score_ = float(finding["best_score"])
        self.n_features_in_ = best.n_features_in_
        for name in ("feature_names_in_", "classes_"):
            if hasattr(best, name):
                setattr(self, name, getattr(best, name))
        if "mean_score" in finding.names:
            scores = np.array(finding["mean_score"], dtype=np.float64)
            self.cv_results_ = {"params": list(candidates), "mean_test_score": scores}

    def predict(self, X: Any) -> Any:  # noqa: N803
        """What the best model predicts."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @_if_best_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The best model's probabilities."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @_if_best_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:  # noqa: N803
        """The best model's scores."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """The best model's score on these rows: exact, so only for the holder of these rows."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))


def plan_runs(
    given: Training,
    candidates: int,
    law: str,
    trials: parameters.Number,
    epsilon: Fraction,
    delta: Fraction,
    priced: Callable[[int, Fraction, Fraction], events.Event],
) -> Runs:
    """How runs are paid for: from public numbers alone. `priced` says the event of a candidate's fit at a price."""
    made: dict[Fraction, tuple[tuple[events.Event, ...], Noise, tuple[events.Event, ...]]] = {}

    def runs(own: Fraction) -> tuple[tuple[events.Event, ...], Noise, tuple[events.Event, ...]]:
        """The events of fits, the noise of scores, and the events of whole runs."""
        if own not in made:
            together = given.source.rows_per_unit > 1
            fits = tuple(priced(place, own * _FIT_SHARE if together else own, delta) for place in range(candidates))
            noise = score_noise(given, given.source.rows_per_unit, own * (1 - _FIT_SHARE) if together else own, delta)
            join = events.Composed if together else events.Parallel
            made[own] = fits, noise, tuple(join((fit, noise.event)) for fit in fits)
        return made[own]

    def all_fit(own: Fraction) -> bool:
        return compose([events.Composed(runs(own)[2])]).delta(epsilon) <= delta

    found: list[tuple[Fraction, Trials | None]] = []
    if law == "composition" or (law == "best" and candidates <= _MOST_COMPOSED):
        own = epsilon / candidates
        found.append((own if delta == 0 else max(own, _largest(all_fit, epsilon, own)), None))
    if law != "composition":
        number = law_of("logarithmic" if law == "best" else law, trials)
        if delta == 0:
            found.append((number.each(epsilon), number))
        elif isinstance(number, NegativeBinomial):
            binomial = number
            own = _largest(lambda e: epsilon_of_best(binomial, runs(e)[2], delta) <= epsilon, epsilon, Fraction(0))
            found.append((own, number))
        else:
            raise parameters.refuse("law", "another one where there is a delta: this bound is for pure epsilon", law)
    own, chosen = max(found, key=lambda each: each[0])
    if own == 0:
        hint = "Take law='composition', or a larger epsilon."
        raise parameters.refuse("epsilon", "enough for a random number of runs at this delta", float(epsilon), hint)
    fits, noise, whole = runs(own)
    fit_epsilon = own * _FIT_SHARE if given.source.rows_per_unit > 1 else own
    if chosen is None:
        event: events.Event = events.Composed(whole)
    elif delta == 0:
        event = events.Pure(epsilon)
    else:
        event = events.Approximate(epsilon, delta)
    return Runs(chosen, fit_epsilon, delta, fits, noise, Price(event, epsilon, delta))


def _largest(fits: Callable[[Fraction], bool], epsilon: Fraction, least: Fraction) -> Fraction:
    """The largest price of a run that fits, up to a tenth; or `least`, which is known to fit or is 0."""
    own = epsilon
    while own > max(least, epsilon / 500):
        if fits(own):
            return own
        own *= _LESS
    return least


def _scored(
    model: Any, given: Training, halves: Halves, noise: Noise, largest: parameters.Number | None, bits: BitSource
) -> tuple[float, Any]:
    most = most_of(given)
    compared, mean = released_score(row_errors(model, given, halves.scored, largest), most, noise, bits)
    return compared, (mean, model.finding_.to_bytes().decode())


def _best_of(best: Any, candidates: Sequence[Any]) -> Content:
    """Only the best is released."""
    _, place, kept = (0.0, -1, None) if best is None else best
    mean, text = (math.nan, "") if kept is None else kept
    table = (column("candidate", [str(candidates[place]) if place >= 0 else None]), column("score", [mean]))
    arrays = {"place": place, "best_score": mean if kept is not None else 0.0, "model": text}
    return Content(
        "The best of a search", table, ("The best of a random number of runs; the others stay unknown.",), arrays
    )


def _all_of(run: Callable[[int], tuple[float, Any]], candidates: Sequence[Any]) -> Content:
    """Every candidate's score is released."""
    found: list[tuple[float, Any]] = []
    for place in range(len(candidates)):
        try:
            found.append(run(place))
        except Exception:  # noqa: BLE001  # its words could say something of rows: the run has the worst score
            found.append((-math.inf, (math.nan, "")))
    place = max(range(len(found)), key=lambda each: (found[each][0], -each))
    table = (
        column("candidate", [str(each) for each in candidates]),
        column("mean_score", [kept[0] for _, kept in found]),
    )
    mean, text = found[place][1]
    arrays = {"place": place if text else -1, "best_score": mean if text else 0.0, "model": text}
    return Content("The best of a search", table, ("Every candidate ran once.",), arrays)


def _written(given: Mapping[str, Any]) -> dict[str, str]:
    """Parameters as text: another text is another study."""
    return {name: repr(value) for name, value in sorted(given.items())}
