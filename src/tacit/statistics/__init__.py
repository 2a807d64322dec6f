"""Statistics that are not one SQL question: each study takes rows of a curator, or arrays, and gives a `Finding`.

    ages = clinic.rows("SELECT age FROM visits", rows_per_unit=1)     # free: no row is read
    finding = statistics.median(ages, epsilon=0.5)                    # charged to the clinic's ledger
    finding = statistics.median(array, bounds=(0, 110), epsilon=0.5)  # arrays: the receipt says what it cost

A study is written once, for both (`source`), pays before it sees an exact number, and says which data are neighbours.
A name is fetched from its file when it is first used: some studies need large libraries, others none.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tacit.statistics.ab_test import ab_test
    from tacit.statistics.bernoulli import bernoulli_comparison, bernoulli_parameter
    from tacit.statistics.chi_square import chi_square
    from tacit.statistics.compare import compare, t_test
    from tacit.statistics.covariance import correlation, covariance
    from tacit.statistics.decisions import decide, meeting_date
    from tacit.statistics.density import density
    from tacit.statistics.finding import Column, Content, Finding
    from tacit.statistics.graphs import (
        degree_histogram,
        edge_count,
        k_stars,
        minimum_cut,
        spanning_tree_cost,
        triangles,
    )
    from tacit.statistics.histogram import histogram
    from tacit.statistics.hyperparameters import choose_hyperparameters
    from tacit.statistics.interquartile import interquartile_range
    from tacit.statistics.mean import mean
    from tacit.statistics.mean_interval import mean_interval
    from tacit.statistics.monitor import Monitor
    from tacit.statistics.most_frequent import mode, top_k
    from tacit.statistics.order import maximum, median, minimum, quantile, quantiles, quartiles
    from tacit.statistics.prices import best_price, digital_goods_auction
    from tacit.statistics.principal import pca
    from tacit.statistics.proportion import proportion
    from tacit.statistics.publishing import Planned, Publication, planned, publish
    from tacit.statistics.regression import linear_regression
    from tacit.statistics.robust_regression import robust_regression
    from tacit.statistics.sample_and_aggregate import SampleAndAggregate
    from tacit.statistics.sensitivity_frameworks import DistanceToProperty, ProposeTestRelease, SmoothSensitivity
    from tacit.statistics.sorted_histogram import sorted_histogram
    from tacit.statistics.table import table
    from tacit.statistics.table_sets import tables
    from tacit.statistics.trimmed import trimmed_mean, winsorised_mean
    from tacit.statistics.variance import variance

__all__ = [
    "Column",
    "Content",
    "DistanceToProperty",
    "Finding",
    "Monitor",
    "Planned",
    "ProposeTestRelease",
    "Publication",
    "SampleAndAggregate",
    "SmoothSensitivity",
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
    "publish",
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
    "DistanceToProperty": "sensitivity_frameworks",
    "Finding": "finding",
    "Monitor": "monitor",
    "Planned": "publishing",
    "ProposeTestRelease": "sensitivity_frameworks",
    "Publication": "publishing",
    "SampleAndAggregate": "sample_and_aggregate",
    "SmoothSensitivity": "sensitivity_frameworks",
    "ab_test": "ab_test",
    "bernoulli_comparison": "bernoulli",
    "bernoulli_parameter": "bernoulli",
    "best_price": "prices",
    "chi_square": "chi_square",
    "choose_hyperparameters": "hyperparameters",
    "compare": "compare",
    "correlation": "covariance",
    "covariance": "covariance",
    "decide": "decisions",
    "degree_histogram": "graphs",
    "density": "density",
    "digital_goods_auction": "prices",
    "edge_count": "graphs",
    "histogram": "histogram",
    "interquartile_range": "interquartile",
    "k_stars": "graphs",
    "linear_regression": "regression",
    "maximum": "order",
    "mean": "mean",
    "mean_interval": "mean_interval",
    "median": "order",
    "meeting_date": "decisions",
    "minimum": "order",
    "minimum_cut": "graphs",
    "mode": "most_frequent",
    "pca": "principal",
    "planned": "publishing",
    "proportion": "proportion",
    "publish": "publishing",
    "quantile": "order",
    "quantiles": "order",
    "quartiles": "order",
    "robust_regression": "robust_regression",
    "sorted_histogram": "sorted_histogram",
    "spanning_tree_cost": "graphs",
    "t_test": "compare",
    "table": "table",
    "tables": "table_sets",
    "top_k": "most_frequent",
    "triangles": "graphs",
    "trimmed_mean": "trimmed",
    "variance": "variance",
    "winsorised_mean": "trimmed",
}


if not TYPE_CHECKING:  # a type checker reads the imports above, and so still notices a misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"tacit.statistics.{_HOME[name]}"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

    class _Room(ModuleType):
        """Some studies have the name of their file. Importing the file would put it in the place of the study."""

        def __setattr__(self, name: str, value: object) -> None:
            if not (name in _HOME and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

    sys.modules[__name__].__class__ = _Room
