"""The tools over HTTP, for agents that run elsewhere: `tacit mcp clinic.toml --http` (streamable HTTP of the SDK).

    POST, GET, DELETE /mcp      Authorization: Bearer tacit-...      the same tokens as `tacit serve` takes

Promise: one token is one conversation. Nothing that an agent sends begins another: not a new session of the protocol,
not a request without one, not a second client; so the limit holds for all that is asked with a token while the server
runs. A token has sessions of its own, which no other token finds. Order, for every request: where a browser says that
it comes from, the token, the role, how many are open, and the body with its length and time; and then the SDK.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request as Incoming
from starlette.responses import Response
from starlette.routing import Route as Way
from starlette.types import Message, Receive, Scope, Send

from tacit.doors.http import bodies, problems
from tacit.doors.http.app import Limits, Server, limited, note, where
from tacit.doors.http.counters import Counters, to_stderr
from tacit.doors.http.datasets import Dataset, Seat, close_all, open_all
from tacit.doors.http.problems import BROKEN, Problem
from tacit.doors.http.roles import ASKERS
from tacit.doors.http.sending import sent_problem
from tacit.doors.http.serving import Place, options
from tacit.doors.mcp.server import make_server
from tacit.doors.mcp.tools import Tools
from tacit.errors import TacitError
from tacit.parameters import Number

PATH: Final = "/mcp"
METHODS: Final = ("GET", "POST", "DELETE")
IDLE: Final = 1_800.0
_MOST_SESSIONS: Final = 100


@dataclass(slots=True)
class Conversation:
    """All that is asked with one token: the tools with their limit, and the SDK's application in front of them."""

    tools: Tools
    app: Starlette
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the application runs: a second request waits for it too."""
    holding: asyncio.Task[None] | None = None


class Agents:
    """The application: who may come in, and which conversation is theirs."""

    def __init__(self, server: Server, limit: Number | None = None) -> None:
        self._server, self._limit = server, limit
        self._conversations: dict[tuple[str, str], Conversation] = {}
        self._over = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        incoming = Incoming(scope, receive)
        seats: list[Seat] = []
        statuses: list[int] = []

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(int(message["status"]))
            await send(message)

        try:
            await self._passed(incoming, receive, told, seats)
        except Problem as problem:
            await sent_problem(problems.door_content(problem), problem.headers)(scope, receive, told)
        except TacitError as refusal:
            told_to_owner = bool(seats) and seats[0].is_owner
            await sent_problem(problems.content_of(refusal, to_owner=told_to_owner))(scope, receive, told)
        except Exception as mistake:  # noqa: BLE001  # one fixed sentence, whatever it was
            self._server.report(where(mistake))
            if not statuses:
                content = {"type": "about:blank", "title": "mistake", "status": 500, "detail": BROKEN}
                await sent_problem(content)(scope, receive, told)
        note(self._server, PATH, incoming.method, seats[0] if seats else None, statuses[0] if statuses else 499)

    async def _passed(self, incoming: Incoming, receive: Receive, send: Send, seats: list[Seat]) -> None:
        _same_place(incoming)
        seat = await self._server.seat(incoming)
        seats.append(seat)
        if seat.token.role not in ASKERS:
            raise Problem(403, "not allowed", f"{PATH} is for {', '.join(sorted(ASKERS))}; not for {seat.token.role}.")
        posts = incoming.method == "POST"
        leave = self._server.gates["paid" if posts else "streams"].enter(seat.who)
        try:
            body = await limited(incoming, bodies.LONGEST, self._server.limits.body_seconds) if posts else b""
            conversation = await self._conversation(seat)
            await conversation.app(incoming.scope, _once(body, receive), send)
        finally:
            leave()

    async def _conversation(self, seat: Seat) -> Conversation:
        """The token's one conversation; its application runs until the server stops."""
        key = (seat.dataset.name, seat.token.id)
        found = self._conversations.get(key)
        if found is None:
            tools = Tools(seat.curator, self._limit)
            app = make_server(tools, seat.dataset.name).streamable_http_app(
                streamable_http_path=PATH,
                session_idle_timeout=IDLE,
                max_sessions=_MOST_SESSIONS,
                # the origin of a request is already checked; a proxy in front has its own name
                transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            )
            found = Conversation(tools, app)
            self._conversations[key] = found
            found.holding = asyncio.get_running_loop().create_task(self._held(found))
        await found.ready.wait()
        return found

    async def _held(self, conversation: Conversation) -> None:
        try:
            async with conversation.app.router.lifespan_context(conversation.app):
                conversation.ready.set()
                await self._over.wait()
        finally:
            conversation.ready.set()  # waiting requests learn that it does not run, and do not wait for ever

    async def close(self) -> None:
        """End all conversations."""
        self._over.set()
        await asyncio.gather(*(each.holding for each in self._conversations.values() if each.holding is not None))


def make_app(server: Server, limit: Number | None = None) -> Starlette:
    """The application of `tacit mcp --http`: one path, and nothing else."""
    agents = Agents(server, limit)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await agents.close()

    async def nothing(incoming: Incoming, _: Exception) -> Response:
        note(server, "nowhere", "OTHER", None, 404)
        there = f"There is nothing here. What there is: {PATH}."
        return sent_problem(problems.door_content(Problem(404, "nothing here", there)))

    app = Starlette(lifespan=lifespan, exception_handlers={404: nothing, 405: nothing})
    for method in METHODS:
        way = Way(PATH, agents, include_in_schema=False)
        way.methods = {method}  # HEAD comes along with GET otherwise
        app.router.routes.append(way)
    app.router.redirect_slashes = False
    return app


def serve(
    paths: Sequence[Path], place: Place, limits: Limits, limit: Number | None, said: Callable[[str], None]
) -> None:
    """Open the policies and answer agents until stopped."""
    import sys

    import uvicorn

    datasets: tuple[Dataset, ...] = open_all(paths, limits.workers)
    try:
        for each in datasets:
            Tools(each.curator, limit)  # a wrong limit is refused before anyone connects
        server = Server(datasets, limits, Counters(to_stderr()), lambda text: print(text, file=sys.stderr))  # noqa: T201
        said(f"Tools for AI analysts at {place.address}{PATH}, with a token each. Stop with Ctrl-C.")
        try:
            uvicorn.run(make_app(server, limit), **options(place))
        finally:
            server.close()
    finally:
        close_all(datasets)


def _same_place(incoming: Incoming) -> None:
    """A page of another site, in the browser of a person who can reach this server, gets no answer."""
    origin = incoming.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != incoming.headers.get("host", ""):
        raise Problem(403, "another site", "Pages of other sites are not answered.")


def _once(body: bytes, receive: Receive) -> Receive:
    """Pass on the body that was read, and then everything else from the client."""
    waiting = [body]

    async def handed() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return handed
