"""What all parties of a round agree on before it begins, and who is whose neighbour.

With all pairs (`degree=None`) every client is a neighbour of every other. With a degree, clients stand on a ring in an
order that is shuffled by a hash of the description, and the neighbours of one are the `degree`/2 nearest on each side:
a random graph in which all clients have equally many (Harary graphs; Bell, Bonawitz, Gascon, Lepoint, Raykova 2020).

How many may collude with the server. A client's two secrets are each split among its k neighbours, t of them needed.
  - A server that follows the protocol learns nothing but the sum as long as each client has fewer than t neighbours
    among the colluders. With all pairs that is t - 1 of them (`curious`).
  - A server that lies can show different survivors to different clients. A client acts only after t neighbours
    confirmed that they see the same; an honest client confirms once. With all pairs, n clients and c colluders, two
    different views need 2 (t + 1) <= n + c; so up to 2 t + 1 - n colluders are safe, if that is below t (`lying`). With
    a degree nothing is promised against a server that lies: neighbours of neighbours may be told different things.
  - With a degree, `chance` bounds the probability, over the shuffled order, that some client has t colluding neighbours
    or that colluders and those who vanish cut the ring: Pr[hypergeometric >= t] for each client, and runs of degree/2
    places that are all gone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit import parameters
from tacit.federated.aggregation.keys import KEY
from tacit.federated.aggregation.masks import Modular
from tacit.federated.descriptions import described, description

_MOST_CLIENTS = 1 << 20
_LONGEST = 1 << 26
_LARGEST_BITS = 4096


@dataclass(frozen=True)
class Setup:
    """A round: its name, which is used once, the server's and the clients' public keys, and the numbers.

    `threshold` neighbours are needed to undo the masks of one client; fewer than `least` survivors end the round.

    >>> from tacit import federated
    >>> keys = tuple(federated.Identity().public for _ in range(5))
    >>> setup = Setup("round 1", federated.Identity().public, keys, modulus=2**32, length=3, threshold=3, least=4)
    >>> setup.curious, setup.lying
    (2, 2)
    """

    name: str
    server: bytes
    clients: tuple[bytes, ...]
    modulus: int
    length: int
    threshold: int
    least: int
    degree: int | None = None

    def __post_init__(self) -> None:
        whole = parameters.whole
        if len(self.clients) < 3 or len(self.clients) > _MOST_CLIENTS:
            raise parameters.refuse("clients", f"3 to {_MOST_CLIENTS} public keys", len(self.clients))
        keys = (self.server, *self.clients)
        if any(len(each) != KEY for each in keys) or len(set(keys)) != len(keys):
            raise parameters.refuse("clients", "different public keys of 32 bytes", "others")
        if whole("modulus", self.modulus, least=2).bit_length() > _LARGEST_BITS:
            raise parameters.refuse("modulus", f"of at most {_LARGEST_BITS} bits", "a larger one")
        if whole("length", self.length, least=1) > _LONGEST:
            raise parameters.refuse("length", f"at most {_LONGEST}", self.length)
        among = len(self.clients) - 1
        if self.degree is not None:
            if whole("degree", self.degree, least=2) % 2 or self.degree > among:
                raise parameters.refuse("degree", f"an even number from 2 to {among}", self.degree)
            among = self.degree
        if not among // 2 < whole("threshold", self.threshold) <= among:
            raise parameters.refuse(
                "threshold", f"more than half of the {among} neighbours, and at most all", self.threshold
            )
        if not self.threshold < whole("least", self.least) <= len(self.clients):
            raise parameters.refuse("least", f"from {self.threshold + 1} to {len(self.clients)}", self.least)

    @cached_property
    def space(self) -> Modular:
        """The vectors that are summed."""
        return Modular(self.modulus, self.length)

    @cached_property
    def digest(self) -> bytes:
        """The digest that stands for the description in every message."""
        return hashlib.blake2b(self.to_json().encode(), person=b"tacit agg setup", digest_size=16).digest()

    def to_json(self) -> str:
        """The public description: one text."""
        content = {
            "name": self.name,
            "server": self.server.hex(),
            "clients": [each.hex() for each in self.clients],
            **{each: getattr(self, each) for each in ("modulus", "length", "threshold", "least", "degree")},
        }
        return description(content)

    @classmethod
    def from_json(cls, text: str) -> Setup:
        """The round of a description; any other text is refused."""

        def made(content: dict[str, Any]) -> Setup:
            clients = tuple(bytes.fromhex(each) for each in content.pop("clients"))
            return cls(server=bytes.fromhex(content.pop("server")), clients=clients, **content)

        return described(text, "a round", made)

    # -- neighbours ----------------------------------------------------------------------------------------

    def neighbours(self, client: int) -> tuple[int, ...]:
        """The clients that a client shares with, in ascending order."""
        if self.degree is None:
            return tuple(each for each in range(len(self.clients)) if each != client)
        ring, place = self._ring
        here, many = place[client], len(ring)
        near = range(1, self.degree // 2 + 1)
        return tuple(sorted({ring[(here + side * step) % many] for step in near for side in (-1, 1)} - {client}))

    def around(self, client: int) -> Sequence[int]:
        """A client and its neighbours, in the order of the ring."""
        if self.degree is None:
            return range(len(self.clients))
        ring, place = self._ring
        near = range(-(self.degree // 2), self.degree // 2 + 1)
        return list(dict.fromkeys(ring[(place[client] + step) % len(ring)] for step in near))

    def along(self, clients: Iterable[int]) -> list[int]:
        """Clients in the order of the ring: the next one has nearly the same neighbours."""
        return sorted(clients) if self.degree is None else sorted(clients, key=self._ring[1].__getitem__)

    @cached_property
    def _ring(self) -> tuple[list[int], dict[int, int]]:
        """Clients in the order of a hash of the description and their number."""

        def shuffled(client: int) -> bytes:
            return hashlib.blake2b(self.digest + client.to_bytes(4, "big"), person=b"tacit agg ring").digest()

        ring = sorted(range(len(self.clients)), key=shuffled)
        return ring, {client: place for place, client in enumerate(ring)}

    # -- how many may collude ------------------------------------------------------------------------------

    @property
    def curious(self) -> int | None:
        """How many clients may collude with a server that follows the protocol; None where chance decides."""
        return self.threshold - 1 if self.degree is None else None

    @property
    def lying(self) -> int | None:
        """How many clients may collude with a server that lies; -1 if it must not lie at all; None with a degree."""
        if self.degree is not None:
            return None
        return max(-1, min(self.threshold - 1, 2 * self.threshold + 1 - len(self.clients)))

    def chance(self, colluding: int, vanishing: int) -> float:
        """With a degree: a bound on the probability that this many colluders learn more, or that the sum is lost."""
        if self.degree is None:
            return 0.0 if colluding < self.threshold else 1.0
        many, degree = len(self.clients), self.degree
        others = many - 1

        def tail(marked: int, least: int) -> float:
            """Pr[at least `least` of a client's neighbours are marked]."""
            ways = math.comb(others, degree)
            hits = range(least, min(degree, marked) + 1)
            return float(
                Fraction(sum(math.comb(marked, hit) * math.comb(others - marked, degree - hit) for hit in hits), ways)
            )

        gone = colluding + vanishing
        cut = many * (gone / many) ** (degree // 2) if gone < many else 1.0
        return min(1.0, many * (tail(colluding, self.threshold) + tail(vanishing, degree - self.threshold + 1)) + cut)
