"""An AI analyst's tools, through the SDK's own client: the same laws, and a limit on what a conversation spends."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tacit.curator import Curator
from tacit.doors.mcp.server import make_server
from tacit.doors.mcp.tools import Tools
from tacit.errors import EngineError, LedgerError, ParameterError, QuestionError, Stopped, TacitError
from tests.curator.tables import COUNT, Watched, curated
from tests.walks import ONCE, counted

BY_SEX = "SELECT sex, count(*) AS n FROM people GROUP BY sex"


@pytest.fixture(scope="module")
def people() -> Iterator[Curator]:
    with curated(largest_epsilon=2) as curator:
        yield curator


def talk(tools: Tools, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What the SDK's client gets for these calls, in one conversation."""

    async def conversation() -> list[Any]:
        async with Client(make_server(tools, "people")) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(conversation())


def test_the_client_sees_tools_that_say_what_is_free(people: Curator) -> None:
    async def listed() -> Any:
        async with Client(make_server(Tools(people), "people")) as client:
            return (await client.list_tools()).tools

    tools = {each.name: each for each in asyncio.run(listed())}
    studies = {"list_studies", "estimate_study", "run_study"}
    assert set(tools) == {"list_tables", "estimate", "explain", "ask", "budget", *studies}
    spending = {"ask", "run_study"}
    assert all("SPENDS" in tools[name].description for name in spending)
    assert all("Free" in tools[name].description for name in set(tools) - spending)
    assert set(tools["ask"].input_schema["properties"]) == {"sql", "epsilon", "delta"}


