"""The console beside the questions: studies and their jobs, watches, published pages, and what the owner does."""

from __future__ import annotations

import csv
import re
import threading
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tacit.policy import Policy
from tests.doors.http.serving import COUNT, Served, Visitor


@pytest.fixture
def ana(served: Served) -> Visitor:
    visitor = Visitor(served)
    visitor.log_in("ana")
    return visitor


@pytest.fixture
def owner(served: Served) -> Visitor:
    visitor = Visitor(served)
    visitor.log_in("owner")
    return visitor


def test_a_study_is_estimated_run_seen_and_downloaded(ana: Visitor) -> None:
    assert "/studies/quartiles" in ana.send("GET", "/studies").text
    form = ana.send("GET", "/studies/quartiles").text
    assert "SELECT sex FROM patients" in form or "SELECT birth_year FROM patients" in form
    said = {"sql": "SELECT charge FROM visits", "o_epsilon": "0.02", "target": "", "rows_per_unit": "1"}
    told = ana.send("POST", "/studies/quartiles/estimate", **said).text
    assert "Run this, for epsilon 0.02" in told
    begun = ana.send("POST", "/studies/quartiles", **said)
    place = begun.headers["location"]
    for _ in range(1000):
        shown = ana.send("GET", place).text
        if 'data-state="done"' in shown:
            break
        assert '<meta http-equiv="refresh"' in shown
    assert "Charged: epsilon 0.02" in shown
    assert '<meta http-equiv="refresh"' not in shown
    file = ana.send("GET", f"{place}/csv")
    assert "attachment" in file.headers["content-disposition"]
    assert ana.send("GET", f"{place}/exe").status_code == 400
    assert place in ana.send("GET", "/jobs").text
    assert ana.send("GET", "/jobs/of-somebody-else").status_code == 404


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [
        ("median", {"sql": "SELECT charge FROM visits"}, "epsilon"),
        ("median", {"sql": "SELECT * FROM visits", "o_epsilon": "0.1"}, ""),
        ("GaussianNB", {"sql": "SELECT birth_year, sex FROM patients", "o_epsilon": "0.1"}, "target"),
        ("median", {"sql": "SELECT charge FROM visits", "o_epsilon": "0.1", "rows_per_unit": "x"}, "rows_per_unit"),
        ("top_k", {"sql": "SELECT sex FROM patients", "o_epsilon": "0.1", "o_k": "<b>"}, "k"),
    ],
)
def test_a_form_that_is_wrong_says_so_and_keeps_what_was_written(
    ana: Visitor, name: str, said: dict[str, str], words: str
) -> None:
    told = ana.send("POST", f"/studies/{name}/estimate", **said).text
    assert 'role="alert"' in told
    assert words in told
    assert "<b>" not in told.partition("<main")[2]
    assert ana.send("GET", "/studies/nonsense").status_code == 400


def test_a_watch_is_shown_period_by_period(ana: Visitor) -> None:
    said = {"sql": COUNT, "every": "100 days", "epsilon": "0.02"}
    first, again = (ana.send("POST", "/watch", **said).text for _ in range(2))
    assert "periods are over" in first
    assert re.findall(r"[\d.,]+ \+/- [\d.,]+", first) == re.findall(r"[\d.,]+ \+/- [\d.,]+", again)
    assert 'role="alert"' in ana.send("POST", "/watch", **{**said, "every": "x"}).text


def test_the_owner_publishes_and_a_reader_reads(served: Served, owner: Visitor) -> None:
    said = {"page": "people", "title": "P", "statistics": f"People: {COUNT}\n\nAgain: {COUNT}", "epsilon": "0.02"}
    assert owner.send("POST", "/publish", **said).headers["location"] == "/published/people/index.html"
    for wrong in ({"statistics": ""}, {"statistics": "no colon"}, {"page": "../x"}, {"epsilon": "x"}):
        assert 'role="alert"' in owner.send("POST", "/publish", **{**said, **wrong}).text
    reader = Visitor(served)
    reader.log_in("rea")
    listed = reader.send("GET", "/published").text
    assert "/published/people/index.html" in listed
    for place in ("/ask", "/ledger", "/studies", "/people"):
        assert f'href="{place}"' not in listed
        assert reader.send("GET", place).status_code == 403
    shown = reader.send("GET", "/published/people/index.html")
    assert "script" not in shown.headers["content-security-policy"]
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert reader.send("GET", "/published/people/..%2f..%2fclinic.toml").status_code == 404


def test_a_policy_is_checked_and_never_saved(served: Served, owner: Visitor) -> None:
    text = served.policy.read_text()
    assert "name = &#34;clinic&#34;" in owner.send("GET", "/policy").text
    assert "It holds together" in owner.send("POST", "/policy", text=text).text
    for wrong, words in (
        (text.replace("rows_per_unit = 6", "rows_per_unit = 0"), "rows_per_unit"),
        (text.replace('source = "visits.csv"', 'source = "/etc/people.csv"'), "one that the policy"),
        ("<script>", "not TOML"),
    ):
        told = owner.send("POST", "/policy", text=wrong, part="1").text
        assert 'role="alert"' in told
        assert words in told
        assert "<script>" not in told
    assert served.policy.read_text() == text


