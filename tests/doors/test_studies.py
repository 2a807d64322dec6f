"""Statistics, models and synthetic data by name: the same as from Python, over HTTP and through `tacit.connect`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pandas
import pytest

import tacit
from tacit import learning, statistics, synthesis
from tacit.doors.connect import RemoteCurator
from tacit.doors.studies.parameters import ELSEWHERE, STATED
from tacit.doors.studies.registry import registry
from tacit.errors import ParameterError, QuestionError
from tests.doors.http.over_http import Way
from tests.doors.http.serving import Served

AGES = "SELECT birth_year FROM patients"
PEOPLE = "SELECT birth_year, sex FROM patients"


@pytest.fixture
def remote(served: Served) -> Iterator[RemoteCurator]:
    with tacit.connect("https://testserver", served.tokens["ana"], transport=Way(served.client)) as found:
        yield found


def test_every_name_means_what_its_room_offers_and_takes_what_its_signature_says() -> None:
    known = registry()
    assert {"median", "histogram", "linear_regression", "LogisticRegression", "KMeans", "aim", "mst"} <= set(known)
    for each in known.values():
        room = {"statistics": statistics, "models": learning, "synthetic data": synthesis}[each.room]
        assert getattr(room, each.name) is each.made
        names = set(inspect.signature(each.made).parameters)
        options = {one.name for one in each.parameters}
        assert "epsilon" in options
        assert not options & (ELSEWHERE | STATED | {"constraints", "progress", "prior"})
        assert options <= names or "options" in names  # the latter are typed by a record
    assert not {"decide", "choose_hyperparameters", "minimise", "evaluate", "SampleAndAggregate", "Search"} & set(known)


def test_a_study_over_http_is_the_study(served: Served) -> None:
    body = {"sql": AGES, "options": {"epsilon": "0.05"}}
    first, again = (served.post("/v1/studies/median", body).json() for _ in range(2))
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert first["finding"] == again["finding"]
    seat = served.server.datasets[0].curator.seen_by("ana")
    beside = statistics.median(seat.rows(AGES), epsilon="0.05")
    assert beside.repeated  # the same key: what was bought over HTTP is what Python finds stored
    assert [list(each.values) for each in beside.columns] == [each[2] for each in first["finding"]["columns"]]
    assert served.post("/v1/studies/median", body, headers={"Accept": "text/csv"}).text.startswith("median,")


def test_what_is_not_passed_on_says_where_it_is_done(remote: RemoteCurator) -> None:
    """An evaluation, a search and a monitor need the model's own code, or one step after another."""
    rows = remote.rows(PEOPLE)
    model = learning.LogisticRegression()
    fitted = learning.GaussianNB(epsilon="0.05").fit(rows, "sex")
    ways = [
        lambda: learning.evaluate(fitted, rows, "sex", epsilon="0.05"),
        lambda: learning.Search(model, {"method": ["rounds"]}, epsilon="0.1", delta="1e-8").fit(rows, "sex"),
        lambda: statistics.Monitor(rows, epsilon="0.05", threshold=100),
    ]
    before = len(remote.ledger())
    for way in ways:
        with pytest.raises(QuestionError, match="done where the rows lie"):
            way()
    assert len(remote.ledger()) == before


