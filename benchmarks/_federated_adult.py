"""Logistic regression on Adult split over 200 clients: accuracy at the level of a client, with noise and without masks;
beside it the model that a trusted curator fits, with a client's rows as one unit, at the same price.

    python benchmarks/_federated_adult.py [RUNS]        (with pandas: in the environment of `go.py test`)

Masks cancel exactly (tests/federated/test_aggregation.py), so that sums are opened here without them: a round of 200
clients would take seconds. Settings (norm 2, rate 1, 50 local steps, 8 rounds) were chosen on split 0 of this data set.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import polars as pl

import tacit
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


def central(seed: int, epsilon: float) -> float:
    split = split_of("adult", seed)
    train, test = banded(split.train), banded(split.test)
    parts = np.array_split(np.arange(len(train.rows)), CLIENTS)
    names = [f"c{place}" for place in range(train.rows.shape[1])]
    stated = [(train.bounds.get(name), train.values.get(name)) for name in train.columns]

    def framed(rows: Any) -> Any:
        kinds = [float if bounds is not None else str for bounds, _ in stated]
        return pl.DataFrame(
            {
                name: [kind(each) for each in rows[:, place]]
                for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
            }
        )

    owner = np.concatenate([np.full(len(part), place) for place, part in enumerate(parts)])
    said = [str(each) for each in train.target]
    frame = framed(train.rows).with_columns(pl.Series("client", owner), pl.Series("target", said))
    known: dict[str, Any] = {"target": tacit.one_of(*(str(each) for each in train.classes))}
    for name, (bounds, values) in zip(names, stated, strict=True):
        known[name] = (
            tacit.between(*bounds) if bounds is not None else tacit.one_of(*(str(each) for each in values or ()))
        )
    most = max(len(part) for part in parts)
    with tacit.protect(
        frame, unit="client", rows_per_unit=most, columns=known, budget=tacit.Budget(100, "1e-3")
    ) as curator:
        rows = curator.rows(f"SELECT {', '.join(names)}, target FROM data")
        model = learning.LogisticRegression(epsilon=epsilon, delta="1e-5").fit(rows, "target")
    told = model.predict(framed(test.rows).to_pandas())
    return float(np.mean([str(each) == str(true) for each, true in zip(told, test.target, strict=True)]))


if __name__ == "__main__":
    fitting.opened = unmasked
    seeds = range(1, 1 + int(sys.argv[1] if len(sys.argv) > 1 else "3"))
    for price in (1.0, 8.0):
        for name, way in (("clients", accuracy), ("trusted curator", central)):
            found = [way(seed, price) for seed in seeds]
            print(
                f"epsilon {price:g}, {name}: {np.mean(found):.4f} +- {np.std(found):.4f} ({len(found)} runs)",
                flush=True,
            )
