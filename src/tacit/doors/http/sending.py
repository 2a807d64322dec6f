"""How bytes leave: with headers that forbid browsers to guess types, to keep content, or to run anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from tacit.doors.http.problems import MEDIA_TYPE

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def to_json(content: Any) -> bytes:
    """JSON as it is sent."""
    return json.dumps(content, default=str, allow_nan=False).encode()


def sent(content: bytes, media_type: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Bytes as they are sent, with the headers that go with everything."""
    return Response(content, status, {**HEADERS, **(headers or {})}, media_type)


def sent_problem(content: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """A refusal as it is sent."""
    return sent(to_json(content), MEDIA_TYPE, int(content["status"]), headers)
