"""The routes of the table as an application: each guarded by its roles, its queue and its limits.

Order, for every request: the token, the role, the length of the body, the queue; and then the handler, in a thread.
Whatever goes wrong leaves as problem+json; any unexpected error leaves as one fixed sentence.

Two queues. Requests that may charge wait in one, everything free in the other, so that a slow question delays no
estimate. In each, one person may have so many open at most, and gets 429 with Retry-After beyond that. A client that
goes away changes nothing: what was begun is finished and stored, and asked again it is free.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from fastapi import FastAPI
from starlette.requests import Request as Incoming
from starlette.responses import Response
from starlette.routing import Route as Way

from tacit import __version__
from tacit.doors.http import bodies, forms, openapi, problems
from tacit.doors.http.counters import Counters
from tacit.doors.http.datasets import Dataset, Seat
from tacit.doors.http.gate import Gate, Throttle
from tacit.doors.http.handlers import HANDLERS
from tacit.doors.http.jobs import Job, Jobs
from tacit.doors.http.problems import BROKEN, Problem
from tacit.doors.http.remembered import Remembered
from tacit.doors.http.replies import Reply, Request
from tacit.doors.http.roles import ROUTES, Role, Route
from tacit.doors.http.routes_without_curator import WITHOUT_CURATOR
from tacit.doors.http.sending import sent, sent_problem, to_json
from tacit.errors import TacitError

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
    """Called with a mistake of the program: where it happened, without values."""
    throttle: Throttle = field(default_factory=Throttle)
    remembered: Remembered = field(default_factory=Remembered)
    jobs: Jobs = field(default_factory=Jobs)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    gates: dict[str, Gate] = field(default_factory=dict)
    pools: dict[str, ThreadPoolExecutor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in ("free", "paid"):
            self.gates[kind] = Gate(self.limits.open_each, self.limits.open_all)
            self.pools[kind] = ThreadPoolExecutor(self.limits.threads, thread_name_prefix=f"tacit-{kind}")
        self.gates["openid"] = Gate(self.limits.open_each, self.limits.open_all)
        self.pools["openid"] = ThreadPoolExecutor(self.limits.threads, thread_name_prefix="tacit-openid")
        self.gates["streams"] = Gate(self.limits.open_each, self.limits.open_all)
        self.gates["token"] = Gate(self.limits.open_each, self.limits.open_all)
        self.pools["token"] = ThreadPoolExecutor(1, thread_name_prefix="tacit-token")

    def close(self) -> None:
        """Wait for what was begun: it is charged already, and its answer must be stored."""
        for pool in self.pools.values():
            pool.shutdown(wait=True)

    async def run(self, kind: str, work: Callable[[], Any], who: str | None = None) -> Any:
        """Work in a thread of this queue, counted as this person's until it ends, even when the client goes away."""
        return await asyncio.shield(self.begin(kind, work, who))

    def begin(self, kind: str, work: Callable[[], Any], who: str | None = None) -> asyncio.Future[Any]:
        """The same, begun without waiting for it; 429 where this person has too many open."""
        leave = None if who is None else self.gates[kind].enter(who)
        begun = asyncio.get_running_loop().run_in_executor(self.pools[kind], work)
        if leave is not None:
            begun.add_done_callback(lambda _: leave())
        return begun

    async def seat(self, incoming: Incoming) -> Seat:
        """The seat of the person whose token came with the request."""
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
                if await self.run("token", partial(dataset.keyring.opened, named, text), place):
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
            add_route(app, route, _endpoint(server, route))
    app.add_exception_handler(404, _nothing_there(server))
    app.add_exception_handler(405, _nothing_there(server))
    return app


def add_route(app: FastAPI, route: Route, endpoint: Callable[[Incoming], Any]) -> None:
    """A route of the table. Our own readers read what it takes, so FastAPI must not read it before them."""
    way = Way(route.path, endpoint, methods=[route.method], include_in_schema=False)
    way.methods = {route.method}  # HEAD comes along with GET otherwise, and is not in the table
    app.router.routes.append(way)


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

        return await guarded(server, route, incoming, lambda: seats[0] if seats else None, work, sent_problem)

    return endpoint


