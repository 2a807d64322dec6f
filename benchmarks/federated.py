"""What leaving the trusted curator costs in CPU time: reports split between servers, and secure aggregation.

Bars. Histogram of length 100: client 50 ms, 50 reports/s for each core and server. Aggregation of 10,000 numbers.
100 clients, all pairs, 10 dropouts: client 20 ms, server 150 ms; 1,000 clients, degree 40, 100 dropouts: client 10 ms,
server 600 ms; at least five times less than Flower's SecAgg+ (`_federated_flower.py`, in an environment of its own).
All in CPU time of one thread, which a busy machine makes longer. Needs the extra `tacit[federated]`.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tacit.federated import Histogram, Identity, Setup, SumVec
from tacit.federated.aggregation.client import Client
from tacit.federated.aggregation.server import Server
from tacit.federated.prio.circuits import Circuit, Count, Sum
from tacit.federated.prio.prio3 import Prio3

LENGTH = 10_000
DROPS_AT = 3  # the step of the masked vector
ROUNDS = 5
FLOWER = Path(__file__).resolve().parents[1] / ".venv-flower" / "bin" / "python"


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    made = work()
    return 1000 * (time.process_time() - started), made


def middle(work: Callable[[], Any], runs: int) -> float:
    return median(cpu(work)[0] for _ in range(runs))


def report(circuit: Circuit, measurement: Any, runs: int) -> tuple[float, float, float]:
    """Milliseconds of a client, of the first server and of another one, for one report between two servers."""
    scheme, key, context = Prio3(circuit, 2), os.urandom(32), b"bench"
    nonce, random = os.urandom(16), os.urandom(scheme.random)
    client = middle(lambda: scheme.sharded(context, measurement, nonce, random), runs)
    made = scheme.sharded(context, measurement, nonce, random)

    def check(place: int) -> bytes:
        return scheme.checked(key, context, place, nonce, made.public, made.parts[place])[1]

    shares = [check(place) for place in (0, 1)]
    agree = middle(lambda: scheme.agreed(context, shares), runs)
    first, other = (middle(lambda place=place: check(place), runs) + agree for place in (0, 1))
    return client, first, other


def aggregation(clients: int, drops: int, **numbers: Any) -> tuple[float, float]:
    """Milliseconds of the median surviving client and of the server in one round."""
    server_key, keys = Identity(), [Identity() for _ in range(clients)]
    public = tuple(each.public for each in keys)
    setup = Setup("bench", server_key.public, public, modulus=2**32, length=LENGTH, **numbers)
    _ = setup.digest, setup.neighbours(0)  # what is the same for all rounds of a list of keys
    vectors = np.random.default_rng(0).integers(0, 1000, size=(clients, LENGTH))
    spent, at_server = np.zeros(clients), 0.0
    parties, messages = [], {}
    for number, key in enumerate(keys):
        spent[number], party = cpu(lambda number=number, key=key: Client(setup, number, key, vectors[number]))
        parties.append(party)
        took, messages[number] = cpu(party.begin)
        spent[number] += took
    server = Server(setup, server_key)
    for step in range(6):
        coming = [message for number, message in messages.items() if step < DROPS_AT or number >= drops]

        def take(coming: list[bytes] = coming) -> dict[int, bytes]:
            for message in coming:
                server.receive(message)
            return server.close()

        took, answers = cpu(take)
        at_server += took
        messages = {}
        for number, answer in answers.items():
            took, messages[number] = cpu(lambda number=number, answer=answer: parties[number].receive(answer))
            spent[number] += took
    assert server.total is not None
    assert (server.total == vectors[drops:].sum(axis=0)).all()
    return float(np.median(spent[drops:])), at_server


def rounds(clients: int, drops: int, **numbers: Any) -> tuple[str, str]:
    """The same for several rounds: the median, and the least and the most."""
    found = [aggregation(clients, drops, **numbers) for _ in range(ROUNDS)]

    def told(each: tuple[float, ...]) -> str:
        return f"{median(each):.1f} ({min(each):.1f}-{max(each):.1f})"

    clients_took, servers_took = zip(*found, strict=True)
    return told(clients_took), told(servers_took)


def flower(client: float, server: float) -> str:
    """The same round by Flower, which takes minutes where there are a hundred clients."""
    if not FLOWER.exists():
        return "Flower is not installed."
    script = Path(__file__).with_name("_federated_flower.py")
    numbers = ["40", "40", "27", "4", str(LENGTH)]
    found = subprocess.run([str(FLOWER), str(script), *numbers], capture_output=True, text=True, check=True)
    spent = json.loads(found.stdout.splitlines()[-1])
    times = f"{spent['client'] / client:.0f} and {spent['server'] / server:.0f} times as much (bar 5)"
    return f"Flower's SecAgg+ {spent['client']:.0f} ms and {spent['server']:,.0f} ms, {times}."


def main() -> str:
    lines = ["## Federated", "", "CPU time of one thread. Two servers; medians of 30 reports.", ""]
    lines += ["| report | client | first server | other server | reports/s, slower server |", "|---|---|---|---|---|"]
    cases: list[tuple[str, Circuit, Any]] = [
        ("Count", Count(), 1),
        ("Sum(255)", Sum(255), 100),
        ("Histogram(100), bars 50 ms and 50/s", Histogram(100), 37),
        ("SumVec(100, 255)", SumVec(100, 255), [7] * 100),
        ("SumVec(100, 255, small=True)", SumVec(100, 255, small=True), [7] * 100),
    ]
    for name, circuit, measurement in cases:
        client, first, other = report(circuit, measurement, 30)
        lines.append(
            f"| {name} | {client:.2f} ms | {first:.2f} ms | {other:.2f} ms | {1000 / max(first, other):,.0f} |"
        )
    lines += ["", f"Secure aggregation of {LENGTH:,} numbers modulo 2**32, all steps of a round; {ROUNDS} rounds.", ""]
    lines += ["| clients | neighbours | dropouts | client | bar | server | bar |", "|---|---|---|---|---|---|---|"]
    client, server = rounds(100, 10, threshold=67, least=68)
    lines.append(f"| 100 | all | 10 | {client} ms | 20 | {server} ms | 150 |")
    client, server = rounds(1000, 100, threshold=27, least=600, degree=40)
    lines.append(f"| 1,000 | 40 | 100 | {client} ms | 10 | {server} ms | 600 |")
    own, theirs = aggregation(40, 4, threshold=27, least=28)
    lines += [
        "",
        f"40 clients, all pairs, 4 dropouts: client {own:.1f} ms, server {theirs:.0f} ms; {flower(own, theirs)}",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
