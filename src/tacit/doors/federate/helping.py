"""A helper as a process, and the requests of a client and of the collector to helpers.

    GET  /v1/collection                  which collection this is, and how many reports are counted
    POST /v1/part                        a client's part: {"nonce", "public", "part"} as hexadecimal digits
    GET  /v1/shares?after=N              check shares in the order they came
    POST /v1/accept                      {"nonce", "shares"}: count a report
    POST /v1/release                     the noisy sum, from then on nothing is counted

The collector passes check shares on between helpers and opens the sum. It sees nothing that a helper would not see; by
lying it can spoil the answer, but not learn more (`prio.collection`). Its routes require a token of their own where one
is set: the one who may release decides when a collection ends.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.doors.federate.coordinating import number_in
from tacit.doors.federate.wire import Handler, guarded
from tacit.errors import ParameterError, TacitError
from tacit.federated.prio.collection import Collection, Report
from tacit.federated.refusals import Refused
from tacit.federated.running.helper import Helper

_LONGEST: Final = 32 << 20
_AT_ONCE: Final = 500
_LOOK: Final = 0.2


def app_of(helper: Helper, token: str | None, collector: str | None, report: Callable[[str], None]) -> Starlette:
    """The application: `token` for clients, `collector` for the one who passes on and opens."""

    async def about(request: Request, body: bytes) -> Response:
        return JSONResponse({"collection": helper.collection.id, "place": helper.place, "accepted": helper.accepted})

    async def part(request: Request, body: bytes) -> Response:
        await asyncio.to_thread(helper.take, *_hex(body, "nonce", "public", "part"))
        return Response(status_code=204)

    async def shares(request: Request, body: bytes) -> Response:
        found = helper.shares(number_in(request.query_params.get("after", "0")))[:_AT_ONCE]
        return JSONResponse([[nonce.hex(), share.hex()] for nonce, share in found])

    async def accept(request: Request, body: bytes) -> Response:
        (nonce,) = _hex(body, "nonce")
        await asyncio.to_thread(helper.accept, nonce, _listed(body))
        return Response(status_code=204)

    async def release(request: Request, body: bytes) -> Response:
        return Response((await asyncio.to_thread(helper.release)).hex(), media_type="text/plain")

    routes: list[tuple[str, str, Handler, str | None]] = [
        ("GET", "/v1/collection", about, collector),
        ("POST", "/v1/part", part, token),
        ("GET", "/v1/shares", shares, collector),
        ("POST", "/v1/accept", accept, collector),
        ("POST", "/v1/release", release, collector),
    ]
    return Starlette(
        routes=[
            Route(path, guarded(handler, wanted, _LONGEST, report), methods=[method])
            for method, path, handler, wanted in routes
        ]
    )


def _content(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ParameterError("The body must be a JSON object.")
    return content


def _hex(body: bytes, *names: str) -> list[bytes]:
    content = _content(body)
    try:
        return [bytes.fromhex(content[name]) for name in names]
    except (KeyError, TypeError, ValueError):
        raise ParameterError(f"The body must have {', '.join(names)} as hexadecimal digits.") from None


def _listed(body: bytes) -> list[bytes]:
    try:
        return [bytes.fromhex(each) for each in _content(body)["shares"]]
    except (KeyError, TypeError, ValueError):
        raise ParameterError("The body must have shares, a list of hexadecimal digits.") from None


# -- the other side ----------------------------------------------------------------------------------------------


def hand_in(report: Report, helpers: Sequence[httpx.Client]) -> None:
    """Send each helper its part of a report. Sent again it counts once."""
    for part, web in zip(report.parts, helpers, strict=True):
        content = {"nonce": report.nonce.hex(), "public": report.public.hex(), "part": part.hex()}
        _checked(web.post("/v1/part", json=content))


def collect(
    collection: Collection, helpers: Sequence[httpx.Client], least: int, seconds: float, said: Callable[[str], None]
) -> Any:
    """Pass check shares on until `least` reports are counted or the time is over, then open the sum."""
    until, seen = time.monotonic() + seconds, [0] * len(helpers)
    shares: list[dict[str, str]] = [{} for _ in helpers]
    done, counted = set[str](), 0
    for place, web in enumerate(helpers):
        about = _checked(web.get("/v1/collection")).json()
        if (about["collection"], about["place"]) != (collection.id, place):
            raise Refused(f"The helper at place {place} serves another collection, or another place of it.")
    while counted < least:
        if time.monotonic() > until:
            raise Refused(f"{counted} reports are counted; {least} are wanted. Nothing was released.")
        for place, web in enumerate(helpers):
            more = _checked(web.get(f"/v1/shares?after={seen[place]}")).json()
            seen[place] += len(more)
            shares[place].update(more)
        for nonce in [each for each in shares[0] if each not in done and all(each in own for own in shares)]:
            done.add(nonce)
            content = {"nonce": nonce, "shares": [own[nonce] for own in shares]}
            try:
                for web in helpers:
                    _checked(web.post("/v1/accept", json=content))
                counted += 1
            except Refused as refusal:
                said(f"A report is not counted: {refusal}")
        time.sleep(0 if counted >= least else _LOOK)
    said(f"{counted} reports are counted; the helpers release.")
    return collection.opened([bytes.fromhex(_checked(web.post("/v1/release")).text) for web in helpers])


def _checked(reply: httpx.Response) -> httpx.Response:
    if reply.status_code in (200, 204):
        return reply
    try:
        detail = str(reply.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"A helper answered {reply.status_code}."
    raise Refused(detail) if reply.status_code == 409 else TacitError(detail)
