"""Models that pay from the ledger: each is a study, and afterwards an ordinary scikit-learn estimator.

A model takes rows of a curator, or arrays with public facts, and is charged before it sees an exact number.

    model = learning.LogisticRegression(epsilon=1, delta=1e-6)
    model.fit(clinic.rows("SELECT age, bmi, smoker FROM patients"), "smoker")     # charged to the clinic's ledger
    model.fit(X, y)                                                               # with bounds=, classes=

scikit-learn is the extra `tacit[learn]`. A name is fetched from its file when it is first used.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tacit.learning.bins.boosted_bins import BoostedBinsClassifier, BoostedBinsRegressor
    from tacit.learning.bins.discretizer import KBinsDiscretizer
    from tacit.learning.bins.naive_bayes import CategoricalNB, GaussianNB
    from tacit.learning.choosing.coverage import maximum_coverage, set_cover
    from tacit.learning.choosing.k_median import k_median
    from tacit.learning.choosing.vertex_cover import vertex_cover
    from tacit.learning.clusters.k_means import KMeans
    from tacit.learning.evaluation.evaluating import evaluate
    from tacit.learning.evaluation.evaluation import Evaluation
    from tacit.learning.files import load
    from tacit.learning.linear.logistic import LogisticRegression
    from tacit.learning.linear.margins import LinearSVC, Perceptron
    from tacit.learning.linear.minimising import minimise
    from tacit.learning.linear.regression import LinearRegression, Ridge
    from tacit.learning.search import Search
    from tacit.learning.second_moments.components import PCA, StandardScaler
    from tacit.learning.second_moments.discriminant import LinearDiscriminantAnalysis
    from tacit.learning.second_moments.second_moments import SecondMoments
    from tacit.learning.trees.classifiers import DecisionTreeClassifier, RandomForestClassifier

__all__ = [
    "PCA",
    "BoostedBinsClassifier",
    "BoostedBinsRegressor",
    "CategoricalNB",
    "DecisionTreeClassifier",
    "Evaluation",
    "GaussianNB",
    "KBinsDiscretizer",
    "KMeans",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "Perceptron",
    "RandomForestClassifier",
    "Ridge",
    "Search",
    "SecondMoments",
    "StandardScaler",
    "evaluate",
    "k_median",
    "load",
    "maximum_coverage",
    "minimise",
    "set_cover",
    "vertex_cover",
]

# name -> the file that it lives in
_HOME: Final = {
    "PCA": "second_moments.components",
    "BoostedBinsClassifier": "bins.boosted_bins",
    "BoostedBinsRegressor": "bins.boosted_bins",
    "CategoricalNB": "bins.naive_bayes",
    "DecisionTreeClassifier": "trees.classifiers",
    "GaussianNB": "bins.naive_bayes",
    "KBinsDiscretizer": "bins.discretizer",
    "KMeans": "clusters.k_means",
    "LinearDiscriminantAnalysis": "second_moments.discriminant",
    "LinearRegression": "linear.regression",
    "LinearSVC": "linear.margins",
    "LogisticRegression": "linear.logistic",
    "Perceptron": "linear.margins",
    "RandomForestClassifier": "trees.classifiers",
    "Ridge": "linear.regression",
    "evaluate": "evaluation.evaluating",
    "load": "files",
    "Evaluation": "evaluation.evaluation",
    "Search": "search",
    "SecondMoments": "second_moments.second_moments",
    "StandardScaler": "second_moments.components",
    "k_median": "choosing.k_median",
    "maximum_coverage": "choosing.coverage",
    "minimise": "linear.minimising",
    "set_cover": "choosing.coverage",
    "vertex_cover": "choosing.vertex_cover",
}


if not TYPE_CHECKING:  # a type checker reads the imports above, and so still notices a misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if importlib.util.find_spec("sklearn") is None:
            raise ImportError(f"tacit.learning.{name} needs scikit-learn: pip install 'tacit[learn]'.")
        return _fetched(name)

    @cache
    def _fetched(name: str) -> Any:
        from tacit.curator.elsewhere import passed_on

        found = getattr(importlib.import_module(f"tacit.learning.{_HOME[name]}"), name)
        return passed_on(found) if isinstance(found, FunctionType) else found

    def __dir__() -> list[str]:
        return __all__
