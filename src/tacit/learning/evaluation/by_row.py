"""Models of scikit-learn that predict the same for a row among others as for the row alone, up to rounding.

Why a list: most models do, but not all (an iterative decomposition stops when all rows together have settled), and
some of those that do are not continuous (the nearest neighbours of a row change with the last bit of a distance). The
models here are either continuous, or compare single values with thresholds; before such a comparison only steps are
allowed that work element by element, where floating point gives the same bits in every block.
"""

from __future__ import annotations

from typing import Any, Final

_MODELS: Final = frozenset(
    {
        "BayesianRidge",
        "BernoulliNB",
        "CategoricalNB",
        "ComplementNB",
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ElasticNet",
        "ElasticNetCV",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "GammaRegressor",
        "GaussianNB",
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        "HuberRegressor",
        "Lasso",
        "LassoCV",
        "LinearDiscriminantAnalysis",
        "LinearRegression",
        "LinearSVC",
        "LinearSVR",
        "LogisticRegression",
        "LogisticRegressionCV",
        "MLPClassifier",
        "MLPRegressor",
        "MultinomialNB",
        "Perceptron",
        "PoissonRegressor",
        "QuadraticDiscriminantAnalysis",
        "RandomForestClassifier",
        "RandomForestRegressor",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "SGDClassifier",
        "SGDRegressor",
        "TweedieRegressor",
    }
)
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


def is_by_row(model: Any) -> bool:
    """Whether a model of scikit-learn is known to predict the same for a row in a block, up to rounding."""
    steps = [each for _, each in model.steps] if type(model).__name__ == "Pipeline" else [model]
    return _home_name(steps[-1]) in _MODELS and all(_is_by_element(each) for each in steps[:-1])


def may_refuse_a_number(thing: Any) -> bool:
    """Whether an encoder in it takes only the numbers that it knows, and fails at others."""
    inner = [each for _, each in getattr(thing, "steps", ())] + [
        each for _, each, _ in getattr(thing, "transformers_", ())
    ]
    return getattr(thing, "handle_unknown", None) == "error" or any(map(may_refuse_a_number, inner))


def _is_by_element(step: Any) -> bool:
    if isinstance(step, str) or step is None:
        return True  # "passthrough", "drop"
    inner = [each for _, each in getattr(step, "steps", ())] + [
        each for _, each, _ in getattr(step, "transformers_", ())
    ]
    return _home_name(step) in _STEPS and all(_is_by_element(each) for each in inner)


def _home_name(thing: Any) -> str:
    return type(thing).__name__ if type(thing).__module__.startswith("sklearn.") else ""
