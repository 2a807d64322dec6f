"""Rounds of secure aggregation: any schedule of dropouts, any tampered message, and servers that lie."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.federated.aggregation.client import Client, own_mask
from tacit.federated.aggregation.keys import TAG, Identity
from tacit.federated.aggregation.messages import SERVER, Kind, read_set, set_of, tagged
from tacit.federated.aggregation.server import Server
from tacit.federated.aggregation.setup import Setup
from tacit.federated.aggregation.simulate import STEPS, new_round, simulated
from tacit.federated.refusals import Ended, Refused

SCHEDULES = int(os.environ.get("TACIT_SCHEDULES", "60"))
IDENTITIES = [Identity(bytes([number + 1]) * 32) for number in range(13)]


def round_of(clients: int, **numbers: Any) -> Setup:
    settings = {"modulus": 1000, "length": 4, "threshold": clients - 2, "least": clients - 1, **numbers}
    public = tuple(each.public for each in IDENTITIES[1 : clients + 1])
    return Setup("a round", IDENTITIES[0].public, public, **settings)


@settings(max_examples=SCHEDULES, deadline=None)
@given(st.data())
def test_the_sum_is_that_of_the_survivors_in_any_schedule_or_nothing_is_learned(data: st.DataObject) -> None:
    """Clients, degree, threshold, modulus and the step at which each client vanishes are drawn.

    TACIT_SCHEDULES=10000 for a soak.
    """
    clients = data.draw(st.integers(3, 9))
    degree = data.draw(st.sampled_from([None, *range(2, clients, 2)]))
    among = clients - 1 if degree is None else degree
    threshold = data.draw(st.integers(among // 2 + 1, among))
    least = data.draw(st.integers(threshold + 1, clients)) if threshold < clients else clients
    modulus = data.draw(st.sampled_from([2, 10, 2**16, 10**9 + 7, 2**32, 2**61 - 1, 2**64, 3**50]))
    setup = round_of(clients, degree=degree, threshold=threshold, least=least, modulus=modulus, length=3)
    vectors = [[data.draw(st.integers(0, modulus - 1)) for _ in range(3)] for _ in range(clients)]
    leaves = [data.draw(st.sampled_from([0, 1, 2, 3, 4, 5, *[STEPS] * 12])) for _ in range(clients)]
    server = Server(setup, IDENTITIES[0])
    try:
        simulated(server, IDENTITIES[1 : clients + 1], vectors, lambda c, step: step < leaves[c])
    except Ended:
        assert server.total is None
        if degree is None:  # with all pairs a round ends only if fewer than `least` come to some step
            assert any(sum(step < leave for leave in leaves) < least for step in range(STEPS))
        return
    assert server.total is not None
    assert [int(each) for each in server.total] == [
        sum(column) % modulus for column in zip(*(vectors[c] for c in server.survivors), strict=True)
    ]
    assert server.survivors <= {client for client in range(clients) if leaves[client] > 3}
    if degree is None:
        assert server.survivors == {client for client in range(clients) if leaves[client] > 3}


@pytest.mark.parametrize("seed", range(4))
def test_on_a_large_ring_any_neighbours_that_stay_undo_the_masks(seed: int) -> None:
    """60 clients with 16 neighbours each; some vanish before their vector, some after it, and some before they reveal.

    What the first of these left is told by neighbours; where such a neighbour is gone too, its secret is put together.
    """
    drawn = random.Random(seed)
    server, clients = new_round("ring", 60, modulus=2**32, length=2, threshold=9, least=40, degree=16)
    leaves = {client: drawn.choice([2, 3, 4, 5, 5]) for client in drawn.sample(range(60), 7)}
    vectors = [[drawn.randrange(2**32), client] for client in range(60)]
    done = simulated(server, clients, vectors, lambda client, step: step < leaves.get(client, STEPS))
    stayed = {client for client in range(60) if leaves.get(client, STEPS) > 3}
    assert done.survivors == stayed
    assert done.total is not None
    assert done.total.tolist() == [sum(vectors[client][place] for client in stayed) % 2**32 for place in (0, 1)]


def test_a_secret_is_put_together_where_nobody_is_left_to_tell_a_mask() -> None:
    """Client 0 vanishes before its vector, client 1 after its own: nobody tells the mask of these two."""
    server, clients = new_round("silent", 6, modulus=1000, length=1, threshold=3, least=4)
    leaves = {0: 3, 1: 5}
    done = simulated(server, clients, [[1], [10], [100], [0], [0], [500]], lambda c, step: step < leaves.get(c, STEPS))
    assert done.total is not None
    assert done.total.tolist() == [610]


class Stage:
    """A round that is halted before every message, to try others in its place."""

    def __init__(self, clients: int = 4, **numbers: Any) -> None:
        self.setup = round_of(clients, **numbers)
        self.vectors = [[number, 1, 2, 3] for number in range(clients)]
        self.clients = [Client(self.setup, c, IDENTITIES[c + 1], self.vectors[c]) for c in range(clients)]
        self.server = Server(self.setup, IDENTITIES[0])
        self.total = [sum(column) % self.setup.modulus for column in zip(*self.vectors, strict=True)]

    def run(self, try_at_server: Any, try_at_client: Any) -> None:
        messages: dict[int, bytes | None] = {c: each.begin() for c, each in enumerate(self.clients)}
        for _ in range(STEPS):
            for c, message in messages.items():
                assert message is not None
                try_at_server(c, message)
                self.server.receive(message)
                try_at_server(c, message)  # now it is a duplicate, or one that is over
            answers = self.server.close()
            messages = {}
            for c, answer in answers.items():
                try_at_client(c, answer)
                messages[c] = self.clients[c].receive(answer)
                try_at_client(c, answer)
        assert self.server.total is not None
        assert self.server.total.tolist() == self.total


def test_every_tampered_message_is_refused_and_the_round_goes_on() -> None:
    """More than two hundred messages: a flipped bit, cut, longer, sent twice, out of order, late, or of another round.

    At every step and in both directions; nothing is lost: the right message is taken, and the sum is right.
    """
    drawn, tried, earlier = random.Random(1), 0, list[bytes]()
    stage = Stage()
    other = Stage(length=4, modulus=999)
    strangers = [each.begin() for each in other.clients]

    def changed(message: bytes) -> list[bytes]:
        place = drawn.randrange(len(message))
        flipped = message[:place] + bytes([message[place] ^ 1 << drawn.randrange(8)]) + message[place + 1 :]
        return [
            flipped,
            message[:-1],
            message + b"\0",
            b"",
            *drawn.sample(earlier, min(3, len(earlier))),
            *strangers[:1],
        ]

    def refused(take: Any, message: bytes, *, with_itself: bool) -> None:
        nonlocal tried
        for each in changed(message) + ([message] if with_itself else []):
            with pytest.raises(Refused):
                take(each)
            tried += 1

    def at_server(client: int, message: bytes) -> None:
        refused(stage.server.receive, message, with_itself=message in earlier)
        earlier.append(message)

    def at_client(client: int, message: bytes) -> None:
        refused(stage.clients[client].receive, message, with_itself=message in earlier)
        earlier.append(message)

    stage.run(at_server, at_client)
    assert tried >= 200
    with pytest.raises(Refused, match="round is over"):
        stage.server.receive(earlier[0])
    with pytest.raises(Refused, match="round is over"):
        stage.server.close()


def test_every_single_bit_of_a_message_counts() -> None:
    stage = Stage(3, threshold=2, least=3)
    message = stage.clients[0].begin()
    for place, bit in itertools.product(range(len(message)), range(8)):
        flipped = message[:place] + bytes([message[place] ^ 1 << bit]) + message[place + 1 :]
        with pytest.raises(Refused):
            stage.server.receive(flipped)
    stage.server.receive(message)


class Liar(Server):
    """A server that knows all keys of its channels, and so can write what it likes to a client."""

    def say(self, kind: Kind, client: int, body: bytes) -> bytes:
        return tagged(kind, self.setup.digest, SERVER, client, body, self._channel(client))


def at_step(setup: Setup, step: int) -> tuple[Liar, list[Client], dict[int, bytes]]:
    """A round just before clients get the server's answer of a step."""
    clients = [Client(setup, c, IDENTITIES[c + 1], [c] * setup.length) for c in range(len(setup.clients))]
    server = Liar(setup, IDENTITIES[0])
    messages: dict[int, bytes | None] = {c: each.begin() for c, each in enumerate(clients)}
    for number in range(step + 1):
        for message in messages.values():
            assert message is not None
            server.receive(message)
        answers = server.close()
        if number < step:
            messages = {c: clients[c].receive(answer) for c, answer in answers.items()}
    return server, clients, answers


