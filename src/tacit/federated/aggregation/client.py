"""A client of a round: it hides its vector under masks that cancel in the sum, and helps to undo those left over.

    client = Client(setup, number, identity, vector)
    message = client.begin()                      # to the server
    message = client.receive(answer)              # for each answer of the server: the next message, None at the end

What it sends, step by step, u being this client and N its neighbours:
    a mask key of this round, authenticated for each of N
    shares of its own secret b and of the mask key's secret half s, sealed for each of N that has a key
    that it sees who shared; and only after `threshold` of N confirmed the same set U2:
    y = vector + mask(b) + sum over v of N in U2 of (+ if u < v, else -) mask(s with v's key)
    that it sees who survived, U3; and only after `threshold` of N confirmed the same set:
    for each of N in U2 one share: of b if it survived, of s if it did not. Never both.
    With a share of s it sends the key of its mask with that client, which also follows from s. So the server needs s
    only for masks with neighbours that vanish later than this client.

Promise. A message that is refused (`Refused`) changes nothing. Everything before y is independent of the vector; y is
uniform for anyone who lacks b, or lacks the mask of one honest neighbour. What the server can learn is in `setup`.
Source: Bonawitz et al. 2017, with sets confirmed before the masked input too, so that all honest masks are of one set.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import Any

from tacit import parameters
from tacit.federated.aggregation.keys import KEY, TAG, Identity, derived, is_tag, sealed, tag, unsealed
from tacit.federated.aggregation.masks import Masked
from tacit.federated.aggregation.messages import SERVER, Kind, read, read_numbered, read_set, set_of, tagged
from tacit.federated.aggregation.setup import Setup
from tacit.federated.aggregation.sharing import PRIME, SHARE, split
from tacit.federated.refusals import Refused

SEALED = 2 * SHARE + 16


class Client:
    """One client in one round. Its messages are made once: `last` is the last one, to be sent again if it got lost.

    A client takes part in a round of one name once. If it did so again, even after a crash, a lying server could open
    two sums, one with it and one without it: `Odometer.enter` keeps a client from that.

    >>> from tacit import federated
    >>> server, keys = federated.new_round("a round", 5, modulus=100, length=1, threshold=3, least=4)
    >>> client = Client(server.setup, 0, keys[0], [7])
    >>> client.begin() == client.begin()  # a message that was lost can be sent again
    True
    """

    def __init__(self, setup: Setup, number: int, identity: Identity, vector: Iterable[Any]) -> None:
        if not 0 <= parameters.whole("number", number) < len(setup.clients):
            raise parameters.refuse("number", f"from 0 to {len(setup.clients) - 1}", number)
        if setup.clients[number] != identity.public:
            raise Refused("The identity is not the one that the round's description has for this client.")
        self.setup, self.number = setup, number
        self.last: bytes | None = None
        self._vector = setup.space.vector(vector)
        self._identity = identity
        self._neighbours = setup.neighbours(number)
        self._to_server = channel(setup, identity.known_with(setup.server), number, SERVER)
        self._steps: list[tuple[Kind, Callable[[bytes], bytes | None]]] = [
            (Kind.KEYS, self._keys),
            (Kind.SHARED, self._shared),
            (Kind.SHARED_BY_ALL, self._shared_by_all),
            (Kind.SURVIVED, self._survived),
            (Kind.SURVIVED_FOR_ALL, self._survived_for_all),
        ]

    def begin(self) -> bytes:
        """The first message; the same again if asked again."""
        if self.last is None:
            self._own, self._mask_key = secrets.token_bytes(KEY), Identity()
            public = self._mask_key.public
            self._with = {each: self._identity.known_with(self.setup.clients[each]) for each in self._neighbours}
            self._pair = {each: channel(self.setup, secret, self.number, each) for each, secret in self._with.items()}
            me, digest = self.number.to_bytes(4, "big"), self.setup.digest
            self._out = {each: digest + me + each.to_bytes(4, "big") for each in self._neighbours}  # what is said to it
            self._in = {each: digest + each.to_bytes(4, "big") + me for each in self._neighbours}
            tags = [tag(self._pair[each], b"key", self._out[each], public) for each in self._neighbours]
            self.last = self._message(Kind.ADVERTISE, public + b"".join(tags))
        return self.last

    def receive(self, message: bytes) -> bytes | None:
        """The answer to a message of the server; None after the last one."""
        if self.last is None or not self._steps:
            raise Refused("The message is out of order: this client has not begun, or has finished.")
        kind, answer = self._steps[0]
        body = read(message, kind, self.setup.digest, SERVER, self.number, self._to_server)
        made = answer(body)
        self._steps.pop(0)
        self.last = made or self.last
        return made

    @property
    def is_finished(self) -> bool:
        """Whether it has sent its last message."""
        return not self._steps

    # -- the answers: each reads all of a message before it changes anything -----------------------------------

    def _keys(self, body: bytes) -> bytes:
        """Neighbours' mask keys -> shares of the two secrets, sealed."""
        found = read_numbered(body, KEY + TAG, self._neighbours)
        if len(found) < self.setup.threshold:
            raise Refused(f"{len(found)} neighbours have keys; {self.setup.threshold} are needed.")
        keys = {each: entry[:KEY] for each, entry in found.items()}
        for each, entry in found.items():
            if not is_tag(entry[KEY:], self._pair[each], b"key", self._in[each], entry[:KEY]):
                raise Refused("A neighbour's key is not the one that it sent.")
        masks = {each: self._mask_key.with_other(key) for each, key in keys.items()}
        points = [each + 1 for each in keys]
        of_own, of_key = (
            split(int.from_bytes(each, "big"), self.setup.threshold, points)
            for each in (self._own, self._mask_key.secret)
        )
        self._peer_keys, self._mask_secrets = keys, masks
        out = [
            sealed(
                self._seal(each, self._out), one.to_bytes(SHARE, "big") + other.to_bytes(SHARE, "big"), self._out[each]
            )
            for each, one, other in zip(keys, of_own, of_key, strict=True)
        ]
        return self._message(Kind.SHARES, commitment(self.setup, self._own) + b"".join(out))

    def _shared(self, body: bytes) -> bytes:
        """Who shared, and what they sealed -> a confirmation of who shared."""
        many = len(self.setup.clients)
        size = (many + 7) // 8
        shared = read_set(body[:size], many)
        self._enough(shared)
        mine = [each for each in self._peer_keys if each in shared]
        if len(mine) != len(shared & set(self._neighbours)):
            raise Refused("A neighbour shared whose key this client was not shown.")
        texts = read_numbered(body[size:], SEALED, mine)
        if len(texts) != len(mine):
            raise Refused("What a neighbour sealed for this client is missing.")
        held: dict[int, tuple[bytes, bytes]] = {}
        for each, text in texts.items():
            opened = unsealed(self._seal(each, self._in), text, self._in[each])
            held[each] = opened[:SHARE], opened[SHARE:]
            if any(int.from_bytes(share, "big") >= PRIME for share in held[each]):
                raise Refused("A neighbour's share is not one.")
        self._in_shared, self._held = shared, held
        return self._message(Kind.SAW_SHARED, self._saw(b"shared", shared, held))

    def _shared_by_all(self, body: bytes) -> bytes:
        """The neighbours' confirmations -> the masked vector."""
        self._confirmed(body, b"shared", self._in_shared, self._held)
        space = self.setup.space
        total = Masked(space, self._vector)
        total.add(own_mask(self.setup, self._own), 1)
        self._with_masks = {
            each: pair_mask(self.setup, self._mask_secrets[each], self.number, each) for each in self._held
        }
        for each, key in self._with_masks.items():
            total.add(key, 1 if self.number < each else -1)
        self._vector = space.zeros()  # not needed any more
        return self._message(Kind.MASKED, space.encode(total.numbers))

    def _survived(self, body: bytes) -> bytes:
        """Who survived -> a confirmation of who survived."""
        survived = read_set(body, len(self.setup.clients))
        self._enough(survived)
        if not survived <= self._in_shared:
            raise Refused("Somebody survived who never shared.")
        self._in_survived = survived
        among = [each for each in self._held if each in survived]
        return self._message(Kind.SAW_SURVIVED, self._saw(b"survived", survived, among))

    def _survived_for_all(self, body: bytes) -> bytes:
        """The neighbours' confirmations -> a share for each of them that shared; the masks with those who vanished."""
        among = [each for each in self._held if each in self._in_survived]
        self._confirmed(body, b"survived", self._in_survived, among)
        shares = [held[0 if each in self._in_survived else 1] for each, held in sorted(self._held.items())]
        masks = [self._with_masks[each] for each in sorted(self._held) if each not in self._in_survived]
        self._held, self._own, self._with_masks = {}, b"", {}
        return self._message(Kind.REVEALED, b"".join([*shares, *masks]))

    # -- what answers share ------------------------------------------------------------------------------------

    def _enough(self, clients: frozenset[int]) -> None:
        if self.number not in clients or len(clients) < self.setup.least:
            raise Refused(f"Fewer than {self.setup.least} clients are left, or this one is not among them.")

    def _saw(self, what: bytes, clients: frozenset[int], among: Iterable[int]) -> bytes:
        text = set_of(clients, len(self.setup.clients))
        return b"".join([tag(self._pair[each], what, self._out[each], text) for each in sorted(among)])

    def _confirmed(self, body: bytes, what: bytes, clients: frozenset[int], among: Iterable[int]) -> None:
        text = set_of(clients, len(self.setup.clients))
        found = read_numbered(body, TAG, among)
        for each, said in found.items():
            if not is_tag(said, self._pair[each], what, self._in[each], text):
                raise Refused("A neighbour does not see the same clients as this one.")
        if len(found) < self.setup.threshold:
            raise Refused(f"{len(found)} neighbours confirmed; {self.setup.threshold} are needed.")

    def _seal(self, other: int, way: dict[int, bytes]) -> bytes:
        # the first secret stays secret if the second is revealed; the second is forgotten with the round
        return derived(self._with[other], b"tacit agg seal", self._mask_secrets[other], way[other])

    def _message(self, kind: Kind, body: bytes) -> bytes:
        return tagged(kind, self.setup.digest, self.number, SERVER, body, self._to_server)


def channel(setup: Setup, secret: bytes, one: int, other: int) -> bytes:
    """The key with which two parties authenticate their messages in this round."""
    pair = b"".join(each.to_bytes(4, "big") for each in sorted((one, other)))
    return derived(secret, b"tacit agg pair", setup.digest, pair)


def own_mask(setup: Setup, secret: bytes) -> bytes:
    """The key of a client's own mask."""
    return derived(secret, b"tacit agg own", setup.digest)


def pair_mask(setup: Setup, secret: bytes, one: int, other: int) -> bytes:
    """The key of the mask of two clients."""
    pair = b"".join(each.to_bytes(4, "big") for each in sorted((one, other)))
    return derived(secret, b"tacit agg mask", setup.digest, pair)


def commitment(setup: Setup, secret: bytes) -> bytes:
    """A hash that later shows whether a client's own secret was put together rightly, and says nothing of it before."""
    return derived(secret, b"tacit agg commit", setup.digest)
