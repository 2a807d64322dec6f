"""The worker's process as its owner sees it: starting it, asking it, killing it when its time is up.

Promise: `ask` returns within the deadline or raises the one fixed `EngineError`. The text is the same for every
failure, because the failure may depend on private rows. A worker that failed to answer is killed and a new one is
started for the next question.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tacit.engines import wire
from tacit.engines.exact import Exact
from tacit.errors import EngineError

FAILED: Final = "The engine could not answer this. What was charged stays charged, and the same is not drawn again."
_AT_ONCE: Final = 2**15  # bytes that a pipe takes before anyone reads
_SOON: Final = 0.1  # seconds
_ENVIRONMENT: Final = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a worker may use: bytes of memory for the engine and for the whole process, threads, seconds a question."""

    memory: int = 2 * 2**30
    address_space: int = 6 * 2**30
    threads: int = field(default_factory=lambda: min(os.cpu_count() or 1, 8))
    seconds: float = 120.0
    start_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Program:
    """Which worker: its module, the folder it runs in, what it is told, but for limits, what it may inherit."""

    module: str = "tacit.engines.duckdb.worker"
    folder: str = "/"
    setup: Mapping[str, Any] = field(default_factory=dict)
    environment: tuple[str, ...] = ()


class Worker:
    """A worker over one working copy. Questions are asked one at a time, from any thread."""

    def __init__(self, path: str, limits: Limits, program: Program | None = None) -> None:
        self._path = path
        self._limits = limits
        self._program = program or Program()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    @property
    def pid(self) -> int | None:
        """The process's number while there is one."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Have a running worker. Called early so that the first question does not wait for it."""
        with self._lock:
            self._running()

    def ask(self, request: dict[str, Any], seconds: float | None = None) -> dict[str, Any]:
        """The worker's reply to one request, within the limit or this many seconds."""
        with self._lock:
            reply = self._exchange(self._running(), request, self._limits.seconds if seconds is None else seconds)
        if "failed" in reply:
            raise EngineError(FAILED)
        return reply

    def foretell(self, message: dict[str, Any]) -> None:
        """Announce what may be asked next; there is no reply. A worker that is busy or gone is not told.

        A worker that left its last message unread gets almost no grace period: it is ended, and the next question
        starts another.
        """
        content = wire.pack(message)
        if len(content) > _AT_ONCE or not self._lock.acquire(blocking=False):
            return
        try:
            process = self._process
            if process is not None and self._owner == os.getpid() and process.poll() is None:
                with self._or_killed():
                    _write(process, content, time.monotonic() + _SOON)
        except EngineError:
            pass  # it is gone, and the next question starts another
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the process. A closed worker starts again when asked."""
        with self._lock:
            self._kill()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._owner != os.getpid():
            self._process = None  # the parent's worker, reached through a fork: its pipe is not ours to use
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._kill()
        process = self._launch()
        setup = {
            "path": self._path,
            "memory": self._limits.memory,
            "threads": self._limits.threads,
            "address_space": self._limits.address_space,
            **self._program.setup,
        }
        reply = self._exchange(process, setup, self._limits.start_seconds)
        if "failed" in reply:
            self._kill()
            raise EngineError(FAILED)
        return process

    def _launch(self) -> subprocess.Popen[bytes]:
        environment = {
            name: os.environ[name] for name in (*_ENVIRONMENT, *self._program.environment) if name in os.environ
        }
        home = str(Path(__file__).resolve().parents[2])  # the place that this package is imported from
        environment["OPENBLAS_NUM_THREADS"] = "1"  # numpy only carries columns there: no idle threads
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [home, environment.get("PYTHONPATH")]))
        self._process = subprocess.Popen(  # noqa: S603  # our own interpreter and modules, no shell
            [sys.executable, "-P", "-B", "-m", self._program.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=self._program.folder,
            start_new_session=True,
            bufsize=0,
        )
        self._owner = os.getpid()
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], message: dict[str, Any], seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        with self._or_killed():
            _write(process, wire.pack(message), deadline)
            body = _read(process, wire.length(_read(process, wire.HEADER.size, deadline)), deadline)
            return wire.unpack(body)

    @contextmanager
    def _or_killed(self) -> Iterator[None]:
        """A worker that failed is killed, and the one fixed error is raised."""
        try:
            yield
        except (OSError, EOFError, TimeoutError, ValueError):
            self._kill()
            raise EngineError(FAILED) from None
        except BaseException:
            self._kill()  # interrupted half-way: the next reply on this pipe would answer the wrong question
            raise

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # it leads a session of its own: its children end with it
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def exact_of(reply: Mapping[str, Any], measures: Sequence[str]) -> Exact:
    """The exact result in a worker's reply: its keys and its measures, column by column."""
    try:
        rows = int(reply["rows"])
        columns = [list(column) for column in reply["keys"]]
        cells = list(zip(*columns, strict=True)) if columns else [()] * rows
        return Exact(cells, dict(zip(measures, reply["measures"], strict=True)))
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError):
        raise EngineError(FAILED) from None


def _write(process: subprocess.Popen[bytes], content: bytes, deadline: float) -> None:
    assert process.stdin is not None
    descriptor = process.stdin.fileno()
    os.set_blocking(descriptor, False)
    left = memoryview(content)
    while left:
        _wait(descriptor, select.POLLOUT, deadline)
        left = left[os.write(descriptor, left) :]


def _read(process: subprocess.Popen[bytes], count: int, deadline: float) -> bytes:
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    parts: list[bytes] = []
    while count:
        _wait(descriptor, select.POLLIN, deadline)
        part = os.read(descriptor, min(count, 2**20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _wait(descriptor: int, event: int, deadline: float) -> None:
    left = deadline - time.monotonic()
    waiting = select.poll()
    waiting.register(descriptor, event)
    if left <= 0 or not waiting.poll(left * 1000):
        raise TimeoutError
