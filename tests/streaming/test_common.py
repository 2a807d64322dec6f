"""What all streaming statistics promise, asserted for every one of them: one that joins the room is held to it as well.

The price is known before anything comes, in whichever way it is written, and stays what it was whatever comes; what
nobody means is refused in a sentence; what is paid for once is told once, or told again as it was. That none of them
shows, copies or pickles what is exact: `test_nothing_exact`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import streaming
from tacit.errors import BudgetExceeded, ParameterError
from tacit.loss import compose, events
from tacit.loss.budget import Budget
from tacit.loss.filters import choose_filter
from tacit.loss.spent import Spent

DELTA = Fraction(1, 10**6)
RUNNING: Mapping[str, Callable[..., Any]] = {
    "RunningCount": lambda **price: streaming.RunningCount(9, **price),
    "RunningHistogram": lambda **price: streaming.RunningHistogram(["a", "b"], 9, **price),
    "RunningMean": lambda **price: streaming.RunningMean((0, 9), 9, **price),
    "RunningQuantiles": lambda **price: streaming.RunningQuantiles((0, 9), 9, fineness=3, **price),
    "RunningSum": lambda **price: streaming.RunningSum((0, 9), 9, **price),
}
ONCE: Mapping[str, Callable[..., Any]] = {
    "Counter": streaming.Counter,
    "Cropped": lambda **price: streaming.Cropped(["a", "b"], 3, **price),
    "Density": lambda **price: streaming.Density(["a", "b"], **price),
    "Distinct": lambda **price: streaming.Distinct(8, **price),
}
PURE: Mapping[str, Callable[..., Any]] = {
    "Alarm": lambda **price: streaming.Alarm(threshold=1_000_000, **price),
    "RunningTotals": lambda **price: streaming.RunningTotals(9, **price),
    **RUNNING,
    **ONCE,
}
ALL = {**PURE, "HeavyHitters": lambda epsilon: streaming.HeavyHitters(2, epsilon=epsilon, delta=DELTA)}
ROWS = {"RunningHistogram": ["a", "b", "a"], "RunningCount": 3}
BAD: tuple[Any, ...] = (0, -1, "0", float("nan"), float("inf"), "many", True, [1])


def test_every_statistic_is_here() -> None:
    offered = {name: getattr(streaming, name) for name in streaming.__all__}
    assert {name for name, each in offered.items() if "epsilon" in inspect.signature(each).parameters} == set(ALL)


@pytest.mark.parametrize("name", PURE)
def test_ten_times_a_tenth_fit_in_one_and_the_eleventh_does_not(name: str) -> None:
    rule = choose_filter(Budget(1))
    cost = rule.price(PURE[name](epsilon="0.1").event)
    assert cost is not None
    assert Spent(10 * cost.loss, cost.delta).within(rule.limit)
    assert not Spent(11 * cost.loss, cost.delta).within(rule.limit)


@pytest.mark.parametrize("name", ALL)
def test_every_way_to_write_a_tenth_is_the_same_price(name: str) -> None:
    tenth = ALL[name](epsilon="0.1").event
    for same in (0.1, "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1)):
        assert ALL[name](epsilon=same).event == tenth
    assert events.from_json(tenth.to_json()) == tenth


@pytest.mark.parametrize("name", [*RUNNING, "RunningTotals"])
def test_with_a_delta_the_whole_stream_costs_no_more_than_was_asked(name: str) -> None:
    event = PURE[name](epsilon=Fraction(1, 2), delta=DELTA).event
    assert compose([event]).delta(Fraction(1, 2)) <= DELTA * (1 + Fraction(1, 10**8))  # rounded up


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bad", BAD, ids=str)
def test_a_bad_epsilon_is_refused_in_a_sentence(name: str, bad: Any) -> None:
    with pytest.raises(ParameterError, match=r"'epsilon' .* must be .* Got .* instead\."):
        ALL[name](epsilon=bad)


@pytest.mark.parametrize("name", RUNNING)
def test_a_step_that_is_over_is_told_again_as_it_was_and_the_price_stays(name: str, tmp_path: Path) -> None:
    made = RUNNING[name](epsilon=1, path=tmp_path / "a.stream")
    price, rows = made.event, ROWS.get(name, [3, 4])
    told = made.step(rows, number=1)
    assert made.step(rows, number=1) == told
    assert (made.time, made.event) == (1, price)
    made.close()


@pytest.mark.parametrize("name", [*ONCE, "HeavyHitters"])
def test_what_is_paid_for_once_is_told_once(name: str) -> None:
    made = ALL[name](epsilon=1)
    price, tell = made.event, made.release if name == "HeavyHitters" else made.answer
    tell()
    with pytest.raises(BudgetExceeded, match="paid for once"):
        tell()
    assert made.event == price
