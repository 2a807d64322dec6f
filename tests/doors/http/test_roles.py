"""Every route for every role: the one table, walked through; and what comes without a token."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.doors.http.handlers import HANDLERS
from tacit.doors.http.roles import ROUTES, Role, Route
from tacit.doors.http.routes_without_curator import WITHOUT_CURATOR
from tests.doors.http.serving import COUNT, Served, Visitor

PEOPLE = {Role.OWNER: "owner", Role.ANALYST: "ana", Role.AUDITOR: "aud", Role.READER: "rea"}
BODIES: dict[str, Any] = {
    "estimate": {"sql": COUNT},
    "explain": {"sql": COUNT},
    "ask": {"sql": COUNT, "epsilon": "0.01"},
    "ask_all": {"questions": [COUNT], "epsilon": "0.01"},
    "suggest": {"column": "visits.charge"},
    "resume": {},
    "study": {"columns": ["visits.charge"], "options": {"epsilon": "0.01"}},
    "study_estimate": {"columns": ["visits.charge"], "options": {"epsilon": "0.01"}, "rows": 100},
    "publish": {"statistics": [{"name": "n", "sql": COUNT}], "epsilon": "0.01"},
    "watch": {"sql": COUNT, "epsilon": "0.01", "every": "200 days"},
    "job_cancel": {},
}

EXPECTED = {  # written once more, by hand, so that a slip in the table is noticed
    "me": {"owner", "analyst", "auditor", "reader"},
    "tables": {"owner", "analyst"},
    "estimate": {"owner", "analyst"},
    "explain": {"owner", "analyst"},
    "ask": {"owner", "analyst"},
    "ask_all": {"owner", "analyst"},
    "suggest": {"owner", "analyst"},
    "budget": {"owner", "analyst", "auditor"},
    "ledger": {"owner", "analyst", "auditor"},
    "check": {"owner", "auditor"},
    "answers": {"owner", "analyst"},
    "resume": {"owner"},
    "metrics": {"owner", "auditor"},
    **{each: {"owner", "analyst"} for each in ("studies", "study", "study_estimate", "publish", "watch")},
    **{each: {"owner", "analyst"} for each in ("jobs", "job", "job_events", "job_result", "job_cancel")},
    "published": {"owner", "analyst", "auditor", "reader"},
    "published_file": {"owner", "analyst", "auditor", "reader"},
}
PAGES = {
    "page_overview": {"owner", "analyst", "auditor"},
    "page_ask": {"owner", "analyst"},
    "page_estimate": {"owner", "analyst"},
    "page_preview": {"owner", "analyst"},
    "page_asked": {"owner", "analyst"},
    "page_stored": {"owner", "analyst"},
    "page_download": {"owner", "analyst"},
    "page_ledger": {"owner", "analyst", "auditor"},
    **{f"page_{each}": {"owner", "analyst"} for each in ("studies", "study", "study_estimate", "study_run")},
    **{f"page_{each}": {"owner", "analyst"} for each in ("jobs", "job", "job_cancel", "job_file", "watch", "watched")},
    **{f"page_{each}": {"owner", "analyst", "auditor", "reader"} for each in ("published", "published_file")},
    **{f"page_{each}": {"owner"} for each in ("publish", "publish_now", "policy", "policy_checked")},
    **{f"page_{each}": {"owner"} for each in ("people", "people_add", "people_revoke")},
    **{f"page_{each}": {"owner"} for each in ("risk", "risk_measured", "audit", "audit_run")},
}
OPEN = {"health", "described", "page_login", "page_logged_in", "page_logged_out", "page_static"}
OPEN |= {"page_openid", "page_openid_back"}  # to a provider of log-ins and back: they give away nothing
GUARDED = [route for route in ROUTES if route.kind != "open" and not route.page]
BEHIND_LOG_IN = [route for route in ROUTES if route.kind != "open" and route.page]


def send(served: Served, route: Route, headers: dict[str, str]) -> Any:
    asked = served.post("/v1/ask", {"sql": COUNT, "epsilon": "0.01"}, "ana").json()
    path = route.path.replace("{entry}", asked["receipt"]["entry"]).replace("{name}", "median")
    if "{job}" in path:
        path = path.replace("{job}", job_of(served, headers))
    if "{page}" in path:
        path = path.replace("{page}/{file}", published(served))
    if route.method == "GET":
        return served.client.get(path, headers=headers)
    return served.client.post(path, headers=headers, json=BODIES[route.does])


def job_of(served: Served, headers: dict[str, str]) -> str:
    """A job of theirs that is over, or where they may have none, somebody's."""
    begun = served.client.post("/v1/ask", headers={**headers, "Prefer": "respond-async"}, json=BODIES["ask"])
    if begun.status_code != 202:
        return "x"
    number = str(begun.json()["id"])
    while served.client.get(f"/v1/jobs/{number}", headers=headers).json()["state"] != "done":
        pass
    return number