def body_of(message: bytes) -> bytes:
    return message[35:-TAG]


def test_a_server_that_swaps_a_mask_key_is_refused() -> None:
    setup = round_of(5)
    server, clients, answers = at_step(setup, 0)
    body = bytearray(body_of(answers[0]))
    body[4:36] = Identity().public
    with pytest.raises(Refused, match="not the one that it sent"):
        clients[0].receive(server.say(Kind.KEYS, 0, bytes(body)))
    with pytest.raises(Refused, match="neighbours have keys"):
        clients[0].receive(server.say(Kind.KEYS, 0, bytes(body[:52])))
    assert clients[0].receive(answers[0])


def test_a_server_that_shows_different_sets_to_different_clients_gets_no_masked_input() -> None:
    setup = round_of(6, threshold=4, least=5)
    server, clients, answers = at_step(setup, 1)
    whole = body_of(answers[0])
    fewer = set_of({0, 1, 2, 3, 4}, 6) + whole[1:][: 4 * (4 + 82)]  # client 5 is left out for client 0 alone
    saw = {0: clients[0].receive(server.say(Kind.SHARED, 0, fewer))}
    saw |= {c: clients[c].receive(answers[c]) for c in range(1, 6)}
    server.receive(saw[1] or b"")
    for c in range(2, 6):
        server.receive(saw[c] or b"")
    confirmed = server.close()
    for c in range(2, 6):  # the others have four neighbours who see the same: they go on
        assert clients[c].receive(confirmed[c])
    tags = {c: body_of(saw[c] or b"")[:TAG] for c in range(1, 5)}  # each neighbour's tag for client 0 comes first
    lie = b"".join(c.to_bytes(4, "big") + said for c, said in tags.items())
    with pytest.raises(Refused, match="does not see the same"):
        clients[0].receive(server.say(Kind.SHARED_BY_ALL, 0, lie))
    with pytest.raises(Refused, match="0 neighbours confirmed"):
        clients[0].receive(server.say(Kind.SHARED_BY_ALL, 0, b""))


