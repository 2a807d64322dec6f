"""A private sum: clients add their shares of noise, mask the whole, and the server opens the sum of those who stay.

    asked = PrivateSum(Tally(("yes", "no")), clients=100, vanish=10, collude=5, epsilon=1, delta=1e-6)
    setup = asked.setup("round 1", server, clients)        # for secure aggregation; keys of all parties
    vector = asked.vector(value)                           # at a client: its value and its share of the noise
    asked.finding(server.total, len(server.survivors))     # at the server

Theorem. If at most `collude` clients work with the server, everything they see is a post-processing of the noisy sum of
at least clients - vanish - collude honest ones, each with its own share of noise (`aggregation.setup`, `shares`): so
`event` prices it, whatever the colluders and a lying server do. Neighbours: one client's value is replaced by nothing,
a vector of zeros. That a client took part is not secret.

The round ends if more than `vanish` clients vanish: with fewer shares the noise would be too small.

Wrap-around. The modulus is a power of two above twice the largest exact sum and twelve deviations of the noise of all
clients: below 1e-31 for each number that the answer is off by the modulus. Privacy does not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import noise, parameters
from tacit.federated.aggregation.setup import Setup
from tacit.federated.distributed.shares import NoiseShares
from tacit.federated.distributed.tasks import Task
from tacit.federated.odometer import Odometer
from tacit.federated.refusals import Refused
from tacit.loss.events import Event
from tacit.parameters import Number

_DEVIATIONS = 12
_BAD_GRAPH = 1e-9


@dataclass(frozen=True, slots=True)
class Finding:
    """The opened sum: the noisy value, the standard deviation of one number's noise, and how many clients stayed.

    >>> Finding([3.0, 4.0], 1.5, 20).clients
    20
    """

    value: Any
    deviation: float
    clients: int


class PrivateSum:
    """A sum over clients: how many there are, how many may vanish and collude, and the price of all `rounds` together.

    With a `degree` the graph of masks is sparse: for a server that follows the protocol.

    >>> from tacit import federated
    >>> PrivateSum(federated.Tally(("tea", "coffee")), 20, epsilon=1, delta="1e-3").event.kind
    'composed'
    """

    def __init__(
        self,
        task: Task,
        clients: int,
        *,
        epsilon: Number,
        delta: Number,
        vanish: int = 0,
        collude: int = 0,
        rounds: int = 1,
        degree: int | None = None,
    ) -> None:
        self.task, self.clients = task, parameters.whole("clients", clients, least=3)
        self.vanish, self.collude = parameters.whole("vanish", vanish), parameters.whole("collude", collude)
        self.degree, self.rounds = degree, parameters.whole("rounds", rounds, least=1)
        if self.clients - 2 * self.vanish - 1 < self.collude and degree is None:
            allowed = f"at most clients - 2 vanish - 1 = {self.clients - 2 * self.vanish - 1}"
            raise parameters.refuse(
                "collude", allowed, collude, "More of them could make a lying server learn a value."
            )
        honest = self.clients - self.vanish - self.collude
        if honest < 2:
            raise parameters.refuse("vanish", "such that two honest clients stay at least", vanish)
        self.shares = NoiseShares.for_price(
            task.norm_squared, task.size, honest, epsilon, delta, rounds=self.rounds, places=task.places
        )
        largest = self.clients * (math.isqrt(task.norm_squared) + 1)
        spread = _DEVIATIONS * math.sqrt(self.clients * float(self.shares.variance))
        self.modulus = 1 << (2 * math.ceil(largest + spread) + 1).bit_length()

    @property
    def event(self) -> Event:
        """What one round tells."""
        return self.shares.event

    def setup(self, name: str, server: bytes, clients: Sequence[bytes]) -> Setup:
        """The round of secure aggregation that this sum is opened in."""
        if len(clients) != self.clients:
            raise parameters.refuse("clients", f"{self.clients} public keys", len(clients))
        least = self.clients - self.vanish
        threshold = least - 1 if self.degree is None else self.degree * 2 // 3 + 1
        made = Setup(
            name,
            server,
            tuple(clients),
            self.modulus,
            self.task.size,
            threshold,
            max(least, threshold + 1),
            self.degree,
        )
        if self.degree is not None and made.chance(self.collude, self.vanish) > _BAD_GRAPH:
            allowed = f"so large that a bad graph has a chance below {_BAD_GRAPH:g}"
            raise parameters.refuse("degree", allowed, self.degree)
        return made

    def vector(self, value: Any, *, odometer: Odometer | None = None, name: str = "") -> NDArray[np.int64]:
        """A client's vector with its share of the noise.

        With an odometer the round is priced and written down under its name first; a second time it is refused, because
        two sums, one with a client and one without it, give its vector away.
        """
        if odometer is not None:
            if not name:
                raise parameters.refuse("name", "the name of the round", name)
            odometer.enter(name, self.event)
        return self._drawn(value)

    def finding(self, total: Sequence[int] | NDArray[Any], survivors: int) -> Finding:
        """What the opened sum of this many clients says."""
        if survivors < self.clients - self.vanish:
            raise Refused(f"{survivors} clients stayed; {self.clients - self.vanish} are needed for the noise.")
        lifted = [int(each) - self.modulus if int(each) > self.modulus // 2 else int(each) for each in total]
        unit = self.task.unit(survivors)
        spread = math.sqrt(survivors * float(self.shares.variance)) * unit
        return Finding(self.task.decoded(np.array(lifted, dtype=np.int64), survivors), spread, survivors)

    def _drawn(self, value: Any) -> NDArray[np.int64]:
        bits = noise.secure()
        vector = self.task.encoded(value, bits)
        if len(vector) != self.task.size or int(np.dot(vector, vector)) > self.task.norm_squared:
            raise Refused("The vector is longer than its task allows. Nothing was sent.")
        return vector + self.shares.draw(bits)
