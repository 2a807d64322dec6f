"""Counts, histograms and means over clients, in one process: the same code as apart, to see what it would give.

    federated.histogram(["tea", "coffee", ...], ("tea", "coffee", "water"), epsilon=1, delta=1e-6, vanish=5)

`values` has one value for each client. Who comes to which step of the round is decided by `comes`; a round
in which too many vanish ends (`Ended`), and nothing is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tacit.federated.aggregation.keys import Identity
from tacit.federated.aggregation.server import Server
from tacit.federated.aggregation.simulate import simulated
from tacit.federated.distributed.private_sum import Finding, PrivateSum
from tacit.federated.distributed.tasks import Average, Tally
from tacit.parameters import Number

Comes = Callable[[int, int], bool]


def everybody(client: int, step: int) -> bool:
    """Nobody vanishes."""
    return True


def opened(asked: PrivateSum, values: Sequence[Any], name: str = "a round", comes: Comes = everybody) -> Finding:
    """One round with new identities, in this process."""
    server, clients = Identity(), [Identity() for _ in range(asked.clients)]
    setup = asked.setup(name, server.public, [each.public for each in clients])
    done = simulated(Server(setup, server), clients, [asked.vector(each) for each in values], comes)
    total = done.total
    return asked.finding([] if total is None else total.tolist(), len(done.survivors))


def count(values: Sequence[Any], *, epsilon: Number, delta: Number, comes: Comes = everybody, **terms: int) -> Finding:
    """How many clients say True."""
    found = histogram(values, (True,), epsilon=epsilon, delta=delta, comes=comes, **terms)
    return Finding(found.value[True], found.deviation, found.clients)


def histogram(
    values: Sequence[Any],
    options: Sequence[Any],
    *,
    epsilon: Number,
    delta: Number,
    comes: Comes = everybody,
    **terms: int,
) -> Finding:
    """How many clients have each of the options."""
    asked = PrivateSum(Tally(tuple(options)), len(values), epsilon=epsilon, delta=delta, **terms)
    return opened(asked, values, comes=comes)


def mean(
    values: Sequence[Any],
    low: float,
    high: float,
    *,
    epsilon: Number,
    delta: Number,
    comes: Comes = everybody,
    **terms: int,
) -> Finding:
    """The mean of one number of each client, clamped to the bounds."""
    asked = PrivateSum(Average(low, high), len(values), epsilon=epsilon, delta=delta, **terms)
    return opened(asked, values, comes=comes)
