"""How the settings of `_neural_accuracy` were chosen: on training rows that are kept apart. Test rows are not used.

    .venv-opacus/bin/python benchmarks/_neural_choosing.py CASE THREADS [FROM]

A sixth of the training rows, the last of them (rows of Adult: in a random order, once for all), is what settings are
compared on; the others are learned from, with the case's price. Each setting is run once, in the order of `TRIED`;
FROM skips the first ones. Both the last weights and the mean of the later half of them are scored. The linear
model for Fashion-MNIST has the settings of MNIST's.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import torch

from _neural_accuracy import CASES, accuracy, rows_of, trained
from _peers import tell

SEED = 1000
# people in a step, how often each is in one, the learning rate, and where it begins to fall
TRIED: dict[str, tuple[tuple[float, ...], ...]] = {
    "fashion-cnn": ((2048, 20, 0.5), (2048, 20, 1.0, 0.4), (2048, 20, 2.0, 0.2), (4096, 40, 2.0, 0.4)),
    "mnist-cnn": ((1024, 20, 0.25), (2048, 20, 0.5), (2048, 20, 1.0)),
    "mnist-linear": ((4096, 25, 0.8), (8192, 40, 0.8), (8192, 40, 1.6)),
    "adult-mlp": (
        (512, 20, 0.05),
        (1024, 20, 0.05),
        (1024, 20, 0.1),
        (1024, 20, 0.2),
        (2048, 40, 0.1),
        (2048, 40, 0.2),
        (2048, 40, 0.4),
    ),
}


def main(name: str, threads: int, first: int) -> None:
    torch.set_num_threads(threads)
    case = CASES[name]
    inputs, labels, _, _ = rows_of(case)
    if case.data == "adult":
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(SEED))
        inputs, labels = inputs[order], labels[order]
    many = len(labels) - len(labels) // 6
    for batch, epochs, rate, *falls in TRIED[name][first:]:
        began = time.process_time()
        falls_from = falls[0] if falls else 1.0
        own = replace(case, batch=int(batch), epochs=epochs, learning_rate=rate, falls_from=falls_from)
        last, mean = trained(own, SEED, inputs[:many], labels[:many])
        scores = {"last": accuracy(last, inputs[many:], labels[many:])}
        scores["mean"] = accuracy(mean, inputs[many:], labels[many:])
        seconds = time.process_time() - began
        tell(case=name, batch=batch, epochs=epochs, learning_rate=rate, falls=falls, seconds=seconds, **scores)
    tell(done=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
