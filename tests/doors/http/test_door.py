"""What comes to the door that should not: bodies that are no JSON, too long, too slow, too many; wrong tokens."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tacit.doors.http import bodies
from tacit.doors.http.app import Limits
from tacit.doors.http.gate import Throttle
from tacit.doors.http.problems import Problem
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import TokenFile
from tacit.errors import ParameterError, TacitError
from tests.doors.http.serving import COUNT, Served, served_at

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"sql"',
        b"{",
        b"\xff\xfe",
        b'{"sql": NaN}',
        b'{"sql": "a", "sql": "b"}',
        b'{"sql": 1}',
        b'{"sql": "x", "epsilon": true}',
        b'{"sql": "x", "epsilon": [1]}',
        b'{"sql": "x", "epsilon": 1e999999999}',
        b'{"sql": "x", "epsilon": ' + b"9" * 5_000 + b"}",
        b'{"sql": "x", "epsilon": "nan"}',
        b'{"sql": "x", "rows": 1.5}',
        b'{"sql": "x", "weights": {"a": {}}}',
        b'{"sql": "' + b"(" * 5_000 + b'"}',
        b'{"sql": "SELECT count(*) FROM visits", "delta": -1}',
        b'{"sql": "SELECT count(*) FROM visits\\u0000"}',
        b"[" * 100_000,
        b'{"a":' * 10_000,
        b'{"questions": []}',
        b'{"sql": "x", "nonsense": 1}',
    ],
)
@pytest.mark.parametrize("path", ["/v1/ask", "/v1/estimate", "/v1/ask_all", "/v1/suggest", "/v1/explain"])
def test_a_malformed_body_is_refused_in_a_sentence(served: Served, path: str, body: bytes) -> None:
    reply = served.client.post(path, content=body, headers={**served.headers("ana"), **JSON})
    assert reply.status_code == 400, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    assert len(reply.json()["detail"]) > 10


def test_a_body_that_is_too_long_is_refused_before_it_is_read_whether_or_not_it_says_so(served: Served) -> None:
    headers = {**served.headers("ana"), **JSON}
    long = b'{"sql": "' + b"x" * bodies.LONGEST + b'"}'
    assert served.client.post("/v1/ask", content=long, headers=headers).status_code == 413

    def parts() -> Any:
        for _ in range(100):
            yield b"x" * 10_000

    assert served.client.post("/v1/ask", content=parts(), headers=headers).status_code == 413
    for length in ("-1", "1e3", "x", "9" * 30):
        reply = served.client.post("/v1/ask", content=b"{}", headers={**headers, "Content-Length": length})
        assert reply.status_code == 413
    assert served.client.post("/v1/ask", content=b"{}", headers=served.headers("ana")).status_code == 415


def test_every_reply_forbids_to_be_kept_sniffed_or_framed(served: Served) -> None:
    for reply in (served.get("/v1/me"), served.get("/nowhere"), served.client.get("/v1/me")):
        assert reply.headers["Cache-Control"] == "no-store"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert "frame-ancestors 'none'" in reply.headers["Content-Security-Policy"]
        assert "server" not in reply.headers


# -- tokens ------------------------------------------------------------------------------------------------


def test_a_revoked_token_is_refused_from_the_next_request_on(served: Served) -> None:
    file = TokenFile(served.policy)
    token, text = file.add("ana", Role.ANALYST, 1)
    headers = {"Authorization": f"Bearer {text}"}
    assert served.client.get("/v1/me", headers=headers).status_code == 200
    file.revoke(token.id)
    assert served.client.get("/v1/me", headers=headers).status_code == 401
    assert served.get("/v1/me").status_code == 200  # the others stay good


def test_a_token_ends(served: Served) -> None:
    token, _ = TokenFile(served.policy).add("ana", Role.ANALYST, 2)
    assert not token.is_over()
    assert not token.is_over(datetime.now(UTC) + timedelta(days=1.9))
    assert token.is_over(datetime.now(UTC) + timedelta(days=2.1))


def test_no_secret_is_kept(served: Served) -> None:
    path = TokenFile(served.policy).path
    assert path.stat().st_mode & 0o777 == 0o600
    kept = path.read_text()
    for text in served.tokens.values():
        assert text.split("-", 2)[2] not in kept
    path.chmod(0o644)
    try:
        with pytest.raises(TacitError, match="chmod 600"):
            TokenFile(served.policy).all()
    finally:
        path.chmod(0o600)


def test_the_owner_s_name_is_the_owner_s(served: Served) -> None:
    file = TokenFile(served.policy)
    for name, role in (("owner", Role.ANALYST), ("owner", Role.AUDITOR), ("ana", Role.OWNER)):
        with pytest.raises(ParameterError, match="for the owner, and for nobody else"):
            file.add(name, role, 1)
    for name in ("", "a\nb", "x" * 300):
        with pytest.raises(ParameterError):
            file.add(name, Role.ANALYST, 1)


def test_wrong_secrets_are_slowed_down_and_the_right_one_still_opens(served: Served) -> None:
    served.get("/v1/me", "bob")
    identity = served.tokens["bob"].split("-")[1]
    wrong = {"Authorization": f"Bearer tacit-{identity}-wrong"}
    seen = [served.client.get("/v1/me", headers=wrong).status_code for _ in range(12)]
    assert seen == [401] * 10 + [429] * 2
    assert int(served.client.get("/v1/me", headers=wrong).headers["Retry-After"]) > 0
    assert served.get("/v1/me", "bob").status_code == 200


def test_a_throttle_forgets_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    throttle = Throttle()
    for _ in range(10):
        throttle.failed("here")
    with pytest.raises(Problem):
        throttle.check("here")
    throttle.check("there")
    now = 61.0
    throttle.check("here")


# -- many at once --------------------------------------------------------------------------------------------


def test_beyond_the_open_questions_of_one_person_comes_429_and_others_still_get_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    for served in served_at(tmp_path, Limits(open_each=2, open_all=3)):
        curator, hold, begun = served.server.datasets[0].curator, threading.Event(), threading.Semaphore(0)
        engine = curator._till.engine
        run = engine.run

        def slow(query: Any, run: Any = run, hold: Any = hold, begun: Any = begun) -> Any:
            begun.release()
            hold.wait(20)
            return run(query)

        monkeypatch.setattr(engine, "run", slow)
        replies: list[Any] = []

        def ask(who: str, epsilon: str, served: Served = served, replies: list[Any] = replies) -> None:
            replies.append(served.post("/v1/ask", {"sql": COUNT, "epsilon": epsilon}, who))

        threads = [threading.Thread(target=ask, args=("ana", each)) for each in ("0.01", "0.02")]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert begun.acquire(timeout=20)
        third = served.post("/v1/ask", {"sql": COUNT, "epsilon": "0.03"})
        assert third.status_code == 429
        assert third.headers["Retry-After"] == "1"
        assert served.post("/v1/estimate", {"sql": COUNT}).status_code == 200  # what is free has a queue of its own
        threads.append(threading.Thread(target=ask, args=("bob", "0.04")))
        threads[-1].start()
        assert begun.acquire(timeout=20)
        assert "as many open questions as it takes" in served.post("/v1/ask", {"sql": COUNT}, "owner").json()["detail"]
        hold.set()
        for thread in threads:
            thread.join(20)
        assert [each.status_code for each in replies] == [200] * 3
        assert served.post("/v1/ask", {"sql": COUNT, "epsilon": "0.03"}).status_code == 200
        entries = served.get("/v1/ledger", "owner").json()["entries"]
        assert sum(each["kind"] == "charged" for each in entries) == 4  # what was refused was not charged


def test_many_who_ask_the_same_at_once_pay_once_and_get_the_same(served: Served) -> None:
    body = {"sql": "SELECT count(*) AS n FROM visits WHERE charge > 17", "epsilon": "0.02"}
    replies: list[Any] = []

    def ask(who: str) -> None:
        replies.append(served.post("/v1/ask", body, who))

    threads = [threading.Thread(target=ask, args=(who,)) for who in ("ana", "ana", "bob", "bob", "owner", "owner")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [each.status_code for each in replies] == [200] * 6
    assert len({str(each.json()["stored"]) for each in replies}) == 1
    assert sum(not each.json()["repeated"] for each in replies) == 1


def test_a_mistake_of_the_program_says_one_fixed_sentence_and_its_place_without_values(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    curator = served.server.datasets[0].curator

    def broken(*_: Any) -> Any:
        raise RuntimeError("a value of a row: 4711")

    monkeypatch.setattr(type(curator), "estimate", broken)
    reply = served.post("/v1/estimate", {"sql": COUNT})
    assert reply.status_code == 500
    assert "4711" not in reply.text
    assert len(served.mistakes) == 1
    assert "RuntimeError in test_door.py" in served.mistakes.pop()
    assert "4711" not in "".join(served.log)


def test_an_answer_that_fails_after_the_charge_is_one_fixed_sentence_for_every_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    for served in served_at(tmp_path):
        told = []
        for cause in (MemoryError("row 4711"), ValueError("row 4711"), TacitError("row 4711")):
            engine = served.server.datasets[0].curator._till.engine

            def fails(query: Any, cause: Exception = cause) -> Any:
                raise cause

            monkeypatch.setattr(engine, "run", fails)
            body = {"sql": COUNT, "epsilon": f"0.0{len(told) + 1}"}
            reply = served.post("/v1/ask", body)
            told.append((reply.status_code, reply.json()["detail"]))
            assert served.post("/v1/ask", body).json()["detail"] == reply.json()["detail"]  # stored
            stopped = served.post("/v1/ask", {"sql": COUNT, "epsilon": "0.5"})
            assert (stopped.status_code, stopped.json()["title"]) == (409, "Stopped")
            assert served.post("/v1/resume", {"analyst": "ana"}, "owner").status_code == 200
        assert len(set(told)) == 1
        assert "4711" not in str(told)
