"""Long work as jobs: begun by one request, looked at by others, taken back by another.

    POST /v1/studies/aim   Prefer: respond-async    -> 202, Location: /v1/jobs/...
    GET /v1/jobs/...            waiting, working, charged, done, refused or cancelled
    GET /v1/jobs/.../events     the same as server-sent events, until it is over
    GET /v1/jobs/.../result     the reply that the request would have had
    POST /v1/jobs/.../cancel    before the charge: it ends, and costs nothing. After it: 409, and it goes on

Promise: a job is what its request is. It is charged once, the till stores its answer before anyone sees it, and
nothing is drawn twice, no matter who looks, leaves or cancels. Between "may it be cancelled" and the charge there is no
gap: the till asks for the last word right before it charges, and from then on cancelling is refused. A job belongs to
the name of its token, and is forgotten after an hour; its answer is not, because the ledger has it.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from starlette.responses import Response

from tacit.doors.http.problems import Problem
from tacit.errors import Cancelled

State = Literal["waiting", "working", "charged", "done", "refused", "cancelled"]
OVER: Final = frozenset({"done", "refused", "cancelled"})
KEPT_SECONDS: Final = 3_600.0
MOST_EACH: Final = 50
_TAKEN_BACK: Final = "This was cancelled before it was charged. Nothing was charged and nothing was read."
_TOO_LATE: Final = (
    "It is charged already and goes on: its answer is stored, and asked again it is free. Nothing more can be saved."
)
_NO_JOB: Final = "There is no such job of yours. A job is forgotten after an hour; asked again, its answer is free."


@dataclass(slots=True, eq=False)
class Job:
    """One piece of work: whose it is, what it does, and how far it is."""

    id: str
    who: str
    route: str
    about: str
    begun: float = field(default_factory=time.monotonic)
    state: State = "waiting"
    share: float | None = None
    reply: Response | None = None
    result: Any = None
    """The result of the work, for the console, which shows it in its own way."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _taken_back: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in OVER

    def begin(self) -> None:
        """A thread takes it up, unless it was taken back while it waited."""
        with self._lock:
            if self._taken_back:
                raise Cancelled(_TAKEN_BACK)
            self.state = "working"
        self._tell()

    def last_word(self) -> None:
        """Called by the till right before it charges: refused if it was taken back; from here on it goes through."""
        with self._lock:
            if self._taken_back:
                raise Cancelled(_TAKEN_BACK)
            self.state = "charged"
        self._tell()

    def cancel(self) -> None:
        """Take it back, if it is not charged yet."""
        with self._lock:
            if self.state == "charged" or self.is_over:
                raise Problem(409, "too late", _TOO_LATE)
            self._taken_back = True
            if self.state == "waiting":
                self.state = "cancelled"
        self._tell()

    def progress(self, share: float) -> None:
        """Which share is done, where public or released numbers say. A job that was taken back uncharged ends here."""
        with self._lock:
            if self._taken_back and self.state != "charged":
                raise Cancelled(_TAKEN_BACK)
        self.share = min(max(float(share), 0.0), 1.0)
        self._tell()

    def end(self, reply: Response) -> None:
        """Mark it as over."""
        self.reply = reply
        with self._lock:
            taken_back = self._taken_back and self.state != "charged" and reply.status_code != 200
            self.state = "cancelled" if taken_back else "done" if reply.status_code == 200 else "refused"
        self._tell()

    def content(self) -> dict[str, Any]:
        """How far it is."""
        return {"id": self.id, "does": self.route, "about": self.about, "state": self.state, "share": self.share}

    async def states(self) -> AsyncIterator[dict[str, Any] | None]:
        """How far it is, now and after every change, until it is over; None where nothing changed for a while."""
        told: dict[str, Any] | None = None
        while True:
            self._changed.clear()
            now = self.content()
            if now != told:
                told = now
                yield now
                continue  # it may have changed while this was sent
            if self.is_over:
                return
            try:
                async with asyncio.timeout(15):
                    await self._changed.wait()
            except TimeoutError:
                yield None

    def _tell(self) -> None:
        self._loop.call_soon_threadsafe(self._changed.set)


class Jobs:
    """All jobs of a server. On the event loop alone, but for what `Job` guards itself."""

    def __init__(self) -> None:
        self._all: dict[str, Job] = {}

    def add(self, who: str, route: str, about: str) -> Job:
        """A new job; the oldest that are over are forgotten."""
        now = time.monotonic()
        for old in [each for each in self._all.values() if each.is_over and now - each.begun > KEPT_SECONDS]:
            del self._all[old.id]
        own = [each for each in self.of(who) if each.is_over]
        for old in own[: max(0, len(own) - MOST_EACH + 1)]:
            del self._all[old.id]
        job = Job(secrets.token_urlsafe(16), who, route, about)
        self._all[job.id] = job
        return job

    def drop(self, job: Job) -> None:
        """Remove a job that did not begin."""
        self._all.pop(job.id, None)

    def of(self, who: str) -> list[Job]:
        """One person's jobs, in the order in which they came."""
        return [each for each in self._all.values() if each.who == who]

    def find(self, who: str, number: str) -> Job:
        """A job, if it is this person's."""
        found = self._all.get(number)
        if found is None or found.who != who:
            raise Problem(404, "no such job", _NO_JOB)
        return found
