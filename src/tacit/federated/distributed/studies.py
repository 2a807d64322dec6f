"""Counts, histograms, means, quantiles and frequent texts over clients, in one process, by the code of a real round.

    federated.histogram(["tea", "coffee", ...], ("tea", "coffee", "water"), epsilon=1, delta=1e-6, vanish=5)

`values` has one value for each client. `comes` decides who comes to which step of the round; a round
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
from tacit.federated.jobs.job import Job
from tacit.federated.jobs.searches import FrequentTexts, Quantile
from tacit.parameters import Number

Comes = Callable[[int, int], bool]


def everybody(client: int, step: int) -> bool:
    """No client vanishes."""
    return True


def opened(asked: PrivateSum, values: Sequence[Any], name: str = "a round", comes: Comes = everybody) -> Finding:
    """One round with new identities, in this process."""
    server, clients = Identity(), [Identity() for _ in range(asked.clients)]
    setup = asked.setup(name, server.public, [each.public for each in clients])
    done = simulated(Server(setup, server), clients, [asked.vector(each) for each in values], comes)
    total = done.total
    return asked.finding([] if total is None else total.tolist(), len(done.survivors))


def count(values: Sequence[Any], *, epsilon: Number, delta: Number, comes: Comes = everybody, **terms: int) -> Finding:
    """How many clients say True.

    >>> found = count([True, False, True, True, False], epsilon=1, delta="1e-3")
    >>> found.clients
    5
    """
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
    """How many clients have each of the options.

    >>> found = histogram(["tea", "tea", "coffee", "tea", "tea"], ["tea", "coffee"], epsilon=1, delta="1e-3")
    >>> len(found.value)
    2
    """
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
    """The mean of one number of each client, clamped to the bounds.

    >>> found = mean([31, 40, 52, 18, 77], 0, 110, epsilon=1, delta="1e-3")
    >>> found.clients
    5
    """
    asked = PrivateSum(Average(low, high), len(values), epsilon=epsilon, delta=delta, **terms)
    return opened(asked, values, comes=comes)


def quantile(
    values: Sequence[Any],
    rank: float,
    low: float,
    high: float,
    *,
    epsilon: Number,
    delta: Number,
    halvings: int = 10,
    comes: Comes = everybody,
    **terms: int,
) -> dict[str, Any]:
    """The value below which a share `rank` of the clients' numbers lie, by halving the bounds: one round for each.

    >>> found = quantile([31, 40, 52, 18, 77], 0.5, 0, 110, halvings=2, epsilon=1, delta="1e-3")
    >>> found["clients"], 0 <= found["quantile"] <= 110
    (5, True)
    """
    asked = Quantile("", rank, low, high, halvings)
    owns = [asked.read({"": [str(each)]}) for each in values]
    return rounds_of(asked, owns, epsilon=epsilon, delta=delta, comes=comes, **terms)


def frequent_texts(
    values: Sequence[Any],
    alphabet: str,
    longest: int,
    *,
    epsilon: Number,
    delta: Number,
    keep: int = 8,
    comes: Comes = everybody,
    **terms: int,
) -> dict[str, Any]:
    """The texts that many clients have, without a list of them: one round for each character.

    >>> sorted(frequent_texts(["a"] * 5, "ab", 1, epsilon=1, delta="1e-3"))
    ['clients', 'deviation', 'texts']
    """
    asked = FrequentTexts("", alphabet, longest, keep)
    return rounds_of(asked, values, epsilon=epsilon, delta=delta, comes=comes, **terms)


def rounds_of(
    job: Job, owns: Sequence[Any], *, epsilon: Number, delta: Number, comes: Comes = everybody, **terms: int
) -> dict[str, Any]:
    """The result of a job, all of its rounds in this process; `owns` is what each client holds."""
    asked = PrivateSum(job.task, len(owns), epsilon=epsilon, delta=delta, rounds=job.rounds, **terms)
    state = job.begin()
    for number in range(job.rounds):
        found = opened(asked, [job.value(state, own) for own in owns], f"round {number + 1}", comes)
        state = job.after(state, found)
    return job.result(state)
