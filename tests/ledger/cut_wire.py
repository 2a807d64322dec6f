"""A wire to PostgreSQL that is cut at a chosen message: before it is passed on, or after."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self


class CutWire:
    """Passes on between a socket of its own and the server's. `cut_at` counts what goes either way from now on."""

    def __init__(self, folder: Path, server: Path) -> None:
        self._server = str(server / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self._count = threading.Lock()
        self._left: int | None = None
        self._pass_on = False
        self.cut = False
        threading.Thread(target=self._serve, daemon=True).start()

    def cut_at(self, number: int, *, pass_on: bool) -> None:
        """The wire is cut at this message, which still arrives with `pass_on`."""
        with self._count:
            self._left, self._pass_on, self.cut = number, pass_on, False

    def mend(self) -> None:
        """Pass everything on again."""
        with self._count:
            self._left = None

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            server.connect(self._server)
            goes_on = True
            while goes_on:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(1 << 16)
                    arrives, goes_on = self._decide() if data else (False, False)
                    if arrives:
                        (server if source is client else client).sendall(data)
                    if not goes_on:
                        break

    def _decide(self) -> tuple[bool, bool]:
        with self._count:
            if self._left is None:
                return True, True
            self._left -= 1
            if self._left > 0:
                return True, True
            self.cut = True
            return self._pass_on and self._left == 0, False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
