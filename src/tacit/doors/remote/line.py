"""The line to a server: requests that are tried again where that is safe, and refusals as the exceptions they are."""

from __future__ import annotations

import numbers
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from tacit import parameters
from tacit.doors.http import problems
from tacit.errors import TacitError

if TYPE_CHECKING:
    import httpx

    from tacit.plan.asked import Asked

_TRIES: Final = 4
_LONGEST_WAIT: Final = 5.0
_LOOK: Final = 0.2
"""Seconds between two looks at a job."""


class Line:
    """A client of httpx, and what to do when a reply is lost."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def get(self, path: str, **query: str | int | None) -> Any:
        """The reply to a GET."""
        return self._sent("GET", path, params={name: each for name, each in query.items() if each is not None})

    def post(self, path: str, content: Mapping[str, Any]) -> Any:
        """The reply to a POST."""
        return self._sent("POST", path, json={name: each for name, each in content.items() if each is not None})

    def job(self, path: str, content: Mapping[str, Any], progress: Callable[[float], None]) -> Any:
        """The same as `post`, done as a job, whose progress is reported."""
        said = {name: each for name, each in content.items() if each is not None}
        begun = self._sent("POST", path, json=said, headers={"Prefer": "respond-async"})
        share = None
        while True:
            now = self.get(f"/v1/jobs/{begun['id']}")
            if now["share"] is not None and now["share"] != share:
                share = now["share"]
                progress(share)
            if now["state"] in ("done", "refused", "cancelled"):
                return self.get(f"/v1/jobs/{begun['id']}/result")
            time.sleep(_LOOK)

    def _sent(self, method: str, path: str, **options: Any) -> Any:
        import httpx

        for attempt in range(_TRIES):
            try:
                reply = self.client.request(method, path, **options)
            except (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if attempt == _TRIES - 1:
                    raise TacitError(
                        f"The server at {self.client.base_url} does not answer. Ask again: what was charged is stored."
                    ) from None
                time.sleep(0.1 * 4**attempt)
                continue
            except httpx.HTTPError as failure:
                raise TacitError(f"The server could not be asked: {type(failure).__name__}. Ask again.") from None
            if reply.status_code != 429 or attempt == _TRIES - 1:
                return _content(reply)
            said = reply.headers.get("Retry-After", "1")
            time.sleep(min(float(said) if said.isdigit() else 1.0, _LONGEST_WAIT))
        raise TacitError("The server could not be asked.")


def _content(reply: httpx.Response) -> Any:
    try:
        content = reply.json()
    except ValueError:
        raise TacitError(f"What answers there (status {reply.status_code}) is no server of tacit's.") from None
    if reply.status_code in (200, 202):
        return content
    raise problems.refusal_of(content if isinstance(content, dict) else {})


def sent(value: Any) -> Any:
    """A number as it was written: a float is its shortest text, so that 0.1 is a tenth there as well."""
    said = parameters.written(value)
    if isinstance(said, (Fraction, Decimal)):
        return str(said)
    if isinstance(said, numbers.Integral) and not isinstance(said, bool):
        return int(said)  # also one of numpy's
    return said


def asked_out(asked: Asked) -> dict[str, Any]:
    """What is said besides the question, as a request has it. Who asks is not said: the token tells."""
    weights = None if asked.weights is None else {name: sent(each) for name, each in asked.weights.items()}
    said = {each.name: getattr(asked, each.name) for each in fields(asked) if each.name not in ("weights", "analyst")}
    return {name: sent(each) for name, each in said.items()} | {"weights": weights}


def plain(name: str, value: Any) -> Any:
    """An option of a study as JSON; anything but a value is refused."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(name, each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(name, each) for each in value]
    if hasattr(value, "tolist"):
        return plain(name, value.tolist())
    if isinstance(value, numbers.Real | Decimal):
        return sent(value)
    allowed = "a number, a text, a list or a mapping: nothing else can be sent"
    raise parameters.refuse(name, allowed, type(value).__name__)
