"""Every public study as a call on the clinic below, with everything said but its price; one list for all tests.

`test_common` fails when a study that joins the room is not listed here.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from tacit import statistics
from tacit.statistics.frameworks.isolated import Isolated

PLAIN, EDGES = "data.age", ["edges.a", "edges.b"]
DATES = tuple(f"day{number}" for number in range(3))


def own(rows: Any) -> float:
    return float(np.sum(rows))


def near(rows: Any, steps: int) -> float:
    return 10.0


def scored(candidate: Any, rows: Any, epsilon: Fraction) -> float:
    found: float = statistics.mean(rows, epsilon=epsilon).value
    return found


STUDIES: Mapping[str, Callable[..., Any]] = {
    "Monitor": lambda at, **price: statistics.Monitor(at, threshold=3, **price),
    "DistanceToProperty": lambda at, **price: statistics.DistanceToProperty(own).release(at, PLAIN, **price),
    "ProposeTestRelease": lambda at, **price: statistics.ProposeTestRelease(
        own, near, 10, (0, 100), farthest=600
    ).release(at, PLAIN, delta="1e-6", **price),
    "SampleAndAggregate": lambda at, **price: statistics.SampleAndAggregate(own, 3, (0, 100)).release(
        at, PLAIN, **price
    ),
    "SmoothSensitivity": lambda at, **price: statistics.SmoothSensitivity(own, near, (0, 100)).release(
        at, PLAIN, **price
    ),
    "ab_test": lambda at, **price: statistics.ab_test(at, ["data.sex", "data.ward"], by="ward", value="F", **price),
    "bernoulli_parameter": lambda at, **price: statistics.bernoulli_parameter(at, "data.yes", **price),
    "best_price": lambda at, **price: statistics.best_price(at, PLAIN, prices=[5, 10], **price),
    "chi_square": lambda at, **price: statistics.chi_square(at, ["data.sex", "data.ward"], **price),
    "choose_hyperparameters": lambda at, **price: statistics.choose_hyperparameters(
        at, PLAIN, candidates=[1, 2], run=scored, **price
    ),
    "compare": lambda at, **price: statistics.compare(at, [PLAIN, "data.ward"], by="ward", **price),
    "correlation": lambda at, **price: statistics.correlation(at, [PLAIN, "data.pay"], **price),
    "covariance": lambda at, **price: statistics.covariance(at, [PLAIN, "data.pay"], **price),
    "decide": lambda at, **price: statistics.decide(
        at, "data.sex", decisions=["a", "b"], loss=lambda decision, sex: float(decision == "a"), **price
    ),
    "degree_histogram": lambda at, **price: statistics.degree_histogram(at, EDGES, **price),
    "density": lambda at, **price: statistics.density(at, PLAIN, **price),
    "digital_goods_auction": lambda at, **price: statistics.digital_goods_auction(at, PLAIN, prices=[5, 10], **price),
    "edge_count": lambda at, **price: statistics.edge_count(at, EDGES, **price),
    "histogram": lambda at, **price: statistics.histogram(at, PLAIN, **price),
    "interquartile_range": lambda at, **price: statistics.interquartile_range(at, PLAIN, **price),
    "k_stars": lambda at, **price: statistics.k_stars(at, EDGES, k=2, **price),
    "linear_regression": lambda at, **price: statistics.linear_regression(
        at, [PLAIN, "data.pay"], target="pay", **price
    ),
    "maximum": lambda at, **price: statistics.maximum(at, PLAIN, **price),
    "mean": lambda at, **price: statistics.mean(at, PLAIN, **price),
    "mean_interval": lambda at, **price: statistics.mean_interval(at, PLAIN, **price),
    "median": lambda at, **price: statistics.median(at, PLAIN, **price),
    "meeting_date": lambda at, **price: statistics.meeting_date(at, [f"data.{day}" for day in DATES], **price),
    "minimum": lambda at, **price: statistics.minimum(at, PLAIN, **price),
    "minimum_cut": lambda at, **price: statistics.minimum_cut(at, EDGES, **price),
    "mode": lambda at, **price: statistics.mode(at, "data.sex", **price),
    "pca": lambda at, **price: statistics.pca(at, [PLAIN, "data.pay"], **price),
    "proportion": lambda at, **price: statistics.proportion(at, "data.yes", **price),
    "quantile": lambda at, **price: statistics.quantile(at, PLAIN, q=0.3, **price),
    "quantiles": lambda at, **price: statistics.quantiles(at, PLAIN, q=[0.1, 0.3], **price),
    "quartiles": lambda at, **price: statistics.quartiles(at, PLAIN, **price),
    "robust_regression": lambda at, **price: statistics.robust_regression(at, [PLAIN, "data.pay"], **price),
    "sorted_histogram": lambda at, **price: statistics.sorted_histogram(at, PLAIN, **price),
    "spanning_tree_cost": lambda at, **price: statistics.spanning_tree_cost(at, [*EDGES, "edges.weight"], **price),
    "t_test": lambda at, **price: statistics.t_test(at, PLAIN, mean=3, **price),
    "table": lambda at, **price: statistics.table(at, ["data.sex", "data.ward"], **price),
    "tables": lambda at, **price: statistics.tables(
        at.rows("SELECT sex, ward FROM data"), [["sex"], ["ward"]], **price
    ),
    "top_k": lambda at, **price: statistics.top_k(at, "data.sex", k=1, **price),
    "triangles": lambda at, **price: statistics.triangles(at, EDGES, **price),
    "trimmed_mean": lambda at, **price: statistics.trimmed_mean(at, PLAIN, **price),
    "variance": lambda at, **price: statistics.variance(at, PLAIN, **price),
    "winsorised_mean": lambda at, **price: statistics.winsorised_mean(at, PLAIN, **price),
}
NO_STUDIES = {"bernoulli_comparison", "Planned", "Column", "Content", "Finding", "planned"}
"""They ask nothing of anyone's data."""


