"""A network for MNIST from 1,000 clients of 60 images each, at the level of a client: test accuracy by epsilon.

    python benchmarks/_federated_mnist.py [RUNS]      (in the environment of `go.py neural`)

Images go to clients at random. Masks cancel exactly (tests/federated/test_aggregation.py), so that sums are opened here
without them. Settings (784-32-10, tanh, 12 rounds of 20 steps of 0.1, norm 1, momentum 0.5) were chosen on the training
images alone: their last 10,000 were kept apart for it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
from torch import nn

from _neural_data import Missing, images
from tacit import federated
from tacit.federated import fitting
from tacit.federated.distributed.private_sum import Finding, PrivateSum
from tacit.learning import neural

CLIENTS = 1_000
SETTINGS: dict[str, Any] = {"rounds": 12, "local_steps": 20, "norm": 1.0, "rate": 1.0, "momentum": 0.5}
LEARNING_RATE, HIDDEN = 0.1, 32


def unmasked(asked: PrivateSum, values: Any, name: str, comes: Any) -> Finding:
    total = np.zeros(asked.task.size, dtype=np.int64)
    for each in values:
        total = (total + asked.vector(each)) % asked.modulus
    return asked.finding(total.tolist(), len(values))


def accuracy(train: Any, labels: Any, test: Any, truth: Any, epsilon: float, seed: int, **settings: Any) -> float:
    torch.manual_seed(seed)
    order = np.random.default_rng(seed).permutation(len(train))
    module = nn.Sequential(nn.Linear(784, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 10))
    model = neural.NeuralClassifier(module, classes=list(range(10)), learning_rate=LEARNING_RATE)
    clients = [(train[part], labels[part]) for part in np.array_split(order, CLIENTS)]
    federated.fit(model, clients, epsilon=epsilon, delta=1e-5, **{**SETTINGS, **settings})
    return float((model.predict(test) == truth).mean())


def main(runs: int) -> None:
    try:
        train, labels, test, truth = images("mnist")
    except Missing as reason:
        print(f"MNIST is not here: {reason}.")
        return
    flat = [2 * each.reshape(len(each), -1) - 1 for each in (train, test)]
    fitting.opened = unmasked
    for epsilon in (8.0, 3.0):
        found = [accuracy(flat[0], labels, flat[1], truth, epsilon, seed) for seed in range(runs)]
        print(f"epsilon {epsilon:g}: {np.mean(found):.4f} +- {np.std(found):.4f} ({runs} runs)", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
