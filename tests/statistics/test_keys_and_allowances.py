"""A key holds all that shapes a publication, an allowance for one event is for that event, and a total is a table."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.curator import Price
from tacit.errors import ParameterError, QuestionError
from tacit.loss import events
from tacit.noise import secure
from tacit.statistics.counts.table_sets import tables
from tacit.statistics.finding import Content, column
from tacit.statistics.moments.variance import variance
from tacit.statistics.planning import planned
from tacit.statistics.prepaid import Prepaid
from tacit.statistics.selection.most_frequent import mode
from tacit.statistics.source import source_of


def test_the_same_statistic_of_fewer_rows_of_a_unit_is_another_one() -> None:
    """A choice costs the same event however many rows a unit has, so the event alone does not tell them apart."""
    frame = pd.DataFrame({"who": [row // 3 for row in range(30)], "ward": list("abc") * 10})
    facts: dict[str, Any] = {"columns": {"ward": tacit.one_of("a", "b", "c")}, "budget": tacit.Budget(epsilon=10)}
    with tacit.protect(frame, unit="who", rows_per_unit=3, **facts) as data:
        for rows in (1, 3):
            found = data.publish({"top": planned(mode, "data.ward", rows_per_unit=rows)}, epsilon=1)
            assert not found.repeated
            assert found["top"].receipt["rows_per_unit"] == str(rows)
        assert data.publish({"top": planned(mode, "data.ward", rows_per_unit=1)}, epsilon=1).repeated


def test_a_curator_stores_a_study_under_its_rows_its_level_and_its_price() -> None:
    frame = pd.DataFrame({"who": [row // 3 for row in range(30)], "ward": list("abc") * 10})
    facts: dict[str, Any] = {"columns": {"ward": tacit.one_of("a", "b", "c")}, "budget": tacit.Budget(epsilon=10)}
    with tacit.protect(frame, unit="who", rows_per_unit=3, **facts) as data:
        for options in ({"rows_per_unit": 1}, {"rows_per_unit": 3}, {"rows_per_unit": 3, "level": "0.9"}):
            assert not mode(data, "data.ward", epsilon="0.1", **options).repeated
            assert mode(data, "data.ward", epsilon="0.1", **options).repeated
        source, event = source_of(data, "data.ward"), events.Pure(Fraction(1, 10))
        made = Content("made up", (column("n", [0]),))
        for worth in (
            Price(event, Fraction(1, 10)),
            Price(event, Fraction(1, 5)),
            Price(event, Fraction(1, 5), Fraction(1, 9)),
        ):
            assert not source.release({"study": "x"}, worth, lambda *_: made).repeated


def test_some_columns_of_what_was_paid_for_are_paid_for_by_the_same_event_only() -> None:
    source = source_of({"a": np.zeros(3), "b": np.zeros(3)}, bounds=(0, 1))
    paid, one = events.DiscreteGaussian(Fraction(1), Fraction(10), 1), Fraction(1)
    opened = source.paid({}, Price(paid, one), None)
    allowance = Prepaid(source, opened, secure(), one, Fraction(1, 1000), only=paid)
    made = Content("made up", (column("n", [0]),))
    with pytest.raises(ParameterError, match="paid for"):
        allowance.of("a").release({}, Price(events.Pure(one), one), lambda *_: made)
    assert allowance.of("a").release({}, Price(paid, one, Fraction(1, 1000)), lambda *_: made).title == "made up"


def test_tables_of_columns_with_one_value_each_are_their_total() -> None:
    rows = {"x": np.array(["a"] * 5), "y": np.array(["p"] * 5)}
    listed = {"x": ["a"], "y": ["p"]}
    found = tables(rows, [("x",), ("y",)], values=listed, epsilon=1000, delta=1e-6, measure="residuals")
    assert found["by x"].tolist() == found["by y"].tolist() == [5]


def test_bounds_whose_square_no_float_holds_are_refused_before_anything_is_paid() -> None:
    with pytest.raises(QuestionError, match="1e150"):
        variance(np.zeros(3), bounds=(-1e300, 1e300), epsilon=1)
    assert variance(np.zeros(3), bounds=(-1e149, 1e149), epsilon=1).value >= 0
