"""What somebody with an analyst's token tries in order to be somebody else, to see rows, files or others' answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.doors.http.serving import COUNT, Served, Visitor

CHARGES = "SELECT charge FROM visits"


def charges(served: Served) -> list[str]:
    entries = served.get("/v1/ledger", "owner").json()["entries"]
    return [each["analyst"] for each in entries if each["kind"] == "charged"]


def test_nobody_is_somebody_else(served: Served) -> None:
    theirs = served.post("/v1/ask", {"sql": COUNT, "epsilon": "0.01"}, "bob").json()["receipt"]["entry"]
    assert served.get(f"/v1/answers/{theirs}").status_code == 400
    for path in ("/v1/ledger?analyst=bob", "/v1/budget?analyst=owner"):
        assert served.get(path).status_code == 400
    for number, header in enumerate(("X-Forwarded-User", "X-Remote-User", "X-Analyst")):
        said = {"sql": f"{COUNT} WHERE charge < {number + 1}", "epsilon": "0.01"}
        assert served.post("/v1/ask", said, headers={header: "owner"}).status_code == 200
        assert charges(served)[-1] == "ana"
    visitor = Visitor(served)
    visitor.log_in("ana")
    assert visitor.send("POST", "/people/add", name="owner", role="owner", days="3").status_code == 403


@pytest.mark.parametrize(
    "name", ["__class__", "../ask", "Curator", "eval", "load", "SampleAndAggregate", "minimise", "Search", "evaluate"]
)
def test_only_studies_can_be_named(served: Served, name: str) -> None:
    reply = served.post(f"/v1/studies/{name}", {"sql": CHARGES, "options": {"epsilon": "0.1"}})
    assert reply.status_code in (400, 404, 405)


@pytest.mark.parametrize(
    "option",
    [
        *({"analyst": "bob"}, {"bounds": [0, 1]}, {"data": [1]}, {"progress": "x"}, {"columns": ["x"]}, {"level": 2}),
        *({"epsilon": "1e-400"}, {"epsilon": "nan"}, {"epsilon": -1}, {"epsilon": 10**400}, {"epsilon": {"a": 1}}),
    ],
    ids=lambda option: str(option)[:24],
)
def test_no_option_opens_anything(served: Served, option: dict[str, Any]) -> None:
    before = charges(served)
    said = {"sql": CHARGES, "options": {"epsilon": "0.01", **option}}
    assert served.post("/v1/studies/median", said).status_code == 400
    assert charges(served) == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM visits",
        "SELECT charge FROM visits; DROP TABLE visits",
        "SELECT read_text('/etc/passwd') AS charge FROM visits",
        "SELECT charge FROM read_csv('/etc/passwd')",
        "SELECT patient_id FROM visits",
        "SELECT getenv('HOME') AS x FROM visits",
        "COPY visits TO '/tmp/x'",
    ],
)
def test_rows_files_and_the_machine_stay_where_they_are(served: Served, sql: str) -> None:
    before = charges(served)
    said = {"sql": sql, "options": {"epsilon": "0.01"}}
    assert served.post("/v1/studies/histogram", said).status_code == 400
    assert served.post("/v1/watch", {"sql": sql, "epsilon": "0.01", "every": "30 days"}).status_code == 400
    assert charges(served) == before


@pytest.mark.parametrize(
    ("name", "sql", "options"),
    [
        ("quantiles", CHARGES, {"q": [0.5] * 20_000}),
        ("density", CHARGES, {"bins": 10**9}),
        ("KMeans", CHARGES, {"n_clusters": 10**9}),
        ("RandomForestClassifier", "SELECT birth_year, sex FROM patients", {"n_estimators": 10**9}),
        ("DecisionTreeClassifier", "SELECT birth_year, sex FROM patients", {"max_depth": 10**6}),
    ],
)
def test_what_would_never_end_is_not_begun(served: Served, name: str, sql: str, options: dict[str, Any]) -> None:
    before = charges(served)
    said: dict[str, Any] = {"sql": sql, "options": {"epsilon": "0.01", **options}}
    if name.endswith("Classifier"):
        said["target"] = "sex"
    assert served.post(f"/v1/studies/{name}", said).status_code == 400
    assert charges(served) == before


def test_a_watch_cannot_be_told_what_time_it_is(served: Served) -> None:
    said = {"sql": COUNT, "epsilon": "0.01", "every": "100 days"}
    for wrong in ({"now": "2099-01-01"}, {"every": "0 days"}, {"every": "1 second"}):
        assert served.post("/v1/watch", {**said, **wrong}).status_code == 400
