"""Asking over HTTP: the same answers as with the files, charged to the name of the token and to nobody else."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tacit.answer import Answer
from tacit.doors.http import wire
from tacit.doors.http.roles import ROUTES
from tacit.errors import TacitError
from tests.doors.http.serving import COUNT, Served

BY_SEX = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"


def charges(served: Served, who: str = "owner") -> list[dict[str, Any]]:
    return [each for each in served.get("/v1/ledger", who).json()["entries"] if each["kind"] == "charged"]


def test_an_answer_is_what_the_ledger_stores_and_asked_again_it_is_free(served: Served) -> None:
    before = len(charges(served))
    first = served.post("/v1/ask", {"sql": BY_SEX, "epsilon": 0.05}).json()
    again = served.post("/v1/ask", {"sql": BY_SEX, "epsilon": "0.05"}).json()
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert first["stored"] == again["stored"]
    assert len(charges(served)) == before + 1
    rebuilt = wire.answer_in(first)
    local = served.server.datasets[0].curator.ask(BY_SEX, 0.05)
    assert rebuilt == local
    assert rebuilt.to_bytes() == local.to_bytes()
    entry = first["receipt"]["entry"]
    assert wire.answer_in(served.get(f"/v1/answers/{entry}").json()).columns == rebuilt.columns


def test_who_asks_is_charged_whatever_the_request_says(served: Served) -> None:
    served.post("/v1/ask", {"sql": "SELECT count(*) FROM patients WHERE sex = 'F'", "epsilon": "0.03"}, "bob")
    assert charges(served)[-1]["analyst"] == "bob"
    for key in ("analyst", "Analyst", "name", "token", "role"):
        reply = served.post("/v1/ask", {"sql": COUNT, "epsilon": "0.02", key: "ana"}, "bob")
        assert reply.status_code == 400
        assert "there is no such key" in reply.json()["detail"]
    for path in ("/v1/ask?analyst=ana", "/v1/ask?token=x"):
        served.post(path, {"sql": COUNT, "epsilon": "0.07"}, "bob")
        assert charges(served)[-1]["analyst"] == "bob"
    headers = {"X-Forwarded-User": "ana", "X-Analyst": "ana", "Cookie": "session=ana"}
    served.post("/v1/ask", {"sql": COUNT, "epsilon": "0.08"}, "bob", headers=headers)
    assert charges(served)[-1]["analyst"] == "bob"


def test_an_analyst_sees_neither_the_entries_nor_the_budget_nor_the_answers_of_another(served: Served) -> None:
    asked = served.post("/v1/ask", {"sql": "SELECT count(*) FROM diagnoses", "epsilon": "0.05"}, "bob").json()
    assert {each["analyst"] for each in served.get("/v1/ledger", "ana").json()["entries"]} <= {"ana"}
    for path in ("/v1/ledger?analyst=bob", "/v1/budget?analyst=bob", "/v1/ledger?analyst=owner"):
        assert served.get(path, "ana").status_code == 400
    assert served.get(f"/v1/answers/{asked['receipt']['entry']}", "ana").status_code == 400
    assert served.get(f"/v1/answers/{asked['receipt']['entry']}", "bob").status_code == 200
    assert served.get(f"/v1/answers/{asked['receipt']['entry']}", "owner").status_code == 200
    assert {each["analyst"] for each in served.get("/v1/ledger", "aud").json()["entries"]} >= {"bob"}


@pytest.mark.parametrize("entry", ["0", "1", "999999", "-1", "1e3", "x", "%00", "..", "1" * 400])
def test_a_number_that_is_no_charge_gives_nothing(served: Served, entry: str) -> None:
    assert served.get(f"/v1/answers/{entry}", "owner").status_code in (400, 404)


def test_an_estimate_costs_nothing_and_says_what_the_curator_says(served: Served) -> None:
    before = len(charges(served))
    told = served.post("/v1/estimate", {"sql": BY_SEX, "epsilon": 0.1}).json()
    curator = served.server.datasets[0].curator
    assert told["sentence"] == str(curator.estimate(BY_SEX, 0.1))
    steps = served.post("/v1/explain", {"sql": BY_SEX, "epsilon": 0.1}).json()["sentences"]
    assert steps == list(curator.planned(BY_SEX, 0.1).sentences)
    assert len(charges(served)) == before


def test_several_questions_have_one_charge(served: Served) -> None:
    before = len(charges(served))
    body = {"questions": [BY_SEX, "SELECT count(*) AS n FROM patients"], "epsilon": "0.06"}
    first, second = served.post("/v1/ask_all", body).json()["answers"]
    assert sum(wire.answer_in(first)["n"]) == wire.answer_in(second)["n"][0]  # they agree
    assert len(charges(served)) == before + 1
    assert [each["repeated"] for each in served.post("/v1/ask_all", body).json()["answers"]] == [True, True]


def test_the_same_table_in_other_forms(served: Served) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    body = {"sql": BY_SEX, "epsilon": 0.05}
    answer = wire.answer_in(served.post("/v1/ask", body).json())
    as_csv = served.post("/v1/ask", body, headers={"Accept": "text/csv"})
    assert as_csv.headers["content-type"].startswith("text/csv")
    assert as_csv.text == answer.to_csv()
    stream = served.post("/v1/ask", body, headers={"Accept": "application/vnd.apache.arrow.stream"}).content
    assert pyarrow.ipc.open_stream(stream).read_all().equals(answer.to_arrow())
    file = served.post("/v1/ask", body, headers={"Accept": "application/vnd.apache.parquet"}).content
    assert parquet.read_table(io.BytesIO(file)).column_names == answer.to_arrow().column_names
    before = len(charges(served))
    other = {"sql": BY_SEX, "epsilon": "0.051"}
    assert served.post("/v1/ask", other, headers={"Accept": "text/html"}).status_code == 406
    assert len(charges(served)) == before  # told before it is asked


def test_refusals_are_the_house_s_own_sentences(served: Served) -> None:
    curator = served.server.datasets[0].curator.seen_by("ana")
    for sql, epsilon in (("SELECT * FROM patients", 0.1), ("SELECT count(*) FROM nowhere", 0.1), (COUNT, 50), ("x", 1)):
        with pytest.raises(TacitError) as local:
            curator.ask(sql, epsilon)
        reply = served.post("/v1/ask", {"sql": sql, "epsilon": epsilon})
        assert reply.status_code == 400
        assert reply.json()["detail"] == str(local.value)
        assert reply.json()["title"] == type(local.value).__name__


def test_a_budget_that_is_spent_is_a_402_with_its_numbers(served: Served) -> None:
    reply = served.post("/v1/ask", {"sql": "SELECT avg(charge) FROM visits", "epsilon": "0.99"}, "bob")
    reply = served.post("/v1/ask", {"sql": "SELECT sum(charge) FROM visits", "epsilon": "0.99"}, "bob")
    assert reply.status_code == 402
    assert reply.json()["title"] == "BudgetExceeded"
    assert set(reply.json()) >= {"asked", "remaining"}


def test_neither_log_nor_metrics_hold_what_was_asked_or_answered(served: Served) -> None:
    served.post("/v1/ask", {"sql": "SELECT count(*) AS very_secret FROM patients", "epsilon": "0.04"})
    served.client.get("/v1/nowhere-very_secret", headers={"User-Agent": "very_secret"})
    metrics = served.get("/v1/metrics", "owner").text
    for text in ("".join(served.log), metrics):
        assert "very_secret" not in text
        assert "SELECT" not in text
    lines = [json.loads(each) for each in served.log]
    assert {frozenset(each) for each in lines} == {
        frozenset({"time", "dataset", "name", "role", "method", "route", "status"})
    }
    assert {each["route"] for each in lines} <= {*(r.path for r in ROUTES), "nowhere"}
    assert 'route="/v1/ask",role="analyst",status="200"' in metrics


def test_public_facts_name_no_path_and_nobody_else_s_budget(served: Served) -> None:
    told = served.get("/v1/tables", "ana")
    assert str(served.policy.parent) not in told.text
    assert ".csv" not in told.text
    assert "bob" not in told.text
    policy = wire.policy_in(told.json(), "ana")
    mine = served.server.datasets[0].curator.policy
    assert {name: table.columns for name, table in policy.tables.items()} == {
        name: table.columns for name, table in mine.tables.items()
    }
    assert set(policy.analysts) == {"ana"}


def test_answers_of_every_kind_travel_unchanged(served: Served) -> None:
    curator = served.server.datasets[0].curator
    for sql in (
        "SELECT day, count(*) FROM visits WHERE day < DATE '2024-01-04' GROUP BY day",
        "SELECT median(charge) AS m, mode(department) AS most FROM visits",
        "SELECT sex, avg(birth_year), variance(birth_year) FROM patients GROUP BY sex",
    ):
        local: Answer = curator.ask(sql, "0.02")
        assert wire.answer_in(json.loads(json.dumps(wire.answer_out(local)))) == local
