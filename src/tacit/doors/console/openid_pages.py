"""The way to a provider of OpenID Connect and back, for the log-in page.

A session's cookie is `SameSite=Strict`: a browser does not send it with a request that another site led to, nor with
the one that follows right after the way back. So the way back ends on a page of ours, which goes on by itself. The
cookie that binds the two ways must be sent with it; it is `Lax`, and good for nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.requests import Request as Incoming
from starlette.responses import Response

from tacit.doors.console.page import Page
from tacit.doors.http.problems import Problem
from tacit.doors.http.roles import INSIDERS
from tacit.doors.http.sending import HEADERS
from tacit.doors.openid.round_trip import LONGEST, Trips
from tacit.doors.openid.settings import People

if TYPE_CHECKING:
    from tacit.doors.console.routes import Console
    from tacit.doors.openid.provider import Provider

_NOT_HERE: Final = "This server has no log-in with an account of another place. Log in with a token."
_NOT_LISTED: Final = (
    "You are not among the people whom the owner lets in here. Tell the owner what the provider calls you: {person}"
)
_DECLINED: Final = "The provider did not let you in, or you turned back. Begin again, or log in with a token."


class OpenId:
    """A provider, the people it vouches for, and the log-ins under way."""

    def __init__(self, people: People, provider: Provider) -> None:
        self.people, self.provider, self.trips = people, provider, Trips()

    def offered(self, datasets: list[str]) -> list[str]:
        """The datasets for which people are listed."""
        return [each for each in datasets if self.people.has(each)]


async def go(console: Console, incoming: Incoming) -> Response:
    """To the provider, with a cookie that the way back must bring."""
    openid, dataset = _openid(console), incoming.query_params.get("dataset", "")
    if dataset not in openid.offered([each.name for each in console.server.datasets]):
        raise Problem(404, "nothing here", _NOT_HERE)
    trip = openid.trips.begin(dataset)
    address = await console.server.run("openid", lambda: openid.provider.address(trip), _place(incoming))
    sent = Response(b"", 303, {**HEADERS, "Location": address})
    secure = incoming.url.scheme == "https"
    sent.set_cookie(
        _cookie(incoming), trip.cookie, max_age=int(LONGEST), path="/", secure=secure, httponly=True, samesite="lax"
    )
    return sent


async def back(console: Console, incoming: Incoming) -> Response:
    """A session for the person whom the provider names, if the owner listed them."""
    openid, said = _openid(console), incoming.query_params
    if len(said.multi_items()) != len(said):
        raise Problem(400, "malformed", "Something is said twice in this address. Begin again.")
    trip = openid.trips.back(incoming.cookies.get(_cookie(incoming), ""), said.get("state", ""))
    code = said.get("code", "")
    if "error" in said or not code or len(code) > 4_096:
        raise Problem(403, "not let in", _DECLINED)
    person: str = await console.server.run(
        "openid", lambda: openid.provider.person(trip, code, said.get("iss")), _place(incoming)
    )
    token = openid.people.token(trip.dataset, person)
    if token is None:
        raise Problem(403, "not let in", _NOT_LISTED.format(person=person))
    sent = console.rendered(Page("logged_in.html", {"to": "/" if token.role in INSIDERS else "/published"}), None, "")
    console.begin(sent, incoming, trip.dataset, token.id, person)
    sent.delete_cookie(_cookie(incoming), secure=incoming.url.scheme == "https", httponly=True, samesite="lax")
    return sent


def _openid(console: Console) -> OpenId:
    if console.openid is None:
        raise Problem(404, "nothing here", _NOT_HERE)
    return console.openid


def _place(incoming: Incoming) -> str:
    return incoming.client.host if incoming.client else ""


def _cookie(incoming: Incoming) -> str:
    return "__Host-tacit_openid" if incoming.url.scheme == "https" else "tacit_openid"
