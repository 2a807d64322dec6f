"""The pages of the table behind a log-in, and the few that need none: log-in, log-out, the style and the script.

Order, for every page: the session, the role, the form and its word, the queue; and then the page, in a thread. Where a
session is missing or over, the answer leads to the log-in and nowhere else: no address comes from a request.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader
from starlette.requests import Request as Incoming
from starlette.responses import Response

from tacit.answer.pages import STYLE
from tacit.doors.console import openid_pages
from tacit.doors.console.job_pages import JOB_PAGES
from tacit.doors.console.openid_pages import OpenId
from tacit.doors.console.page import Page
from tacit.doors.console.pages import PAGES
from tacit.doors.console.sessions import IDLE, Session, Sessions
from tacit.doors.http import problems
from tacit.doors.http.app import Server, add_route, guarded, limited, note
from tacit.doors.http.datasets import Dataset, Seat
from tacit.doors.http.problems import Problem
from tacit.doors.http.replies import Request
from tacit.doors.http.roles import ASKERS, EVERYONE, INSIDERS, OWNERS, ROUTES, Route
from tacit.doors.http.sending import HEADERS
from tacit.doors.http.tokens import Token
from tacit.errors import TacitError

LONGEST: Final = 200_000
_MOST_FIELDS: Final = 20
_STATIC: Final = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}
_NOT_OURS: Final = "This form is too old, or was not sent by this page. Load the page again."
_HTML: Final = "text/html"
_PUBLISHED: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
"""A published page has its style inside, and nothing else: no script, no picture, no address, no form."""
_PLACES: Final = (
    ("/", "Overview", INSIDERS),
    ("/ask", "Ask", ASKERS),
    ("/studies", "Studies", ASKERS),
    ("/watch", "Watch", ASKERS),
    ("/ledger", "Ledger", INSIDERS),
    ("/published", "Published", EVERYONE),
    ("/publish", "Publish", OWNERS),
    ("/policy", "Policy", OWNERS),
    ("/people", "People", OWNERS),
    ("/risk", "Risk", OWNERS),
    ("/audit", "Audit", OWNERS),
)


@dataclass(slots=True)
class Console:
    """What all pages share."""

    server: Server
    openid: OpenId | None = None
    sessions: Sessions = field(default_factory=Sessions)
    templates: Environment = field(
        default_factory=lambda: Environment(loader=PackageLoader("tacit.doors.console"), autoescape=True)
    )

    def rendered(self, page: Page, seat: Seat | None, word: str, here: str = "") -> Response:
        """The page as it is sent."""
        nonce = secrets.token_urlsafe(16)
        if page.to:
            return _to(page.to)
        if page.raw is not None:
            content, kind, name = page.raw
            shown = {"Content-Security-Policy": _PUBLISHED} if not name else _as_file(name)
            return Response(content, 200, {**HEADERS, **shown}, kind)
        around = {
            "nonce": nonce,
            "word": word,
            "here": here,
            "who": None if seat is None else seat.token.name,
            "dataset": None if seat is None else seat.dataset.name,
            "may_ask": seat is not None and seat.token.role in ASKERS,
            "may_see": seat is None or seat.token.role in INSIDERS,
            "places": () if seat is None else [(path, name) for path, name, who in _PLACES if seat.token.role in who],
            "script": here in ("ask", "policy"),
        }
        body = self.templates.get_template(page.template).render({**around, **page.content})
        policy = (
            f"default-src 'none'; style-src 'self' 'nonce-{nonce}'; script-src 'self'; img-src 'self'; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        return Response(body.encode(), page.status, {**HEADERS, "Content-Security-Policy": policy}, _HTML)

    def seated(self, incoming: Incoming) -> tuple[Session, Seat] | None:
        """The session that came with the request, if its token is still good."""
        session = self.sessions.find(incoming.cookies.get(cookie_name(incoming), ""))
        if session is None:
            return None
        for dataset in self.server.datasets:
            token = self._token(dataset, session) if dataset.name == session.dataset else None
            if token is not None:
                return session, Seat.of(dataset, token)
        return None

    def begin(self, sent: Response, incoming: Incoming, dataset: str, token: str, person: str = "") -> None:
        """A new session for a person who may come in; an earlier one, if there was one, ends."""
        self.sessions.end(incoming.cookies.get(cookie_name(incoming), ""))
        _set_cookie(sent, incoming, cookie_name(incoming), self.sessions.begin(dataset, token, person))

    def _token(self, dataset: Dataset, session: Session) -> Token | None:
        if session.person:
            return None if self.openid is None else self.openid.people.token(dataset.name, session.person)
        return dataset.keyring.valid(session.token)


def add_pages(app: Any, server: Server, openid: OpenId | None = None) -> None:
    """Add the pages of the table to an application."""
    console = Console(server, openid)
    plain: Mapping[str, Callable[[Console, Incoming], Any]] = {
        "page_login": _login_form,
        "page_logged_in": _log_in,
        "page_logged_out": _log_out,
        "page_static": _static,
        "page_openid": openid_pages.go,
        "page_openid_back": openid_pages.back,
    }
    for route in ROUTES:
        if route.page:
            is_plain = route.does in plain
            does = _plain_page(console, route, plain[route.does]) if is_plain else _guarded_page(console, route)
            add_route(app, route, does)


def cookie_name(incoming: Incoming, which: str = "") -> str:
    """Under TLS a name that browsers take from this host alone, so that no neighbour can put a cookie there."""
    return f"__Host-tacit{which}" if incoming.url.scheme == "https" else f"tacit{which}"


def _guarded_page(console: Console, route: Route) -> Callable[[Incoming], Any]:
    async def page(incoming: Incoming) -> Response:
        try:
            found = console.seated(incoming)
        except TacitError as refusal:  # the file of tokens cannot be used: no one is known, not even the owner
            told = problems.content_of(refusal, to_owner=False)
            note(console.server, route.path, incoming.method, None, int(told["status"]))
            return console.rendered(Page("refused.html", _told(told), int(told["status"])), None, "")
        if found is None:
            note(console.server, route.path, incoming.method, None, 303)
            return _to("/login")
        session, seat = found

        async def work() -> Response:
            if seat.token.role not in route.roles:
                raise Problem(403, "not for you", f"This page is for {', '.join(sorted(route.roles))}.")
            query = dict(incoming.query_params)
            if route.method == "POST":
                query = await _form(incoming, console.server.limits.body_seconds)
                if not _is_ours(incoming) or not session.sent(query.get("word", "")):
                    raise Problem(403, "not sent by this page", _NOT_OURS)
            request = Request(b"", dict(incoming.path_params), query)
            here = route.path.split("/")[1] or "overview"
            if route.does in JOB_PAGES:
                page = JOB_PAGES[route.does](console.server, route, seat, incoming, request)
                return console.rendered(page, seat, session.word, here)

            def shown() -> Response:
                return console.rendered(PAGES[route.does](seat, request), seat, session.word, here)

            sent: Response = await console.server.run(route.kind, shown, seat.who)
            return sent

        def refused(content: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
            sent = console.rendered(Page("refused.html", _told(content), int(content["status"])), seat, session.word)
            sent.headers.update(headers)
            return sent

        return await guarded(console.server, route, incoming, lambda: seat, work, refused)

    return page


def _plain_page(console: Console, route: Route, does: Callable[[Console, Incoming], Any]) -> Callable[[Incoming], Any]:
    async def page(incoming: Incoming) -> Response:
        async def work() -> Response:
            sent: Response = await does(console, incoming)
            return sent

        def refused(content: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
            sent = console.rendered(Page("refused.html", _told(content), int(content["status"])), None, "")
            sent.headers.update(headers)
            return sent

        return await guarded(console.server, route, incoming, lambda: None, work, refused)

    return page


def _told(content: Mapping[str, Any]) -> dict[str, Any]:
    return {"title": content["title"], "refusal": content["detail"]}


async def _login_form(console: Console, incoming: Incoming) -> Response:
    return _login_page(console, incoming, "", 200)


async def _log_in(console: Console, incoming: Incoming) -> Response:
    """A session for the holder of a token."""
    form = await _form(incoming, console.server.limits.body_seconds)
    word = incoming.cookies.get(cookie_name(incoming, "_form"), "")
    if not word or not _is_ours(incoming) or not hmac.compare_digest(word.encode(), form.get("word", "").encode()):
        raise Problem(403, "not sent by this page", _NOT_OURS)
    try:
        seat = await console.server.opened(
            form.get("token", "").strip(), incoming.client.host if incoming.client else ""
        )
    except Problem as wrong:
        return _login_page(console, incoming, wrong.detail, wrong.status)
    sent = _to("/" if seat.token.role in INSIDERS else "/published")
    console.begin(sent, incoming, seat.dataset.name, seat.token.id)
    return sent


async def _log_out(console: Console, incoming: Incoming) -> Response:
    form = await _form(incoming, console.server.limits.body_seconds)
    number = incoming.cookies.get(cookie_name(incoming), "")
    session = console.sessions.find(number)
    if session is not None:
        if not _is_ours(incoming) or not session.sent(form.get("word", "")):
            raise Problem(403, "not sent by this page", _NOT_OURS)
        console.sessions.end(number)
    sent = _to("/login")
    sent.delete_cookie(cookie_name(incoming), secure=incoming.url.scheme == "https", httponly=True, samesite="strict")
    return sent


async def _static(console: Console, incoming: Incoming) -> Response:
    name = incoming.path_params["name"]
    if name not in _STATIC:
        raise Problem(404, "nothing here", "There is no such file.")
    headers = {**HEADERS, "Cache-Control": "max-age=3600"}
    return Response(_file(name), 200, headers, _STATIC[name])


@lru_cache
def _file(name: str) -> bytes:
    content = (files("tacit.doors.console") / "static" / name).read_bytes()
    return STYLE.encode() + content if name.endswith(".css") else content


def _login_page(console: Console, incoming: Incoming, refusal: str, status: int) -> Response:
    word = secrets.token_urlsafe(32)
    content: dict[str, Any] = {"refusal": refusal}
    if console.openid is not None:
        content["label"] = console.openid.provider.settings.label
        content["offered"] = console.openid.offered([each.name for each in console.server.datasets])
    sent = console.rendered(Page("login.html", content, status), None, word)
    _set_cookie(sent, incoming, cookie_name(incoming, "_form"), word)
    return sent


def _set_cookie(sent: Response, incoming: Incoming, name: str, value: str) -> None:
    secure = incoming.url.scheme == "https"
    sent.set_cookie(name, value, max_age=int(8 * IDLE), path="/", secure=secure, httponly=True, samesite="strict")


def _is_ours(incoming: Incoming) -> bool:
    """Whether the form came from a page of this host, as far as the browser says where it came from."""
    return incoming.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


async def _form(incoming: Incoming, seconds: float) -> dict[str, str]:
    """The fields of a form, each once."""
    kind = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, "not a form", "A form of this page is wanted.")
    body = await limited(incoming, LONGEST, seconds)
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise Problem(400, "malformed", "The form cannot be read.") from None
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Problem(400, "malformed", "A field of the form is given twice.")
    return found


def _as_file(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def _to(place: str) -> Response:
    return Response(b"", 303, {**HEADERS, "Location": place})
