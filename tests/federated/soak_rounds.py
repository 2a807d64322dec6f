"""Many random schedules of secure aggregation: the sum is exact, or the round ends for a reason that is checked.

    python -m tests.federated.soak_rounds 10000 7        # how many, and a seed

The short form is `test_aggregation.py`. Needs some minutes for 10,000.
"""

from __future__ import annotations

import random
import sys

from tacit.federated.aggregation.server import Server
from tacit.federated.aggregation.simulate import STEPS, simulated
from tacit.federated.refusals import Ended
from tests.federated.test_aggregation import IDENTITIES, round_of


def one(drawn: random.Random) -> bool:
    """Whether a random round had a result; an assertion fails where it is not the exact sum."""
    clients = drawn.randint(3, 9)
    degree = drawn.choice([None, *range(2, clients, 2)])
    among = clients - 1 if degree is None else degree
    threshold = drawn.randint(among // 2 + 1, among)
    least = drawn.randint(threshold + 1, min(clients, threshold + 2))
    modulus = drawn.choice([2, 10, 2**16, 10**9 + 7, 2**32, 2**61 - 1, 2**64, 3**50])
    setup = round_of(clients, degree=degree, threshold=threshold, least=least, modulus=modulus, length=3)
    vectors = [[drawn.randrange(modulus) for _ in range(3)] for _ in range(clients)]
    leaves = [drawn.choice([0, 1, 2, 3, 4, 5, *[STEPS] * 40]) for _ in range(clients)]
    server = Server(setup, IDENTITIES[0])
    try:
        simulated(server, IDENTITIES[1 : clients + 1], vectors, lambda client, step: step < leaves[client])
    except Ended:
        assert server.total is None
        if degree is None:
            assert any(sum(step < leave for leave in leaves) < least for step in range(STEPS))
        return False
    assert server.total is not None
    columns = zip(*(vectors[client] for client in server.survivors), strict=True)
    assert [int(each) for each in server.total] == [sum(column) % modulus for column in columns]
    stayed = {client for client in range(clients) if leaves[client] > 3}
    assert server.survivors <= stayed
    assert degree is not None or server.survivors == stayed
    return True


def main(many: int, seed: int) -> None:
    drawn = random.Random(seed)
    results = sum(one(drawn) for _ in range(many))
    sys.stdout.write(
        f"{many} schedules, seed {seed}: {results} exact sums, {many - results} rounds ended; none wrong\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
