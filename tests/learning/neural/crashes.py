"""A run that is killed with SIGKILL again and again, and what its journal and its draws say afterwards.

python -m tests.learning.neural.crashes 100        one run after the other until 100 kills have hit one
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

STEPS = 40


def child(folder: Path) -> None:
    """Train to the end; every draw of noise leaves a line."""
    import numpy as np
    import torch
    from torch import nn

    from tacit.learning.neural import PrivateTrainer
    from tacit.learning.neural.sums import grid
    from tests.learning.neural.nets import squared

    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    X = np.random.default_rng(0).normal(size=(100, 3))
    own = PrivateTrainer(
        module,
        squared,
        torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9),
        X,
        X[:, 0],
        epsilon=2,
        delta=1e-5,
        rate=0.1,
        steps=STEPS,
        chunk=8,
        journal=folder,
    )
    draw = grid.Grid.draw

    def told(self: Any, *arguments: Any) -> Any:
        with open(folder / "draws", "ab", buffering=0) as file:
            file.write(f"{own.steps_done}\n".encode())
        return draw(self, *arguments)

    grid.Grid.draw = told  # type: ignore[method-assign]
    own.fit()


def finished(folder: Path, kills: int, rng: random.Random, longest: float) -> int:
    """Start the run and kill it, at most `kills` times, then let it finish; how many kills hit it."""
    hits = 0
    while True:
        started = os.fork()
        if started == 0:
            code = 1
            try:
                child(folder)
                code = 0
            finally:
                os._exit(code)
        ended, status = 0, 0
        if hits < kills:
            ended, status = _waited(started, folder / "draws", rng, longest)
            if not ended:
                os.kill(started, signal.SIGKILL)
        if not ended:
            _, status = os.waitpid(started, 0)
        if os.WIFSIGNALED(status):
            hits += 1
        elif os.WEXITSTATUS(status) == 0:
            return hits
        else:
            raise AssertionError("The run failed by itself.")


def _waited(started: int, draws: Path, rng: random.Random, longest: float) -> tuple[int, int]:
    """Some time from the start; or until a few more steps have drawn their noise, and a moment more.

    A run that ends by itself is not waited for: lost steps draw nothing, so the lines that are wanted may never come.
    What comes back is what `os.waitpid` says of it: (0, 0) while it goes on.
    """
    if rng.random() < 0.2:
        time.sleep(rng.uniform(0, longest))
        return os.waitpid(started, os.WNOHANG)
    wanted, deadline = _lines(draws) + rng.randint(1, 5), time.monotonic() + 30
    while _lines(draws) < wanted and time.monotonic() < deadline:
        ended = os.waitpid(started, os.WNOHANG)
        if ended[0]:
            return ended
        time.sleep(0.0005)
    time.sleep(rng.uniform(0, 0.01))
    return os.waitpid(started, os.WNOHANG)


def _lines(draws: Path) -> int:
    return draws.read_bytes().count(b"\n") if draws.exists() else 0


def checked(folder: Path) -> tuple[int, int]:
    """Steps that were begun, and how many draws there were: at most one for each of them."""
    from tacit.learning.neural.runs.journal import Journal

    journal = Journal(folder)
    begun, state = journal.begun, journal.load()
    journal.close()
    draws = [int(line) for line in (folder / "draws").read_text().split()]
    assert begun == STEPS
    assert len(draws) == len(set(draws)) <= begun
    assert set(draws) <= set(range(1, STEPS + 1))
    assert state is not None
    assert int(state[1]["step"]) <= begun
    return begun, len(draws)


def main(kills: int) -> None:
    """Runs until so many kills have hit."""
    import torch  # noqa: F401  # once, before the children

    import tacit.learning.neural.trainer  # noqa: F401

    rng = random.Random()
    hits, runs, lost = 0, 0, 0
    while hits < kills:
        with tempfile.TemporaryDirectory() as name:
            hits += finished(Path(name), min(12, kills - hits), rng, longest=0.6)
            begun, draws = checked(Path(name))
            runs, lost = runs + 1, lost + begun - draws
    sys.stdout.write(f"{hits} kills in {runs} runs of {STEPS} steps: every step spent once, {lost} of them lost\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
