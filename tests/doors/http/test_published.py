"""Pages for readers: what the owner published, and nothing else."""

from __future__ import annotations

import pytest

from tests.doors.http.serving import COUNT, Served

PAGE = {
    "statistics": [{"name": "visits", "sql": COUNT}],
    "epsilon": "0.01",
    "page": "visits-2024",
    "title": "A <b>title",
}


@pytest.fixture
def page(served: Served) -> Served:
    assert served.post("/v1/publish", PAGE, "owner").status_code == 200
    return served


def test_a_reader_sees_pages_and_files_and_nothing_else(page: Served) -> None:
    listed = page.get("/v1/published", "rea").json()["pages"]
    assert listed["visits-2024"] == ["index.html", "statistics.json", "visits.csv"]
    shown = page.get("/v1/published/visits-2024/index.html", "rea")
    assert shown.headers["content-type"].startswith("text/html")
    assert "A &lt;b&gt;title" in shown.text
    assert page.get("/v1/published/visits-2024/visits.csv", "rea").text.startswith("n")
    for path in ("/v1/tables", "/v1/budget", "/v1/ledger", "/v1/answers/1", "/v1/studies", "/v1/jobs", "/v1/metrics"):
        assert page.get(path, "rea").status_code == 403
    for path in ("/v1/ask", "/v1/estimate", "/v1/publish", "/v1/watch", "/v1/studies/median"):
        assert page.post(path, {"sql": COUNT}, "rea").status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "x/index.html",
        "visits-2024/x.html",
        "..%2f/clinic.toml",
        "visits-2024/..%2f..%2fclinic.toml",
        "%2e%2e/clinic.toml",
    ],
)
def test_no_name_becomes_a_path(page: Served, path: str) -> None:
    (page.policy.parent / "clinic.published" / "visits-2024" / "secret.txt").write_text("x")
    (page.policy.parent / "clinic.published" / "visits-2024" / "link.csv").unlink(missing_ok=True)
    (page.policy.parent / "clinic.published" / "visits-2024" / "link.csv").symlink_to(page.policy)
    assert page.get(f"/v1/published/{path}", "rea").status_code == 404
    for hidden in ("secret.txt", "link.csv"):
        assert page.get(f"/v1/published/visits-2024/{hidden}", "rea").status_code == 404


@pytest.mark.parametrize("name", ["../x", "", "A", "a/b", "x" * 65, "-a", "a.b", "a\n"])
def test_a_page_has_a_plain_name(served: Served, name: str) -> None:
    before = len(served.get("/v1/ledger", "owner").json()["entries"])
    assert served.post("/v1/publish", {**PAGE, "page": name}, "owner").status_code == 400
    assert len(served.get("/v1/ledger", "owner").json()["entries"]) == before
