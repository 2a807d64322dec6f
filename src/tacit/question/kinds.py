"""The words of the tree: signs, kinds of aggregates and casts, functions over rows of an answer."""

from __future__ import annotations

from typing import Literal as OneOf
from typing import TypeAlias

ArithmeticSign: TypeAlias = OneOf["+", "-", "*", "/", "//", "%"]
CompareSign: TypeAlias = OneOf["=", "<>", "<", "<=", ">", ">="]
CastKind: TypeAlias = OneOf["integer", "real", "date", "timestamp", "boolean", "text"]
AggregateKind: TypeAlias = OneOf[
    "count_rows",
    "count",
    "count_units",
    "count_distinct",
    "quantile",
    "min",
    "max",
    "mode",
    "sum",
    "avg",
    "var_samp",
    "var_pop",
    "stddev_samp",
    "stddev_pop",
    "bool_and",
    "bool_or",
    "corr",
    "covar_pop",
    "covar_samp",
    "regr_slope",
    "regr_intercept",
    "regr_r2",
    "regr_count",
    "histogram",
]

TotalFunction: TypeAlias = OneOf["count", "sum", "avg", "min", "max"]
WindowFunction: TypeAlias = OneOf[
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "sum",
    "avg",
    "min",
    "max",
    "count",
    "lag",
    "lead",
    "first_value",
    "last_value",
]
