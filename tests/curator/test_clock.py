"""`timing = "steps"`: what comes of a charge is stored and sent at public points in time, whatever the work took."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from tacit import synthesis
from tacit.curator import Curator
from tacit.curator.clock import Clock, Ladder
from tacit.engines.exact import Exact
from tacit.errors import EngineError, PolicyError
from tacit.policy.read import parse
from tests.curator.tables import COUNT, Watched, curated

POLICY = "[budget]\nepsilon = 1\n[tables.t]\nsource = 'a.csv'\nunit = 'row'\n"


class Slow(Watched):
    """An engine that takes as long as it is told."""

    def __init__(self, outcome: Any, seconds: float) -> None:
        super().__init__(outcome)
        self.seconds = seconds

    def run(self, query: Any) -> Exact:
        time.sleep(self.seconds)
        return super().run(query)


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("tacit.curator.clock._STEP", 0.2)
    with curated() as curator:
        curator._till.clock = Clock("steps")
        yield curator


def asked(curator: Curator, seconds: float, outcome: Any, epsilon: str) -> tuple[float, str]:
    """How long the asker waited, and what kind of thing came."""
    curator._till.engine = Slow(outcome, seconds)  # type: ignore[assignment]
    began = time.monotonic()
    try:
        curator.ask(COUNT, epsilon)
        came = "answer"
    except EngineError:
        came = "failure"
        curator.resume()
    return time.monotonic() - began, came


def test_the_policy_says_it_and_nothing_else_can_be_said() -> None:
    assert parse(POLICY).timing == "open"
    assert parse(f'timing = "steps"\n{POLICY}').timing == "steps"
    with pytest.raises(PolicyError, match=r"timing: one of open, steps is wanted. Got 'soon' instead"):
        parse(f'timing = "soon"\n{POLICY}')


def test_the_ladder_follows_from_the_number_of_queries_alone() -> None:
    assert Ladder.of(1).points == (0.25, 1.0, 4.0, 16.0, 64.0)
    assert Ladder.of(3).points[0] == 0.75
    assert Ladder.of(None).points[-1] == 4096.0
    ladder = Ladder((1.0, 4.0))
    assert [ladder.point_after(each) for each in (0.0, 0.99, 1.0, 1.01, 4.0)] == [
        (1.0, True),
        (1.0, True),
        (1.0, True),
        (4.0, True),
        (4.0, True),
    ]
    assert [ladder.point_after(each) for each in (4.01, 7.9, 8.5)] == [(8.0, False), (8.0, False), (12.0, False)]


def test_answers_and_failures_of_any_length_leave_at_the_same_point(stepped: Curator) -> None:
    good = Exact([()], {"m0": [10]})
    cases = [
        (0.0, good),
        (0.1, good),
        (0.0, ValueError("row 4711")),
        (0.1, MemoryError()),
        (0.05, EngineError("x")),
    ]
    seen = [asked(stepped, seconds, outcome, f"0.{place + 1}") for place, (seconds, outcome) in enumerate(cases)]
    assert [came for _, came in seen] == ["answer", "answer", "failure", "failure", "failure"]
    assert all(waited >= 0.2 for waited, _ in seen)
    # the entries are written at the point, too: the ledger tells no more than the reply
    entries = stepped.ledger()
    outcomes = [each for each in entries if each.kind in ("answered", "failed")]
    assert len(outcomes) == 5
    waited, _ = asked(stepped, 0.25, good, "0.9")
    assert waited >= 0.8


def test_what_is_not_there_at_the_last_point_is_the_fixed_failure_charged(
    stepped: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.curator.clock._QUESTION", 1)  # one point
    waited, came = asked(stepped, 0.3, Exact([()], {"m0": [10]}), "0.1")
    assert (waited >= 0.4, came) == (True, "failure")
    assert [each.kind for each in stepped.ledger()].count("charged") == 1
    with pytest.raises(EngineError, match="could not answer"):
        stepped.ask(COUNT, "0.1")  # stored, and never drawn again


def test_a_stored_answer_leaves_at_once_and_another_question_begins_after_the_point(stepped: Curator) -> None:
    good = Exact([()], {"m0": [10]})
    asked(stepped, 0.0, good, "0.1")
    began = time.monotonic()
    assert stepped.ask(COUNT, "0.1").repeated
    assert time.monotonic() - began < 0.19

    stepped._till.engine = Slow(good, 0.0)  # type: ignore[assignment]
    ends: list[float] = []

    def ask(epsilon: str) -> None:
        stepped.ask(COUNT, epsilon)
        ends.append(time.monotonic())

    began = time.monotonic()
    threads = [threading.Thread(target=ask, args=(each,)) for each in ("0.2", "0.3")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    first, second = sorted(end - began for end in ends)
    assert first >= 0.2
    assert second >= 0.4


def test_without_steps_nobody_waits() -> None:
    clock = Clock("open")
    assert clock.wait(time.monotonic(), 1)
    began = time.monotonic()
    with clock.work(), clock.work():
        pass
    assert time.monotonic() - began < 0.1


def test_a_policy_with_steps_gives_a_curator_with_steps() -> None:
    with curated() as curator:
        assert not curator._till.clock.steps
        stated = replace(curator._stated, timing="steps")
        curator._stated = stated
        curator._begin(curator._engine)
        assert curator._till.clock.steps


@pytest.mark.parametrize("method", ["aim", "best", "residual"])
def test_rounds_of_a_study_do_not_tell_when_they_ended(stepped: Curator, method: str) -> None:
    """A bar that moves after every round is a clock with as many points as there are rounds."""
    told: list[float] = []
    made = getattr(synthesis, method)
    made(stepped.rows("SELECT sex, member FROM people"), epsilon=1, delta="1e-6", progress=told.append)
    assert not told
    stepped._till.clock = Clock("open")
    made(stepped.rows("SELECT sex, member FROM people"), epsilon="0.9", delta="1e-6", progress=told.append)
    assert told