def test_a_server_that_wants_both_secrets_of_a_client_gets_one() -> None:
    """It tells half of the clients that client 5 survived and the other half that it did not."""
    setup = round_of(6, threshold=4, least=5)
    assert setup.lying == 3
    server, clients, _ = at_step(setup, 3)
    everyone, without = set_of(range(6), 6), set_of(range(5), 6)
    saw = {c: clients[c].receive(server.say(Kind.SURVIVED, c, everyone if c < 3 else without)) for c in range(5)}
    around = {c: [n for n in range(6) if n != c and (c < 3 or n != 5)] for c in range(5)}
    for c in range(5):
        tags = {}
        for other in around[c]:
            if other != 5:
                said = body_of(saw[other] or b"")
                place = around[other].index(c)
                tags[other] = said[place * TAG : (place + 1) * TAG]
        lie = b"".join(n.to_bytes(4, "big") + said for n, said in sorted(tags.items()))
        with pytest.raises(Refused, match="does not see the same"):
            clients[c].receive(server.say(Kind.SURVIVED_FOR_ALL, c, lie))
        own = [n for n in tags if (n < 3) == (c < 3)]  # only those who were told the same lie
        half = b"".join(n.to_bytes(4, "big") + tags[n] for n in own)
        with pytest.raises(Refused, match="neighbours confirmed; 4 are needed"):
            clients[c].receive(server.say(Kind.SURVIVED_FOR_ALL, c, half))


