"""Steps of one network by one library, in a process of its own: CPU time of a step and the most memory.

    .venv-opacus/bin/python benchmarks/_neural_steps.py CASE LIBRARY THREADS STEPS

LIBRARY is plain, tacit, tacit-silent (without noise: what the book-keeping costs), opacus-hooks or opacus-ghost.
All draw a Poisson sample (plain torch: as many rows, drawn at random) and make a step of SGD. CPU time counts all
threads. Memory is what the process holds at most while it steps, above what it held before the first one.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from _neural_nets import CASES, Case, loss, module_of, rows_of
from _peers import tell

WARM = 3
RATE = 0.05
NOISE = 1.0


def plain(case: Case) -> Callable[[], None]:
    """Ordinary SGD."""
    module, (inputs, target) = module_of(case), rows_of(case)
    optimiser = torch.optim.SGD(module.parameters(), lr=RATE)

    def step() -> None:
        chosen = torch.randint(0, case.people, (case.batch,))
        optimiser.zero_grad()
        loss(module(inputs.index_select(0, chosen)), target[chosen]).mean().backward()
        optimiser.step()

    return step


def tacit(case: Case, *, silent: bool = False) -> Callable[[], None]:
    """Exact noise, secure samples and all."""
    from tacit.learning.neural import PrivateTrainer
    from tacit.learning.neural.sums import grid

    module, (inputs, target) = module_of(case), rows_of(case)
    if silent:

        def nothing(self: Any, *_: Any) -> grid.Drawing:
            return grid.Drawing(lambda: torch.zeros(self.coordinates, dtype=torch.float64))

        grid.Grid.draw = nothing  # type: ignore[method-assign,assignment]
    optimiser = torch.optim.SGD(module.parameters(), lr=RATE)
    settings: dict[str, Any] = {"epsilon": 3, "delta": 1e-5, "rate": case.batch / case.people, "steps": 1000}
    own = PrivateTrainer(module, loss, optimiser, inputs, target, size=case.people, **settings)
    batches = iter(own)
    return lambda: own.step(next(batches))


def opacus(case: Case, mode: str) -> Callable[[], None]:
    """Opacus as its documentation has it, its float noise included."""
    from opacus import PrivacyEngine
    from opacus.validators import ModuleValidator
    from torch.utils.data import DataLoader, TensorDataset

    warnings.simplefilter("ignore")
    # layers that Opacus has versions of its own for, as attention, are exchanged for those
    module, rows = ModuleValidator.fix(module_of(case)), TensorDataset(*rows_of(case))
    loader = DataLoader(rows, batch_size=case.batch)
    optimiser = torch.optim.SGD(module.parameters(), lr=RATE)
    settings: dict[str, Any] = {"module": module, "optimizer": optimiser, "data_loader": loader}
    settings |= {"noise_multiplier": NOISE, "max_grad_norm": 1.0}
    criterion: Any = torch.nn.CrossEntropyLoss()
    if mode == "ghost":
        settings |= {"criterion": criterion, "grad_sample_mode": "ghost"}
        module, optimiser, criterion, loader = PrivacyEngine().make_private(**settings)
    else:
        module, optimiser, loader = PrivacyEngine().make_private(**settings)

    def batches() -> Any:
        while True:
            yield from loader

    own = batches()

    def step() -> None:
        inputs, target = next(own)
        optimiser.zero_grad()
        criterion(module(inputs), target).backward()
        optimiser.step()

    return step


LIBRARIES: dict[str, Callable[[Case], Callable[[], None]]] = {
    "plain": plain,
    "tacit": tacit,
    "tacit-silent": lambda case: tacit(case, silent=True),
    "opacus-hooks": lambda case: opacus(case, "hooks"),
    "opacus-ghost": lambda case: opacus(case, "ghost"),
}


def held(which: str) -> int:
    """Bytes: VmRSS now, or VmHWM, the most since it was last cleared."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(which))


def main(case: str, library: str, threads: int, steps: int) -> None:
    torch.set_num_threads(threads)
    step = LIBRARIES[library](CASES[case])
    Path("/proc/self/clear_refs").write_text("5")
    before = held("VmRSS:")
    for _ in range(WARM):
        step()
    memory = held("VmHWM:") - before
    times = []
    for _ in range(steps):
        began = time.process_time()
        step()
        times.append(time.process_time() - began)
    tell(milliseconds=1000 * float(np.median(times)), mean=1000 * float(np.mean(times)), memory=memory / 1e6)
    tell(done=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
