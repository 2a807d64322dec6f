"""A price is read as it was written, in every study: ten times 0.1 is one, and nothing raw comes of a huge one.

Studies are found from the public surface: one that is added and not listed here fails the first test.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import statistics
from tacit.curator import Curator, open_policy
from tacit.curator.till import Order, Till
from tacit.errors import BudgetExceeded, ParameterError
from tacit.loss.events import Event
from tacit.loss.filters import Spent, choose_filter
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


TEST = statistics.ProposeTestRelease(own, near, 10, (0, 100), farthest=600)
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
    # what else takes a price
    "ask": lambda at, **price: at.ask("SELECT count(*) FROM data", **price),
    "ask, averaged": lambda at, **price: at.ask("SELECT sex, avg(age), stddev(pay) FROM data GROUP BY sex", **price),
    "ask, picked": lambda at, **price: at.ask("SELECT quantile_cont(age, 0.3) FROM data", **price),
    "ask_all": lambda at, **price: at.ask_all(["SELECT count(*) FROM data", "SELECT sum(pay) FROM data"], **price),
    "union": lambda at, **price: at.ask("SELECT count(*) FROM data UNION ALL SELECT sum(age) FROM data", **price),
    "publish": lambda at, **price: at.publish(
        ["SELECT count(*) FROM data", statistics.planned(statistics.mean, PLAIN)], **price
    ),
    "suggest": lambda at, **price: at.suggest("data.new", **price),
}
ELSEWHERE = {"bernoulli_comparison", "Planned", "Column", "Content", "Finding", "planned"}
"""They ask nothing of anyone's data."""


NEEDS_DELTA = {"ProposeTestRelease"}
LESS_THAN_ASKED: set[str] = set()
"""They are charged for what they release, which may be worth less than their epsilon."""


class Reached(Exception):  # nothing is wrong
    """It would be charged now."""


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


@pytest.fixture(scope="module")
def clinic() -> Iterator[Curator]:
    numbers = np.arange(60)
    data = pd.DataFrame(
        {
            "who": numbers,
            "age": numbers % 90,
            "pay": numbers * 2.0,
            "sex": ["F", "M"] * 30,
            "ward": ["A", "B", "A"] * 20,
        }
    ).assign(yes=numbers % 2, new=numbers * 1.5, **dict.fromkeys(DATES, numbers % 2))
    edges = pd.DataFrame({"a": numbers % 6, "b": numbers % 5 + 1, "weight": numbers % 7})
    edges = edges[edges.a != edges.b].drop_duplicates(["a", "b"])
    with open_policy(_written(data, edges)) as curator:
        yield curator


def _written(data: pd.DataFrame, edges: pd.DataFrame) -> str:
    import tempfile
    from pathlib import Path

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


def event_of(clinic: Curator, name: str, **price: Any) -> Event:
    """What a study would be charged; it is stopped where it would be."""
    reached: list[Order] = []

    def stop(till: Till, order: Order, *given: Any) -> Any:
        reached.append(order)
        raise Reached

    with no_processes(), patch.object(Till, "buy", stop), patch.object(Till, "open", stop), pytest.raises(Reached):
        STUDIES[name](clinic, **price)
    return reached[0].event


def test_every_study_is_here() -> None:
    assert priced() - ELSEWHERE <= set(STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_ten_times_a_tenth_fit_in_one_and_the_eleventh_does_not(clinic: Curator, name: str) -> None:
    tenth = event_of(clinic, name, epsilon=0.1)
    for same in ("0.1", "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1)):
        assert event_of(clinic, name, epsilon=same) == tenth
    if name in NEEDS_DELTA:
        return
    rule = choose_filter(tacit.Budget(1))
    cost = rule.price(tenth)
    assert cost is not None
    assert Spent(10 * cost.loss, cost.delta).within(rule.limit)
    if name not in LESS_THAN_ASKED:
        assert not Spent(11 * cost.loss, cost.delta).within(rule.limit)


NOBODY_MEANS: tuple[Any, ...] = (
    *(1e-320, "1e400", "1e-400", 10**400, 10**5000, Fraction(1, 10**400), Fraction(10**5000, 3), "1e999999", 1e308),
    *(float("inf"), float("nan"), 0, -1, "ten", "", Decimal("1e400"), Decimal("NaN"), Fraction(10**5000 + 1, 10**5000)),
)


@pytest.mark.parametrize("name", STUDIES)
def test_a_price_that_nobody_means_is_refused_in_a_sentence(clinic: Curator, name: str) -> None:
    before = len(clinic.ledger())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for epsilon in NOBODY_MEANS:
            with pytest.raises((ParameterError, BudgetExceeded), match="epsilon"):
                STUDIES[name](clinic, epsilon=epsilon)
    assert len(clinic.ledger()) == before
