"""Peers that run as programs of their own, some of them in environments of their own, and under a deadline.

A program prints one JSON object a line as it goes along. Nothing it does can spoil the benchmark: what is too slow is
ended with all its processes, and what fails is reported with the last line of its own complaint.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Told:
    """What a program printed, and how it ended: "" where all is well."""

    lines: tuple[dict[str, Any], ...]
    trouble: str


def python_of(environment: str) -> Path:
    """The interpreter of an environment that `python3 go.py bench` prepared: "bench", "tumult", ..."""
    return HERE.parent / f".venv-{environment}" / "bin" / "python"


def listen(
    program: str,
    *arguments: object,
    python: Path | None = None,
    seconds: float,
    heard: Callable[[dict[str, Any]], None] = lambda line: None,
) -> Told:
    """Run a program beside this file, and gather what it says. `seconds` is the longest it may be silent.

    `heard` gets each line as it comes, so that a long run that is ended loses nothing.
    """
    command = [str(python or sys.executable), str(HERE / program), *map(str, arguments)]
    if not Path(command[0]).exists():
        return Told((), "its environment is missing: run `python3 go.py bench`")
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryFile() as errors:
        # A session of its own: whatever it starts can be ended together with it.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        try:
            silent = not _gather(process, lines, seconds, heard)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        if silent:
            return Told(tuple(lines), f"more than {seconds:.0f} s")
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines() or [f"ended with code {code}"]
    return Told(tuple(lines), "" if lines and "done" in lines[-1] else f"failed: {said[-1][:200]}")


def _gather(
    process: subprocess.Popen[bytes],
    lines: list[dict[str, Any]],
    seconds: float,
    heard: Callable[[dict[str, Any]], None],
) -> bool:
    """Read until the program closes its output (true), or says nothing for too long (false)."""
    assert process.stdout is not None
    buffer, deadline = b"", time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        part = os.read(process.stdout.fileno(), 2**16)
        if not part:
            return True
        *whole, buffer = (buffer + part).split(b"\n")
        for line in whole:
            if line.startswith(b"{"):
                lines.append(json.loads(line))
                heard(lines[-1])
                print(f"  {line.decode()[:200]}", flush=True)
                deadline = time.monotonic() + seconds


def tell(**facts: Any) -> None:
    """For the programs: one line to whoever listens."""
    print(json.dumps(facts), flush=True)