def test_the_table_is_what_it_is_meant_to_be() -> None:
    assert {route.does: {str(role) for role in route.roles} for route in GUARDED} == EXPECTED
    assert {route.does: {str(role) for role in route.roles} for route in BEHIND_LOG_IN} == PAGES
    assert {route.does for route in ROUTES if route.kind == "open"} == OPEN
    assert set(HANDLERS) | set(WITHOUT_CURATOR) == set(EXPECTED)


def test_the_application_has_the_routes_of_the_table_and_no_other(served: Served) -> None:
    there = {(route.path, *sorted(route.methods)) for route in served.client.app.routes}  # type: ignore[attr-defined]
    assert there == {(route.path, route.method) for route in ROUTES}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("route", GUARDED, ids=lambda route: str(route.does))
def test_a_role_gets_in_exactly_where_the_table_says_so(served: Served, route: Route, role: Role) -> None:
    reply = send(served, route, served.headers(PEOPLE[role]))
    if str(role) in EXPECTED[route.does]:
        # a job that is over cannot be cancelled
        assert reply.status_code == (409 if route.does == "job_cancel" else 200), reply.text
    else:
        assert reply.status_code == 403
        assert reply.json()["detail"].startswith(f"{route.method} {route.path} is for ")


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: str(route.does))
@pytest.mark.parametrize(
    "said", ["", "Bearer", "Bearer x", "Bearer tacit-000000000000-x", "Basic abc", "Bearer \xff", "Bearer tacit--"]
)
def test_nobody_gets_in_without_a_token(served: Served, route: Route, said: str) -> None:
    headers = {"Authorization": said.encode("latin-1")} if said else {}
    reply = send(served, route, headers)  # type: ignore[arg-type]
    assert reply.status_code == 401
    assert reply.headers["WWW-Authenticate"] == "Bearer"
    assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "path", ["/nowhere", "/v1", "/v1/", "/v1/ask/", "/docs", "/v1/../etc/passwd", "/v1/answers/%2e%2e%2f"]
)
def test_what_is_not_in_the_table_is_not_there(served: Served, path: str) -> None:
    assert served.get(path).status_code in (404, 400)
    assert served.client.put("/v1/ask", headers=served.headers("ana")).status_code == 404


def test_the_description_has_every_route_with_its_keys(served: Served) -> None:
    content = served.client.get("/v1/openapi.json").json()
    assert {(path, method.upper()) for path, ways in content["paths"].items() for method in ways} == {
        (route.path, route.method) for route in ROUTES if not route.page
    }
    asked = content["paths"]["/v1/ask"]["post"]["requestBody"]["content"]["application/json"]
    assert set(asked["schema"]["properties"]) >= {"sql", "epsilon", "delta", "within"}
    assert served.post("/v1/estimate", asked["example"]).status_code == 200


def job_page(visitor: Visitor, fields: dict[str, str]) -> str:
    """The number of a job that is over, or of none where somebody may have none."""
    begun = visitor.send("POST", "/studies/median", **fields)
    if begun.status_code != 303:
        return "x"
    while 'data-state="done"' not in (shown := visitor.send("GET", begun.headers["location"])).text:
        assert shown.status_code == 200
    return str(begun.headers["location"]).removeprefix("/jobs/")


def published(served: Served) -> str:
    """The address of a page for readers."""
    assert served.post("/v1/publish", {**BODIES["publish"], "page": "numbers"}, "owner").status_code == 200
    return "numbers/index.html"


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("route", BEHIND_LOG_IN, ids=lambda route: str(route.does))
def test_a_page_opens_for_whoever_is_logged_in_exactly_where_the_table_says_so(
    served: Served, route: Route, role: Role
) -> None:
    asked = served.post("/v1/ask", {"sql": COUNT, "epsilon": "0.01"}, "ana").json()
    path = route.path.replace("{entry}", asked["receipt"]["entry"]).replace("{ending}", "csv")
    path = path.replace("{name}", "median").replace("{page}/{file}", published(served))
    visitor, fields = Visitor(served), {"sql": "SELECT charge FROM visits", "o_epsilon": "0.01"}
    asks = fields if "studies" in path else {"sql": COUNT, "epsilon": "0.01"}
    assert visitor.send(route.method, path, **asks).status_code == 303  # to the log-in
    visitor.log_in(PEOPLE[role])
    if "{job}" in path:
        path = path.replace("{job}", job_page(visitor, fields))
    reply = visitor.send(route.method, path, **asks)
    fine = {"page_study_run": 303, "page_job_cancel": 409}.get(route.does, 200)  # what is over cannot be cancelled
    assert reply.status_code == (fine if str(role) in PAGES[route.does] else 403), reply.text
    if route.method == "POST":
        for word in ("", "x", "é"):
            assert visitor.send("POST", path, sql=COUNT, word=word).status_code == 403
        assert visitor.send("POST", path, sql=COUNT, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