def test_a_server_that_leaves_too_few_survivors_gets_no_shares() -> None:
    setup = round_of(6, threshold=4, least=5)
    server, clients, _ = at_step(setup, 3)
    for wrong in ({0, 1, 2, 3}, {1, 2, 3, 4, 5}):
        with pytest.raises(Refused, match="Fewer than 5 clients are left, or this one is not among them"):
            clients[0].receive(server.say(Kind.SURVIVED, 0, set_of(wrong, 6)))
    with pytest.raises(Refused, match="not one of this round"):
        clients[0].receive(server.say(Kind.SURVIVED, 0, b"\xff"))


def test_a_client_says_one_thing_of_each_neighbour_and_then_nothing() -> None:
    setup = round_of(4)
    _, clients, answers = at_step(setup, 4)
    revealed = clients[0].receive(answers[0])
    assert revealed is not None
    assert len(body_of(revealed)) == 3 * 33
    assert clients[0].is_finished
    with pytest.raises(Refused, match="out of order"):
        clients[0].receive(answers[0])
    assert clients[0].last == revealed


def test_masks_are_told_with_those_alone_who_vanished_before_their_vector() -> None:
    """Of the others the mask stays unknown: with their own mask it hides them until the sum."""
    setup = round_of(5, threshold=3, least=4)
    server, clients, answers = at_step(setup, 2)
    masked = {c: clients[c].receive(answer) or b"" for c, answer in answers.items()}
    for c in (0, 1, 2, 3):
        server.receive(masked[c])
    saw = {c: clients[c].receive(answer) or b"" for c, answer in server.close().items()}
    for message in saw.values():
        server.receive(message)
    for c, answer in server.close().items():
        keys = dict(clients[c]._with_masks)
        body = body_of(clients[c].receive(answer) or b"")
        assert body[4 * 33 :] == keys.pop(4)
        assert not any(key in body for key in keys.values())


def test_a_share_that_does_not_fit_ends_the_round() -> None:
    setup = round_of(4, threshold=3, least=4)
    server, clients, answers = at_step(setup, 4)
    for c, answer in answers.items():
        message = clients[c].receive(answer) or b""
        if c == 0:
            spoilt = bytes([0]) + bytes(32) + body_of(message)[33:]
            message = tagged(Kind.REVEALED, setup.digest, 0, SERVER, spoilt, server._channel(0))
        server.receive(message)
    with pytest.raises(Ended, match="do not fit together"):
        server.close()
    assert server.total is None


def test_a_round_with_too_few_ends_and_says_so() -> None:
    server, clients = new_round("few", 5, modulus=10, length=1, threshold=3, least=4)
    with pytest.raises(Ended, match=r"3 clients are left; 4 are needed.*Nothing was learned"):
        simulated(server, clients, [[1]] * 5, lambda client, step: step < 3 or client < 3)
    assert server.total is None
    assert server.waiting_for == frozenset()


def test_only_the_right_identities_take_part() -> None:
    setup = round_of(4)
    with pytest.raises(Refused, match="not the one"):
        Client(setup, 0, IDENTITIES[2], [0] * 4)
    with pytest.raises(Refused, match="not the one"):
        Server(setup, IDENTITIES[1])
    with pytest.raises(ParameterError):
        Client(setup, 4, IDENTITIES[1], [0] * 4)
    with pytest.raises(Refused, match="public key"):
        IDENTITIES[0].with_other(bytes(32))
    assert IDENTITIES[1].secret.hex() not in repr(IDENTITIES[1])


def test_a_description_stands_for_the_whole_round() -> None:
    setup = round_of(6, degree=4, threshold=3, least=5)
    again = Setup.from_json(setup.to_json())
    assert (again, again.digest) == (setup, setup.digest)


@pytest.mark.parametrize(
    "wrong",
    [{"threshold": 2}, {"threshold": 6}, {"least": 4, "threshold": 4}, {"least": 7}, {"modulus": 1}, {"length": 0},
     {"degree": 3}, {"degree": 8}, {"modulus": 1 << 5000}],
)  # fmt: skip
def test_numbers_that_protect_nobody_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ParameterError):
        round_of(6, **({"threshold": 4, "least": 5} | wrong))


