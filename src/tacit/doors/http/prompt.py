"""A client that is too slow loses its connection: the head of a request must come within seconds.

uvicorn turns everyone away beyond a number of connections, and waits for a head without a limit. An attacker who opens
connections and sends a letter now and then could so keep all others out. The body has its own time (`app.limited`), and
between two requests uvicorn's `timeout_keep_alive` holds.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS: Final = 15.0


class Prompt(H11Protocol):
    """uvicorn's own protocol, with a limit on the time that the head of a request takes."""

    head_seconds = HEAD_SECONDS
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client has connected."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Bytes came: perhaps the rest of a head, perhaps one more letter of it."""
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._forget()
        super().connection_lost(exc)

    def _look(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._late is None:
            self._late = asyncio.get_running_loop().call_later(self.head_seconds, self._too_late)

    def _too_late(self) -> None:
        self._late = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
