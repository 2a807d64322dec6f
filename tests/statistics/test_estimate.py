"""A free estimate of every study, in one way: its price and its error, and nothing charged, run or read."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tacit
from tacit import statistics
from tacit.curator.curator import Curator
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.errors import TacitError
from tests.statistics.test_prices import STUDIES, clinic, event_of, no_processes, own, priced

__all__ = ["clinic"]
WITHOUT_INTERVALS = {
    "Monitor",
    "bernoulli_parameter",
    "best_price",
    "chi_square",
    "choose_hyperparameters",
    "decide",
    "digital_goods_auction",
    "meeting_date",
    "minimum_cut",
    "mode",
    "t_test",
}
OWN_FUNCTIONS = {"DistanceToProperty", "ProposeTestRelease", "SampleAndAggregate", "SmoothSensitivity"}


def refused(*_: object, **__: object) -> None:
    raise AssertionError("rows were read")


@pytest.mark.parametrize("name", sorted(priced() & set(STUDIES)))
def test_every_study_is_estimated_at_the_price_that_it_would_be_charged(clinic: Curator, name: str) -> None:
    before = clinic.ledger()
    with no_processes(), patch.object(DuckDBEngine, "run", refused):
        found = statistics.estimate(STUDIES[name], clinic, epsilon="0.1")
    assert clinic.ledger() == before
    assert found.event.to_dict()["kind"] == event_of(clinic, name, epsilon="0.1").to_dict()["kind"]
    assert found.asked.epsilon == Fraction(1, 10)
    assert found.fits is not None
    assert found.fits > 1
    assert "Nothing was charged" in str(found)
    assert all(html.escape(line) in found._repr_html_() for line in str(found).split("\n"))
    assert found.errors or found.notes, "nothing is said about how far it would be off"
    assert bool(found.errors) == (name not in WITHOUT_INTERVALS | OWN_FUNCTIONS)
    assert all(each.half_width > 0 for each in found.errors)


def test_a_count_is_expected_to_be_off_by_the_quantile_of_its_noise(clinic: Curator) -> None:
    ratio = math.exp(-0.5)  # of the two-sided geometric law of epsilon 0.5
    quantile = next(t for t in range(99) if 2 * ratio ** (t + 1) / (1 + ratio) <= 0.05)
    (only,) = statistics.estimate(statistics.table, clinic, ["data.sex", "data.ward"], epsilon="0.5").errors
    assert (only.name, only.rows, only.half_width, only.level) == ("count", None, quantile, 0.95)


@pytest.mark.parametrize("study", [statistics.mean, statistics.median, statistics.variance])
def test_what_is_expected_is_what_comes_of_rows_that_lie_so(clinic: Curator, study: Callable[..., Any]) -> None:
    """The intervals of a study of arrays, which cost nothing; rows that lie in the half that is next to a bound."""
    (told,) = statistics.estimate(study, clinic, "data.pay", epsilon=1, rows=3_000).errors
    assert told.rows == 3_000
    even = np.linspace(0, 200, 3_000)
    found = [study(even, bounds=(0, 200), epsilon=1).intervals() for _ in range(5)]
    halves = [(high - low) / 2 for each in found for ((low, high),) in each.values()]
    assert told.half_width == pytest.approx(np.median(halves), rel=0.35)


def test_more_rows_are_expected_to_be_off_by_less(clinic: Curator) -> None:
    found = statistics.estimate(statistics.mean, clinic, "data.pay", epsilon=1)
    assert [each.rows for each in found.errors] == [100, 1_000, 10_000]
    small, middling, large = (each.half_width for each in found.errors)
    assert small == pytest.approx(10 * middling, rel=0.2)
    assert middling == pytest.approx(10 * large, rel=0.2)
    assert "on 10,000 rows (95 of 100 times, for values spread evenly over their bounds)" in str(found)


def test_a_function_of_the_askers_own_is_tried_where_the_rows_are_said() -> None:
    import pandas as pd

    frame = pd.DataFrame({"who": range(10), "age": range(10)})
    framework = statistics.DistanceToProperty(own, seconds=0.2)
    with tacit.protect(frame, unit="who", columns={"age": (0, 110)}, budget=10) as small:
        (only,) = statistics.estimate(framework.release, small, "age", epsilon="0.5", rows=50).errors  # type: ignore[arg-type]
    assert (only.name, only.half_width) == ("distance", 6)


def test_a_wrong_number_of_rows_is_refused(clinic: Curator) -> None:
    with pytest.raises(TacitError, match="rows"):
        statistics.estimate(statistics.mean, clinic, "data.pay", epsilon=1, rows=0)


def test_it_is_called_like_the_study_itself(clinic: Curator) -> None:
    rows = clinic.rows("SELECT age FROM data")
    by_rows = statistics.estimate(statistics.median, rows, epsilon=0.5)
    by_name = statistics.estimate(statistics.median, clinic, "data.age", epsilon=0.5)
    assert by_rows.asked == by_name.asked
    with pytest.raises(TacitError, match="one of numbers"):
        statistics.estimate(statistics.median, clinic, "data.sex", epsilon=0.5)
    with pytest.raises(TacitError, match="curator"):
        statistics.estimate(statistics.mean, [1, 2], bounds=(0, 3), epsilon=0.5)  # type: ignore[arg-type]


def test_what_does_not_fit_is_told_beforehand() -> None:
    import pandas as pd

    frame = pd.DataFrame({"who": range(10), "age": range(10)})
    with tacit.protect(frame, unit="who", columns={"age": (0, 110)}, budget=1) as small:
        assert "covers about 2 like it" in str(statistics.estimate(statistics.median, small, "age", epsilon=0.4))
        statistics.median(small, "age", epsilon=0.7)
        assert "does not cover it" in str(statistics.estimate(statistics.median, small, "age", epsilon=0.4))
