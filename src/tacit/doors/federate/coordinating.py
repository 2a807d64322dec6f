"""A coordinator as a process: the routes of `Coordinator`, and the clock that ends its steps.

    GET  /v1/federation                   which federation this is
    GET  /v1/call/CLIENT?after=ROUND      the call to a round after this one; 204 while there is none; 410 at the end
    POST /v1/say                          a client's message
    GET  /v1/hear/CLIENT/ROUND/STEP       the answer to its message; 204 while others are missing; 428: say it again

A request waits some seconds for its answer, so that clients need not ask repeatedly.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tacit.doors.federate.wire import application, server_of
from tacit.doors.http.serving import Place
from tacit.errors import ParameterError
from tacit.federated.running.coordinator import LAST_STEP, Coordinator

_PATIENCE: Final = 15.0
_LOOK: Final = 0.02
_TICK: Final = 0.1
_GOODBYE: Final = 10.0
_OVERHEAD: Final = 4096
_EACH: Final = 128  # bytes of a message for each client at most: a number, a key, shares, tags


class Desk:
    """The coordinator, and the clients that have heard that it is over."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator, self.told = coordinator, set[int]()

    def app(self, token: str | None, report: Callable[[str], None]) -> Starlette:
        """The application."""
        setup = self.coordinator.federation.setup(1)
        longest = _OVERHEAD + _EACH * len(setup.clients) + setup.space.size * setup.length
        routes = [
            ("GET", "/v1/federation", self._federation),
            ("GET", "/v1/call/{client:int}", self._call),
            ("POST", "/v1/say", self._say),
            ("GET", "/v1/hear/{client:int}/{round:int}/{step:int}", self._hear),
        ]
        return application(routes, token, longest, report)

    async def _federation(self, request: Request, body: bytes) -> Response:
        one = self.coordinator
        return JSONResponse({"federation": one.federation.id, "round": one.round, "over": one.is_over})

    async def _call(self, request: Request, body: bytes) -> Response:
        client, after = request.path_params["client"], number_in(request.query_params.get("after", "0"))
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if self.coordinator.is_over:
                self.told.add(client)
                return JSONResponse({"failed": self.coordinator.failed, "result": self.coordinator.result}, 410)
            if self.coordinator.round > after:
                return _bytes(await asyncio.to_thread(self.coordinator.call, client))
            await asyncio.sleep(_LOOK)
        return Response(status_code=204)

    async def _say(self, request: Request, body: bytes) -> Response:
        await asyncio.to_thread(self.coordinator.say, body)
        return Response(status_code=204)

    async def _hear(self, request: Request, body: bytes) -> Response:
        asked = [request.path_params[name] for name in ("client", "round", "step")]
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            answer = self.coordinator.hear(*asked)
            if answer is not None:
                return _bytes(answer)
            await asyncio.sleep(_LOOK)
        return Response(status_code=204)


def _bytes(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream")


def number_in(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise ParameterError(f"'after' is the number of a round. Got {text[:20]!r} instead.")
    return int(text)


async def coordinate(
    coordinator: Coordinator, place: Place, token: str | None, said: Callable[[str], None]
) -> dict[str, Any] | None:
    """Serve until the federation is over and its clients know it: the result, or None where it failed."""
    desk = Desk(coordinator)
    server = server_of(desk.app(token, said), place)
    serving = asyncio.create_task(server.serve())
    shown = ""
    try:
        while not coordinator.is_over and not serving.done():
            await asyncio.to_thread(coordinator.tick)
            line = f"Round {coordinator.round}, step {coordinator.step} of {LAST_STEP}"
            if line != shown:
                said(f"{line}; {coordinator.opened} of {coordinator.federation.job.rounds} sums are opened.")
                shown = line
            await asyncio.sleep(_TICK)
        goodbye = time.monotonic() + _GOODBYE
        while (
            time.monotonic() < goodbye and len(desk.told) < len(coordinator.federation.clients) and not serving.done()
        ):
            await asyncio.sleep(_TICK)
    finally:
        server.should_exit = True
        await serving
    return coordinator.result


def result_text(result: dict[str, Any]) -> str:
    """A result for people and programs."""
    return json.dumps(result, indent=2, sort_keys=True, allow_nan=False)
