"""The server of a round: it passes messages on, waits for those who come, and learns the sum of those who survived.

    server = Server(setup, identity)
    server.receive(message)           # from any client; refused unless it is the one that is expected of it now
    answers = server.close()          # stops waiting for others: {client: message}
    server.close()                    # after the last step: `server.total` is the sum, `server.survivors` who is in it

Promise. A message that is out of order, from another round, altered, sent twice or late is refused (`Refused`) and
nothing changes. Where fewer than `least` are left, or a secret cannot be put together, the round ends (`Ended`): no
client reveals anything after that, and what the server has is uniform. The sum is exact, modulo the modulus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from tacit.federated.aggregation.client import SEALED, channel, commitment, own_mask, pair_mask
from tacit.federated.aggregation.keys import KEY, TAG, Identity
from tacit.federated.aggregation.masks import Masked, Numbers
from tacit.federated.aggregation.messages import SERVER, Kind, number, read, sender_of, set_of, tagged, whole
from tacit.federated.aggregation.setup import Setup
from tacit.federated.aggregation.sharing import SHARE, Holders
from tacit.federated.refusals import Ended, Refused


class Server:
    """The server in one round.

    >>> from tacit import federated
    >>> server, keys = federated.new_round("a round", 5, modulus=100, length=1, threshold=3, least=4)
    >>> federated.simulated(server, keys, [[1], [2], [3], [4], [5]]).total.tolist()
    [15]
    """

    def __init__(self, setup: Setup, identity: Identity) -> None:
        if setup.server != identity.public:
            raise Refused("The identity is not the one that the round's description has for its server.")
        self.setup = setup
        self.total: Numbers | None = None
        self.survivors: frozenset[int] = frozenset()
        self._identity, self._channels = identity, dict[int, bytes]()
        self._neighbours = dict[int, tuple[int, ...]]()
        self._expected = frozenset(range(len(setup.clients)))  # from these clients a message of this step may come
        self._said: dict[int, bytes] = {}
        self._sum = setup.space.zeros()  # of the masked inputs that came
        self._steps: list[tuple[Kind, Callable[[int, bytes], bytes], Callable[[], dict[int, bytes]]]] = [
            (Kind.ADVERTISE, self._read_advertised, self._advertised),
            (Kind.SHARES, self._read_shares, self._shared),
            (Kind.SAW_SHARED, self._read_saw_shared, self._saw_shared),
            (Kind.MASKED, self._read_masked, self._masked),
            (Kind.SAW_SURVIVED, self._read_saw_survived, self._saw_survived),
            (Kind.REVEALED, self._read_revealed, self._revealed),
        ]

    @property
    def waiting_for(self) -> frozenset[int]:
        """The clients whose messages of this step are still missing."""
        return self._expected - set(self._said) if self._steps else frozenset()

    def receive(self, message: bytes) -> None:
        """Take a client's message of this step."""
        if not self._steps:
            raise Refused("The round is over.")
        sender = sender_of(message)
        if sender not in self._expected:
            raise Refused("Nothing is expected of this sender: it is no client of the round, or came too late before.")
        kind, reader, _ = self._steps[0]
        body = read(message, kind, self.setup.digest, sender, SERVER, self._channel(sender))
        if sender in self._said:
            raise Refused("The message is here already.")
        self._said[sender] = reader(sender, body)

    def close(self) -> dict[int, bytes]:
        """End a step with those who came: what to send to each of them. Empty after the last step."""
        if not self._steps:
            raise Refused("The round is over.")
        if len(self._said) < self.setup.least:
            raise self._ended(f"{len(self._said)} clients are left; {self.setup.least} are needed")
        self._expected = frozenset(self._said)
        bodies = self._steps[0][2]()
        self._said = {}
        if not self._steps:
            return {}
        kind = Kind(self._steps.pop(0)[0] + 1)
        return {each: self._message(kind, each, body) for each, body in sorted(bodies.items())}

    # -- the steps ---------------------------------------------------------------------------------------------

    def _read_advertised(self, sender: int, body: bytes) -> bytes:
        return whole(body, TAG, len(self._around(sender)), KEY)

    def _advertised(self) -> dict[int, bytes]:
        self._keys = {each: said[:KEY] for each, said in self._said.items()}
        around = {each: self._around(each) for each in self._said}
        self._with_keys = {each: [near for near in near_all if near in self._keys] for each, near_all in around.items()}
        out = self._crossed(around, TAG, KEY, {each: number(each) + key for each, key in self._keys.items()})
        out = {each: body for each, body in out.items() if len(self._with_keys[each]) >= self.setup.threshold}
        self._expected = frozenset(out)
        return out

    def _read_shares(self, sender: int, body: bytes) -> bytes:
        return whole(body, SEALED, len(self._with_keys[sender]), KEY)

    def _shared(self) -> dict[int, bytes]:
        self._commitments = {each: said[:KEY] for each, said in self._said.items()}
        self._sharing = self._expected
        self._near = {each: [near for near in self._with_keys[each] if near in self._said] for each in self._said}
        head = set_of(self._sharing, len(self.setup.clients))
        return {each: head + body for each, body in self._crossed(self._with_keys, SEALED, KEY).items()}

    def _read_saw_shared(self, sender: int, body: bytes) -> bytes:
        return whole(body, TAG, len(self._near[sender]))

    def _saw_shared(self) -> dict[int, bytes]:
        return self._crossed(self._near, TAG)

    def _read_masked(self, sender: int, body: bytes) -> bytes:
        space = self.setup.space
        self._sum = space.add(self._sum, space.decode(body), 1)
        return b""

    def _masked(self) -> dict[int, bytes]:
        self._survivors = self._expected
        self._stayed_near = {
            each: [near for near in self._near[each] if near in self._survivors] for each in self._said
        }
        return dict.fromkeys(self._survivors, set_of(self._survivors, len(self.setup.clients)))

    def _read_saw_survived(self, sender: int, body: bytes) -> bytes:
        return whole(body, TAG, len(self._stayed_near[sender]))

    def _saw_survived(self) -> dict[int, bytes]:
        return self._crossed(self._stayed_near, TAG)

    def _read_revealed(self, sender: int, body: bytes) -> bytes:
        vanished = len(self._near[sender]) - len(self._stayed_near[sender])
        return whole(body, SHARE, len(self._near[sender]), KEY * vanished)

    def _revealed(self) -> dict[int, bytes]:
        """Undo the survivors' own masks, and the masks of pairs of which one client vanished."""
        setup, total = self.setup, Masked(self.setup.space, self._sum)
        secrets = self._joined([*self._survivors, *self._silent])
        for each in self._survivors:
            own = secrets[each]
            if commitment(setup, own) != self._commitments[each]:
                raise self._ended("the shares of a client's secret do not fit together")
            total.add(own_mask(setup, own), -1)
        for near, said in self._said.items():
            keys = said[SHARE * len(self._near[near]) :]
            gone_near = [each for each in self._near[near] if each not in self._survivors]
            for place, gone in enumerate(gone_near):
                total.add(keys[KEY * place : KEY * (place + 1)], -1 if near < gone else 1)
        for gone, neighbours in self._silent.items():
            key = Identity(secrets[gone])
            if key.public != self._keys[gone]:
                raise self._ended("the shares of a client's secret do not fit together")
            for near in neighbours:
                mask = pair_mask(setup, key.with_other(self._keys[near]), near, gone)
                total.add(mask, -1 if near < gone else 1)
        self.total, self.survivors = setup.space.reduced(total.numbers), self._survivors
        self._steps = []
        return {}

    # -- what steps share --------------------------------------------------------------------------------------

    @property
    def _silent(self) -> dict[int, list[int]]:
        """Pairs of one who vanished before its input came and one who vanished after: no one revealed their mask."""
        found = {
            gone: [near for near in self._near[gone] if near in self._survivors and near not in self._said]
            for gone in self._sharing - self._survivors
        }
        return {gone: near for gone, near in found.items() if near}

    def _joined(self, owners: Iterable[int]) -> dict[int, bytes]:
        """The secrets that the shares of owners' neighbours make.

        Owners that are next to each other on the ring have most neighbours in common, so that some holders, and the
        weights of their shares, serve several of them.
        """
        threshold, found = self.setup.threshold, dict[int, bytes]()
        at = {each: dict(zip(self._near[each], range(0, 1 << 30, SHARE), strict=False)) for each in self._said}
        chosen, members, holders = list[int](), frozenset[int](), Holders([])
        for owner in self.setup.along(owners):
            near = {each for each in self._near[owner] if each in self._said}
            if len(near) < threshold:
                raise self._ended(f"{len(near)} shares of a client's secret are left; {threshold} are needed")
            others = members - {owner}
            if len(others) < threshold or not others <= near:
                pool = [each for each in self.setup.around(owner) if each in near or each == owner in self._said]
                chosen = pool[-threshold - 1 :]  # the ones furthest ahead are neighbours of the next owners, too
                members, holders = frozenset(chosen), Holders([each + 1 for each in chosen])
            shares = [0 if each == owner else self._share(each, at[each][owner]) for each in chosen]
            secret = holders.secret(shares, owner + 1 if owner in members else None)
            if secret >> 256:
                raise self._ended("the shares of a client's secret do not fit together")
            found[owner] = secret.to_bytes(KEY, "big")
        return found

    def _share(self, holder: int, place: int) -> int:
        return int.from_bytes(self._said[holder][place : place + SHARE], "big")

    def _crossed(
        self, lists: Mapping[int, Sequence[int]], size: int, start: int = 0, heads: Mapping[int, bytes] | None = None
    ) -> dict[int, bytes]:
        """What the clients that came said to each other: for each of them, the entries for it, in ascending order.

        Lists are ascending, and a is on the list of b if b is on that of a. All entries are one table, with a line for
        each sender and receiver, in the order of senders; it is then sorted by receivers.
        """
        came = sorted(self._said)
        before = {each: number(each) for each in came} if heads is None else heads
        many = [len(lists[each]) for each in came]
        sender = np.repeat(np.arange(len(came)), many)
        receiver = np.concatenate([np.array(lists[each], dtype=np.int64) for each in came])
        is_here = np.zeros(len(self.setup.clients), dtype=bool)
        is_here[came] = True
        heard = np.flatnonzero(is_here[receiver])
        heard = heard[np.argsort(receiver[heard], kind="stable")]  # those of one receiver stay in the senders' order
        entries = [self._said[each][start : start + size * count] for each, count in zip(came, many, strict=True)]
        said = np.frombuffer(b"".join(entries), dtype=np.uint8).reshape(-1, size)
        head = np.frombuffer(b"".join([before[each] for each in came]), dtype=np.uint8).reshape(len(came), -1)
        text = np.concatenate([head[sender[heard]], said[heard]], axis=1).tobytes()
        long = size + head.shape[1]
        ends = np.searchsorted(receiver[heard], came, side="right").tolist()
        return {
            each: text[long * first : long * last]
            for each, first, last in zip(came, [0, *ends[:-1]], ends, strict=True)
        }

    def _around(self, client: int) -> tuple[int, ...]:
        if client not in self._neighbours:
            self._neighbours[client] = self.setup.neighbours(client)
        return self._neighbours[client]

    def _channel(self, client: int) -> bytes:
        if client not in self._channels:
            secret = self._identity.known_with(self.setup.clients[client])
            self._channels[client] = channel(self.setup, secret, client, SERVER)
        return self._channels[client]

    def _message(self, kind: Kind, receiver: int, body: bytes) -> bytes:
        return tagged(kind, self.setup.digest, SERVER, receiver, body, self._channel(receiver))

    def _ended(self, why: str) -> Ended:
        self._steps, self._said, self._expected = [], {}, frozenset()
        return Ended(f"The round {self.setup.name!r} has ended without a result: {why}. Nothing was learned.")
