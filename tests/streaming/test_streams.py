"""Running statistics against plain ones; what a row can do at most."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from tacit.errors import BudgetExceeded, ParameterError
from tacit.streaming import (
    Alarm,
    RunningCount,
    RunningHistogram,
    RunningMean,
    RunningQuantiles,
    RunningSum,
    Sliding,
    any_window,
)
from tacit.streaming.streams import Stream

LOUD = {"rho": 1e6}  # so little noise that answers are nearly exact
HOSTILE: list[Any] = [None, "x", float("nan"), float("inf"), -1e308, 10**400, [], ([],), {}, object(), True, 3]


def test_answers_are_those_of_plain_statistics() -> None:
    rng = np.random.default_rng(1)
    days = [rng.normal(40, 20, int(rng.integers(50, 80))) for _ in range(10)]
    count, total, mean = RunningCount(10, **LOUD), RunningSum((0, 100), 10, **LOUD), RunningMean((0, 100), 10, **LOUD)
    middle = RunningQuantiles((0, 100), 10, quantiles=[0.5], **LOUD)
    shares = RunningHistogram(["low", "high"], 10, **LOUD)
    for day in range(10):
        so_far = np.clip(np.concatenate(days[: day + 1]), 0, 100)
        assert count.step(days[day]) == pytest.approx(len(so_far), abs=0.1)
        assert total.step(days[day]) == pytest.approx(so_far.sum(), abs=1)
        assert mean.step(days[day]) == pytest.approx(so_far.mean(), abs=0.05)
        assert middle.step(days[day])[0] == pytest.approx(float(np.median(so_far)), abs=1)
        found = shares.step(["low" if each < 50 else "high" for each in days[day]])
        assert found["low"] == pytest.approx((so_far < 50).sum(), abs=0.1)


def rows_of(stream: Stream) -> list[list[int]]:
    """What a stream adds up, instead of adding it up."""
    seen: list[list[int]] = []
    stream._sent = lambda row, number: seen.append(row) or [0.0] * len(row)  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize("extra", HOSTILE, ids=range(len(HOSTILE)))
def test_one_row_moves_a_step_by_no_more_than_stated_whatever_it_is(extra: Any) -> None:
    for stream in (
        RunningCount(5, epsilon=1),
        RunningSum((-3, 7), 5, epsilon=1),
        RunningMean((-3, 7), 5, epsilon=1),
        RunningHistogram([1, "x", None, True and 3], 5, epsilon=1),
        RunningQuantiles((-3, 7), 5, epsilon=1, fineness=4),
    ):
        seen = rows_of(stream)
        change = stream.totals.change
        for rest in ([], [1.5, 2, -9, "y"]):
            seen.clear()
            stream.step(iter(rest))
            stream.step(iter([*rest, extra]))
            moved = np.array(seen[1]) - np.array(seen[0])
            assert np.abs(moved).sum() <= change.l1
            assert math.isqrt(int((moved**2).sum())) <= change.l2
            assert np.count_nonzero(moved) <= change.cells


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}])
def test_a_sliding_window_is_as_exact_as_stated(price: dict[str, float]) -> None:
    """Mean of squares over 300 streams within 45 % of what is stated, or below where it is a bound: 1e-6 by chance."""
    squares = []
    for _ in range(300):
        window = Sliding(RunningCount(40, **price), 7)
        found = [window.step(step) for step in range(1, 41)]
        squares.append((found[-1] - sum(range(34, 41))) ** 2)
    stated = window.deviation(40) ** 2
    assert np.mean(squares) < stated * 1.45
    if "delta" in price:
        assert np.mean(squares) > stated * 0.55
    assert window.deviation(3) == window.stream.deviation(3)


def test_streams_are_kept_in_files_and_steps_have_numbers(tmp_path: Path) -> None:
    count = RunningCount(10, epsilon=1, path=tmp_path / "c")
    first = count.step(5)
    assert count.step(500, number=1) == first
    count.close()
    again = RunningCount(10, epsilon=1, path=tmp_path / "c")
    assert again.time == 1
    assert again.step(0, number=1) == first
    again.close()
    with pytest.raises(ParameterError, match="without a path"):
        RunningCount(10, epsilon=1).step(1, number=2)


def test_errors_are_told_before_anything_is_drawn_and_grow_with_what_is_hidden() -> None:
    week = RunningCount(365, epsilon=1, delta=1e-6, protects=any_window(7))
    day = RunningCount(365, epsilon=1, delta=1e-6)
    assert 2 < week.within(365) / day.within(365) < 7


@pytest.mark.parametrize("rows", [40, 200, 10_000])
@pytest.mark.parametrize("mean_at", [-1.0, 0.0, 0.6, 1.0])
def test_a_mean_is_off_by_more_than_said_in_at_most_one_of_twenty_cases(rows: int, mean_at: float) -> None:
    """Exact probabilities of the two tails, for normal noise of the deviation that is stated."""
    mean = RunningMean((0, 100), 365, epsilon=1, delta=1e-6)
    deviation, said = mean.deviation(365) / 50, mean.off_by(365, rows) / 50  # both in half widths
    if said >= 2:
        return  # the whole width of the bounds
    above = norm.sf(said * rows / (deviation * math.hypot(1, mean_at + said)))
    below = norm.sf(said * rows / (deviation * math.hypot(1, mean_at - said)))
    assert above + below <= 0.05
    assert rows < 10_000 or abs(mean_at) < 1 or above + below > 0.049


def test_a_mean_is_never_off_by_more_than_the_width_of_its_bounds() -> None:
    for delta in (0, 1e-6):
        mean = RunningMean((0, 100), 365, epsilon="0.01", delta=delta)
        assert mean.off_by(365, 1) == 100
        assert mean.off_by(365, 10**9) < 1


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), ("a", 1)])
def test_bounds_without_room_are_refused(bounds: Any) -> None:
    with pytest.raises(ParameterError, match="bounds"):
        RunningSum(bounds, 5, epsilon=1)


def test_an_alarm_speaks_up_when_it_should_and_stops_when_it_is_spent() -> None:
    quiet = Alarm(threshold=500, epsilon=1, fires=2)
    assert [quiet.step(each) for each in (10, 20, 900, 30, 950)] == [False, False, True, False, True]
    with pytest.raises(BudgetExceeded):
        quiet.step(1)
    week = Alarm(threshold=500, epsilon=1, last=7)
    found = [week.step(100) for _ in range(4)]
    assert found == [False] * 4
    assert week.step(10_000)
    rise = Alarm(threshold=400, epsilon=1, against=4)
    assert not any(rise.step(each) for each in (1000, 1010, 990, 1000, 1005))
    assert rise.step(2000)


class Listening:
    """A session that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def check(self) -> None:
        pass

    def ask(self, value: int) -> bool:
        self.asked.append(value)
        return False


@pytest.mark.parametrize(("against", "last"), [(None, 1), (None, 5), (3, 1)])
def test_one_row_moves_every_asked_count_within_the_alarms_sensitivity(against: int | None, last: int) -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        counts = rng.integers(0, 9, 12).tolist()
        other = list(counts)
        other[int(rng.integers(12))] += 1
        asked: list[list[int]] = []
        for stream in (counts, other):
            alarm = Alarm(threshold=10**9, epsilon=1, last=last, against=against)
            listening = Listening()
            alarm._session = listening  # type: ignore[assignment]
            for each in stream:
                alarm.step(each)
            asked.append(listening.asked)
        moved = np.array(asked[1]) - np.array(asked[0])
        session = Alarm(threshold=5, epsilon=1, last=last, against=against)._session
        assert np.abs(moved).max() <= session.sensitivity
        assert not session.monotone or (moved >= 0).all()
