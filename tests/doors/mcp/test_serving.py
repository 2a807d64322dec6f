"""An AI analyst's tools over HTTP, through the SDK's own client and a server that runs: tokens, limits, sessions."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tacit.doors import clinic
from tacit.doors.http.app import Limits, Server
from tacit.doors.http.datasets import close_all, open_all
from tacit.doors.http.roles import Role
from tacit.doors.http.serving import Place, options
from tacit.doors.http.tokens import TokenFile
from tacit.doors.mcp.serving import METHODS, PATH, Agents, Conversation, make_app

COUNT = "SELECT count(*) AS n FROM visits"
ASK = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
ANALYSTS = "".join(f"\n[analysts.{name}]\nepsilon = 1\n" for name in ("owner", "ana", "bob", "cy", "di", "eve"))


@dataclass
class Running:
    """A server for agents, and what it says of itself."""

    address: str
    server: Server
    file: TokenFile
    mistakes: list[str]

    def token(self, name: str, role: Role = Role.ANALYST) -> str:
        """A new token."""
        return self.file.add(name, role, 1)[1]

    def charges(self) -> list[str | None]:
        """Who was charged, in order."""
        return [each.analyst for each in self.server.datasets[0].curator.ledger() if each.kind == "charged"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("agents")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACIT_STATE", str(folder / "state"))
        policy = clinic.make(folder, patients=100, keeps=True).policy
        policy.write_text(policy.read_text() + ANALYSTS)
        datasets, mistakes = open_all([policy]), []
        # a client of the SDK has several requests open at once, and four of them here more than one person may have
        server = Server(datasets, Limits(body_seconds=1.0, open_each=16), report=mistakes.append)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            place = Place(port=free.getsockname()[1])
        run = uvicorn.Server(uvicorn.Config(make_app(server, "0.3"), **options(place)))
        thread = threading.Thread(target=run.run)
        thread.start()
        while not run.started:
            time.sleep(0.01)
        try:
            yield Running(place.address + PATH, server, TokenFile(policy), mistakes)
        finally:
            run.should_exit = True
            thread.join()
            server.close()
            close_all(datasets)
        assert mistakes == []


def talk(running: Running, text: str, *calls: tuple[str, dict[str, Any]], mode: str = "auto") -> list[Any]:
    """What the SDK's client gets for these calls, in one session of the protocol."""

    async def conversation() -> list[Any]:
        headers = {"Authorization": f"Bearer {text}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as line:
            there = streamable_http_client(running.address, http_client=line)
            async with Client(there, mode=mode) as client:  # type: ignore[arg-type]
                assert {each.name for each in (await client.list_tools()).tools} >= {"ask", "estimate", "run_study"}
                return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(conversation())


def asks(*numbers: int) -> list[tuple[str, dict[str, Any]]]:
    return [("ask", {"sql": f"{COUNT} WHERE charge > {number}", "epsilon": "0.1"}) for number in numbers]


def test_an_agent_estimates_asks_and_is_charged_under_its_tokens_name(running: Running) -> None:
    said = {"sql": COUNT, "epsilon": "0.1"}
    told, estimated, found, again, left = talk(
        running,
        running.token("ana"),
        ("list_tables", {}),
        ("estimate", said),
        ("ask", said),
        ("ask", said),
        ("budget", {}),
    )
    assert "visits" in told.structured_content["tables"]
    assert estimated.structured_content["fits_this_conversation"] is True
    assert found.structured_content["rows"] == again.structured_content["rows"]
    assert left.structured_content["left_in_this_conversation"] == "0.2"
    assert running.charges()[-1] == "ana"


@pytest.mark.parametrize(("mode", "first"), [("legacy", 10), ("auto", 20), ("2026-07-28", 30)])
def test_a_limit_holds_over_all_sessions_of_a_token(running: Running, mode: str, first: int) -> None:
    text, before = running.token("bob"), len(running.charges())
    results = [talk(running, text, *asks(first + number), mode=mode)[0] for number in range(5)]
    assert [each.is_error for each in results] == [False] * 3 + [True] * 2
    assert "0 is left of what this conversation may spend" in results[-1].content[0].text
    assert len(running.charges()) == before + 3
    (free,) = talk(running, text, *asks(first), mode=mode)
    assert free.structured_content["repeated"] is True


def test_many_at_once_spend_no_more(running: Running) -> None:
    text, before = running.token("cy"), len(running.charges())
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda number=number: found.extend(talk(running, text, *asks(number), mode="legacy")))
        for number in range(40, 44)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.is_error for each in found) == [False] * 3 + [True]
    assert len(running.charges()) == before + 3