async def guarded(
    server: Server,
    route: Route,
    incoming: Incoming,
    seat: Callable[[], Seat | None],
    work: Callable[[], Awaitable[Response]],
    refused: Callable[[dict[str, Any], Mapping[str, str]], Response],
) -> Response:
    """The reply to the work, or to its refusal; it is counted. An unexpected error is one fixed sentence."""
    try:
        reply = await work()
    except Problem as problem:
        reply = refused(problems.door_content(problem), problem.headers)
    except TacitError as refusal:
        sitting = seat()
        reply = refused(problems.content_of(refusal, to_owner=sitting is not None and sitting.is_owner), {})
    except Exception as mistake:  # noqa: BLE001  # one fixed sentence, whatever it was
        server.report(where(mistake))
        reply = refused({"type": "about:blank", "title": "mistake", "status": 500, "detail": BROKEN}, {})
    note(server, route.path, incoming.method, seat(), reply.status_code)
    return reply


async def _handled(server: Server, route: Route, seat: Seat, incoming: Incoming) -> Response:
    if route.does in WITHOUT_CURATOR:
        return await WITHOUT_CURATOR[route.does](server, seat, incoming)
    form = forms.wanted(incoming.headers.get("accept", ""))
    body = await _body(incoming, server.limits.body_seconds) if route.method == "POST" else b""
    request = Request(body, dict(incoming.path_params), dict(incoming.query_params))
    if route.kind == "paid" and "respond-async" in incoming.headers.get("prefer", "").lower():
        job = begin_job(server, route, seat, incoming, lambda own, told: _done(server, route, own, told, form), request)
        return sent(to_json(job.content()), forms.JSON, 202, {"Location": f"/v1/jobs/{job.id}"})
    content, kind = await server.run(route.kind, lambda: _done(server, route, seat, request, form), seat.who)
    return sent(content, kind)


def begin_job(
    server: Server,
    route: Route,
    seat: Seat,
    incoming: Incoming,
    does: Callable[[Seat, Request], tuple[bytes, str]],
    request: Request,
) -> Job:
    """Begin work that is fetched later. It is charged as its request would be, and may be taken back until then."""
    job = server.jobs.add(seat.who, route.path, request.path.get("name", ""))
    own = Seat.of(seat.dataset, seat.token, job.last_word)

    def work() -> tuple[bytes, str]:
        job.begin()
        return does(own, replace(request, progress=job.progress))

    try:
        begun = server.begin(route.kind, work, seat.who)
    except Problem:
        server.jobs.drop(job)
        raise

    async def ended() -> Response:
        return sent(*await begun)

    async def watched() -> None:
        job.end(await guarded(server, route, incoming, lambda: seat, ended, sent_problem))

    task = asyncio.get_running_loop().create_task(watched())
    server.tasks.add(task)
    task.add_done_callback(server.tasks.discard)
    return job


def _done(server: Server, route: Route, seat: Seat, request: Request, form: str) -> tuple[bytes, str]:
    """A handler's reply as bytes; a stored answer has the same bytes as before."""

    def made() -> tuple[tuple[bytes, str], bool]:
        reply = HANDLERS[route.does](seat, request)
        return _written(reply, form), reply.table is not None and reply.table.repeated

    return server.remembered.reply(seat, request.body, form, made) if route.does == "ask" else made()[0]


def _written(reply: Reply, form: str) -> tuple[bytes, str]:
    """The bytes of a reply, and their media type: a released table in the wanted form, everything else as JSON."""
    if form != forms.JSON and reply.table is not None:
        return forms.encoded(reply.table, form), form
    return to_json(reply.content), forms.JSON


def _open(route: Route) -> Response:
    content = {"status": "ok", "version": __version__} if route.does == "health" else openapi.description()
    return sent(to_json(content), forms.JSON)


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
        return sent_problem(problems.door_content(Problem(404, "nothing here", sentence)))

    return endpoint


def _for_others(route: Route, role: Role) -> str:
    return f"{route.method} {route.path} is for {', '.join(sorted(route.roles))}; this token is for: {role}."


def note(server: Server, path: str, method: str, seat: Seat | None, status: int) -> None:
    """Count a request, and log it."""
    dataset, role, name = (
        ("", "nobody", "") if seat is None else (seat.dataset.name, str(seat.token.role), seat.token.name)
    )
    server.counters.note(method, path, dataset, role, name, status)
