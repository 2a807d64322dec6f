"""What binds the way to a provider to the way back.

Out goes an address with `state`, `nonce` and a challenge (PKCE, S256), and a cookie. Back comes a code, with the state
and the cookie. All three are computed from the cookie with a key that this process made and no one else has:

    state = f("state", cookie)      nonce = f("nonce", cookie)      verifier = f("verifier", cookie)

Promise: a code is taken only in the browser that began, for the dataset it began with, within ten minutes, and once. A
code that another person was given does not fit the cookie (state), its ID token does not fit the nonce, and the
provider does not accept it without the verifier, which has never left this machine. Nothing is kept for those who begin
and do not come back, so others cannot push a person's log-in out.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import Final

from tacit.doors.http.problems import Problem

LONGEST: Final = 600.0
"""Seconds that a log-in may take."""
_MOST_USED: Final = 10_000
_STALE: Final = "This log-in was not begun in this browser, is too old, or was used already. Begin again."


@dataclass(frozen=True, slots=True)
class Trip:
    """One log-in under way."""

    dataset: str
    cookie: str
    state: str
    nonce: str
    verifier: str


class Trips:
    """All log-ins under way."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._used: dict[str, float] = {}

    def begin(self, dataset: str) -> Trip:
        """A new log-in."""
        name = base64.urlsafe_b64encode(dataset.encode()).decode().rstrip("=")
        return self._trip(f"{secrets.token_urlsafe(32)}.{int(time.time())}.{name}", dataset)

    def back(self, cookie: str, state: str) -> Trip:
        """The log-in that this browser began; it ends here, whatever its outcome."""
        parts = cookie.split(".")
        if len(cookie) > 2_000 or not cookie.isascii() or len(parts) != 3:
            raise _stale()
        if not hmac.compare_digest(self._made("state", cookie).encode(), state.encode("utf-8", "replace")):
            raise _stale()
        now, begun = time.time(), int(parts[1])  # the state is ours, so the cookie is unchanged
        if not 0 <= now - begun <= LONGEST or state in self._used:
            raise _stale()
        self._used = {used: when for used, when in self._used.items() if now - when <= LONGEST}
        if len(self._used) >= _MOST_USED:
            raise Problem(429, "too many log-ins", "Too many log-ins at once. Try again soon.", {"Retry-After": "60"})
        self._used[state] = now
        name = parts[2] + "=" * (-len(parts[2]) % 4)
        return self._trip(cookie, base64.urlsafe_b64decode(name).decode())

    def _trip(self, cookie: str, dataset: str) -> Trip:
        made = (self._made(word, cookie) for word in ("state", "nonce", "verifier"))
        return Trip(dataset, cookie, *made)

    def _made(self, word: str, cookie: str) -> str:
        found = hmac.new(self._key, f"{word} {cookie}".encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(found).decode().rstrip("=")


def _stale() -> Problem:
    return Problem(403, "log-in not begun here", _STALE)
