"""What the processes of a federation share on the wire: a guarded route, its limits, and how a server is run.

A body is at most as long as the protocol allows. A token, where one is set, is required for everything; it keeps
strangers from wasting time. The keys inside a message decide who it is from. Refusals are problem+json with the house's
sentences; a mistake of the program says one fixed sentence.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.doors.http.problems import BROKEN, MEDIA_TYPE, content_of
from tacit.doors.http.serving import Place
from tacit.errors import TacitError
from tacit.federated.running.coordinator import Missing

MISSING: Final = 428
_BODY_SECONDS: Final = 60.0

Handler = Callable[[Request, bytes], Awaitable[Response]]


def problem(status: int, title: str, detail: str) -> Response:
    """A refusal."""
    content = {"type": f"urn:tacit:error:{title}", "title": title, "status": status, "detail": detail}
    return JSONResponse(content, status, media_type=MEDIA_TYPE)


def guarded(handler: Handler, token: str | None, longest: int, report: Callable[[str], None]) -> Any:
    """A route that requires the token, reads a body of bounded length, and turns every refusal into a problem."""

    async def endpoint(request: Request) -> Response:
        sent = request.headers.get("authorization", "").encode()
        if token is not None and not hmac.compare_digest(sent, f"Bearer {token}".encode()):
            return problem(401, "no token", "A token is wanted: Authorization: Bearer ...")
        try:
            body = await asyncio.wait_for(_body(request, longest), _BODY_SECONDS)
            if body is None:
                return problem(413, "too long", f"A message has at most {longest:,} bytes here.")
            return await handler(request, body)
        except TimeoutError:
            return problem(408, "too slow", f"A message must arrive within {_BODY_SECONDS:.0f} s.")
        except Missing as missing:
            return problem(MISSING, "Missing", str(missing))
        except TacitError as refusal:
            content = content_of(refusal, to_owner=False)
            return JSONResponse({**content, "status": 409}, 409, media_type=MEDIA_TYPE)
        except (RuntimeError, ValueError, TypeError, KeyError, OSError) as mistake:
            report(f"{type(mistake).__name__} at {request.url.path}")
            return problem(500, "Broken", BROKEN)

    return endpoint


async def _body(request: Request, longest: int) -> bytes | None:
    parts, size = list[bytes](), 0
    async for part in request.stream():
        size += len(part)
        if size > longest:
            return None
        parts.append(part)
    return b"".join(parts)


def application(
    routes: Sequence[tuple[str, str, Handler]], token: str | None, longest: int, report: Callable[[str], None]
) -> Starlette:
    """The routes (method, path, handler) as an application."""
    return Starlette(
        routes=[
            Route(path, guarded(handler, token, longest, report), methods=[method]) for method, path, handler in routes
        ]
    )


def server_of(app: Starlette, place: Place) -> Any:
    """A uvicorn server, to be run by `serve()`; `should_exit` stops it."""
    import uvicorn

    config = uvicorn.Config(
        app,
        host=place.host,
        port=place.port,
        ssl_certfile=None if place.certificate is None else str(place.certificate),
        ssl_keyfile=None if place.key is None else str(place.key),
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
        lifespan="off",
    )
    return uvicorn.Server(config)
