"""A round of many clients in one process, with the code that runs apart: what it takes, and what is found.

    python benchmarks/_federated_simulated.py [CLIENTS] [DEGREE]

One client in a hundred vanishes, each at a step of its own, of two that may; a histogram of three answers at epsilon 1.
The graph is so dense that it is a bad one with a probability below 1e-9, or the terms are refused.
"""

from __future__ import annotations

import random
import sys
import time

from tacit import federated


def main(clients: int, degree: int) -> None:
    drawn = random.Random(3)
    values = drawn.choices(("tea", "coffee", "water"), (5, 3, 2), k=clients)
    leaves = {client: drawn.randrange(1, 6) for client in drawn.sample(range(clients), clients // 100)}
    began, cpu = time.monotonic(), time.process_time()
    found = federated.histogram(
        values,
        ("tea", "coffee", "water"),
        epsilon=1,
        delta=1e-6,
        vanish=clients // 50,
        collude=clients // 100,
        degree=degree,
        comes=lambda client, step: step < leaves.get(client, 6),
    )
    counted = [client for client in range(clients) if leaves.get(client, 6) > 3]
    exact = {name: sum(values[client] == name for client in counted) for name in ("tea", "coffee", "water")}
    off = max(abs(found.value[name] - exact[name]) for name in exact) / found.deviation
    spent = time.process_time() - cpu
    print(
        f"{clients:,} clients of {degree} neighbours, {clients // 100:,} gone: {time.monotonic() - began:.0f} s "
        f"({spent:.0f} s of CPU, {1000 * spent / clients:.1f} ms a client with its share of the server); "
        f"{found.clients:,} counted of {len(counted):,} who sent; counts are off by at most {off:.1f} deviations"
    )
    assert found.clients == len(counted)
    assert off < 6


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, int(sys.argv[2]) if len(sys.argv) > 2 else 40)
