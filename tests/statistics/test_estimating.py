"""How far off a study is expected to be, free and beforehand. That all studies are estimated: `test_common`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import statistics
from tacit.curator.curator import Curator
from tacit.errors import TacitError
from tests.statistics.studies import own
from tests.statistics.test_common import clinic

__all__ = ["clinic"]


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
