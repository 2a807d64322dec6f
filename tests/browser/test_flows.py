"""What people do with the console, at both widths, with the script and without it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.curator.till import Till
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import TokenFile
from tests.browser.clinic_server import ClinicServer, Person, in_this_process, somebody
from tests.browser.test_pages import checked, run_study

BY_SEX = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"


@pytest.fixture(params=[(390, True), (390, False), (1280, True), (1280, False)], ids=str)
def ana(request: pytest.FixtureRequest, chromium: Any, clinic: ClinicServer) -> Iterator[Person]:
    """An analyst who is logged in."""
    width, script = request.param
    with somebody(chromium, clinic, width=width, script=script) as person:
        person.log_in(clinic.tokens["ana"])
        yield person


def test_estimate_ask_see_the_chart_download_and_find_it_in_the_ledger(ana: Person, tmp_path: Path) -> None:
    page = ana.page
    page.click("text=Ask a question")
    page.fill("#sql", BY_SEX)
    page.fill("#epsilon", "0.02")
    page.click("text=Estimate, free")
    page.wait_for_selector("text=Would cost epsilon 0.02")
    assert page.locator("svg.reach").count() == 1
    page.click("text=Ask this, for epsilon 0.02")
    page.wait_for_selector("h1:has-text('Answer')")
    assert page.locator(".bars .bar").count() == 2
    assert page.locator(".bars .bar").first.bounding_box()["width"] > 5  # its style sheet was let through
    assert page.locator("table td").count() == 4
    with page.expect_download() as begun:
        page.click("text=CSV")
    file = tmp_path / "answer.csv"
    begun.value.save_as(file)
    assert file.read_text().startswith("sex,n")
    page.click("nav >> text=Ledger")
    page.click("text=see answer >> nth=0")
    page.wait_for_selector("text=nothing was charged")


def test_a_question_that_is_refused_says_why_and_stays(ana: Person) -> None:
    ana.open("/ask")
    ana.page.fill("#sql", "SELECT * FROM patients")
    ana.page.click("text=Estimate, free")
    ana.page.wait_for_selector("[role=alert]")
    assert ana.page.input_value("#sql") == "SELECT * FROM patients"


def test_the_error_bars_move_before_anything_is_spent(chromium: Any, clinic: ClinicServer) -> None:
    with somebody(chromium, clinic) as person:
        person.log_in(clinic.tokens["ana"])
        person.open("/ask")
        page = person.page
        page.locator("#sql").press_sequentially("SELECT count(*) AS n FROM vis")
        page.click("#completion >> text=visits")
        assert page.input_value("#sql").endswith("FROM visits")
        page.wait_for_selector("svg.reach")
        seen = []
        for place in ("-100", "-50", "-10"):
            with page.expect_response("**/ask/preview"):
                page.locator("#slide").fill(place)
            page.wait_for_function(
                "v => document.querySelector('[data-within]').dataset.within !== v", arg=(seen or [""])[-1]
            )
            seen.append(page.locator("[data-within]").first.get_attribute("data-within"))
        wide = [float(each.replace(",", "")) for each in seen]
        assert wide[0] > wide[1] > wide[2] > 0
        with page.expect_response("**/ask/preview"):
            page.locator("#slide-within").fill("50")
        assert page.input_value("#epsilon") == ""
        assert float(page.input_value("#within")) > 0
        assert "/ask" not in {each.removeprefix(clinic.url) for each in person.asked[-3:]}  # nothing was asked
        checked(person, "the estimate with its sliders")


def test_a_token_that_is_revoked_ends_the_session(chromium: Any, clinic: ClinicServer) -> None:
    file = TokenFile(clinic.policy)
    token, text = file.add("ana", Role.ANALYST, 1)
    for script in (True, False):
        with somebody(chromium, clinic, script=script) as person:
            if script:
                person.log_in(text)
                file.revoke(token.id)
                person.open("/ask")
                assert person.page.url == f"{clinic.url}/login"
            person.open("/login")
            person.page.fill("#token", text)
            person.page.click("main button")
            person.page.wait_for_selector("[role=alert]")
            assert "revoked" in person.page.inner_text("[role=alert]")
            person.complaints.clear()  # the browser itself says that a page had the status 401


def test_a_budget_that_is_spent_says_so_and_what_is_left(chromium: Any, clinic: ClinicServer) -> None:
    with somebody(chromium, clinic) as person:
        person.log_in(clinic.tokens["poor"])
        for epsilon, outcome in (("0.04", "h1:has-text('Answer')"), ("0.03", "[role=alert]")):
            person.open("/ask")
            person.page.fill("#sql", BY_SEX)
            person.page.fill("#epsilon", epsilon)
            person.page.click("text=Estimate, free")
            person.page.click("text=Ask this")
            person.page.wait_for_selector(outcome)
        assert "left" in person.page.inner_text("[role=alert]")
        checked(person, "the refusal")


def test_a_study_is_estimated_run_and_downloaded(ana: Person, tmp_path: Path) -> None:
    run_study(ana, "quartiles", "0.04")
    assert ana.page.locator("table td").count() > 0
    with ana.page.expect_download() as begun:
        ana.page.click("text=The table (CSV)")
    begun.value.save_as(tmp_path / "table.csv")
    assert "quantile" in (tmp_path / "table.csv").read_text()


@pytest.mark.parametrize("script", [True, False])
def test_a_job_is_cancelled_before_it_is_charged(
    chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: bool
) -> None:
    go_on, begun = threading.Event(), Till._begun

    def waits(till: Till, opened: Any) -> Any:
        assert go_on.wait(60)
        return begun(till, opened)

    monkeypatch.setattr(Till, "_begun", waits)
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    with in_this_process(tmp_path) as here, somebody(chromium, here, script=script) as person:
        person.log_in(here.tokens["ana"])
        person.open("/studies/quartiles")
        person.page.fill("#sql", "SELECT charge FROM visits")
        person.page.fill("#o_epsilon", "0.05")
        person.page.click("text=Estimate, free")
        person.page.click("text=Run this")
        person.page.click("text=Cancel, it costs nothing")
        go_on.set()
        person.page.wait_for_selector("[data-state=cancelled]")
        if script:  # axe is a script itself
            checked(person, "a cancelled job")
        person.open("/ledger")
        assert "Nothing was asked yet" in person.page.content()


def test_a_reader_sees_published_pages_only(chromium: Any, clinic: ClinicServer) -> None:
    with somebody(chromium, clinic) as person:
        person.log_in(clinic.tokens["owner"])
        person.open("/publish")
        person.page.fill("#page", "visits")
        person.page.fill("#statistics", "Visits: SELECT department, count(*) AS n FROM visits GROUP BY department")
        person.page.fill("#epsilon", "0.05")
        person.page.click("text=Release and publish")
        person.page.wait_for_url("**/published/visits/index.html")
        assert person.page.locator(".bars .bar").count() == 5
        checked(person, "a published page")
    with somebody(chromium, clinic, width=390) as person:
        person.log_in(clinic.tokens["rea"])
        assert person.page.url == f"{clinic.url}/published"
        person.page.click("main >> text=visits >> nth=0")
        person.page.wait_for_selector(".bars")
        assert person.open("/ask").status == 403
        person.complaints.clear()  # the status


def test_the_policy_is_checked_as_one_types(chromium: Any, clinic: ClinicServer) -> None:
    with somebody(chromium, clinic) as person:
        person.log_in(clinic.tokens["owner"])
        person.open("/policy")
        text = person.page.input_value("#text")
        with person.page.expect_response("**/policy"):
            person.page.fill("#text", text.replace("rows_per_unit = 6", "rows_per_unit = 0"))
        person.page.wait_for_selector("#checked [role=alert]")
        with person.page.expect_response("**/policy"):
            person.page.fill("#text", text)
        person.page.wait_for_selector("text=It holds together")
        assert clinic.policy.read_text() == text


@pytest.mark.parametrize("width", [390, 1280])
def test_the_owner_sees_how_risky_a_raw_table_is(chromium: Any, clinic: ClinicServer, width: int) -> None:
    with somebody(chromium, clinic, width=width) as person:
        person.log_in(clinic.tokens["owner"])
        person.page.click("nav >> text=Risk")
        person.page.select_option("#table", "patients")
        person.page.fill("#columns", "sex, birth_year, town")
        person.page.click("text=Measure")
        person.page.wait_for_selector("text=NOT FOR RELEASE")
        assert person.page.locator("table").count() == 3
        checked(person, f"a risk report {width}")


def test_the_owner_audits_the_policy(chromium: Any, clinic: ClinicServer) -> None:
    with somebody(chromium, clinic, width=390) as person:
        person.log_in(clinic.tokens["owner"])
        person.open("/audit")
        person.page.fill("#samples", "100")
        person.page.click("text=Begin")
        person.page.wait_for_selector("[data-state=done]", timeout=300_000)
        person.page.wait_for_selector("text=Nothing was found")
        checked(person, "an audit")


def test_an_auditor_sees_the_ledger_and_cannot_ask(chromium: Any, clinic: ClinicServer) -> None:
    with somebody(chromium, clinic) as person:
        person.log_in(clinic.tokens["aud"])
        assert person.page.locator("nav >> text=Ask").count() == 0
        person.page.click("nav >> text=Ledger")
        person.page.wait_for_selector("h1:has-text('Ledger')")
        assert person.open("/ask").status == 403
        checked(person, "the refusal of a page")
        person.complaints.clear()  # the status
        person.page.click("text=Log out")
        person.page.wait_for_url(f"{clinic.url}/login")
