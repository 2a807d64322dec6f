"""The routes of the table as an application: each guarded by its roles, its queue and its limits.

Order, for every request: the token, the role, the length of the body, the queue; and then the handler, in a thread.
Whatever goes wrong leaves as problem+json; what the house did not foresee leaves as one fixed sentence.

Two queues. What may charge waits in one, everything free in the other, so that a slow question holds up no estimate.
In each, one person may have so many open at most, and gets 429 with Retry-After beyond that. A client that goes away
changes nothing: what was begun is finished and stored, and asked again it is free.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from fastapi import FastAPI
from starlette.requests import Request as Incoming
from starlette.responses import Response

from tacit import __version__
from tacit.doors.http import bodies, forms, openapi, problems
from tacit.doors.http.counters import Counters
from tacit.doors.http.datasets import Dataset, Seat
from tacit.doors.http.gate import Gate, Throttle
from tacit.doors.http.handlers import HANDLERS, Reply, Request
from tacit.doors.http.problems import BROKEN, MEDIA_TYPE, Problem
from tacit.doors.http.roles import ROUTES, Role, Route
from tacit.errors import TacitError

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
NO_TOKEN: Final = "A token is wanted: Authorization: Bearer tacit-... The owner makes one with: tacit token add."  # noqa: S105
WRONG_TOKEN: Final = "This token is not known, has expired, or was revoked. The owner makes one with: tacit token add."  # noqa: S105


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes at once: questions of one person and of all, threads and workers of a dataset for them, and
    seconds for a body."""

    open_each: int = 4
    open_all: int = 64
    threads: int = 8
    workers: int = 2
    body_seconds: float = 10.0


