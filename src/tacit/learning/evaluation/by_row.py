"""Models of scikit-learn that say the same of a row among others as of the row alone, bit for bit, up to a last step.

Why bit for bit: whoever brings a model chooses its numbers, and numbers that cancel make a difference in rounding as
large as they like. So the models here work number by number (trees, whose sums go from tree to tree), or are made to:
their products with `coef_` are added up column by column (`columns.products`). Only their last step (a logistic
function, an exponential, a share) is added up in any order; it has no terms that cancel, so what it changes is within
a billionth. Before a comparison of single values only steps are allowed that work number by number.

What is relied upon: numpy's sums, products, quotients and roots of single numbers are rounded as IEEE 754 says,
wherever they stand in an array; a sparse row's product is added up within that row.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tacit.learning.columns import products
from tacit.learning.evaluation.inside import inside

_TREES: Final = frozenset(
    {
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    }
)
_LINES: Final = frozenset(
    {
        "BayesianRidge",
        "ElasticNet",
        "ElasticNetCV",
        "GammaRegressor",
        "HuberRegressor",
        "Lasso",
        "LassoCV",
        "LinearDiscriminantAnalysis",
        "LinearRegression",
        "LinearSVC",
        "LinearSVR",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Perceptron",
        "PoissonRegressor",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "SGDClassifier",
        "SGDRegressor",
        "TweedieRegressor",
    }
)
_NETWORKS: Final = frozenset({"MLPClassifier", "MLPRegressor"})
_BAYES: Final = frozenset({"BernoulliNB", "ComplementNB", "GaussianNB", "MultinomialNB"})
_STRAIGHT: Final = ("identity", "relu")  # between layers, as their bits do not depend on where a number stands
_STEPS: Final = frozenset(
    {
        "ColumnTransformer",
        "KBinsDiscretizer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "OneHotEncoder",
        "OrdinalEncoder",
        "Pipeline",
        "PolynomialFeatures",
        "RobustScaler",
        "SelectKBest",
        "SimpleImputer",
        "StandardScaler",
        "VarianceThreshold",
    }
)


class _ByColumn(np.ndarray[Any, Any]):
    """Weights whose products are added up column by column, so that a row's bits depend on that row alone."""

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **options: Any) -> Any:
        plain = [each.view(np.ndarray) if isinstance(each, _ByColumn) else each for each in given]
        if ufunc is not np.matmul:
            return getattr(ufunc, method)(*plain, **options)
        rows, weights = plain
        found = products(rows, weights.reshape(len(weights), -1))
        return found.reshape(len(rows), *weights.shape[1:])


def by_row(model: Any) -> bool:
    """Make a copy of a model of scikit-learn say the same of a row in any company; False where that is not known."""
    steps = [each for _, each in model.steps] if type(model).__name__ == "Pipeline" else [model]
    last, name = steps[-1], _home_name(steps[-1])
    if not all(_is_by_element(each) for each in steps[:-1]):
        return False
    if name in _TREES:
        first = getattr(last, "init_", None)  # what boosting begins with may be any model
        if (
            first is not None
            and not isinstance(first, str)
            and _home_name(first) not in ("DummyClassifier", "DummyRegressor")
        ):
            return False
        _in_one_thread(model, set())
        return True
    if name in _LINES and _is_plain(getattr(last, "coef_", None)):
        last.coef_ = last.coef_.view(_ByColumn)
        return True
    if name in _NETWORKS and last.activation in _STRAIGHT and all(map(_is_plain, last.coefs_)):
        last.coefs_ = [each.view(_ByColumn) for each in last.coefs_]
        return True
    return False


def _is_plain(weights: Any) -> bool:
    return type(weights) is np.ndarray and weights.dtype == np.float64 and weights.ndim in (1, 2)


def _in_one_thread(thing: Any, seen: set[int]) -> None:
    """Several threads add trees up in the order in which they end."""
    if id(thing) in seen or isinstance(thing, (str, bytes, int, float, bool, type(None))):
        return
    seen.add(id(thing))
    if hasattr(thing, "__dict__") and not isinstance(thing, type) and "n_jobs" in vars(thing):
        thing.n_jobs = 1
    for each in inside(thing):
        _in_one_thread(each, seen)


def may_refuse_a_number(thing: Any) -> bool:
    """Whether an encoder in it takes only the numbers that it knows, and fails at others."""
    own = [each for _, each in getattr(thing, "steps", ())] + [
        each for _, each, _ in getattr(thing, "transformers_", ())
    ]
    return getattr(thing, "handle_unknown", None) == "error" or any(map(may_refuse_a_number, own))


def takes_names(thing: Any) -> bool:
    """Whether something in it chooses columns by their names, so that a matrix will not do."""
    own = [each for _, each in getattr(thing, "steps", ())]
    known = own if _home_name(thing) == "Pipeline" else [thing]
    single = _TREES | _LINES | _NETWORKS | _STEPS | _BAYES
    return not all(_home_name(each) in single - {"ColumnTransformer", "Pipeline"} for each in known)


def _is_by_element(step: Any) -> bool:
    if isinstance(step, str) or step is None:
        return True  # "passthrough", "drop"
    if _home_name(step) == "FunctionTransformer":
        return step.func is None  # what "passthrough" becomes
    own = [each for _, each in getattr(step, "steps", ())] + [each for _, each, _ in getattr(step, "transformers_", ())]
    return _home_name(step) in _STEPS and all(_is_by_element(each) for each in own)


def _home_name(thing: Any) -> str:
    return type(thing).__name__ if type(thing).__module__.startswith("sklearn.") else ""
