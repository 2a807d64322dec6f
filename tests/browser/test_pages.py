"""Every page at the widths of a phone and of a screen, by day and by night: nothing sticks out, axe finds nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tacit.doors.http.roles import ROUTES
from tests.browser.clinic_server import ClinicServer, Person, somebody

BY_DEPARTMENT = "SELECT department, count(*) AS visits, avg(charge) AS mean_charge FROM visits GROUP BY department"
MOST_BYTES = 60_000
# every page that is shown at an address, and who looks at it; {entry} is an answer's
PAGES: dict[str, str] = {
    "/login": "",
    "/": "ana",
    "/ask": "ana",
    "/answers/{entry}": "ana",
    "/ledger": "owner",
    "/studies": "ana",
    "/studies/{name}": "ana",
    "/jobs": "ana",
    "/jobs/{job}": "ana",
    "/watch": "ana",
    "/published": "rea",
    "/publish": "owner",
    "/policy": "owner",
    "/people": "owner",
    "/risk": "owner",
    "/audit": "owner",
}
NO_PAGES = {"/login/openid", "/login/back"}  # they lead elsewhere
NO_PAGES |= {"/static/{name}", "/answers/{entry}/{ending}", "/jobs/{job}/{ending}", "/published/{page}/{file}"}


def test_every_page_of_the_table_is_looked_at() -> None:
    shown = {each.path for each in ROUTES if each.page and each.method == "GET"}
    assert shown - NO_PAGES == set(PAGES)


@pytest.fixture(scope="session")
def entry(chromium: Any, clinic: ClinicServer) -> str:
    """An answer that is stored."""
    with somebody(chromium, clinic) as ana:
        ana.log_in(clinic.tokens["ana"])
        ana.open("/ask")
        ana.page.fill("#sql", BY_DEPARTMENT)
        ana.page.fill("#epsilon", "0.1")
        ana.page.click("text=Estimate, free")
        ana.page.click("text=Ask this")
        found = re.search(r"/answers/(\d+)/csv", ana.page.content())
        assert found is not None
        return found[1]


@pytest.fixture(scope="session")
def job(chromium: Any, clinic: ClinicServer) -> str:
    """A study that was run."""
    with somebody(chromium, clinic) as ana:
        ana.log_in(clinic.tokens["ana"])
        return run_study(ana, "quartiles", "0.05")


def run_study(person: Person, name: str, epsilon: str) -> str:
    """Estimate a study, run it, and wait for it; the number of its job."""
    person.open(f"/studies/{name}")
    person.page.fill("#sql", "SELECT charge FROM visits")
    person.page.fill("#o_epsilon", epsilon)
    person.page.click("text=Estimate, free")
    person.page.click("text=Run this")
    person.page.wait_for_selector("[data-state=done]")
    return str(person.page.url).rpartition("/")[2]


def checked(person: Person, where: str) -> None:
    """Nothing that axe finds, and nothing wider than the window."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(person.page)
    assert found.violations_count == 0, f"{where}\n{found.generate_report()}"
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not person.page.evaluate(wide), f"{where} is wider than its window"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("who", sorted(set(PAGES.values())))
def test_nothing_is_wrong_with_any_page(
    chromium: Any, clinic: ClinicServer, entry: str, job: str, who: str, width: int, scheme: str
) -> None:
    with somebody(chromium, clinic, width=width, scheme=scheme) as person:
        if who:
            person.log_in(clinic.tokens[who])
        for path in (each for each, whose in PAGES.items() if whose == who):
            reply = person.open(path.replace("{entry}", entry).replace("{name}", "quantiles").replace("{job}", job))
            assert reply.status == 200, path
            for closed in person.page.query_selector_all("details:not([open])"):
                closed.evaluate("each => each.open = true")  # what is folded away is looked at as well
            checked(person, f"{path} {width} {scheme}")


@pytest.mark.parametrize("path", ["/login", "/"])
def test_a_first_page_is_small(chromium: Any, clinic: ClinicServer, path: str) -> None:
    with somebody(chromium, clinic) as person:
        if path == "/":
            person.log_in(clinic.tokens["ana"])
            person.sizes.clear()
        person.page.context.clear_cookies() if path == "/login" else None
        person.open(path)
        assert 0 < sum(person.sizes.values()) <= MOST_BYTES, person.sizes
