"""A stored answer is sent as the bytes that were sent before: to the same person, of the same data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.doors.http import handlers
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import TokenFile
from tests.doors.http.serving import Served

SQL = "SELECT count(*) AS n FROM visits WHERE charge < 333"


def test_the_same_words_get_the_same_bytes_without_asking_the_house(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"sql": SQL, "epsilon": "0.01"}
    first, second = served.post("/v1/ask", said), served.post("/v1/ask", said)
    assert (first.json()["repeated"], second.json()["repeated"]) == (False, True)
    assert first.json()["stored"] == second.json()["stored"]

    def not_called(*_: object) -> None:
        raise AssertionError("it was asked")

    with monkeypatch.context() as patch:
        patch.setitem(handlers.HANDLERS, "ask", not_called)  # type: ignore[arg-type]
        assert served.post("/v1/ask", said).content == second.content
    assert served.post("/v1/ask", said, headers={"Accept": "text/csv"}).text.startswith("n,")


def test_somebody_else_a_revoked_token_and_other_data_get_nothing_that_is_kept(served: Served) -> None:
    said = {"sql": SQL, "epsilon": "0.02"}
    for _ in range(3):
        kept = served.post("/v1/ask", said)
    assert kept.json()["repeated"]
    assert served.post("/v1/ask", said, "aud").status_code == 403
    file = TokenFile(served.policy)
    token, served.tokens["short"] = file.add("ana", Role.ANALYST, 1)
    assert served.post("/v1/ask", said, "short").content == kept.content
    file.revoke(token.id)
    assert served.post("/v1/ask", said, "short").status_code == 401


def test_a_changed_source_is_noticed(tmp_path: Path) -> None:
    from tests.doors.http.serving import served_at

    for served in served_at(tmp_path):
        said = {"sql": SQL, "epsilon": "0.02"}
        for _ in range(3):
            assert served.post("/v1/ask", said).status_code == 200
        visits = served.policy.parent / "visits.csv"
        visits.write_text(visits.read_text() + "\n")
        refused = served.post("/v1/ask", said)
        assert refused.status_code == 503
        assert "changed" in refused.json()["detail"]


def test_only_what_was_stored_is_kept_and_not_without_end(served: Served) -> None:
    from tacit.doors.http import remembered
    from tacit.doors.http.datasets import Seat

    dataset = served.server.datasets[0]
    token = dataset.keyring.named(served.tokens["ana"])
    assert token is not None
    seat, kept = Seat.of(dataset, token), remembered.Remembered()
    body = json.dumps({"sql": SQL}).encode()
    assert kept.reply(seat, body, "x", lambda: ((b"new", "x"), False)) == (b"new", "x")
    assert kept.reply(seat, body, "x", lambda: ((b"stored", "x"), True)) == (b"stored", "x")
    assert kept.reply(seat, body, "x", lambda: ((b"other", "x"), True)) == (b"stored", "x")
    for number in range(remembered._MOST):
        kept.reply(seat, str(number).encode(), "x", lambda: ((b"", "x"), True))
    assert kept.reply(seat, body, "x", lambda: ((b"other", "x"), False)) == (b"other", "x")
    long = b"x" * (remembered._LONGEST_BODY + 1)
    kept.reply(seat, long, "x", lambda: ((b"one", "x"), True))
    assert kept.reply(seat, long, "x", lambda: ((b"two", "x"), True)) == (b"two", "x")
