"""`tacit.connect`: a curator behind a server is asked like one with the files, and answers the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

import tacit
from tacit.curator import Curator
from tacit.doors.connect import RemoteCurator, connect
from tacit.doors.http import bodies
from tacit.doors.remote.line import asked_out
from tacit.plan.asked import Asked
from tests.doors.http.serving import COUNT, Served

URL = "https://testserver"
BY_SEX = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"


@pytest.fixture
def remote(served: Served) -> Iterator[RemoteCurator]:
    with connected(served, "ana") as opened:
        yield opened


@pytest.fixture
def local(served: Served) -> Curator:
    return served.server.datasets[0].curator.seen_by("ana")


def connected(served: Served, who: str) -> RemoteCurator:
    return connect(URL, served.tokens[who], transport=Way(served))


class Way(httpx.BaseTransport):
    """The way to the application in this process, on which a number of replies can get lost."""

    def __init__(self, served: Served) -> None:
        self.served, self.lost = served, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name: value for name, value in request.headers.items() if name != "content-length"}
        sent = self.served.client.request(request.method, str(request.url), headers=headers, content=request.read())
        if self.lost:
            self.lost -= 1
            raise httpx.ReadError("the line broke after the server had answered")
        return httpx.Response(sent.status_code, headers=dict(sent.headers), content=sent.content)


def test_what_is_free_is_the_same_without_asking_the_server(remote: RemoteCurator, local: Curator) -> None:
    remote.line.client.close()
    for sql, options in (
        (BY_SEX, {"epsilon": 0.1}),
        ("SELECT department, avg(charge) FROM visits GROUP BY department", {"epsilon": 0.5, "rows": 1000}),
        ("SELECT town, count(*) FROM patients GROUP BY town", {"epsilon": 0.2, "delta": 1e-7}),
        ("SELECT code, count(*) FROM diagnoses GROUP BY code", {"within": 500}),
        ("SELECT median(charge) FROM visits", {"rho": 0.01, "delta": 1e-7}),
    ):
        expected = str(local.estimate(sql, **options))  # type: ignore[arg-type]
        assert str(remote.estimate(sql, **options)) == expected  # type: ignore[arg-type]
        assert remote.explain(sql, **options) == local.explain(sql, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "levers",
    [
        {},
        {"epsilon": 0.1},
        {"epsilon": Fraction(1, 3), "delta": 1e-7, "rows_per_unit": 2, "groups_per_unit": 1},
        {"rho": "0.01", "delta": "1e-7", "weights": {"n": 0.3, "s": 2}},
        {"within": "5%", "rows": 1000},
        {"within": Decimal("12.5"), "analyst": "ana"},
    ],
)
def test_what_is_asked_is_read_on_the_other_side_as_it_was_said(levers: dict[str, Any]) -> None:
    asked = Asked.of(**levers)
    said = {name: each for name, each in asked_out(asked).items() if each is not None}
    sql, there = bodies.question(json.dumps({"sql": COUNT, **said}).encode())
    assert (sql, there.analyst) == (COUNT, None)  # the token says who asks
    within = (None, None) if asked.within is None else (str(there.within), str(asked.within))
    assert within[0] == within[1]
    assert replace(there, within=None) == replace(asked, within=None, analyst=None)


def test_a_mistake_in_the_price_is_told_before_anything_is_sent(remote: RemoteCurator) -> None:
    remote.line.client.close()
    for levers in ({"epsilon": "x"}, {"epsilon": 1, "rows_per_unit": 0}, {"epsilon": 1, "analyst": "bob"}):
        with pytest.raises(tacit.ParameterError):
            remote.ask(COUNT, **levers)  # type: ignore[arg-type]


def test_an_answer_is_the_same_object(remote: RemoteCurator, local: Curator) -> None:
    there = remote.ask(BY_SEX, 0.05)
    assert there == local.ask(BY_SEX, 0.05)
    assert there.to_bytes() == local.ask(BY_SEX, 0.05).to_bytes()
    assert there.intervals() == local.ask(BY_SEX, 0.05).intervals()
    assert remote.ask(BY_SEX, "0.05").repeated
    both = f"{COUNT} UNION ALL {COUNT}"
    assert (there.united, remote.ask(both, 0.05).united) == (False, True)
    assert remote.stored(int(there.facts["entry"])) == local.stored(int(there.facts["entry"]))
    assert remote.number_of(there.facts["entry"]) == local.number_of(there.facts["entry"])


def test_steps_several_questions_budgets_and_entries_are_the_same(remote: RemoteCurator, local: Curator) -> None:
    stepped = remote.table("visits").where("charge > 20").count().ask(epsilon=0.02)
    assert stepped == local.table("visits").where("charge > 20").count().ask(epsilon=0.02)
    together = [BY_SEX, "SELECT count(*) FROM patients"]
    assert remote.ask_all(together, 0.04) == local.ask_all(together, 0.04)
    assert remote.budget() == local.budget()
    assert remote.budget("ana") == local.budget("ana")
    assert str(remote.budget()) == str(local.budget())
    assert (remote.spent(), remote.remaining()) == (local.spent(), local.remaining())
    assert remote.spent("ana") == local.spent("ana")
    assert remote.ledger() == local.ledger()
    assert all(each.true_hash() == each.hash for each in remote.ledger())
    assert remote.why(BY_SEX, 0.1) == local.why(BY_SEX, 0.1)
    assert remote.plan(BY_SEX, 0.1) == local.plan(BY_SEX, 0.1)


def test_refusals_are_the_same_exceptions(remote: RemoteCurator, local: Curator) -> None:
    for sql, options in (
        ("SELECT * FROM patients", {"epsilon": 0.1}),
        (COUNT, {"epsilon": 40}),
        (COUNT, {"epsilon": 0.99, "delta": "x"}),
        ("SELECT count(*) FROM visitss", {}),
        (COUNT, {"epsilon": 0.1, "weights": {"nothing": 2}}),
        (COUNT, {"epsilon": 0.1, "rows_per_unit": 0}),
    ):
        with pytest.raises(tacit.TacitError) as here:
            local.ask(sql, **options)  # type: ignore[arg-type]
        with pytest.raises(type(here.value)) as there:
            remote.ask(sql, **options)  # type: ignore[arg-type]
        assert str(there.value) == str(here.value)


def test_a_spent_budget_carries_its_numbers(remote: RemoteCurator) -> None:
    remote.ask("SELECT sum(charge) FROM visits", 0.6)
    with pytest.raises(tacit.BudgetExceeded) as refused:
        remote.ask("SELECT sum(charge) FROM visits WHERE charge > 3", 0.6)
    assert refused.value.asked > refused.value.remaining >= 0


def test_nobody_is_asked_for_by_another(served: Served, remote: RemoteCurator) -> None:
    with pytest.raises(tacit.ParameterError, match="'ana', who is asking"):
        remote.ask(COUNT, 0.01, analyst="bob")
    for asked in (remote.ask_all, remote.publish):
        with pytest.raises(tacit.ParameterError, match="'ana', who is asking"):
            asked([COUNT], 0.01, analyst="bob")
    with connected(served, "owner") as owner, pytest.raises(tacit.ParameterError, match="who is asking"):
        owner.ask(COUNT, 0.01, analyst="bob")
    assert remote.analyst == "ana"
    with pytest.raises(tacit.TacitError, match="is for analyst, owner"):
        connected(served, "aud")
    with pytest.raises(tacit.TacitError, match="is for auditor, owner"):
        remote.verify()


def test_a_lost_reply_is_asked_for_again_and_charged_once(served: Served) -> None:
    way = Way(served)
    with connect(URL, served.tokens["bob"], transport=way) as remote:
        before = len(remote.ledger())
        way.lost = 2
        answer = remote.ask("SELECT count(*) FROM visits WHERE charge > 99", 0.03)
        assert answer.repeated  # the first one's reply was lost
        assert len(remote.ledger()) == before + 2  # one charge, one answer
        way.lost = 9
        with pytest.raises(tacit.TacitError, match="does not answer"):
            remote.ask(COUNT, 0.01)


def test_a_token_does_not_cross_a_network_in_the_clear() -> None:
    with pytest.raises(tacit.ParameterError, match="a token is a secret"):
        tacit.connect("http://clinic.example", "tacit-x-y")
    for url in ("clinic.example", "ftp://clinic.example", "https://", ""):
        with pytest.raises(tacit.ParameterError, match="an address such as"):
            tacit.connect(url, "tacit-x-y")


def test_what_is_no_server_of_ours_is_told_so() -> None:
    for status, body in ((200, b"<html>"), (502, b"Bad gateway"), (200, b"[]"), (500, b"[]")):
        transport = httpx.MockTransport(lambda _, status=status, body=body: httpx.Response(status, content=body))
        with pytest.raises((tacit.TacitError, AttributeError)):
            tacit.connect(URL, "tacit-x-y", transport=transport)


def test_another_version_is_refused() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={"version": "0.0.1"}))
    with pytest.raises(tacit.TacitError, match="use the same version"):
        tacit.connect(URL, "tacit-x-y", transport=transport)


def test_the_owner_verifies_and_resumes_from_afar(served: Served, tmp_path: Path) -> None:
    with connected(served, "owner") as owner:
        assert owner.verify() == served.server.datasets[0].curator.verify()
        assert owner.resume() == ()
        assert owner.ledger() == served.server.datasets[0].curator.ledger()
