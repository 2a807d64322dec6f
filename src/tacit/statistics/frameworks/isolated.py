"""Anyone's function, run where it can do no harm: in processes of its own, for a time that is public.

Promise. What comes back from a block is the wanted number of doubles, or None: nothing else, whatever the function
returns, raises, prints, warns of, or how it ends. Every block runs in a process of its own, forked from one that has
never called the function, and starts at a time that is public, however long the ones before it took; so a result
depends on its own block alone, as the theorems of `frameworks` need. `run` takes a time that is public: it
returns when ceil(blocks/workers) times the seconds allowed to one block (and a little more, see `ALLOWANCE`) are over,
never before, even if all blocks were done at once; the progress bar follows that clock, not the work.

What is not hidden. The function is code that the caller trusts with the data: it could still look for what earlier
blocks left in the memory of the process it was forked from, open a network connection,
create an empty file, signal other processes, or so load the machine that other blocks run out of time and the whole
takes longer than planned. It cannot write to files or to the terminal. Give blocks far more time than they need, and no
more workers than there are processor cores.

A function must be importable: pickled by name. One that is not (a lambda, a function of a notebook cell, one whose
module does not load) is refused before anything is paid.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import math
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tacit import parameters
from tacit.errors import ParameterError

ALLOWANCE = 0.05
"""Seconds for starting and ending the process of one block, added to what a block may take."""

MOST_NUMBERS = 1000
_TICK = 0.1
_HINT = "Write it in a module (or a script's top level), so that another process can import it by name."


@dataclass(frozen=True, slots=True)
class Isolated:
    """A function of rows that gives `expected` numbers, how long one call may take, and how many run at once."""

    function: Callable[[Any], Any]
    expected: int
    seconds: float
    workers: int

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise parameters.refuse("function", "a function of the rows", type(self.function).__name__)
        if not hasattr(os, "fork"):
            raise parameters.refuse("function", "run on a system that can fork processes", sys.platform)
        if not 1 <= self.expected <= MOST_NUMBERS:
            raise parameters.refuse("output_bounds", f"for 1 to {MOST_NUMBERS} numbers", self.expected)
        seconds = parameters.positive("seconds", self.seconds)
        if seconds > 10**6:
            raise parameters.refuse("seconds", "at most a million", self.seconds)
        parameters.whole("workers", self.workers, least=1)
        self.pickled()

    def pickled(self) -> bytes:
        """The function's name."""
        try:
            return pickle.dumps(self.function)
        except (pickle.PicklingError, AttributeError, TypeError):
            found = getattr(self.function, "__qualname__", type(self.function).__name__)
            raise parameters.refuse("function", "one that can be pickled", found, _HINT) from None

    @property
    def slot(self) -> float:
        """How long a block has, with the start and the end of its process."""
        return float(self.seconds) + ALLOWANCE

    def public_seconds(self, blocks: int) -> float:
        """How long a run over this many blocks takes."""
        return math.ceil(blocks / self.workers) * self.slot

    @contextmanager
    def ready(self, blocks: int, progress: bool = False) -> Iterator[Runner]:
        """Processes that have loaded the function; refused where they cannot."""
        places = [Place(self) for _ in range(min(self.workers, blocks))]
        try:
            for place in places:
                place.open()
            yield Runner(self, places, progress)
        finally:
            for place in places:
                place.close()


def identity_of(function: Any) -> str:
    """What distinguishes a function that can be pickled from others: its name and its code."""
    code = getattr(function, "__code__", None)
    return hashlib.sha256(pickle.dumps(function) + (marshal.dumps(code) if code is not None else b"")).hexdigest()


class Place:
    """One process that runs blocks one after the other."""

    def __init__(self, plan: Isolated) -> None:
        self._plan = plan
        self._process: subprocess.Popen[bytes] | None = None

    def open(self) -> None:
        """Start, and load the function."""
        program = [sys.executable, "-P", str(Path(__file__).with_name("nursery.py"))]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(program, **streams)  # type: ignore[call-overload]  # noqa: S603  # our own file
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        own = getattr(self._plan.function, "__module__", None) == "__main__"
        facts = (list(sys.path), main if own else None, self._plan.expected, float(self._plan.seconds))
        try:
            told = self._ask(pickle.dumps(facts), self._plan.pickled())
        except (OSError, EOFError):
            told = b""  # importing it has ended the process
        if told != b"ready":
            name = getattr(self._plan.function, "__qualname__", type(self._plan.function).__name__)
            raise parameters.refuse("function", "one that another process can import", name, _HINT)

    def run(self, block: Any) -> list[float] | None:
        """The numbers of one block, or None."""
        try:
            if self._process is None:
                self.open()
            told = self._ask(pickle.dumps(block))
        except (OSError, EOFError, ParameterError):  # the process has gone away, and with it this block's result
            self.close()
            return None
        return list(struct.unpack(f"{self._plan.expected}d", told)) if told else None

    def close(self) -> None:
        """End the process that was started."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # the process is gone, with unsent bytes
                if stream is not None:
                    stream.close()
        self._process = None

    def _ask(self, *frames: bytes) -> bytes:
        assert self._process is not None
        inward, outward = self._process.stdin, self._process.stdout
        assert inward is not None
        assert outward is not None
        for frame in frames:
            inward.write(len(frame).to_bytes(8, "little") + frame)
        inward.flush()
        head = outward.read(8)
        content = outward.read(int.from_bytes(head, "little"))
        if len(head) < 8 or len(content) < int.from_bytes(head, "little"):
            raise EOFError
        return content


class Runner:
    """Runs blocks and waits for the public end."""

    def __init__(self, plan: Isolated, places: Sequence[Place], progress: bool) -> None:
        self._plan, self._places, self._progress = plan, places, progress

    def run(self, blocks: Sequence[Any]) -> list[list[float] | None]:
        """What each block gave."""
        start, lasting = time.monotonic(), self._plan.public_seconds(len(blocks))
        results: list[list[float] | None] = [None] * len(blocks)

        def work(first: int) -> None:
            # which place runs a block is fixed, so no block waits for another place's
            for turn, number in enumerate(range(first, len(blocks), len(self._places))):
                time.sleep(max(start + turn * self._plan.slot - time.monotonic(), 0.0))
                results[number] = self._places[first].run(blocks[number])

        threads = [threading.Thread(target=work, args=(first,), daemon=True) for first in range(len(self._places))]
        for thread in threads:
            thread.start()
        with _bar(self._progress) as advance:
            while (gone := time.monotonic() - start) < lasting:
                advance(gone / lasting)
                time.sleep(min(_TICK, lasting - gone))
            advance(1.0)
        for thread in threads:
            thread.join()
        return results


@contextmanager
def _bar(shown: bool, to: IO[str] | None = None) -> Iterator[Callable[[float], None]]:
    """A bar that follows the public clock."""
    if not shown:
        yield lambda share: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=to or sys.stderr), transient=True) as bar:
        task = bar.add_task("blocks", total=1.0)
        yield lambda share: bar.update(task, completed=share)
