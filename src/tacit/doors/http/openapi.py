"""What the routes take and give, as OpenAPI: made from the table of routes and the readers of bodies, with examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tacit import __version__
from tacit.doors.http import bodies, forms
from tacit.doors.http.handlers import HANDLERS
from tacit.doors.http.problems import MEDIA_TYPE
from tacit.doors.http.roles import ROUTES, Route

_NUMBER: Final = {"type": ["number", "string"], "description": 'A number, or a text such as "0.1", read exactly.'}
_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer", "minimum": 1}
_SCHEMAS: Final[Mapping[str, Any]] = {
    "sql": {"type": "string", "description": "The question, in SQL."},
    "epsilon": _NUMBER,
    "delta": _NUMBER,
    "rho": _NUMBER,
    "within": {**_NUMBER, "description": 'The accuracy that you need, such as 100 or "5%", instead of a price.'},
    "rows": {**_WHOLE, "description": "A guess of how many rows a cell has."},
    "weights": {"type": "object", "additionalProperties": _NUMBER},
    "rows_per_unit": _WHOLE,
    "groups_per_unit": _WHOLE,
    "questions": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": bodies.MOST_QUESTIONS},
    "column": {"type": "string", "description": "table.column"},
    "every": {"type": "string", "description": 'How long a period is, such as "1 day".'},
    "since": _TEXT,
    "until": _TEXT,
    "time": {"type": "string", "description": "The column of times, where there are several."},
    "wait": {"type": "string", "description": "How long after its end a period is counted, for late rows."},
    "analyst": _TEXT,
    "entry": _WHOLE,
}
_BODIES: Final[Mapping[str, tuple[Mapping[str, Any], tuple[str, ...], Any]]] = {
    "estimate": (bodies.QUESTION, ("sql",), {"sql": "SELECT count(*) FROM visits", "epsilon": "0.1"}),
    "explain": (bodies.QUESTION, ("sql",), {"sql": "SELECT count(*) FROM visits", "epsilon": "0.1"}),
    "ask": (bodies.QUESTION, ("sql",), {"sql": "SELECT count(*) FROM visits", "epsilon": "0.1"}),
    "ask_all": (bodies.QUESTIONS, ("questions",), {"questions": ["SELECT count(*) FROM visits"], "epsilon": "0.1"}),
    "suggest": (bodies.COLUMN, ("column",), {"column": "visits.charge", "epsilon": "0.1"}),
    "watch": (
        bodies.WATCH,
        ("sql", "epsilon", "every"),
        {"sql": "SELECT count(*) AS n FROM visits", "epsilon": "0.1", "delta": "1e-9", "every": "1 week"},
    ),
    "resume": (bodies.RESUME, (), {"analyst": "ana"}),
}
_QUERIES: Final[Mapping[str, tuple[str, ...]]] = {"budget": ("analyst",), "ledger": ("analyst", "after")}


def description() -> dict[str, Any]:
    """The whole of it."""
    paths: dict[str, Any] = {}
    for route in (each for each in ROUTES if not each.page):
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "tacit", "version": __version__},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


def _operation(route: Route) -> dict[str, Any]:
    handler = HANDLERS.get(route.does)
    said = (handler.__doc__ or "").strip() if handler else route.does
    operation: dict[str, Any] = {
        "operationId": route.does,
        "summary": said,
        "description": f"For: {', '.join(sorted(route.roles)) or 'everyone'}.",
        "responses": _responses(route),
    }
    if route.kind != "open":
        operation["security"] = [{"token": []}]
    if route.does in _BODIES:
        operation["requestBody"] = _body(*_BODIES[route.does])
    parameters = [_parameter(name, "query") for name in _QUERIES.get(route.does, ())]
    if "{entry}" in route.path:
        parameters.append(_parameter("entry", "path"))
    return {**operation, "parameters": parameters} if parameters else operation


def _responses(route: Route) -> dict[str, Any]:
    media = forms.WRITERS if route.does in ("ask", "answers") else ()
    content: dict[str, Any] = {"application/json": {}, **{each: {} for each in media}}
    if route.does == "metrics":
        content = {"text/plain": {}}
    refused = {"description": "A refusal, in the house's own words.", "content": {MEDIA_TYPE: {}}}
    return {"200": {"description": "Done.", "content": content}, "default": refused}


def _body(known: Mapping[str, Any], needed: tuple[str, ...], example: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {key: _SCHEMAS[key] for key in known},
        "required": list(needed),
        "additionalProperties": False,
    }
    return {"required": True, "content": {forms.JSON: {"schema": schema, "example": example}}}


def _parameter(name: str, place: str) -> dict[str, Any]:
    schema = {"type": "string"} if name == "analyst" else {"type": "integer", "minimum": 0}
    return {"name": name, "in": place, "required": place == "path", "schema": schema}
