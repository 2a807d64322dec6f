"""A free estimate of every study, in one way: the price it would be charged, and nothing charged, run or read."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

import pytest

import tacit
from tacit import statistics
from tacit.curator.curator import Curator
from tacit.engines.duckdb_engine import DuckDBEngine
from tacit.errors import TacitError
from tests.statistics.test_prices import STUDIES, clinic, event_of, priced

__all__ = ["clinic"]


def refused(*_: object, **__: object) -> None:
    raise AssertionError("rows were read")


@pytest.mark.parametrize("name", sorted(priced() & set(STUDIES)))
def test_every_study_is_estimated_at_the_price_that_it_would_be_charged(clinic: Curator, name: str) -> None:
    before = clinic.ledger()
    with patch.object(DuckDBEngine, "run", refused):
        found = statistics.estimate(STUDIES[name], clinic, epsilon="0.1")
    assert clinic.ledger() == before
    assert found.event.to_dict()["kind"] == event_of(clinic, name, epsilon="0.1").to_dict()["kind"]
    assert found.asked.epsilon == Fraction(1, 10)
    assert found.fits is not None
    assert found.fits > 1
    assert "Nothing was charged" in str(found)
    assert str(found) in found._repr_html_().replace("&#x27;", "'")


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
