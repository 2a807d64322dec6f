"""What is learned with privacy, on data that others report on: test accuracy at delta 1e-5.

    .venv-opacus/bin/python benchmarks/_neural_accuracy.py CASE FIRST-SEED SEEDS THREADS

Settings are those in `CASES`: SGD with momentum 0.9, automatic clipping, and the last weights or their mean over the
later half of the steps; where it says so, the learning rate falls in a straight line to nothing from there on. They
were chosen by `_neural_choosing.py` on training rows kept apart, and stay fixed; test
rows are used here alone. A seed decides where weights start; noise and samples are never seeded. A data set that cannot
be fetched is said to be missing.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from _learning_data import banded, split_of
from _neural_data import Missing, images, scattered
from _neural_nets import cnn, loss
from _peers import tell
from tacit.learning.neural import PrivateTrainer

DELTA = 1e-5
MOMENTUM = 0.9


@dataclass(frozen=True, slots=True)
class Case:
    """Data, model and price; people in a step, how often each is in one, learning rate; the last weights or means.

    falls_from: the share of the steps after which the learning rate falls.
    """

    data: str
    model: str
    epsilon: float
    batch: int
    epochs: float
    learning_rate: float
    averaged: bool = False
    falls_from: float = 1.0


CASES = {
    "mnist-linear": Case("mnist", "linear", 2.93, 8192, 40, 1.6),
    "fashion-linear": Case("fashion", "linear", 2.7, 8192, 40, 1.6),
    "mnist-cnn": Case("mnist", "cnn", 2.93, 2048, 20, 0.5),
    "fashion-cnn": Case("fashion", "cnn", 2.7, 4096, 40, 2.0, falls_from=0.4),
    "adult-mlp": Case("adult", "mlp", 1, 2048, 40, 0.4),
}


def rows_of(case: Case) -> tuple[Any, Any, Any, Any]:
    """Training rows and classes, test rows and classes: as the model takes them."""
    if case.data == "adult":
        split = split_of("adult", 0)
        parts = []
        for own in (split.train, split.test):
            parts += [
                torch.from_numpy(banded(own).matrix).float(),
                torch.from_numpy((own.target == ">50K").astype(int)),
            ]
        return parts[0], parts[1], parts[2], parts[3]
    inputs, labels, test, truth = (torch.from_numpy(each) for each in images(case.data))
    if case.model == "linear":
        inputs, test = (torch.from_numpy(each) for each in scattered(case.data))
    else:
        inputs, test = inputs[:, None], test[:, None]
    return inputs, labels, test, truth


def module_of(case: Case, width: int) -> Any:
    """A new model."""
    if case.model == "cnn":
        return cnn()
    if case.model == "mlp":
        return nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, 2))
    own = nn.Linear(width, 10)
    nn.init.zeros_(own.weight)
    nn.init.zeros_(own.bias)
    return own


def trained(case: Case, seed: int, inputs: Any, labels: Any) -> tuple[Any, Any]:
    """A model, and the same with the mean of its weights over the later half of the steps."""
    torch.manual_seed(seed)
    module = module_of(case, inputs.shape[1])
    people = len(inputs)
    optimiser = torch.optim.SGD(module.parameters(), lr=case.learning_rate, momentum=MOMENTUM)
    price: dict[str, Any] = {"epsilon": case.epsilon, "delta": DELTA, "size": people}
    schedule = {"rate": case.batch / people, "steps": round(case.epochs * people / case.batch)}
    trainer = PrivateTrainer(module, loss, optimiser, inputs, labels, **price, **schedule)
    mean = torch.optim.swa_utils.AveragedModel(module)
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _share(step / len(trainer), case.falls_from))
    for step, batch in enumerate(trainer):
        trainer.step(batch)
        falling.step()
        if 2 * trainer.steps_done > len(trainer):
            mean.update_parameters(module)
        if step % 100 == 0:
            tell(step=step)  # whoever listens knows that it goes on
    return module, mean.module


def _share(done: float, falls_from: float) -> float:
    """Of the learning rate, once so many of the steps are done."""
    return 1.0 if done <= falls_from else max((1.0 - done) / (1.0 - falls_from), 0.02)


def accuracy(module: Any, inputs: Any, labels: Any) -> float:
    """The share that is right."""
    with torch.no_grad():
        right = torch.cat([module(part).argmax(dim=1) for part in inputs.split(1000)]) == labels
    return float(right.float().mean())


def main(name: str, first: int, seeds: int, threads: int) -> None:
    torch.set_num_threads(threads)
    case = CASES[name]
    try:
        inputs, labels, test, truth = rows_of(case)
    except Missing as why:
        tell(missing=str(why))
        tell(done=True)
        return
    for seed in range(first, first + seeds):
        began = time.process_time()
        last, mean = trained(case, seed, inputs, labels)
        tell(
            seed=seed,
            accuracy=accuracy(mean if case.averaged else last, test, truth),
            seconds=time.process_time() - began,
        )
    tell(done=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
