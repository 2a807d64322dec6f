"""What somebody with an analyst's token tries in order to be somebody else, to see rows, files or others' answers."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import uvicorn
from fastapi.testclient import TestClient

from tacit.doors import clinic
from tacit.doors.http.app import Server, make_app
from tacit.doors.http.datasets import close_all, open_all
from tacit.doors.http.prompt import Prompt
from tacit.doors.http.roles import Role
from tacit.doors.http.serving import Place, options
from tacit.doors.http.tokens import TokenFile
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


def test_a_file_of_tokens_that_cannot_be_used_lets_nobody_in_and_names_no_path(served: Served) -> None:
    file, visitor = served.policy.with_suffix(".tokens"), Visitor(served)
    visitor.log_in("owner")
    content = file.read_bytes()
    try:
        for spoil in (lambda: file.chmod(0o644), lambda: file.write_text("{")):
            file.chmod(0o600)
            spoil()
            replies = [served.get("/v1/me", "owner"), visitor.send("GET", "/"), visitor.send("POST", "/ask", sql=COUNT)]
            visitor.send("GET", "/login")
            replies.append(visitor.send("POST", "/login", token=served.tokens["owner"]))
            for reply in replies:
                assert reply.status_code == 409, reply.text
                assert str(served.policy.parent) not in reply.text
    finally:
        file.write_bytes(content)
        file.chmod(0o600)
    assert served.get("/v1/me", "owner").status_code == 200


def test_two_datasets_and_two_names_that_read_alike_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    datasets = []
    for name, people in (("clinic", ("x ana",)), ("clinic x", ("ana",))):
        (tmp_path / name).mkdir()
        policy = clinic.make(tmp_path / name, patients=20, keeps=True).policy
        policy.write_text(policy.read_text().replace('name = "clinic"', f'name = "{name}"'))
        tokens = {each: TokenFile(policy).add(each, Role.ANALYST, 1)[1] for each in people}
        datasets.append((policy, tokens))
    server = Server(open_all([policy for policy, _ in datasets]))
    try:
        with TestClient(make_app(server), base_url="https://testserver") as client:
            one, other = ({"Authorization": f"Bearer {text}"} for _, tokens in datasets for text in tokens.values())
            said = {"sql": COUNT, "epsilon": "0.01"}
            job = client.post("/v1/ask", json=said, headers={**one, "Prefer": "respond-async"}).json()["id"]
            assert client.get("/v1/jobs", headers=other).json()["jobs"] == []
            assert client.get(f"/v1/jobs/{job}", headers=other).status_code == 404
            assert client.get(f"/v1/jobs/{job}", headers=one).status_code == 200
    finally:
        server.close()
        close_all(server.datasets)


def test_statistics_and_people_with_awkward_names_break_no_header(served: Served) -> None:
    names = ["\u0412\u0438\u0437\u0438\u0442\u044b", 'a"b', "a;b", "x\u2028y", "..", "CON", "%0d%0aSet-Cookie: a=b"]
    listed = [{"name": name, "sql": COUNT} for name in names]
    said = {"statistics": listed, "epsilon": "0.01", "page": "awkward", "title": "\u2028<script>"}
    assert served.post("/v1/publish", said, "owner").status_code == 200
    visitor = Visitor(served)
    visitor.log_in("rea")
    files = served.get("/v1/published", "rea").json()["pages"]["awkward"]
    assert len(files) >= 3
    for name in files:
        for reply in (
            served.get(f"/v1/published/awkward/{quote(name)}", "rea"),
            visitor.send("GET", f"/published/awkward/{quote(name)}"),
        ):
            assert reply.status_code == 200, name
            assert "a=b" not in reply.headers.get("set-cookie", "")
            assert "<script>" not in reply.text or name.endswith(".json")


def test_many_guesses_at_once_wait_and_everyone_who_is_known_goes_on(served: Served) -> None:
    number = served.tokens["bob"].split("-")[1]
    served.get("/v1/me", "ana")  # known from here on
    found: list[int] = []

    def guess(_: int) -> None:
        headers = {"Authorization": f"Bearer tacit-{number}-wrong", "X-Forwarded-For": "10.0.0.1"}
        found.append(served.client.get("/v1/me", headers=headers).status_code)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(guess, range(24)))
        assert served.get("/v1/me", "ana").status_code == 200
    assert set(found) <= {401, 429}
    assert 429 in found


@pytest.mark.parametrize("said", [b"", b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX-A: "])
def test_somebody_who_does_not_get_to_the_point_loses_the_connection(
    said: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Prompt, "head_seconds", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = Place(port=free.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(make_app(Server([])), **options(place)))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        with socket.create_connection(("127.0.0.1", place.port), timeout=30) as line:
            line.sendall(said)
            with suppress(BrokenPipeError, ConnectionResetError):
                for _ in range(20):  # a letter now and then does not help
                    line.sendall(b"x" if said else b"")
                    time.sleep(0.05)
                assert line.recv(1) == b""
        with closing(http.client.HTTPConnection("127.0.0.1", place.port, timeout=30)) as known:
            for _ in range(2):  # on one connection
                known.request("GET", "/v1/health")
                reply = known.getresponse()
                assert reply.status == 200
                reply.read()
    finally:
        server.should_exit = True
        thread.join()