def priced() -> set[str]:
    """The public names of the room that take a price, or whose `release` does."""
    found = set()
    for name in statistics.__all__:
        made = getattr(statistics, name)
        if callable(made) and "epsilon" in {
            *inspect.signature(made).parameters,
            *inspect.signature(getattr(made, "release", lambda: 0)).parameters,
        }:
            found.add(name)
    return found


def people(count: int = 60) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the clinic, and of the graph beside it."""
    numbers = np.arange(count)
    data = pd.DataFrame(
        {
            "who": numbers,
            "age": numbers % 90,
            "pay": numbers * 2.0,
            "sex": ["F", "M"] * (count // 2),
            "ward": ["A", "B", "A"] * (count // 3),
        }
    ).assign(yes=numbers % 2, new=numbers * 1.5, **dict.fromkeys(DATES, numbers % 2))
    edges = pd.DataFrame({"a": numbers % 6, "b": numbers % 5 + 1, "weight": numbers % 7})
    return data, edges[edges.a != edges.b].drop_duplicates(["a", "b"])


def policy_of(data: pd.DataFrame, edges: pd.DataFrame) -> str:
    """A policy about these rows, in a folder of its own."""
    folder = Path(tempfile.mkdtemp())
    data.to_csv(folder / "data.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    days = "".join(f'{day} = {{ type = "integer", between = [0, 1] }}\n' for day in (*DATES, "yes"))
    (folder / "clinic.toml").write_text(
        f"""
name = "clinic"
[budget]
epsilon = 1e9
delta = 0.5
[tables.data]
source = "data.csv"
unit = "who"
rows_per_unit = 1
[tables.data.columns]
age = {{ type = "integer", between = [0, 99] }}
pay = {{ type = "real", between = [0, 200] }}
sex = {{ type = "text", one_of = ["F", "M"] }}
ward = {{ type = "text", one_of = ["A", "B"] }}
new = {{ type = "real", between = "auto" }}
{days}
[tables.edges]
source = "edges.csv"
unit = "row"
[tables.edges.columns]
a = {{ type = "integer", between = [0, 6] }}
b = {{ type = "integer", between = [0, 6] }}
weight = {{ type = "integer", between = [0, 7] }}
"""
    )
    return str(folder / "clinic.toml")


@contextmanager
def no_processes() -> Iterator[None]:
    """Functions of the asker's own get no process: nothing is run, and starting one takes as long as many prices."""

    def ready(*_: Any) -> AbstractContextManager[None]:
        return nullcontext()

    with patch.object(Isolated, "ready", ready):
        yield