def test_neighbours_are_mutual_and_as_many_as_said() -> None:
    setup = round_of(11, degree=4, threshold=3, least=8)
    around = {c: setup.neighbours(c) for c in range(11)}
    assert all(len(near) == 4 and c not in near for c, near in around.items())
    assert all(c in around[other] for c, near in around.items() for other in near)
    assert around != {c: round_of(11, degree=4, threshold=3, least=9).neighbours(c) for c in range(11)}


def test_the_chance_of_a_bad_graph_is_bounded_above_what_happens() -> None:
    """2,000 shuffled rings of 30 clients: how often 9 colluders are t of somebody's 8 neighbours, against the bound."""
    setup = round_of(11, degree=8, threshold=5, least=8)
    assert setup.chance(0, 0) == 0
    assert 0 < setup.chance(2, 1) <= setup.chance(4, 2) <= 1
    keys = tuple(bytes([number]) * 32 for number in range(1, 31))
    large = Setup("x", bytes(31) + b"\1", keys, 10, 1, 7, 20, 8)
    drawn, bad, many = random.Random(3), 0, 2000
    for _ in range(many):
        ring = drawn.sample(range(30), 30)
        near = [[ring[(place + step) % 30] for step in (-4, -3, -2, -1, 1, 2, 3, 4)] for place in range(30)]
        bad += any(sum(each < 9 for each in neighbours) >= 7 for neighbours in near)
    assert bad / many <= large.chance(9, 0)


def test_how_many_may_collude_is_said() -> None:
    assert (round_of(10, threshold=7, least=8).curious, round_of(10, threshold=7, least=8).lying) == (6, 5)
    assert round_of(10, threshold=5, least=8).lying == 1
    assert round_of(7, threshold=6, least=7, degree=6).lying is None
    assert round_of(5, threshold=4, least=5).chance(4, 0) == 1


def test_sets_of_clients_are_bits() -> None:
    assert read_set(set_of({0, 9}, 10), 10) == {0, 9}
    with pytest.raises(Refused):
        read_set(b"\xff\xff", 10)


def test_masked_inputs_of_two_rounds_share_nothing() -> None:
    """The same vectors twice: identities are the same, and everything that is sent is new."""
    sent: list[set[bytes]] = []
    for _ in range(2):
        stage, seen = Stage(), set[bytes]()
        stage.run(lambda c, message, seen=seen: seen.add(message), lambda c, message: None)
        sent.append({each for each in seen if each[10] in (Kind.ADVERTISE, Kind.SHARES, Kind.MASKED)})
    assert not sent[0] & sent[1]
    assert len(sent[0]) == 12


def test_vectors_may_be_arrays() -> None:
    server, clients = new_round("arrays", 3, modulus=2**32, length=100, threshold=2, least=3)
    vectors = np.arange(300, dtype=np.int64).reshape(3, 100) - 150
    done = simulated(server, clients, list(vectors))
    assert done.total is not None
    assert done.total.tolist() == (vectors.sum(axis=0) % 2**32).tolist()


def test_clients_with_different_descriptions_do_not_understand_each_other() -> None:
    """The server shows half of the clients another threshold, modulus or graph: nobody goes on."""
    for changed in ({"least": 6}, {"modulus": 999}, {"degree": 4, "threshold": 3}):
        one, other = round_of(6, threshold=4, least=5), round_of(6, **({"threshold": 4, "least": 5} | changed))
        liars = [Liar(setup, IDENTITIES[0]) for setup in (one, other)]
        clients = [Client(one if c < 3 else other, c, IDENTITIES[c + 1], [c] * 4) for c in range(6)]
        said = {c: each.begin() for c, each in enumerate(clients)}
        for c, client in enumerate(clients):
            near = [n for n in client._neighbours if n != c]
            keys = []
            for n in near:
                body = body_of(said[n])
                among = clients[n]._neighbours
                tags = body[32:]
                place = TAG * among.index(c) if c in among else 0
                keys.append(n.to_bytes(4, "big") + body[:32] + tags[place : place + TAG])
            with pytest.raises(Refused, match="not the one that it sent"):
                client.receive(liars[0 if c < 3 else 1].say(Kind.KEYS, c, b"".join(keys)))
            own = [entry for n, entry in zip(near, keys, strict=True) if (n < 3) == (c < 3)]
            with pytest.raises(Refused, match="neighbours have keys"):
                client.receive(liars[0 if c < 3 else 1].say(Kind.KEYS, c, b"".join(own)))


