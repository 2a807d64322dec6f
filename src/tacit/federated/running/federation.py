"""What all parties of a federation agree on before it begins: one public text.

    federation = Federation("readmissions", job, server, clients, epsilon=1, delta=1e-6, vanish=10, collude=3, spare=2)
    text = federation.to_json()                    # all parties have the same text, through a channel that they trust
    federation.asked                               # the private sum of a round, priced for all of them
    federation.setup(3)                            # the third round: every party makes it for itself

Promise. The coordinator decides nothing about a round later: names, keys, price, noise and thresholds follow from this
text, so a client that has the right text cannot be talked into less noise or into a round with other parties.

`rounds` sums are needed; up to `spare` more rounds may be begun where too many clients vanished. A round that ended
without a sum is paid for as well, because a client cannot know how it ended. So the price is that of
rounds + spare, and no client enters more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tacit import parameters
from tacit.federated.aggregation.keys import KEY
from tacit.federated.aggregation.setup import Setup
from tacit.federated.descriptions import VERSION, described, description
from tacit.federated.distributed.private_sum import PrivateSum
from tacit.federated.jobs.described import job_of
from tacit.federated.jobs.job import Job
from tacit.federated.refusals import Refused
from tacit.loss.events import Event, Repeated

_LONGEST_NAME: Final = 100


@dataclass(frozen=True)
class Federation:
    """A job, who takes part, and the price. `clients` maps names to public keys, in the order that numbers them."""

    name: str
    job: Job
    server: bytes
    clients: Mapping[str, bytes]
    epsilon: str
    delta: str
    vanish: int = 0
    collude: int = 0
    spare: int = 0
    degree: int | None = None

    def __post_init__(self) -> None:
        if not self.name or len(self.name) > _LONGEST_NAME:
            raise parameters.refuse("name", f"a text of at most {_LONGEST_NAME} characters", self.name)
        parameters.whole("spare", self.spare)
        # each price is written in one way, so that one federation has one text
        object.__setattr__(self, "epsilon", parameters.as_text(parameters.price("epsilon", self.epsilon)))
        object.__setattr__(self, "delta", parameters.as_text(parameters.slip("delta", self.delta)))
        object.__setattr__(self, "clients", dict(self.clients))
        _ = self.setup(1)  # keys and numbers that do not make a round are refused now

    @cached_property
    def asked(self) -> PrivateSum:
        """The private sum of one round."""
        return PrivateSum(
            self.job.task,
            len(self.clients),
            epsilon=self.epsilon,
            delta=self.delta,
            vanish=self.vanish,
            collude=self.collude,
            rounds=self.attempts,
            degree=self.degree,
        )

    @property
    def attempts(self) -> int:
        """How many rounds may be begun."""
        return self.job.rounds + self.spare

    @property
    def event(self) -> Event:
        """What all rounds together tell."""
        return Repeated(self.asked.event, self.attempts)

    @cached_property
    def id(self) -> str:
        """The digest that stands for the text."""
        return hashlib.sha256(b"tacit federation" + self.to_json().encode()).hexdigest()

    def setup(self, number: int) -> Setup:
        """A round of secure aggregation, counted from 1."""
        if not 1 <= number <= self.attempts:
            raise Refused(f"There is no round {number}; there are {self.attempts}.")
        return self.asked.setup(
            f"{self.name}, round {number}, {self._digest}", self.server, list(self.clients.values())
        )

    def number_of(self, public: bytes) -> int:
        """The number of the client with this key."""
        for number, key in enumerate(self.clients.values()):
            if key == public:
                return number
        raise Refused("This key is not on the federation's list of clients.")

    @cached_property
    def _digest(self) -> str:
        """Part of every round's name: two federations of one name and different terms share no round."""
        content = {"version": VERSION, **self._content(), "clients": [], "server": ""}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    def _content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "job": self.job.to_dict(),
            "server": self.server.hex(),
            "clients": [[name, key.hex()] for name, key in self.clients.items()],
            **{each: getattr(self, each) for each in ("epsilon", "delta", "vanish", "collude", "spare", "degree")},
        }

    def to_json(self) -> str:
        """The public description: one text."""
        return description(self._content())

    @classmethod
    def from_json(cls, text: str) -> Federation:
        """The federation of a description; any other text is refused."""

        def made(content: dict[str, Any]) -> Federation:
            job, server = job_of(content.pop("job")), _key(content.pop("server"))
            listed = [(str(name), _key(key)) for name, key in content.pop("clients")]
            if len(dict(listed)) != len(listed):
                raise Refused("The description names a client twice.")
            return cls(job=job, server=server, clients=dict(listed), **content)

        return described(text.strip(), "a federation", made)


def _key(text: Any) -> bytes:
    try:
        key = bytes.fromhex(text)
    except (TypeError, ValueError):
        key = b""
    if len(key) != KEY:
        raise Refused(f"A public key is {2 * KEY} hexadecimal digits. Got {text!r} instead.")
    return key