def test_what_is_set_aside_is_the_price_of_the_plan_that_is_answered(
    people: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = counted(monkeypatch)
    Tools(people, "0.5").ask(BY_SEX, "0.19")
    assert counts == ONCE


def test_an_agent_estimates_asks_and_sees_what_is_left(people: Curator) -> None:
    told, estimated, explained, answered, again, left = talk(
        Tools(people, "0.5"),
        ("list_tables", {}),
        ("estimate", {"sql": BY_SEX, "epsilon": "0.2"}),
        ("explain", {"sql": BY_SEX, "epsilon": "0.2"}),
        ("ask", {"sql": BY_SEX, "epsilon": "0.2"}),
        ("ask", {"sql": BY_SEX, "epsilon": "0.2"}),
        ("budget", {}),
    )
    assert set(told.structured_content["tables"]) == {"people"}
    assert estimated.structured_content["fits_this_conversation"] is True
    assert explained.structured_content["sentences"]
    assert answered.structured_content["rows"] == again.structured_content["rows"]
    assert again.structured_content["repeated"] is True
    assert left.structured_content["left_in_this_conversation"] == "0.3"


def test_what_may_not_leave_is_refused_in_a_sentence_that_an_agent_can_act_on(people: Curator) -> None:
    before = len(people.ledger())
    for sql in (
        "SELECT * FROM people",
        "SELECT pay FROM people",
        "DROP TABLE people",
        "SELECT count(*) FROM people WHERE pid = 7",
    ):
        for tool in ("estimate", "explain", "ask"):
            (refused,) = talk(Tools(people), (tool, {"sql": sql, "epsilon": "0.1"}))
            assert refused.is_error
            assert len(refused.content[0].text) > 40
    for arguments in ({"sql": COUNT, "epsilon": "1e9"}, {"sql": COUNT, "analyst": "bob", "epsilon": "x"}, {}):
        assert talk(Tools(people), ("ask", arguments))[0].is_error
    assert len(people.ledger()) == before


def test_a_conversation_spends_at_most_its_limit(people: Curator) -> None:
    tools = Tools(people, "0.3")
    before = people.ledger()
    results = talk(tools, *(("ask", {"sql": f"{COUNT} WHERE age > {age}", "epsilon": "0.1"}) for age in range(6)))
    assert [each.is_error for each in results] == [False] * 3 + [True] * 3
    assert "0 is left of what this conversation may spend" in results[-1].content[0].text
    assert len(people.ledger()) == len(before) + 6  # three charges, three answers
    (free,) = talk(tools, ("ask", {"sql": f"{COUNT} WHERE age > 1", "epsilon": "0.1"}))
    assert free.structured_content["repeated"] is True


def test_many_at_once_spend_no_more(people: Curator) -> None:
    tools, refused = Tools(people, "0.3"), []

    def ask(age: int) -> None:
        try:
            tools.ask(f"{COUNT} WHERE age < {age}", "0.1")
        except ParameterError as refusal:
            refused.append(refusal)

    threads = [threading.Thread(target=ask, args=(age,)) for age in range(50, 58)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(refused) == 5


def test_what_failed_after_its_charge_counts_and_what_was_refused_does_not(
    people: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = Tools(people, "0.3")
    with monkeypatch.context() as patch:
        patch.setattr(people._till, "engine", Watched(ValueError("row 4711")))
        with pytest.raises(EngineError):
            tools.ask(f"{COUNT} WHERE age = 3", "0.2")
    people.resume()
    with pytest.raises(ParameterError, match=r"0\.1 is left"):
        tools.ask(f"{COUNT} WHERE age = 4", "0.2")
    with pytest.raises(Exception, match="not"):
        tools.ask("SELECT count(*) FROM nowhere", "0.1")
    assert not tools.ask(f"{COUNT} WHERE age = 5", "0.1")["repeated"]


def test_the_same_words_about_other_data_are_paid_for_again_and_count(tmp_path: Path) -> None:
    import csv

    from tacit.curator import open_policy
    from tacit.doors import clinic

    policy, said = clinic.make(tmp_path, patients=60).policy, ("SELECT count(*) AS n FROM patients", "0.1")
    with open_policy(policy) as curator:
        tools, poor = Tools(curator, "0.25"), Tools(curator, "0.15")
        assert not tools.ask(*said)["repeated"]
        assert tools.ask(*said)["left_in_this_conversation"] == "0.15"
        poor._spent, poor._paid = tools._spent, set(tools._paid)
    file = tmp_path / "patients.csv"
    rows = list(csv.reader(file.read_text().splitlines()))
    file.write_text("\n".join(",".join(row) for row in [*rows, ["9999999", *rows[-1][1:]]]) + "\n")
    with open_policy(policy) as changed:
        tools._curator = poor._curator = changed
        with pytest.raises(ParameterError, match=r"0\.05 is left"):
            poor.ask(*said)
        assert not tools.ask(*said)["repeated"]
        assert tools.ask(*said)["left_in_this_conversation"] == "0.05"


@pytest.mark.parametrize(("failure", "left"), [(LedgerError, "0.2"), (Stopped, "0.3"), (QuestionError, "0.3")])
def test_what_the_ledger_failed_at_may_be_charged_and_counts(
    people: Curator, monkeypatch: pytest.MonkeyPatch, failure: type[TacitError], left: str
) -> None:
    tools = Tools(people, "0.3")

    def fails(*_: object, **__: object) -> None:
        raise failure("so it is")

    with monkeypatch.context() as patch:
        patch.setattr(Curator, "ask", fails)
        with pytest.raises(failure):
            tools.ask(f"{COUNT} WHERE age = 77", "0.1")
    assert tools.budget()["left_in_this_conversation"] == left


def test_the_command_speaks_the_protocol_over_its_pipes(tmp_path: Path) -> None:
    import sys

    from mcp import StdioServerParameters

    from tacit.doors import clinic

    policy = clinic.make(tmp_path, patients=100, keeps=True).policy
    start: Callable[..., Any] = StdioServerParameters
    there = {**os.environ, "PYTHONPATH": str(Path(clinic.__file__).parents[2])}
    command = start(
        command=sys.executable, args=["-m", "tacit.doors.cli", "mcp", str(policy), "--limit", "0.1"], env=there
    )

    async def conversation() -> Any:
        async with Client(command) as client:
            first = await client.call_tool("ask", {"sql": "SELECT count(*) AS n FROM patients", "epsilon": "0.1"})
            second = await client.call_tool("ask", {"sql": "SELECT count(*) AS n FROM visits", "epsilon": "0.1"})
            return first, second

    first, second = asyncio.run(conversation())
    assert first.structured_content["columns"] == [{"name": "n", "kind": "integer"}]
    assert second.is_error


def test_an_agent_runs_a_study_within_its_limit(people: Curator) -> None:
    said = {"name": "median", "sql": "SELECT age FROM people", "options": {"epsilon": "0.2"}}
    listed, told, found, again, too_much, model, wrong = talk(
        Tools(people, "0.3"),
        ("list_studies", {}),
        ("estimate_study", said),
        ("run_study", said),
        ("run_study", said),
        ("run_study", {**said, "options": {"epsilon": "0.25"}}),
        ("run_study", {**said, "name": "KMeans"}),
        ("run_study", {**said, "options": {"epsilon": "0.1", "analyst": "bob"}}),
    )
    assert "needed" in listed.structured_content["median"]["options"]["epsilon"]
    assert told.structured_content["fits_this_conversation"] is True
    assert found.structured_content["left_in_this_conversation"] == "0.1"
    assert again.structured_content["finding"] == found.structured_content["finding"]
    assert again.structured_content["left_in_this_conversation"] == "0.1"
    assert "0.1 is left of what this conversation may spend" in too_much.content[0].text
    assert "no statistic" in model.content[0].text
    assert "option of median" in wrong.content[0].text