@dataclass(slots=True)
class Server:
    """What all requests share."""

    datasets: Sequence[Dataset]
    limits: Limits = field(default_factory=Limits)
    counters: Counters = field(default_factory=Counters)
    report: Callable[[str], None] = lambda _: None
    """Told of a mistake of the program: where it happened, without values."""
    throttle: Throttle = field(default_factory=Throttle)
    gates: dict[str, Gate] = field(default_factory=dict)
    pools: dict[str, ThreadPoolExecutor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in ("free", "paid"):
            self.gates[kind] = Gate(self.limits.open_each, self.limits.open_all)
            self.pools[kind] = ThreadPoolExecutor(self.limits.threads, thread_name_prefix=f"tacit-{kind}")
        self.pools["token"] = ThreadPoolExecutor(1, thread_name_prefix="tacit-token")

    def close(self) -> None:
        """Wait for what was begun: it is charged already, and its answer must be stored."""
        for pool in self.pools.values():
            pool.shutdown(wait=True)

    async def run(self, kind: str, work: Callable[[], Any], who: str | None = None) -> Any:
        """Work in a thread of this queue, counted as this person's until it ends, also when the client goes away."""
        leave = None if who is None else self.gates[kind].enter(who)
        begun = asyncio.get_running_loop().run_in_executor(self.pools[kind], work)
        if leave is not None:
            begun.add_done_callback(lambda _: leave())
        return await asyncio.shield(begun)

    async def seat(self, incoming: Incoming) -> Seat:
        """Who sits here: whose token came with the request."""
        word, _, text = incoming.headers.get("authorization", "").partition(" ")
        if word.lower() != "bearer" or not text:
            raise Problem(401, "no token", NO_TOKEN, {"WWW-Authenticate": "Bearer"})
        return await self.opened(text.strip(), incoming.client.host if incoming.client else "")

    async def opened(self, text: str, host: str) -> Seat:
        """The seat that a token opens, or 401; 429 after too many wrong ones."""
        for dataset in self.datasets:
            known = dataset.keyring.known(text)
            if known is not None:
                return Seat.of(dataset, known)
        for dataset in self.datasets:
            named = dataset.keyring.named(text)
            if named is not None:
                place = f"{host} {named.id}"
                self.throttle.check(place)
                if await self.run("token", partial(dataset.keyring.opened, named, text)):
                    return Seat.of(dataset, named)
                self.throttle.failed(place)
        raise Problem(401, "wrong token", WRONG_TOKEN, {"WWW-Authenticate": "Bearer"})


def make_app(server: Server) -> FastAPI:
    """The application."""
    app = FastAPI(
        title="tacit", version=__version__, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    for route in ROUTES:
        if not route.page:
            app.add_api_route(route.path, _endpoint(server, route), methods=[route.method], include_in_schema=False)
    app.add_exception_handler(404, _nothing_there(server))
    app.add_exception_handler(405, _nothing_there(server))
    return app


def _endpoint(server: Server, route: Route) -> Callable[[Incoming], Any]:
    async def endpoint(incoming: Incoming) -> Response:
        seats: list[Seat] = []

        async def work() -> Response:
            if route.kind == "open":
                return _open(route)
            seats.append(await server.seat(incoming))
            if seats[0].token.role not in route.roles:
                raise Problem(403, "not allowed", _for_others(route, seats[0].token.role))
            return await _handled(server, route, seats[0], incoming)

        return await guarded(server, route, incoming, lambda: seats[0] if seats else None, work, _problem)

    return endpoint


async def guarded(
    server: Server,
    route: Route,
    incoming: Incoming,
    seat: Callable[[], Seat | None],
    work: Callable[[], Awaitable[Response]],
    refused: Callable[[dict[str, Any], Mapping[str, str]], Response],
) -> Response:
    """What comes of the work, or of its refusal; counted. What the house did not foresee is one fixed sentence."""
    try:
        sent = await work()
    except Problem as problem:
        sent = refused(problems.door_content(problem), problem.headers)
    except TacitError as refusal:
        sitting = seat()
        sent = refused(problems.content_of(refusal, to_owner=sitting is not None and sitting.is_owner), {})
    except Exception as mistake:  # noqa: BLE001  # one fixed sentence, whatever it was
        server.report(where(mistake))
        sent = refused({"type": "about:blank", "title": "mistake", "status": 500, "detail": BROKEN}, {})
    note(server, route.path, incoming.method, seat(), sent.status_code)
    return sent


async def _handled(server: Server, route: Route, seat: Seat, incoming: Incoming) -> Response:
    if route.does == "metrics":
        return _sent(server.counters.exposition(seat.dataset.name).encode(), "text/plain; version=0.0.4")
    form = forms.wanted(incoming.headers.get("accept", ""))
    body = await _body(incoming, server.limits.body_seconds) if route.method == "POST" else b""
    request = Request(body, dict(incoming.path_params), dict(incoming.query_params))
    who = f"{seat.dataset.name} {seat.token.name}"
    content, kind = await server.run(route.kind, lambda: _written(HANDLERS[route.does](seat, request), form), who)
    return _sent(content, kind)


def _written(reply: Reply, form: str) -> tuple[bytes, str]:
    """The bytes of a reply, and of which kind they are: a released table in the form wanted, all else as JSON."""
    if form != forms.JSON and reply.table is not None:
        return forms.encoded(reply.table, form), form
    return _json(reply.content), forms.JSON


def _open(route: Route) -> Response:
    content = {"status": "ok", "version": __version__} if route.does == "health" else openapi.description()
    return _sent(_json(content), forms.JSON)


async def _body(incoming: Incoming, seconds: float) -> bytes:
    """The body, if it is JSON, short enough, and sent in time."""
    kind = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != forms.JSON:
        raise Problem(415, "not JSON", f"Send Content-Type: {forms.JSON}.")
    return await limited(incoming, bodies.LONGEST, seconds)


async def limited(incoming: Incoming, longest: int, seconds: float) -> bytes:
    """The bytes that were sent, or a refusal as soon as they are too many or take too long."""
    too_long = Problem(413, "too long", f"At most {longest:,} bytes are read.")
    said = incoming.headers.get("content-length", "0")
    if not (said.isascii() and said.isdigit() and len(said) < 16) or int(said) > longest:
        raise too_long
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in incoming.stream():
                size += len(part)
                if size > longest:
                    raise too_long
                parts.append(part)
    except TimeoutError:
        raise Problem(408, "too slow", f"The body did not come within {seconds:g} s.") from None
    return b"".join(parts)


def where(mistake: BaseException) -> str:
    """The kind of a mistake and where it happened: no message and no values, which may be anything."""
    frames = traceback.extract_tb(mistake.__traceback__)[-8:]
    steps = " < ".join(f"{each.filename.rpartition('/')[2]}:{each.lineno} {each.name}" for each in reversed(frames))
    return f"{type(mistake).__name__} in {steps}"


def _nothing_there(server: Server) -> Callable[[Incoming, Exception], Any]:
    async def endpoint(incoming: Incoming, _: Exception) -> Response:
        note(server, "nowhere", "OTHER", None, 404)
        there = ", ".join(f"{each.method} {each.path}" for each in ROUTES if not each.page)
        sentence = f"There is nothing here. What there is: {there}."
        return _problem(problems.door_content(Problem(404, "nothing here", sentence)))

    return endpoint


def _for_others(route: Route, role: Role) -> str:
    return f"{route.method} {route.path} is for {', '.join(sorted(route.roles))}; this token is for: {role}."


def note(server: Server, path: str, method: str, seat: Seat | None, status: int) -> None:
    """Count a request, and log it."""
    dataset, role, name = (
        ("", "nobody", "") if seat is None else (seat.dataset.name, str(seat.token.role), seat.token.name)
    )
    server.counters.note(method, path, dataset, role, name, status)


def _json(content: Any) -> bytes:
    return json.dumps(content, default=str, allow_nan=False).encode()


def _sent(content: bytes, media_type: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(content, status, {**HEADERS, **(headers or {})}, media_type)


def _problem(content: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    return _sent(_json(content), MEDIA_TYPE, int(content["status"]), headers)
