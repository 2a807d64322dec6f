"""Children that report, line by line, to the process that forked them, and may be killed at any moment."""

from __future__ import annotations

import os
import select
import traceback
from collections.abc import Callable


def child(work: Callable[[Callable[[str], None]], None]) -> tuple[int, int]:
    """Fork; `work` gets a function that reports a line. Gives the child's id and the pipe to read from."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    os.close(reader)
    status = 1
    try:
        work(lambda line: os.write(writer, f"{line}\n".encode()))  # one short write: whole, or not at all
        status = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)


class Heard:
    """What a child reports. How much that is after how long depends on the machine, so it is waited for, not timed."""

    def __init__(self, pid: int, reader: int) -> None:
        self.pid = pid
        self.ended = False
        self._reader = reader
        self._text = b""

    def fileno(self) -> int:
        return self._reader

    @property
    def lines(self) -> list[str]:
        """All of it so far."""
        return self._text.decode().splitlines()

    def listen(self) -> None:
        """Hear something more, or that there is no more to come."""
        more = os.read(self._reader, 1 << 16)
        self._text += more
        self.ended = not more

    def status(self) -> int:
        """How the child ended, after hearing all of it."""
        while not self.ended:
            self.listen()
        os.close(self._reader)
        return os.waitpid(self.pid, 0)[1]


def listen(children: list[Heard], enough: Callable[[], bool]) -> None:
    """Until that is enough, or no child is left."""
    while not enough() and (left := [each for each in children if not each.ended]):
        for each in select.select(left, [], [])[0]:
            each.listen()


def reported(pid: int, reader: int) -> tuple[list[str], int]:
    """Wait for the child; what it reported and how it ended."""
    heard = Heard(pid, reader)
    status = heard.status()
    return heard.lines, status
