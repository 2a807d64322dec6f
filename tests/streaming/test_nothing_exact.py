"""What a streaming object shows of itself: on neighbouring streams the same, but for what was released or is noisy."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tacit import streaming
from tacit.errors import TacitError
from tacit.mechanisms.continual import running
from tacit.streaming import panprivate

NOISY = {"memory", "rounds", "last"}
"""Released, or what pan-privacy lets be read."""


ALONE = ("HeavyHitters", "Counter", "Density", "Distinct", "Cropped", "RunningTotals")
"""Those that hold their own draws; the others hand on to one of them."""


def _alarm() -> streaming.Alarm:
    return streaming.Alarm(threshold=1_000_000, epsilon=1)


MADE: dict[str, tuple[Callable[[], Any], Callable[[Any, list[str]], Any]]] = {
    "HeavyHitters": (lambda: streaming.HeavyHitters(2, epsilon=1, delta=1e-6), lambda one, rows: one.add(rows)),
    "Counter": (lambda: streaming.Counter(epsilon=1), lambda one, rows: [one.add(1) for _ in rows]),
    "Density": (lambda: streaming.Density(["a", "b"], epsilon=1), lambda one, rows: one.add(rows)),
    "Distinct": (lambda: streaming.Distinct(8, epsilon=1), lambda one, rows: one.add(rows)),
    "Cropped": (lambda: streaming.Cropped(["a", "b"], 3, epsilon=1), lambda one, rows: one.add(rows)),
    "Alarm": (_alarm, lambda one, rows: one.step(rows)),
    "RunningCount": (lambda: streaming.RunningCount(9, epsilon=1, delta=1e-6), lambda one, rows: one.step(rows)),
    "RunningCount, tree": (lambda: streaming.RunningCount(None, epsilon=1), lambda one, rows: one.step(rows)),
    "RunningHistogram": (
        lambda: streaming.RunningHistogram(["a", "b"], 9, epsilon=1, delta=1e-6),
        lambda one, rows: one.step(rows),
    ),
    "RunningSum": (lambda: streaming.RunningSum((0, 9), 9, rho=1), lambda one, rows: one.step([len(r) for r in rows])),
    "RunningMean": (lambda: streaming.RunningMean((0, 9), 9, rho=1), lambda one, rows: one.step([3 for _ in rows])),
    "RunningQuantiles": (
        lambda: streaming.RunningQuantiles((0, 9), 9, rho=1, fineness=3),
        lambda one, rows: one.step([3 for _ in rows]),
    ),
    "RunningTotals": (
        lambda: streaming.RunningTotals(9, epsilon=1, delta=1e-6).begin(),
        lambda one, rows: one.step([len(rows)]),
    ),
    "Sliding": (
        lambda: streaming.Sliding(streaming.RunningCount(9, epsilon=1, delta=1e-6), 2),
        lambda one, rows: one.step(rows),
    ),
}


def _shown(made: Any) -> dict[str, str]:
    """Every public attribute that is no method, and the text of the object without its address."""
    names = [name for name in dir(made) if not name.startswith("_") and name not in NOISY]
    shown = {name: getattr(made, name) for name in names}
    found = {name: repr(value).split(" at 0x")[0] for name, value in shown.items() if not callable(value)}
    return {**found, "repr": repr(made).split(" at 0x")[0]}


@pytest.mark.parametrize("name", MADE)
def test_what_is_public_does_not_depend_on_the_rows(name: str) -> None:
    make, feed = MADE[name]
    rows = ["a", "b", "a", "c", "d"]
    shown = []
    for stream in (rows, rows[:-1], ["z"] * 40):
        made = make()
        feed(made, stream)
        shown.append(_shown(made))
    assert shown[0] == shown[1] == shown[2]


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_nothing_that_draws_can_be_copied_or_pickled(name: str, again: Callable[[Any], Any]) -> None:
    make, feed = MADE[name]
    made = make()
    feed(made, ["a"])
    if again is copy.copy and name not in ALONE:
        inner = again(made)  # a second handle of the same course, which draws once for both
        assert getattr(inner, "_kept", None) is getattr(made, "_kept", None)
        return
    with pytest.raises(TacitError):
        again(made)


def test_a_child_process_refuses_its_parent_s_stream() -> None:
    course = streaming.RunningTotals(9, epsilon=1, delta=1e-6).begin()
    course.step([1])
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            course.step([1])
        except TacitError:
            os.write(writing, b"refused")
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert os.read(reading, 20) == b"refused"
    os.close(reading)


def test_threads_of_one_stream_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads in one step would share draws that lie ready: nobody is let in while somebody is inside."""
    inside: list[int] = []
    step = running._Part.step

    def slow(part: Any, row: list[int]) -> list[float]:
        inside.append(1)
        assert len(inside) == 1
        time.sleep(1e-5)
        found = step(part, row)
        inside.pop()
        return found

    monkeypatch.setattr(running._Part, "step", slow)
    course = streaming.RunningTotals(4_000, epsilon=1, delta=1e-6).begin()
    threads = [threading.Thread(target=lambda: [course.step([0]) for _ in range(50)]) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert course.time == 400


def test_a_released_sketch_keeps_no_counter_and_takes_no_row() -> None:
    made = streaming.HeavyHitters(3, epsilon=1, delta=1e-6)
    made.add(["a"] * 100)
    made.release()
    assert not made._counters
    with pytest.raises(TacitError, match="was released"):
        made.add(["a"])


class _Wordless:
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize("name", ["HeavyHitters", "Density", "Distinct", "Cropped", "RunningHistogram", "RunningMean"])
def test_no_row_raises(name: str) -> None:
    make, feed = MADE[name]
    feed(make(), [["a"], {}, None, float("nan"), _Wordless(), 10**5_000])  # type: ignore[list-item]


def test_the_spread_of_cropped_sums_is_that_of_bits_that_may_or_may_not_be_drawn_anew() -> None:
    """Against the exact variance: of m users who came once of two rounds, a bit is 1 with probability 1/2."""
    made = streaming.Cropped(list(range(1_000)), 2, epsilon=8, state=4)
    e = 54.598150033144236
    bits = 0.25 / 1_000 * ((e + 1) / (e - 1)) ** 2
    assert made.deviation() ** 2 >= bits
    assert panprivate.Density(list(range(1_000)), epsilon=8, state=4).deviation() ** 2 < bits
