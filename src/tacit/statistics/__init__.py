"""Statistics that are not one SQL question: each study takes rows of a curator, or arrays, and gives a `Finding`.

    ages = clinic.rows("SELECT age FROM visits", rows_per_unit=1)     # free: no row is read
    finding = statistics.median(ages, epsilon=0.5)                    # charged to the clinic's ledger
    finding = statistics.median(array, bounds=(0, 110), epsilon=0.5)  # arrays: the receipt says what it cost

A study is written once, for both (`source`), pays before it sees an exact number, and says which data are neighbours.
A name is fetched from its file when it is first used: some studies need large libraries, others none.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tacit.statistics.counts.density import density
    from tacit.statistics.counts.histogram import histogram
    from tacit.statistics.counts.monitor import Monitor
    from tacit.statistics.counts.sorted_histogram import sorted_histogram
    from tacit.statistics.counts.table import table
    from tacit.statistics.counts.table_sets import tables
    from tacit.statistics.estimating import ExpectedWidth, StudyEstimate, estimate
    from tacit.statistics.finding import Column, Content, Finding
    from tacit.statistics.frameworks.by_sensitivity import DistanceToProperty, ProposeTestRelease, SmoothSensitivity
    from tacit.statistics.frameworks.sample_and_aggregate import SampleAndAggregate
    from tacit.statistics.graphs.cuts import minimum_cut
    from tacit.statistics.graphs.degrees import degree_histogram
    from tacit.statistics.graphs.edge_count import edge_count
    from tacit.statistics.graphs.k_stars import k_stars
    from tacit.statistics.graphs.spanning_tree import spanning_tree_cost
    from tacit.statistics.graphs.triangles import triangles
    from tacit.statistics.inference.ab_test import ab_test
    from tacit.statistics.inference.chi_square import chi_square
    from tacit.statistics.inference.compare import compare, t_test
    from tacit.statistics.inference.mean_interval import mean_interval
    from tacit.statistics.inference.proportion import proportion
    from tacit.statistics.moments.covariance import correlation, covariance
    from tacit.statistics.moments.mean import mean
    from tacit.statistics.moments.principal import pca
    from tacit.statistics.moments.regression import linear_regression
    from tacit.statistics.moments.variance import variance
    from tacit.statistics.order.interquartile import interquartile_range
    from tacit.statistics.order.ranked import maximum, median, minimum, quantile, quantiles, quartiles
    from tacit.statistics.order.robust_regression import robust_regression
    from tacit.statistics.order.trimmed import trimmed_mean, winsorised_mean
    from tacit.statistics.planning import Planned, planned
    from tacit.statistics.selection.bernoulli import bernoulli_comparison, bernoulli_parameter
    from tacit.statistics.selection.decisions import decide, meeting_date
    from tacit.statistics.selection.hyperparameters import choose_hyperparameters
    from tacit.statistics.selection.most_frequent import mode, top_k
    from tacit.statistics.selection.prices import best_price, digital_goods_auction

__all__ = [
    "Column",
    "Content",
    "DistanceToProperty",
    "ExpectedWidth",
    "Finding",
    "Monitor",
    "Planned",
    "ProposeTestRelease",
    "SampleAndAggregate",
    "SmoothSensitivity",
    "StudyEstimate",
    "ab_test",
    "bernoulli_comparison",
    "bernoulli_parameter",
    "best_price",
    "chi_square",
    "choose_hyperparameters",
    "compare",
    "correlation",
    "covariance",
    "decide",
    "degree_histogram",
    "density",
    "digital_goods_auction",
    "edge_count",
    "estimate",
    "histogram",
    "interquartile_range",
    "k_stars",
    "linear_regression",
    "maximum",
    "mean",
    "mean_interval",
    "median",
    "meeting_date",
    "minimum",
    "minimum_cut",
    "mode",
    "pca",
    "planned",
    "proportion",
    "quantile",
    "quantiles",
    "quartiles",
    "robust_regression",
    "sorted_histogram",
    "spanning_tree_cost",
    "t_test",
    "table",
    "tables",
    "top_k",
    "triangles",
    "trimmed_mean",
    "variance",
    "winsorised_mean",
]

# name -> the file that it lives in
_HOME: Final = {
    "Column": "finding",
    "Content": "finding",
    "DistanceToProperty": "frameworks.by_sensitivity",
    "Finding": "finding",
    "ExpectedWidth": "estimating",
    "StudyEstimate": "estimating",
    "estimate": "estimating",
    "Monitor": "counts.monitor",
    "Planned": "planning",
    "ProposeTestRelease": "frameworks.by_sensitivity",
    "SampleAndAggregate": "frameworks.sample_and_aggregate",
    "SmoothSensitivity": "frameworks.by_sensitivity",
    "ab_test": "inference.ab_test",
    "bernoulli_comparison": "selection.bernoulli",
    "bernoulli_parameter": "selection.bernoulli",
    "best_price": "selection.prices",
    "chi_square": "inference.chi_square",
    "choose_hyperparameters": "selection.hyperparameters",
    "compare": "inference.compare",
    "correlation": "moments.covariance",
    "covariance": "moments.covariance",
    "decide": "selection.decisions",
    "degree_histogram": "graphs",
    "density": "counts.density",
    "digital_goods_auction": "selection.prices",
    "edge_count": "graphs",
    "histogram": "counts.histogram",
    "interquartile_range": "order.interquartile",
    "k_stars": "graphs",
    "linear_regression": "moments.regression",
    "maximum": "order.ranked",
    "mean": "moments.mean",
    "mean_interval": "inference.mean_interval",
    "median": "order.ranked",
    "meeting_date": "selection.decisions",
    "minimum": "order.ranked",
    "minimum_cut": "graphs",
    "mode": "selection.most_frequent",
    "pca": "moments.principal",
    "planned": "planning",
    "proportion": "inference.proportion",
    "quantile": "order.ranked",
    "quantiles": "order.ranked",
    "quartiles": "order.ranked",
    "robust_regression": "order.robust_regression",
    "sorted_histogram": "counts.sorted_histogram",
    "spanning_tree_cost": "graphs",
    "t_test": "inference.compare",
    "table": "counts.table",
    "tables": "counts.table_sets",
    "top_k": "selection.most_frequent",
    "triangles": "graphs",
    "trimmed_mean": "order.trimmed",
    "variance": "moments.variance",
    "winsorised_mean": "order.trimmed",
}


if not TYPE_CHECKING:  # a type checker reads the imports above, and so still notices a misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _fetched(name)

    @cache
    def _fetched(name: str) -> Any:
        from tacit.curator.elsewhere import passed_on

        found = getattr(importlib.import_module(f"tacit.statistics.{_HOME[name]}"), name)
        return passed_on(found) if isinstance(found, FunctionType) else found

    def __dir__() -> list[str]:
        return __all__
