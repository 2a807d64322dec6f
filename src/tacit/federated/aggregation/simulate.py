"""A whole round in one process, with the code of a real one: the caller chooses who comes to which step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tacit.federated.aggregation.client import Client
from tacit.federated.aggregation.keys import Identity
from tacit.federated.aggregation.server import Server
from tacit.federated.aggregation.setup import Setup
from tacit.federated.refusals import Refused

STEPS = 6
"""How many messages a client sends in a round."""


def new_round(name: str, clients: int, **numbers: Any) -> tuple[Server, list[Identity]]:
    """A server with its description, and new identities of this many clients.

    >>> server, keys = new_round("a round", 5, modulus=100, length=1, threshold=3, least=4)
    >>> len(keys)
    5
    """
    server, all_clients = Identity(), [Identity() for _ in range(clients)]
    setup = Setup(name, server.public, tuple(each.public for each in all_clients), **numbers)
    return Server(setup, server), all_clients


def simulated(
    server: Server,
    clients: Sequence[Identity],
    vectors: Sequence[Iterable[Any]],
    comes: Callable[[int, int], bool] = lambda client, step: True,
) -> Server:
    """The server after a round. `comes(client, step)`: whether a client's message of this step, from 0, arrives.

    A client that refuses to go on vanishes. A round that ends without a result is an error (`Ended`).

    >>> server, keys = new_round("a round", 5, modulus=100, length=1, threshold=3, least=4)
    >>> found = simulated(server, keys, [[1], [2], [3], [4], [50]], comes=lambda client, step: client < 4)
    >>> found.total.tolist()  # of those who stayed
    [10]
    """
    parties = [Client(server.setup, number, identity, vectors[number]) for number, identity in enumerate(clients)]
    messages: dict[int, bytes | None] = {number: each.begin() for number, each in enumerate(parties)}
    for step in range(STEPS):
        for number, message in messages.items():
            if message is not None and comes(number, step):
                server.receive(message)
        messages = {number: _answer(parties[number], said) for number, said in server.close().items()}
    return server


def _answer(client: Client, message: bytes) -> bytes | None:
    try:
        return client.receive(message)
    except Refused:
        return None