def test_a_client_that_is_said_to_be_gone_keeps_its_own_mask() -> None:
    """The server has the vector of client 5 and says that it vanished: it gets every mask of pairs, and not the other.

    What is left is the vector under the client's own mask, of whose key nobody told a share.
    """
    setup = round_of(6, threshold=4, least=5, modulus=2**32)
    server, clients, answers = at_step(setup, 2)
    masked = {c: clients[c].receive(answer) or b"" for c, answer in answers.items()}
    secret = clients[5]._own
    shares = {c: clients[c]._held[5] for c in range(5)}
    for c in range(5):
        server.receive(masked[c])
    saw = {c: clients[c].receive(answer) or b"" for c, answer in server.close().items()}
    for message in saw.values():
        server.receive(message)
    revealed = {c: body_of(clients[c].receive(answer) or b"") for c, answer in server.close().items()}
    space = setup.space
    left = space.decode(body_of(masked[5]))
    for c, body in revealed.items():
        assert shares[c][1] in body  # of the mask key's secret half
        assert shares[c][0] not in body  # of its own secret
        left = space.add(left, space.mask(body[-32:]), -1 if c > 5 else 1)
    assert left.tolist() != [5] * 4
    left = space.add(left, space.mask(own_mask(setup, secret)), -1)
    assert left.tolist() == [5] * 4


def test_a_client_that_forgot_a_round_is_not_led_through_it_again_with_old_messages() -> None:
    """Its record was restored from an old copy: it enters again, and the server repeats what others said before."""
    setup = round_of(5, threshold=3, least=4)
    server, clients, keys = at_step(setup, 0)
    again = Client(setup, 0, IDENTITIES[1], [7] * 4)
    again.begin()
    shares = {c: each.receive(keys[c]) for c, each in enumerate(clients)}
    assert again.receive(keys[0])  # keys of this round are known, and true
    for message in shares.values():
        server.receive(message or b"")
    with pytest.raises(Refused, match="not the one that was sent to this client"):
        again.receive(server.close()[0])  # what others sealed is sealed for the key that it has forgotten


@pytest.mark.parametrize("modulus", [1000, 2**32, 3**50])
def test_a_vector_that_is_none_is_refused_and_leaves_no_trace_in_the_sum(modulus: int) -> None:
    """A client that knows its channel sends a vector that is too long, too short, or not below the modulus."""
    setup = round_of(4, modulus=modulus)
    server, clients, answers = at_step(setup, 2)
    masked = {c: clients[c].receive(answer) or b"" for c, answer in answers.items()}
    body, size = body_of(masked[0]), setup.space.size
    wrong = [body + bytes(size), body[:-size], body[:-1], b""]
    if modulus < 1 << 8 * size:
        wrong.append(b"\xff" * size + body[size:])
    for each in wrong:
        with pytest.raises(Refused):
            server.receive(tagged(Kind.MASKED, setup.digest, 0, SERVER, each, server._channel(0)))
    for message in masked.values():
        server.receive(message)
        with pytest.raises(Refused, match="already"):
            server.receive(message)
    for _ in range(3):
        said = {c: clients[c].receive(answer) for c, answer in server.close().items()}
        for message in said.values():
            if message is not None:
                server.receive(message)
    assert server.total is not None
    assert [int(each) for each in server.total] == [sum(range(4)) % modulus] * 4


def test_a_key_is_on_the_list_once() -> None:
    keys = [each.public for each in IDENTITIES[:5]]
    numbers = {"modulus": 10, "length": 1, "threshold": 3, "least": 4}
    Setup("x", keys[0], tuple(keys[1:]), **numbers)
    for listed in ((keys[1], keys[2], keys[3], keys[1]), (keys[0], *keys[2:])):  # twice, and the server's own
        with pytest.raises(ParameterError):
            Setup("x", keys[0], listed, **numbers)