def test_an_estimate_is_free_and_tells_the_price(served: Served) -> None:
    before = len(served.get("/v1/ledger").json()["entries"])
    body = {"columns": ["patients.birth_year"], "options": {"epsilon": "0.05"}, "rows": 200}
    told = served.post("/v1/studies/median/estimate", body).json()
    assert told["asked"]["epsilon"] == "1/20"
    assert told["errors"][0]["rows"] == 200
    assert len(served.get("/v1/ledger").json()["entries"]) == before


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("medianx", {"sql": AGES, "options": {"epsilon": "0.05"}}, "median"),
        ("median", {"sql": AGES, "options": {}}, "epsilon"),
        ("median", {"sql": AGES, "options": {"epsilon": "0.05", "bins": 3}}, "option of median"),
        ("median", {"sql": AGES, "options": {"epsilon": "0.05", "bounds": [0, 1]}}, "the policy states it"),
        ("median", {"sql": AGES, "options": {"epsilon": "0.05", "analyst": "bob"}}, "option of median"),
        ("median", {"sql": AGES, "options": {"epsilon": [1]}}, "epsilon"),
        ("median", {"sql": AGES, "target": "x", "options": {"epsilon": "0.05"}}, "target"),
        ("median", {"options": {"epsilon": "0.05"}}, "sql"),
        ("median", {"sql": "SELECT count(*) FROM visits", "options": {"epsilon": "0.05"}}, ""),
        ("median", {"sql": AGES, "options": {"epsilon": "9"}}, "largest"),
        ("LogisticRegression", {"sql": PEOPLE, "options": {"epsilon": "0.05"}}, "target"),
        (
            "LogisticRegression",
            {"sql": PEOPLE, "columns": ["a"], "target": "sex", "options": {"epsilon": 1}},
            "columns",
        ),
        ("mst", {"sql": PEOPLE, "options": {"epsilon": "0.1", "delta": "1e-8", "constraints": ["1"]}}, "option of mst"),
        ("top_k", {"sql": AGES, "options": {"epsilon": "0.05", "k": "x"}}, "k"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_charged(
    served: Served, name: str, body: dict[str, Any], words: str
) -> None:
    before = len(served.get("/v1/ledger", "owner").json()["entries"])
    for path in (f"/v1/studies/{name}", f"/v1/studies/{name}/estimate"):
        refused = served.post(path, body)
        assert refused.status_code == 400, refused.text
        assert words in refused.json()["detail"]
    assert len(served.get("/v1/ledger", "owner").json()["entries"]) == before


def test_a_notebook_does_not_know_the_difference(remote: RemoteCurator) -> None:
    rows = remote.rows(AGES)
    assert repr(rows) == "Rows(birth_year; at most 1 of one unit)"
    told = statistics.estimate(statistics.median, rows, epsilon=0.04, rows=200)
    assert "epsilon 0.04" in str(told)
    found = statistics.median(rows, epsilon=0.04)
    assert 1920 <= found["median"][0] <= 2029
    assert statistics.median(remote, "patients.birth_year", epsilon=0.04).columns == found.columns
    assert found.receipt["epsilon"] == "1/25"
    counted = statistics.histogram(remote, "patients.sex", epsilon=0.02)
    assert len(counted) == 2
    with pytest.raises(ParameterError, match="who is asking"):
        statistics.median(rows, epsilon=0.04, analyst="bob")
    with pytest.raises(TypeError):
        statistics.mean(rows, nonsense=3)
    with pytest.raises(QuestionError):
        remote.rows("SELECT count(*) FROM patients")
    with pytest.raises(AttributeError, match="never leave"):
        rows.to_pandas()


def test_models_and_synthetic_data_are_made_there_and_used_here(served: Served, remote: RemoteCurator) -> None:
    rows = remote.rows(PEOPLE)
    model = learning.GaussianNB(epsilon=0.05)
    assert "epsilon 0.05" in str(model.estimate(rows, "sex"))
    assert model.fit(rows, "sex") is model
    assert set(model.predict(pandas.DataFrame({"birth_year": [1950.0, 2000.0]}))) <= {"F", "M"}
    assert learning.GaussianNB(epsilon=0.05).fit(rows, "sex").finding_.repeated
    shares: list[float] = []
    twin = synthesis.independent(rows, epsilon=0.05)
    assert len(twin.sample(10, seed=1)) == 10
    with tacit.connect("https://testserver", served.tokens["owner"], transport=Way(served.client)) as owner:
        again = synthesis.aim(owner.rows(PEOPLE), epsilon="0.05", delta="1e-8", progress=shares.append)
    assert again.columns == ("birth_year", "sex")
    assert all(0 <= each <= 1 for each in shares)
    with pytest.raises(ParameterError, match="rows of a curator"):
        learning.GaussianNB(epsilon=0.05).fit(remote, "sex")


def test_a_publication_is_released_there_and_written_here(served: Served, remote: RemoteCurator, tmp_path: Any) -> None:
    wanted = {
        "people": "SELECT sex, count(*) AS n FROM patients GROUP BY sex",
        "middle": statistics.planned(statistics.median, remote.rows(AGES)),
        "years": statistics.planned(statistics.quartiles, "patients.birth_year"),
    }
    made = remote.publish(wanted, "0.03", to=tmp_path / "site", title="Numbers")
    assert list(made.results) == ["people", "middle", "years"]
    assert not made.repeated
    assert (tmp_path / "site" / "index.html").exists()
    again = remote.publish(wanted, "0.03")
    assert again.repeated
    assert again["people"].to_csv() == made["people"].to_csv()
    refused = served.post("/v1/publish", {"statistics": [{"name": "n", "sql": "x"}], "epsilon": 1, "page": "p"})
    assert (refused.status_code, "owner" in refused.json()["detail"]) == (400, True)


def test_a_watch_is_paid_for_once_and_told_again(remote: RemoteCurator) -> None:
    said: dict[str, Any] = {"epsilon": "0.03", "every": "100 days"}
    watched = remote.watch("SELECT count(*) AS n FROM visits", **said)
    before = len(remote.ledger())
    first = watched.catch_up()
    assert len(first) == watched.counted > 0
    with pytest.raises(ParameterError, match="its clock says what is over"):
        watched.catch_up("2099-01-01")
    assert remote.watch("SELECT count(*) AS n FROM visits", **said).catch_up() == first
    assert len(remote.ledger()) == before
