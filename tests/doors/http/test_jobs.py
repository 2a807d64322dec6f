"""Long work as jobs: begun, looked at, taken back in time or too late; and never charged or drawn twice."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tacit.curator.till import Till
from tests.doors.http.serving import Served

ASYNC = {"Prefer": "respond-async"}


def question(number: int) -> dict[str, str]:
    return {"sql": f"SELECT count(*) AS n FROM visits WHERE charge < {number}", "epsilon": "0.01"}


def state(served: Served, number: str, *wanted: str) -> str:
    """Wait until a job is in one of these states."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found = str(served.get(f"/v1/jobs/{number}").json()["state"])
        if found in wanted:
            return found
        time.sleep(0.01)
    raise AssertionError(found)


def charges(served: Served) -> int:
    return sum(each["kind"] == "charged" for each in served.get("/v1/ledger", "owner").json()["entries"])


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, method: str) -> Iterator[threading.Event]:
    """The till waits at the beginning of one of its methods until the event is set."""
    go_on, whole = threading.Event(), getattr(Till, method)

    def waits(*arguments: Any, **options: Any) -> Any:
        assert go_on.wait(30)
        return whole(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Till, method, waits)
        try:
            yield go_on
        finally:
            go_on.set()


def test_a_job_is_its_request_and_its_result_is_the_reply(served: Served) -> None:
    begun = served.post("/v1/ask", question(101), headers=ASYNC)
    assert begun.status_code == 202
    number = begun.json()["id"]
    assert begun.headers["location"] == f"/v1/jobs/{number}"
    assert state(served, number, "done") == "done"
    result = served.get(f"/v1/jobs/{number}/result").json()
    assert not result["repeated"]
    assert served.post("/v1/ask", question(101)).json()["stored"] == result["stored"]
    assert number in [each["id"] for each in served.get("/v1/jobs").json()["jobs"]]


def test_a_job_is_nobody_elses(served: Served) -> None:
    number = served.post("/v1/ask", question(102), headers=ASYNC).json()["id"]
    for who in ("bob", "owner"):
        for path in ("", "/result", "/events"):
            assert served.get(f"/v1/jobs/{number}{path}", who).status_code == 404
        assert served.post(f"/v1/jobs/{number}/cancel", {}, who).status_code == 404
        assert served.get("/v1/jobs", who).json()["jobs"] == []
    state(served, number, "done")


def test_events_tell_every_state_and_end(served: Served) -> None:
    number = served.post("/v1/ask", question(103), headers=ASYNC).json()["id"]
    told = served.get(f"/v1/jobs/{number}/events")
    assert told.headers["content-type"].startswith("text/event-stream")
    states = [json.loads(line[6:])["state"] for line in told.text.splitlines() if line.startswith("data: ")]
    assert states[-1] == "done"
    order = ["waiting", "working", "charged", "done"]
    assert states == sorted(set(states), key=order.index)


def test_what_is_taken_back_before_its_charge_costs_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    before = charges(served)
    with held(monkeypatch, "_begun") as go_on:
        number = served.post("/v1/ask", question(104), headers=ASYNC).json()["id"]
        state(served, number, "working")
        assert served.get(f"/v1/jobs/{number}/result").status_code == 409
        assert served.post(f"/v1/jobs/{number}/cancel", {}).status_code == 200
        go_on.set()
        assert state(served, number, "cancelled") == "cancelled"
    refused = served.get(f"/v1/jobs/{number}/result")
    assert (refused.status_code, refused.json()["title"]) == (409, "Cancelled")
    assert charges(served) == before
    assert served.post(f"/v1/jobs/{number}/cancel", {}).status_code == 409
    assert not served.post("/v1/ask", question(104)).json()["repeated"]  # it can be asked as if nothing had been


def test_what_is_charged_goes_on_and_is_stored(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    before = charges(served)
    with held(monkeypatch, "_made") as go_on:
        number = served.post("/v1/ask", question(105), headers=ASYNC).json()["id"]
        state(served, number, "charged")
        refused = served.post(f"/v1/jobs/{number}/cancel", {})
        assert (refused.status_code, "charged already" in refused.json()["detail"]) == (409, True)
        go_on.set()
        assert state(served, number, "done") == "done"
    assert charges(served) == before + 1
    again = served.post("/v1/ask", question(105)).json()
    assert again["repeated"]
    assert again["stored"] == served.get(f"/v1/jobs/{number}/result").json()["stored"]
    assert charges(served) == before + 1


def test_what_waits_is_cancelled_at_once_and_too_many_are_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, limits = charges(served), served.server.limits
    with held(monkeypatch, "_begun") as go_on:
        numbers = [
            served.post("/v1/ask", question(200 + each), headers=ASYNC).json()["id"] for each in range(limits.open_each)
        ]
        many = served.post("/v1/ask", question(300), headers=ASYNC)
        assert (many.status_code, many.headers["retry-after"]) == (429, "1")
        for number in numbers:
            served.post(f"/v1/jobs/{number}/cancel", {})
        go_on.set()
        assert {state(served, number, "cancelled") for number in numbers} == {"cancelled"}
    assert charges(served) == before


def test_a_refusal_is_the_result_of_its_job(served: Served) -> None:
    number = served.post("/v1/ask", {"sql": "SELECT * FROM visits"}, headers=ASYNC).json()["id"]
    assert state(served, number, "refused") == "refused"
    refused = served.get(f"/v1/jobs/{number}/result")
    assert (refused.status_code, refused.json()["title"]) == (400, "QuestionError")
