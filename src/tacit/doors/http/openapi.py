"""What the routes take and give, as OpenAPI: made from the table of routes and the readers of bodies, with examples."""

from __future__ import annotations

import re
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
    "analyst": _TEXT,
    "entry": _WHOLE,
    "columns": {"type": "array", "items": _TEXT, "maxItems": bodies.MOST_QUESTIONS, "description": "table.column"},
    "target": {"type": "string", "description": "Which column a model predicts."},
    "options": {"type": "object", "description": "What the study takes; GET /v1/studies lists it."},
    "statistics": {"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": bodies.MOST_QUESTIONS},
    "level": _NUMBER,
    "page": {"type": "string", "description": "The name of a page for readers, for the owner."},
    "title": _TEXT,
    **dict.fromkeys(("every", "since", "until", "time", "wait"), _TEXT),
}
_PUBLICATION: Final = {
    "statistics": [
        {"name": "Visits", "sql": "SELECT count(*) AS n FROM visits"},
        {"name": "Median charge", "study": "median", "columns": ["visits.charge"]},
    ],
    "epsilon": "0.2",
}
_WATCH: Final = {"sql": "SELECT count(*) AS n FROM visits", "epsilon": "0.1", "every": "30 days"}
_BODIES: Final[Mapping[str, tuple[Mapping[str, Any], tuple[str, ...], Any]]] = {
    "estimate": (bodies.QUESTION, ("sql",), {"sql": "SELECT count(*) FROM visits", "epsilon": "0.1"}),
    "explain": (bodies.QUESTION, ("sql",), {"sql": "SELECT count(*) FROM visits", "epsilon": "0.1"}),
    "ask": (bodies.QUESTION, ("sql",), {"sql": "SELECT count(*) FROM visits", "epsilon": "0.1"}),
    "ask_all": (bodies.QUESTIONS, ("questions",), {"questions": ["SELECT count(*) FROM visits"], "epsilon": "0.1"}),
    "suggest": (bodies.COLUMN, ("column",), {"column": "visits.charge", "epsilon": "0.1"}),
    "resume": (bodies.RESUME, (), {"analyst": "ana"}),
    "study": (bodies.STUDY, (), {"columns": ["visits.charge"], "options": {"epsilon": "0.1"}}),
    "study_estimate": (bodies.STUDY_ESTIMATE, (), {"columns": ["visits.charge"], "options": {"epsilon": "0.1"}}),
    "publish": (bodies.PUBLICATION, ("statistics", "epsilon"), _PUBLICATION),
    "watch": (bodies.WATCH, ("sql", "epsilon", "every"), _WATCH),
}
_QUERIES: Final[Mapping[str, tuple[str, ...]]] = {"budget": ("analyst",), "ledger": ("analyst", "after")}


def description() -> dict[str, Any]:
    """The whole OpenAPI document."""
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
    parameters += [_parameter(name, "path") for name in re.findall(r"{(\w+)}", route.path)]
    return {**operation, "parameters": parameters} if parameters else operation


_OTHER_MEDIA: Final[Mapping[str, tuple[str, ...]]] = {
    "metrics": ("text/plain",),
    "job_events": ("text/event-stream",),
    "published_file": ("text/html", "application/json", "text/csv"),
}


def _responses(route: Route) -> dict[str, Any]:
    media = forms.WRITERS if route.does in ("ask", "answers", "study") else ()
    content: dict[str, Any] = {"application/json": {}, **{each: {} for each in media}}
    if route.does in _OTHER_MEDIA:
        content = {each: {} for each in _OTHER_MEDIA[route.does]}
    refused = {"description": "A refusal, in the house's own words.", "content": {MEDIA_TYPE: {}}}
    found: dict[str, Any] = {"200": {"description": "Done.", "content": content}, "default": refused}
    if route.kind == "paid":
        begun = "With `Prefer: respond-async`: begun as a job, whose address is in Location."
        found["202"] = {"description": begun, "content": {forms.JSON: {}}}
    return found


def _body(known: Mapping[str, Any], needed: tuple[str, ...], example: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {key: _SCHEMAS[key] for key in known},
        "required": list(needed),
        "additionalProperties": False,
    }
    return {"required": True, "content": {forms.JSON: {"schema": schema, "example": example}}}


def _parameter(name: str, place: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 0} if name in ("entry", "after") else {"type": "string"}
    return {"name": name, "in": place, "required": place == "path", "schema": schema}