def test_who_comes_second_waits_until_the_conversation_runs(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Agents._held

    async def slowly(agents: Agents, conversation: Conversation) -> None:
        await asyncio.sleep(0.5)
        await held(agents, conversation)

    monkeypatch.setattr(Agents, "_held", slowly)
    headers = HEADERS | bearer(running.token("ana"))
    with ThreadPoolExecutor(3) as pool:
        begun = [
            pool.submit(httpx.post, running.address, headers=headers, json=initialize(), trust_env=False)
            for _ in range(3)
        ]
        assert [each.result().status_code for each in begun] == [200] * 3


def test_another_token_has_a_limit_of_its_own_and_no_way_into_a_session(running: Running) -> None:
    one, other = running.token("di"), running.token("eve")
    begun = httpx.post(running.address, headers=HEADERS | bearer(one), json=initialize(), trust_env=False)
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    body = {**ASK, "params": {"name": "budget", "arguments": {}}}
    for headers, status in ((bearer(one), 200), (bearer(other), 404)):
        sent = httpx.post(running.address, headers=HEADERS | headers | session, json=body, trust_env=False)
        assert sent.status_code == status, sent.text
    ended = httpx.delete(running.address, headers=HEADERS | bearer(other) | session, trust_env=False)
    assert ended.status_code == 404
    before = running.charges()
    talk(running, one, *asks(50, 51, 52))
    assert not talk(running, other, *asks(53))[0].is_error
    assert running.charges()[len(before) :] == ["di", "di", "di", "eve"]


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def initialize() -> dict[str, Any]:
    info = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


@pytest.mark.parametrize("method", METHODS)
def test_nobody_comes_in_without_a_token_or_with_one_that_may_not_ask(running: Running, method: str) -> None:
    def sent(headers: dict[str, str]) -> int:
        body = json.dumps(initialize()) if method == "POST" else None
        reply = httpx.request(method, running.address, headers=HEADERS | headers, content=body, trust_env=False)
        assert reply.headers["content-type"] == "application/problem+json"
        return reply.status_code

    for said in ({}, bearer("x"), bearer("tacit-000000000000-x"), {"Authorization": "Basic YTpi"}):
        assert sent(said) == 401
    assert sent(bearer(running.token("aud", Role.AUDITOR))) == 403
    assert sent(bearer(running.token("rea", Role.READER))) == 403
    assert sent(bearer(running.token("ana")) | {"Origin": "https://evil.example"}) == 403


def test_a_token_that_is_revoked_ends_its_sessions(running: Running) -> None:
    made, text = running.file.add("ana", Role.ANALYST, 1)
    begun = httpx.post(running.address, headers=HEADERS | bearer(text), json=initialize(), trust_env=False)
    headers = HEADERS | bearer(text) | {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    body = {**ASK, "params": {"name": "budget", "arguments": {}}}
    assert httpx.post(running.address, headers=headers, json=body, trust_env=False).status_code == 200
    running.file.revoke(made.id)
    assert httpx.post(running.address, headers=headers, json=body, trust_env=False).status_code == 401


def test_bodies_too_long_too_slow_and_no_json_are_refused(running: Running) -> None:
    headers = HEADERS | bearer(running.token("ana"))

    def post(content: Any) -> int:
        return httpx.post(running.address, headers=headers, content=content, trust_env=False, timeout=30).status_code

    def slowly() -> Iterator[bytes]:
        yield b"{"
        time.sleep(1.5)
        yield b"}"

    assert post(b"x" * 300_000) == 413
    assert post(slowly()) == 408
    for content in (b"", b"{", b"[]", b"\xff", b"[" * 100_000, json.dumps({**ASK, "params": {"name": "x"}}).encode()):
        assert 400 <= post(content) < 500, content[:20]
    assert httpx.get(running.address + "/x", headers=headers, trust_env=False).status_code == 404
    assert httpx.put(running.address, headers=headers, trust_env=False).status_code == 404


def test_an_agent_that_is_told_to_find_out_about_somebody_cannot(running: Running) -> None:
    talk(running, running.token("ana"), ("ask", {"sql": COUNT, "epsilon": "0.1"}))  # so that it is stored
    before = running.charges()
    for sql in ("SELECT * FROM patients", "SELECT charge FROM visits", "SELECT count(*) FROM read_csv('/etc/passwd')"):
        (refused,) = talk(running, running.token("ana"), ("ask", {"sql": sql, "epsilon": "0.1"}))
        assert refused.is_error
    (other,) = talk(running, running.token("ana"), ("ask", {"sql": COUNT, "epsilon": "0.1", "analyst": "bob"}))
    assert other.is_error or other.structured_content["repeated"]
    assert running.charges() == before


def test_the_command_stays_on_this_machine_and_takes_who_asks_from_tokens_alone(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from tacit.doors.cli import app

    policy = str(clinic.make(tmp_path, patients=20, keeps=True).policy)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["mcp", policy, "--http", *arguments])
        assert done.exit_code != 0
        return " ".join(done.stderr.split())

    assert "this machine (127.0.0.1)" in run("--host", "0.0.0.0")
    assert "the token says who asks" in run("--analyst", "ana")
    assert "limit" in run("--limit", "much")
