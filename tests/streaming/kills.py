"""A journal whose process is killed at random moments: what left for a step never changes, and no step is drawn twice.

python -m tests.streaming.kills 1000 SEED       # the long form
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from pathlib import Path

from tacit.mechanisms.continual import RunningTotals
from tacit.streaming import Journal

STEPS = 1 << 20


def _child(path: Path, pipe: int, price: dict[str, float]) -> None:
    """Steps, each told through the pipe once `step` has returned; now and then a step that is over is asked again."""
    journal = Journal(path, RunningTotals(STEPS, **price))
    while True:
        number = journal.time + 1
        sent = journal.step(number, [number % 7])
        line = json.dumps([number, sent])
        os.write(pipe, (line + "\n").encode())
        if number % 3 == 0:
            os.write(pipe, (json.dumps([number, journal.step(number, [100_000])]) + "\n").encode())


def kill_often(times: int, *, seed: int, delta: float = 1e-6) -> tuple[int, int]:
    """How many steps were told, by how many processes; fails where a step was told in two ways or one is missing."""
    rng = random.Random(seed)
    price = {"epsilon": 1.0, "delta": delta} if delta else {"epsilon": 1.0}
    told: dict[int, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.stream"
        for _ in range(times):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reading)
                try:
                    _child(path, writing, price)
                finally:
                    os._exit(1)
            os.close(writing)
            if rng.random() < 0.8:  # in the middle of stepping, else perhaps while it opens the file
                select.select([reading], [], [], 10)
            time.sleep(rng.random() * 0.03)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            with os.fdopen(reading, "rb") as pipe:
                lines = pipe.read().decode().splitlines(keepends=True)
            for line in lines:
                if line.endswith("\n"):
                    number, sent = json.loads(line)
                    assert told.setdefault(number, sent) == sent, f"step {number} left in two ways"
        with Journal(path, RunningTotals(STEPS, **price)) as journal:
            assert journal.time >= max(told, default=0)
            for number, sent in told.items():
                assert journal.sent(number) == sent
            for number in range(1, journal.time + 1):
                journal.sent(number)  # none is missing
            truth = sum(number % 7 for number in range(1, journal.time + 1))
            if journal.time:
                off = abs(journal.sent(journal.time)[0] - truth)
                assert off < 20 * journal.totals.deviation(journal.time)  # no step was lost or counted twice
            return journal.time, times


if __name__ == "__main__":
    steps, processes = kill_often(int(sys.argv[1]), seed=int(sys.argv[2]))
    sys.stdout.write(f"{processes} processes killed, {steps} steps, each sent once\n")