def test_a_token_is_made_shown_once_and_taken_back(served: Served, owner: Visitor) -> None:
    made = owner.send("POST", "/people/add", name="bob", role="analyst", days="3").text
    found = re.search(r"tacit-([0-9a-f]{12})-[\w-]+", made)
    assert found is not None
    assert found[0] not in owner.send("GET", "/people").text
    served.tokens["fresh"] = found[0]
    assert served.get("/v1/me", "fresh").json()["name"] == "bob"
    assert "revoked" in owner.send("POST", "/people/revoke", id=found[1]).text
    assert served.get("/v1/me", "fresh").status_code == 401
    for wrong in ({"name": "zoe"}, {"role": "king"}, {"days": "0"}, {"days": "x"}, {"name": "owner"}):
        said = {"name": "bob", "role": "analyst", "days": "3", **wrong}
        assert 'role="alert"' in owner.send("POST", "/people/add", **said).text
    assert 'role="alert"' in owner.send("POST", "/people/revoke", id="x").text


def test_the_owner_alone_sees_how_risky_a_raw_table_is_marked_as_not_for_release(
    served: Served, owner: Visitor, ana: Visitor
) -> None:
    raw = list(csv.DictReader((served.policy.parent / "patients.csv").read_text().splitlines()))
    alone = [key for key, count in Counter((row["sex"], row["birth_year"]) for row in raw).items() if count == 1]
    said = {"table": "patients", "columns": "sex, birth_year", "sensitive": "town", "person": "patient_id"}
    before = served.get("/v1/ledger", "owner").json()["entries"]
    told = owner.send("POST", "/risk", **said)
    assert f"{len(alone) / len(raw):.1%} of {len(raw):,} people are unique" in told.text
    assert told.text.count("NOT FOR RELEASE") == 1
    assert "Not for release" in owner.send("GET", "/risk").text
    assert told.headers["cache-control"] == "no-store"
    assert served.get("/v1/ledger", "owner").json()["entries"] == before
    for wrong in (
        {"table": "/etc/passwd"},
        {"table": "../patients"},
        {"table": ""},
        {"columns": ""},
        {"columns": "<script>"},
        {"sensitive": "nowhere"},
        {"person": "sex"},
    ):
        refused = owner.send("POST", "/risk", **{**said, **wrong}).text
        assert 'role="alert"' in refused
        assert "NOT FOR RELEASE" not in refused
        assert "<script>" not in refused
    for visitor in (ana,):
        assert visitor.send("POST", "/risk", **said).status_code == 403
        assert 'href="/risk"' not in visitor.send("GET", "/").text
    assert 'href="/risk"' in owner.send("GET", "/").text


def test_an_audit_is_a_job_of_the_owners_with_a_signed_report_and_can_be_cancelled(
    served: Served, owner: Visitor, ana: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit import audit

    held, begun = threading.Event(), threading.Event()

    def small(policy: Policy, **options: Any) -> Any:
        """The audit of one table in a few draws; it waits where it is told to."""
        begun.set()
        assert held.wait(60)
        table = policy.tables["patients"]
        return audit.audit_policy(replace(policy, tables={"patients": replace(table, columns={})}), **options)

    with monkeypatch.context() as patch:
        real = audit.audit_policy
        patch.setattr("tacit.audit.audit_policy", small)
        patch.setattr(audit, "audit_policy", small)
        for wrong in ("", "x", "99", "10001", "1e3", "-5"):
            assert 'role="alert"' in owner.send("POST", "/audit", samples=wrong).text
        place = owner.send("POST", "/audit", samples="100").headers["location"]
        assert begun.wait(60)
        patch.setattr(audit, "audit_policy", real)
        assert 'data-state="working"' in owner.send("GET", place).text
        assert ana.send("GET", place).status_code == 404
        held.set()
        while 'data-state="working"' in (shown := owner.send("GET", place).text):
            pass
        assert 'data-state="done"' in shown
        assert "Not for release" in shown
        file = owner.send("GET", f"{place}/json")
        assert audit.check_report(file.text).samples == 100
        assert ana.send("GET", f"{place}/json").status_code == 404
        held.clear(), begun.clear()
        patch.setattr(audit, "audit_policy", small)
        place = owner.send("POST", "/audit", samples="100").headers["location"]
        assert begun.wait(60)
        patch.setattr(audit, "audit_policy", real)
        assert owner.send("POST", f"{place}/cancel").status_code == 303
        held.set()
        while 'data-state="working"' in (shown := owner.send("GET", place).text):
            pass
        assert 'data-state="cancelled"' in shown
    assert ana.send("GET", "/audit").status_code == 403


@pytest.mark.parametrize("path", ["/", "/ask", "/watch", "/ledger", "/publish", "/people", "/studies/median"])
def test_what_the_words_mean_stands_where_they_are_used(owner: Visitor, path: str) -> None:
    shown = owner.send("GET", path).text
    assert "What do epsilon, delta, unit and interval mean?" in shown
    for word in ("Unit", "Epsilon", "Delta", "Interval"):
        assert f"<dt>{word}</dt>" in shown
