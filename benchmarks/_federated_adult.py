"""Logistic regression on Adult split over 200 clients: accuracy at the level of a client, with noise and without masks.

    python benchmarks/_federated_adult.py [RUNS]

Masks cancel exactly (tests/federated/test_rounds.py), so that sums are opened here without them: a round of 200
clients would take seconds. Settings (norm 2, rate 1, 50 local steps, 8 rounds) were chosen on split 0 of this data set.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from _learning_data import banded, split_of
from tacit import federated, learning
from tacit.federated import fitting
from tacit.federated.distributed.private_sum import Finding, PrivateSum

CLIENTS, ROUNDS = 200, 8


def unmasked(asked: PrivateSum, values: Any, name: str, comes: Any) -> Finding:
    total = np.sum([asked.vector(each) for each in values], axis=0) % asked.modulus
    return asked.finding(total.tolist(), len(values))


def accuracy(seed: int, epsilon: float) -> float:
    split = split_of("adult", seed)
    train, test = banded(split.train), banded(split.test)
    parts = np.array_split(np.arange(len(train.rows)), CLIENTS)
    model = learning.LogisticRegression(classes=list(train.classes), **train.facts)
    clients = [(train.rows[part], train.target[part]) for part in parts]
    federated.fit(model, clients, rounds=ROUNDS, epsilon=epsilon, delta=1e-5)
    return float((model.predict(test.rows) == test.target).mean())


if __name__ == "__main__":
    fitting.opened = unmasked
    for price in (1.0, 8.0):
        found = [accuracy(seed, price) for seed in range(1, 1 + int(sys.argv[1] if len(sys.argv) > 1 else "3"))]
        print(f"epsilon {price:g}: {np.mean(found):.4f} +- {np.std(found):.4f} ({len(found)} runs)", flush=True)
