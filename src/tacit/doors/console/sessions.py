"""Sessions: who is logged in. The cookie is 256 random bits; what it stands for is kept in memory, and ends.

Promise: a session begins with a number of its own at every log-in, whatever cookie came before, so that no one can be
given a session that another knows. It ends at log-out, after an hour without a request, after eight hours, when the
token behind it ends or is revoked, and when the server stops. A form is taken only with the session's own form word,
which no other site can read.
"""

from __future__ import annotations

import hmac
import secrets
import time
from dataclasses import dataclass, field
from typing import Final

IDLE: Final = 3_600.0
LONGEST: Final = 8 * 3_600.0
_MOST: Final = 10_000


@dataclass(slots=True)
class Session:
    """One log-in: which token of which dataset, and the word that its forms carry."""

    dataset: str
    token: str
    person: str = ""
    """The person according to a provider of log-ins; empty for a person who came with a token."""
    word: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    begun: float = field(default_factory=time.monotonic)
    seen: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        """Whether its time has passed."""
        now = time.monotonic()
        return now - self.seen > IDLE or now - self.begun > LONGEST

    def sent(self, word: str) -> bool:
        """Whether a form belongs to this session."""
        return hmac.compare_digest(self.word.encode(), word.encode("utf-8", "replace"))


class Sessions:
    """All sessions of a server."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}

    def begin(self, dataset: str, token: str, person: str = "") -> str:
        """A new session; its number, for the cookie."""
        if len(self._open) >= _MOST:
            self._open = {number: each for number, each in self._open.items() if not each.is_over}
        if len(self._open) >= _MOST:
            self._open.pop(next(iter(self._open)))
        number = secrets.token_urlsafe(32)
        self._open[number] = Session(dataset, token, person)
        return number

    def find(self, number: str) -> Session | None:
        """The session of this number, while it is open."""
        found = self._open.get(number)
        if found is None:
            return None
        if found.is_over:
            self.end(number)
            return None
        found.seen = time.monotonic()
        return found

    def end(self, number: str) -> None:
        """Log out."""
        self._open.pop(number, None)
